/* What `redlock set` prints about a set.
 *
 *       node             epoch  change    is      self            vote
 *       127.0.0.1:7001   2      91d0c4ee  joint   127.0.0.1:7001  done
 *       127.0.0.1:7002   1      02aa17c0  stable  127.0.0.1:7002  -
 *
 * The nodes agree if the latest configuration is stable and all its members have it. */
#include "set/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "say.h"
#include "tool/json.h"

#define NODE_WIDTH_MAX 40
#define CLAUSE_MAX 512

#define BOTH (RL_CONFIG_OLD | RL_CONFIG_NEW)

static const char *name_of(const char *url) {
    return strstr(url, "://") + 3;
}

static const char *self_of(const struct rl_set_node *node) {
    return node->config.members[node->config.self].url;
}

static bool has_text(const struct rl_set_node *node) {
    return node->is_known && node->config.key.epoch != 0;
}

static const char *kind_of(const struct rl_config *config) {
    return config->is_joint ? "joint" : "stable";
}

/* The name of the node's set, by the new configuration if it is in it; "": none. */
static const char *set_of(const struct rl_config *config, const char *url) {
    const uint32_t i = rl_set_member_at(config, url);
    if (i == config->n) {
        return "";
    }
    const struct rl_config_member *member = &config->members[i];
    return member->sides & RL_CONFIG_NEW ? rl_config_name(config, RL_CONFIG_NEW, member->new_set)
                                         : rl_config_name(config, RL_CONFIG_OLD, member->old_set);
}

static bool are_several(const struct rl_config *config) {
    return rl_config_count(config, RL_CONFIG_OLD) > 1 || rl_config_count(config, RL_CONFIG_NEW) > 1;
}

/* -- Do they agree? -- */

struct finding {
    char text[CLAUSE_MAX];
    const char *remedy;
};

struct findings {
    struct finding items[REDLOCK_NODES_MAX + 1];
    size_t n;
    int status; /* the exit status */
};

static void add(struct findings *findings, const char *remedy, const char *text) {
    struct finding *finding = &findings->items[findings->n++];
    snprintf(finding->text, sizeof finding->text, "%s", text);
    finding->remedy = remedy;
    findings->status = RL_EXIT_WARNINGS;
}

static bool is_member(const struct rl_set *set, const struct rl_config *latest, size_t i) {
    return (rl_set_members(set, latest, BOTH) & rl_bit((uint32_t)i)) != 0;
}

static void judge_node(struct findings *findings, const struct rl_set_node *node,
                       const struct rl_config *latest, bool is_member) {
    const char *name = rl_set_name(node);
    const bool has_left = node->is_known && !is_member && node->config.key.epoch != 0;
    if (!node->is_known && is_member) {
        add(findings, "when it is back: redlock set resume", rl_text("%s: %s", name, node->why));
    } else if (node->is_known && node->config.problem != NULL) {
        add(findings, "DEL " RL_CONFIG_KEY " on it, then redlock set resume",
            rl_text("%s: its configuration %s", name, node->config.problem));
    } else if (!node->is_known || has_left || (is_member && rl_set_has(node, latest))) {
        return;
    } else if (!is_member) {
        add(findings, "leave it out of the nodes, or add it: redlock set resize",
            rl_text("%s is not a member", name));
    } else if (node->config.key.epoch == 0) {
        add(findings, "redlock set resume", rl_text("%s has no configuration", name));
    } else if (strcmp(self_of(node), node->url) != 0) {
        add(findings, "DEL " RL_CONFIG_KEY " on it, then redlock set resume",
            rl_text("%s is %s by its configuration", name, name_of(self_of(node))));
    } else {
        add(findings, "redlock set resume",
            rl_text("%s has epoch %" PRIu64 ", change %s", name, node->config.key.epoch,
                    node->config.key.change));
    }
}

/* Collects everything that is wrong. */
static void judge(const struct rl_set *set, struct findings *findings) {
    const struct rl_config *latest = rl_set_latest(set);
    const rl_mask known = rl_set_known(set);
    if (latest == NULL && known == 0) {
        add(findings, "redlock doctor says more", "no node answers");
        findings->status = RL_EXIT_NO_QUORUM;
    }
    if (latest == NULL && known != 0) {
        add(findings, "redlock set init", "no node that answers has a configuration");
    }
    if (latest == NULL) {
        return;
    }
    if (latest->is_joint) {
        add(findings, "redlock set resume, or redlock set abort", "a change is pending");
    }
    for (size_t i = 0; i < set->n; i++) {
        judge_node(findings, &set->nodes[i], latest, is_member(set, latest, i));
    }
    if (!rl_set_is_majority(set, latest, RL_CONFIG_NEW, known) ||
        (latest->is_joint && !rl_set_is_majority(set, latest, RL_CONFIG_OLD, known))) {
        findings->status = RL_EXIT_NO_QUORUM;
    }
}

/* -- The screen -- */

static void print_set(const struct rl_config *config, const char *title, enum rl_config_side side,
                      uint32_t set) {
    char text[RL_CONFIG_TEXT_MAX], head[16 + RL_CONFIG_NAME_MAX];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < config->n; i++) {
        if (rl_config_is_in(config, i, side, set)) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "",
                                     config->members[i].url);
        }
    }
    snprintf(head, sizeof head, "%s %s", title,
             are_several(config) ? rl_config_name(config, side, set) : "");
    const int indent = printf("%-8s ", head);
    rl_say_wrapped(text, indent);
}

static void print_side(const struct rl_config *config, const char *title,
                       enum rl_config_side side) {
    for (uint32_t set = 0; set < rl_config_count(config, side); set++) {
        print_set(config, title, side, set);
    }
}

static void add_node(struct rl_table *table, const struct rl_set *set, size_t i,
                     const struct rl_config *latest) {
    const struct rl_set_node *node = &set->nodes[i];
    const struct rl_config *config = &node->config;
    const char *name = rl_set_name(node);
    if (!node->is_known) {
        rl_table_row(table, "%s\t" RL_CELL_BAD "%s", name, node->why);
    } else if (!has_text(node)) {
        rl_table_row(table, "%s\t" RL_CELL_WARN "%s", name,
                     config->problem != NULL ? config->problem : "no configuration");
    } else {
        rl_table_row(table, "%s\t%" PRIu64 "\t%s\t%s\t%s\t%s\t%s", name, config->key.epoch,
                     config->key.change, kind_of(config), name_of(self_of(node)),
                     node->vote[0] != '\0' ? rl_text_clean(node->vote, RL_SET_VOTE_MAX) : "-",
                     !is_member(set, latest, i) ? "has left the set"
                     : are_several(latest)      ? set_of(latest, node->url)
                                                : "");
    }
}

static void print_screen(const struct rl_set *set, const struct findings *findings) {
    const struct rl_config *latest = rl_set_latest(set);
    const bool has_sets = latest != NULL && are_several(latest);
    struct rl_table table = {.heads = has_sets ? "node\tepoch\tchange  \tis    \tself\tvote\tset"
                                               : "node\tepoch\tchange  \tis    \tself\tvote\t",
                             .indent = 2,
                             .max = NODE_WIDTH_MAX};
    if (latest != NULL) {
        printf("set %s, epoch %" PRIu64 ", %s, max-ttl %s\n", latest->key.id, latest->key.epoch,
               kind_of(latest), rl_say_exact(latest->max_ttl_ms));
        if (latest->is_joint) {
            print_side(latest, "old", RL_CONFIG_OLD);
        }
        print_side(latest, latest->is_joint ? "new" : "members", RL_CONFIG_NEW);
        printf("\n");
    }
    for (size_t i = 0; i < set->n; i++) {
        add_node(&table, set, i, latest);
    }
    rl_table_print(&table);
    printf("\n");
    for (size_t i = 0; i < findings->n; i++) {
        printf("  ");
        rl_say_wrapped(rl_text("%s: %s", findings->items[i].text, findings->items[i].remedy), 2);
    }
    if (findings->status == RL_EXIT_OK) {
        printf("all agree\n");
    }
}

/* -- JSON -- */

/* Puts the URLs of one set, or of all (RL_CONFIG_SETS_MAX). */
static void put_urls(struct tool_json *json, const struct rl_config *config, const char *name,
                     enum rl_config_side side, uint32_t set) {
    tool_json_open(json, name, '[');
    for (uint32_t i = 0; i < config->n; i++) {
        if (set == RL_CONFIG_SETS_MAX ? config->members[i].sides & side
                                      : rl_config_is_in(config, i, side, set)) {
            tool_json_put(json, JSON_TEXT(NULL, config->members[i].url));
        }
    }
    tool_json_close(json);
}

static void put_side(struct tool_json *json, const struct rl_config *config, const char *all,
                     const char *each, enum rl_config_side side) {
    put_urls(json, config, all, side, RL_CONFIG_SETS_MAX);
    if (!are_several(config)) {
        return;
    }
    tool_json_open(json, each, '[');
    for (uint32_t set = 0; set < rl_config_count(config, side); set++) {
        tool_json_open(json, NULL, '{');
        tool_json_put(json, JSON_TEXT_OR_NULL("name", rl_config_name(config, side, set)));
        put_urls(json, config, "nodes", side, set);
        tool_json_close(json);
    }
    tool_json_close(json);
}

static void put_config(struct tool_json *json, const struct rl_config *config) {
    tool_json_put(json, JSON_TEXT("id", config->key.id), JSON_INT("epoch", config->key.epoch),
                  JSON_TEXT("change", config->key.change), JSON_TEXT("state", kind_of(config)),
                  JSON_INT("max_ttl_ms", config->max_ttl_ms));
    if (config->is_joint) {
        put_side(json, config, "old", "old_sets", RL_CONFIG_OLD);
    }
    put_side(json, config, "nodes", "sets", RL_CONFIG_NEW);
}

static void put_nodes(struct tool_json *json, const struct rl_set *set) {
    const struct rl_config *latest = rl_set_latest(set);
    tool_json_open(json, "answers", '[');
    for (size_t i = 0; i < set->n; i++) {
        const struct rl_set_node *node = &set->nodes[i];
        const bool has = has_text(node);
        tool_json_object(json, NULL, JSON_TEXT("node", rl_set_name(node)),
                         JSON_KNOWN(has, INT, "epoch", node->config.key.epoch),
                         JSON_KNOWN(has, TEXT, "change", node->config.key.change),
                         JSON_KNOWN(has, TEXT, "state", kind_of(&node->config)),
                         JSON_KNOWN(has, TEXT, "self", self_of(node)),
                         JSON_TEXT_OR_NULL("vote", node->vote),
                         JSON_BOOL("member", latest != NULL && is_member(set, latest, i)),
                         JSON_TEXT("error", !node->is_known ? node->why : node->config.problem));
    }
    tool_json_close(json);
}

static void print_json(const struct rl_set *set, const struct findings *findings) {
    struct tool_json json = {.file = stdout};
    const struct rl_config *latest = rl_set_latest(set);
    tool_json_open(&json, NULL, '{');
    if (latest != NULL) {
        put_config(&json, latest);
    }
    tool_json_put(&json, JSON_BOOL("agree", findings->status == RL_EXIT_OK));
    tool_json_open(&json, "findings", '[');
    for (size_t i = 0; i < findings->n; i++) {
        tool_json_object(&json, NULL, JSON_TEXT("text", findings->items[i].text),
                         JSON_TEXT("remedy", findings->items[i].remedy));
    }
    tool_json_close(&json);
    put_nodes(&json, set);
    tool_json_end(&json);
}

int rl_set_show(const struct rl_set *set) {
    static struct findings findings;
    judge(set, &findings);
    if (set->args->json) {
        print_json(set, &findings);
    } else {
        print_screen(set, &findings);
    }
    return findings.status;
}

void rl_set_show_outcome(const struct rl_set *set, const struct rl_steps *steps, const char *name,
                         int exit_status) {
    const struct rl_config *latest = rl_set_latest(set);
    struct tool_json json =
        tool_json_begin(stdout, JSON_TEXT("command", name), JSON_INT("exit_status", exit_status));
    if (latest != NULL) {
        put_config(&json, latest);
    }
    tool_json_open(&json, "steps", '[');
    for (size_t i = 0; i < steps->n; i++) {
        tool_json_object(&json, NULL, JSON_TEXT("step", steps->items[i].name),
                         JSON_TEXT("at", rl_when_utc(steps->items[i].at_ms)),
                         JSON_TEXT("text", steps->items[i].text));
    }
    tool_json_end(&json);
}

/* -- A change -- */

void rl_set_show_plan(const struct rl_set *set, const struct rl_config *joint, int64_t wait_ms) {
    static const char *const fates[] = {[RL_CONFIG_OLD] = "leaves",
                                        [RL_CONFIG_NEW] = "comes",
                                        [RL_CONFIG_OLD | RL_CONFIG_NEW] = "stays"};
    const bool has_sets = are_several(joint);
    printf("set %s, epoch %" PRIu64 "\n\n", joint->key.id, joint->key.epoch - 1);
    for (uint32_t i = 0; i < joint->n; i++) {
        const struct rl_set_node *node = &set->nodes[rl_set_find(set, joint->members[i].url)];
        printf("  %-7s %s%s%s", fates[joint->members[i].sides], joint->members[i].url,
               has_sets ? "  " : "", has_sets ? set_of(joint, joint->members[i].url) : "");
        printf("%s%s\n", node->is_known ? "" : "  ", node->is_known ? "" : node->why);
    }
    printf("\n");
    if (wait_ms > 0) {
        printf("first, %s: until a majority of the new nodes has run long enough to vote\n",
               rl_say_ms(wait_ms));
    }
    printf("epoch %" PRIu64
           ": %s; clients\n"
           "reconnect. Fences are carried over. After %s, the longest ttl,\n"
           "epoch %" PRIu64 ": the new %s alone. Locks are granted and kept all the time\n",
           joint->key.epoch,
           has_sets ? "a lock needs a majority of its old set and one of its new set"
                    : "locks need a majority of the old nodes and one of the new ones",
           rl_say_ms(rl_change_wait_ms(joint)), joint->key.epoch + 1, has_sets ? "sets" : "nodes");
}

/* -- While it works -- */

/* What `redlock set` reports while it works: a line for each step that is done, and what it waits
 * for; on a terminal, as a status line that is kept up to date, otherwise as a line when the wait
 * begins. With --json, the steps are part of the one object at the end.
 *
 * SIGINT, SIGTERM and SIGHUP end the wait; completed steps stay, for `resume`. */

#define PAUSE_MS 50 /* a signal is noticed after this time */

void rl_steps_done(struct rl_steps *steps, const char *name, const char *text) {
    steps->items = rl_must_grow(steps->items, steps->n, &steps->room, sizeof steps->items[0]);
    steps->items[steps->n++] = (struct rl_step){name, rl_must_print("%s", text), rl_when_now_ms()};
    steps->is_waiting = false;
    rl_say_line(NULL);
    if (!steps->json) {
        printf("%s\n", text);
        rl_output_flush();
    }
}

void rl_steps_free(struct rl_steps *steps) {
    for (size_t i = 0; i < steps->n; i++) {
        free(steps->items[i].text);
    }
    free(steps->items);
    steps->items = NULL;
}

void rl_steps_wait(struct rl_steps *steps, int64_t ms, const char *text) {
    if (rl_say_has_line()) {
        rl_say_line(text);
    } else if (!steps->json && !steps->is_waiting) {
        printf("%s\n", text);
        rl_output_flush();
    }
    steps->is_waiting = true;
    for (; ms > 0 && rl_steps_caught(steps) == 0; ms -= PAUSE_MS) {
        const int64_t part_ms = ms < PAUSE_MS ? ms : PAUSE_MS;
        const struct timespec pause = {0, (long)part_ms * 1000000};
        nanosleep(&pause, NULL);
    }
}

int rl_steps_caught(struct rl_steps *steps) {
    const int caught = atomic_load(&steps->caught);
    return caught != 0 ? RL_EXIT_SIGNAL + caught : 0;
}
