/* redlock set: makes nodes a set, whose nodes know its members, and changes the members under load.
 *
 *     init                 epoch 1 on all nodes
 *     show                 what each node has, and whether they agree
 *     replace OLD NEW      a change (change.c)
 *     resize [NAME] URL... a change to this list, of the set NAME if there are several
 *     add-set NAME URL...  a change: one more set
 *     remove-set NAME      a change: one set less
 *     resume, abort        a change whose administrator has died; resume also writes the text to
 *                          nodes that lack it
 *
 * A lock of the set itself, "redlock set ID", keeps administrators apart; one thread renews it
 * while another does the work. Safety does not depend on the lock: a set whose nodes have lost the
 * text, and so grant no lock, can still be resumed.
 *
 * Failure modes: the change is not confirmed, another one is pending, nodes differ: RL_EXIT_HELD.
 * New nodes do not answer, or are not independent servers: nothing is done. For all other failures,
 * see change.c. */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "say.h"
#include "set/room.h"

#define MAX_TTL_MS 86400000
#define WORDS_MAX (RL_CONFIG_SIDE_MAX + 1) /* a name and nodes */

struct command {
    const char *name;
    struct rl_args *args;
    struct rl_set set;
    struct rl_steps steps;
    struct rl_config now;   /* the configuration that was confirmed */
    struct rl_config joint; /* the joint text to the new configuration */
    int64_t wait_ms;        /* until new nodes may vote */
};

/* is_needed: do nothing without the lock. */
static int with_lock(struct command *command, const char *id, bool is_needed, rl_set_work *work) {
    const struct rl_set_lock lock = {.name = command->name,
                                     .id = id,
                                     .max_ttl_ms = command->now.max_ttl_ms,
                                     .is_needed = is_needed,
                                     .steps = &command->steps};
    return rl_set_locked(command->args, &lock, work, command);
}

/* -- Asking -- */

static int check_terminal(const struct rl_args *args) {
    const bool asks = !args->yes && !args->dry_run;
    return asks && (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
               ? rl_usage("set: there is no terminal to ask on; give --yes if it is meant")
               : 0;
}

/* Asks for confirmation, unless --yes or --dry-run is given. Returns 0 or an exit status. */
static int confirm(const struct rl_args *args, const char *question) {
    rl_output_flush();
    if (args->dry_run || args->yes) {
        return 0;
    }
    fprintf(stderr, "%s [y/N] ", question);
    const bool is_yes = rl_say_is_yes();
    if (feof(stdin)) {
        fprintf(stderr, "\n");
    }
    return is_yes ? 0 : rl_fail(RL_EXIT_HELD, "nothing was done");
}

/* -- What nodes must be -- */

/* Checks these nodes by themselves, and that none is the same server as another node. Returns 0 or
 * an exit status. */
static int check_nodes(const struct rl_set *set, rl_mask which) {
    for (size_t i = 0; i < set->n; i++) {
        const struct rl_set_node *node = &set->nodes[i];
        const char *name = rl_set_name(node);
        if (!(which & rl_bit((uint32_t)i))) {
            continue;
        }
        if (!node->is_known) {
            return rl_fail(RL_EXIT_NO_QUORUM, "%s: %s; nothing was done", name, node->why);
        }
        if (strcmp(node->info.role, "slave") == 0) {
            return rl_fail(
                RL_EXIT_USAGE,
                "%s is a replica: name an independent server, or make it one: REPLICAOF NO ONE",
                name);
        }
        if (node->config.problem != NULL) {
            return rl_usage("%s: its configuration %s; if it is in no set: DEL " RL_CONFIG_KEY,
                            name, node->config.problem);
        }
        for (size_t j = 0; j < set->n; j++) {
            if (j != i && strcmp(node->info.run_id, set->nodes[j].info.run_id) == 0 &&
                node->info.run_id[0] != '\0') {
                return rl_usage("%s and %s are the same server", name, rl_set_name(&set->nodes[j]));
            }
        }
    }
    return 0;
}

/* The time until a majority of the new nodes has run long enough for strict clients. */
static int64_t quarantine_ms(const struct command *command) {
    const struct rl_args *args = command->args;
    const struct rl_set *set = &command->set;
    int64_t longest_ms = args->client.max_ttl_ms + rl_args_drift_ms(args->client.max_ttl_ms) + 1000;
    const rl_mask side = rl_set_members(set, &command->joint, RL_CONFIG_NEW);
    int64_t wait_ms = 0;
    rl_mask old_enough = 0;
    if (args->guard != REDLOCK_GUARD_STRICT) {
        return 0;
    }
    while (!rl_set_is_majority(set, &command->joint, RL_CONFIG_NEW, old_enough & side) &&
           wait_ms <= longest_ms) {
        old_enough = 0;
        for (size_t i = 0; i < set->n; i++) {
            const int64_t up_ms = 1000 * set->nodes[i].info.uptime_s + wait_ms;
            old_enough |= set->nodes[i].is_known && up_ms >= longest_ms ? rl_bit((uint32_t)i) : 0;
        }
        wait_ms += 1000;
    }
    return wait_ms > 0 ? wait_ms - 1000 : 0;
}

/* -- init -- */

static int init_now(void *data) {
    struct command *command = data;
    return rl_change_spread(&command->set, &command->steps, &command->now);
}

/* Whether the text comes from an unfinished init. */
static bool is_unfinished(const struct rl_set *set, const struct rl_config *latest) {
    const rl_mask all = rl_set_members(set, latest, RL_CONFIG_NEW);
    return latest->key.epoch == 1 && !latest->is_joint && rl_bits_count(all) == set->n &&
           rl_set_having(set, latest, all) != all;
}

static int cmd_init(struct command *command) {
    struct rl_set *set = &command->set;
    struct rl_config *now = &command->now;
    int status = rl_set_look(set);
    const struct rl_config *latest = rl_set_latest(set);
    if (status != 0) {
        return status;
    }
    if (latest != NULL && !is_unfinished(set, latest)) {
        return rl_fail(RL_EXIT_HELD,
                       "%s is a node of set %s already, epoch %" PRIu64 ": redlock set show",
                       rl_set_name(&set->nodes[0]), latest->key.id, latest->key.epoch);
    }
    if (set->n > RL_CONFIG_SIDE_MAX || command->args->client.max_ttl_ms > MAX_TTL_MS) {
        return rl_usage("a set has at most %d nodes, and a --max-ttl of at most 1d",
                        RL_CONFIG_SIDE_MAX);
    }
    status = check_nodes(set, rl_bit((uint32_t)set->n) - 1);
    status = status != 0 ? status : rl_set_check_rights(set);
    if (status != 0) {
        return status;
    }
    if (latest != NULL) {
        *now = *latest;
        rl_say("an init that was not finished is completed");
    } else {
        now->key.epoch = 1;
        rl_must_draw(now->key.id, RL_CONFIG_ID_LEN);
        rl_must_draw(now->key.change, RL_CONFIG_CHANGE_LEN);
        now->max_ttl_ms = (uint32_t)command->args->client.max_ttl_ms;
        for (; now->n < set->n; now->n++) {
            struct rl_config_member *member = &now->members[now->n];
            memcpy(member->url, set->nodes[now->n].url, sizeof member->url);
            member->sides = RL_CONFIG_NEW;
        }
    }
    if (!command->args->json) {
        const bool is_drawn = command->args->dry_run && latest == NULL; /* for nothing */
        printf("%s %s of %" PRIu32 " nodes, max-ttl %s\n", is_drawn ? "would make a set" : "set",
               is_drawn ? "(its id is drawn then)" : now->key.id, now->n,
               rl_say_exact(now->max_ttl_ms));
    }
    rl_output_flush();
    if (!command->args->dry_run && !command->args->yes) {
        rl_say(
            "clients of other libraries, and of versions before this one, do not read it: as long "
            "as there are any, change no nodes by redlock set");
    }
    status = confirm(command->args, "Make these nodes a set?");
    return status != 0 || command->args->dry_run ? status
                                                 : with_lock(command, "init", false, init_now);
}

/* -- Changes -- */

static int change_now(void *data) {
    struct command *command = data;
    struct rl_set *set = &command->set;
    struct rl_steps *steps = &command->steps;
    enum rl_change_end end = RL_CHANGE_DONE;
    int status = 0;
    while (command->wait_ms > 0 && status == 0) {
        rl_steps_wait(
            steps, 1000,
            rl_text("waits %" PRId64 " s: until the new nodes may vote", command->wait_ms / 1000));
        command->wait_ms -= 1000;
        status = rl_steps_caught(steps);
    }
    status = status != 0 ? status : rl_set_look(set);
    const struct rl_config *latest = rl_set_latest(set);
    if (status != 0) {
        return status;
    }
    if (latest == NULL || rl_config_compare(&command->now.key, &latest->key) != RL_CONFIG_SAME) {
        return rl_fail(RL_EXIT_HELD, "the set has changed meanwhile; nothing was done");
    }
    const rl_mask all = rl_set_members(set, &command->now, RL_CONFIG_NEW);
    if (rl_set_having(set, &command->now, all) != (all & rl_set_known(set))) {
        status = rl_change_spread(set, steps, &command->now);
    }
    status = status != 0 ? status : rl_change_run(set, steps, &command->joint, &end);
    if (status == 0 && end != RL_CHANGE_DONE) {
        return rl_fail(RL_EXIT_HELD, "another administrator has aborted this change");
    }
    return status;
}

/* Reads the nodes and the current configuration. Returns 0 or an exit status. */
static int look(struct command *command) {
    int status = rl_set_look(&command->set);
    if (status != 0) {
        return status;
    }
    const struct rl_config *latest = rl_set_latest(&command->set);
    if (latest == NULL) {
        const size_t answering = rl_bits_count(rl_set_known(&command->set));
        return answering == 0
                   ? rl_fail(RL_EXIT_NO_QUORUM, "no node answers: %s: %s",
                             rl_set_name(&command->set.nodes[0]), command->set.nodes[0].why)
                   : rl_usage("these nodes have no configuration: redlock set init");
    }
    command->now = *latest;
    return 0;
}

/* Changes the set from its current configuration to the goal. */
static int change_to(struct command *command, const struct rl_set_goal *goal) {
    struct rl_set *set = &command->set;
    struct rl_config *joint = &command->joint;
    char change[RL_CONFIG_CHANGE_LEN + 1];
    rl_must_draw(change, RL_CONFIG_CHANGE_LEN);
    rl_change_joint(joint, &command->now, goal, change);
    rl_mask old = rl_set_members(set, joint, RL_CONFIG_OLD);
    rl_mask new = rl_set_members(set, joint, RL_CONFIG_NEW);
    if (rl_change_is_none(joint)) {
        rl_say("the set has these nodes already");
        return 0;
    }
    if (!rl_config_fits(joint)) {
        return rl_usage("a client can use %d nodes, and during this change there would be %" PRIu32,
                        RL_CONFIG_CLIENT_MAX, joint->n);
    }
    int status = check_nodes(set, new & ~old);
    status = status != 0 ? status : rl_set_check_rights(set);
    if (status != 0) {
        return status;
    }
    if (!rl_set_is_majority(set, joint, RL_CONFIG_OLD, rl_set_known(set)) ||
        !rl_set_is_majority(set, joint, RL_CONFIG_NEW, rl_set_known(set))) {
        char *names = rl_set_names(set, (old | new) & ~rl_set_known(set));
        status = rl_fail(RL_EXIT_NO_QUORUM,
                         "too few nodes answer: a majority of the old and one of the new nodes are "
                         "needed%s; without answer: %s",
                         rl_config_count(joint, RL_CONFIG_OLD) > 1 ? ", of each set" : "", names);
        free(names);
        return status;
    }
    command->wait_ms = quarantine_ms(command);
    if (!command->args->json) {
        rl_set_show_plan(set, joint, command->wait_ms);
    }
    status = confirm(command->args, "Make this change?");
    return status != 0 || command->args->dry_run
               ? status
               : with_lock(command, joint->key.id, true, change_now);
}

static int look_for_change(struct command *command) {
    int status = look(command);
    if (status == 0 && command->now.is_joint) {
        return rl_fail(RL_EXIT_HELD,
                       "a change is pending, epoch %" PRIu64
                       ": first redlock set resume, or redlock set abort",
                       command->now.key.epoch);
    }
    return status;
}

/* Looks twice: the goal can be settled only after the new nodes have been read as well. */
static int cmd_change(struct command *command) {
    struct rl_set_goal goal = {.n = 0};
    int status = look_for_change(command);
    status = status != 0 ? status : rl_set_goal_read(&command->set, &command->now, &goal);
    status = status != 0 ? status : look_for_change(command);
    status = status != 0 ? status : rl_set_goal_settle(&command->set, &command->now, &goal);
    return status != 0 ? status : change_to(command, &goal);
}

/* -- resume, abort, show -- */

/* resume or abort: ends a pending change. */
static int end_now(void *data) {
    struct command *command = data;
    const bool aborts = strcmp(command->name, "abort") == 0;
    enum rl_change_end end = aborts ? RL_CHANGE_BACK : RL_CHANGE_DONE;
    const enum rl_change_end wish = end;
    int status = look(command);
    if (status == 0 && !command->now.is_joint) {
        return aborts ? rl_fail(RL_EXIT_HELD, "no change is pending: epoch %" PRIu64 " is stable",
                                command->now.key.epoch)
                      : rl_change_spread(&command->set, &command->steps, &command->now);
    }
    status =
        status != 0 ? status : rl_change_run(&command->set, &command->steps, &command->now, &end);
    if (status != 0 || end == wish) {
        return status;
    }
    return rl_fail(RL_EXIT_HELD, "%s",
                   aborts
                       ? "too late: the change was decided, and is done: the new nodes are the set"
                       : "the change had been aborted: the old nodes are the set");
}

static int cmd_end(struct command *command) {
    int status = look(command);
    return status != 0 ? status : with_lock(command, command->now.key.id, false, end_now);
}

static int cmd_show(struct command *command) {
    int status = rl_set_look(&command->set);
    return status != 0 ? status : rl_set_show(&command->set);
}

/* -- The command -- */

static const struct {
    const char *name, *usage;
    int min, max; /* number of words after the subcommand */
    bool asks;
    int (*run)(struct command *);
} subs[] = {
    {"init", "redlock set init", 0, 0, true, cmd_init},
    {"show", "redlock set show", 0, 0, false, cmd_show},
    {"replace", "redlock set replace OLD NEW", 2, 2, true, cmd_change},
    {"resize", "redlock set resize [NAME] URL..., 1 to 7 nodes", 1, WORDS_MAX, true, cmd_change},
    {"add-set", "redlock set add-set NAME URL..., 1 to 7 nodes", 2, WORDS_MAX, true, cmd_change},
    {"remove-set", "redlock set remove-set NAME", 1, 1, true, cmd_change},
    {"resume", "redlock set resume", 0, 0, false, cmd_end},
    {"abort", "redlock set abort", 0, 0, false, cmd_end},
};

static int run_sub(struct rl_args *args, size_t i) {
    struct command *command = rl_must_alloc(1, sizeof *command);
    command->name = subs[i].name;
    command->args = args;
    command->steps.json = args->json;
    int status = subs[i].asks    ? check_terminal(args)
                 : args->dry_run ? rl_usage("set %s: --dry-run has no effect with it", subs[i].name)
                                 : 0;
    if (status == 0) {
        status = rl_set_open(&command->set, args);
        status = status != 0 ? status : subs[i].run(command);
        if (args->json && subs[i].run != cmd_show) {
            rl_set_show_outcome(&command->set, &command->steps, subs[i].name, status);
        }
        rl_set_close(&command->set);
    }
    rl_steps_free(&command->steps);
    free(command);
    return status;
}

int rl_cmd_set(struct rl_args *args) {
    const char *name = args->n_words > 0 ? args->words[0] : "";
    if (args->child != NULL) {
        return rl_usage("set: it runs no command; leave -- out");
    }
    for (size_t i = 0; i < sizeof subs / sizeof subs[0]; i++) {
        if (strcmp(name, subs[i].name) == 0) {
            const int n = args->n_words - 1;
            return n < subs[i].min || n > subs[i].max ? rl_usage("set %s: %s", name, subs[i].usage)
                                                      : run_sub(args, i);
        }
    }
    return rl_usage(
        "set: %s%s%s there are init, show, replace OLD NEW, resize [NAME] URL..., add-set NAME "
        "URL..., remove-set NAME, resume and abort",
        name[0] != '\0' ? "\"" : "", rl_text_clean(name, 64),
        name[0] != '\0' ? "\" is not one;" : "");
}
