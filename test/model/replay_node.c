/* See replay_watch.h: what nodes do with commands, and what happens to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/replay_state.h"
#include "redis/command.h"
#include "sim/key.h"

struct change {
    uint32_t resource;
    struct steps_value now;
};

struct counter {
    uint64_t value; /* 0: there is none */
    uint64_t ends_ms;
};

#define CHANGES_MAX 32

static struct {
    struct change changes[CHANGES_MAX]; /* by the current command */
    uint32_t change_count;
    bool is_planted;  /* by a client of another library */
    uint64_t evicted; /* evicted keys that the replay has counted, on all nodes */
    struct counter counters[SIM_NODES_MAX][SIM_RESOURCES_MAX];
} nodes_now;

/* -- Nodes -- */

/* For the checker a token is reserved until its client has sent a request with it. */
static uint32_t turn_of(uint32_t node, uint32_t resource) {
    char name[SIM_KEY_SIZE];
    size_t length = sim_key_name(&watched.world->options, resource, name);
    const struct server_key *key =
        server_keys_find(&watched.world->nodes[node].server->keys, 0, name, length);
    return sim_check_token(watched.world, key->value.data);
}

static struct steps_value value_of(uint32_t node, uint32_t resource, const struct sim_seen *seen) {
    uint32_t vacant = seen->is_shared       ? STEPS_SHARED
                      : seen->reserved != 0 ? STEPS_RESERVED
                                            : STEPS_NOTHING;
    uint32_t token = seen->reserved >= SIM_RESERVED_FOR ? turn_of(node, resource) : seen->token;
    return (struct steps_value){.value = token != 0 ? token : vacant, .ends_ms = seen->expires_ms};
}

/* The token is the same, but its client has now sent a request with it. */
static bool is_asked(const struct sim_seen *before, const struct sim_seen *now) {
    return before->reserved >= SIM_RESERVED_FOR && now->token != 0 &&
           watched.world->check.tokens[now->token].place == before->place;
}

static void restarted(uint32_t node);

WRAP(sim_check_line_key);
void __wrap_sim_check_line_key(struct sim_world *world, uint32_t node, uint32_t resource,
                               const struct sim_seen *before, const struct sim_seen *now) {
    const struct steps_value is = value_of(node, resource, now);
    bool has_ended = is.value == STEPS_NOTHING && world->now_ns >= before->expires_ns;
    __real_sim_check_line_key(world, node, resource, before, now);
    if (world->stats.evicted != nodes_now.evicted) { /* not by the current command */
        nodes_now.evicted = world->stats.evicted;
        restarted(node);
        return;
    }
    if (is_asked(before, now)) {
        return;
    }
    if (has_ended || (nodes_now.is_planted && world->now_ns >= before->expires_ns)) {
        watch_say("n%u: r%u of token %u ends", node + 1, resource + 1, before->token);
        steps_expire(watched.steps, node, resource, before->expires_ns);
    }
    if (nodes_now.is_planted) {
        steps_foreign(watched.steps, node, resource, is);
    } else if (!has_ended && nodes_now.change_count < CHANGES_MAX) {
        nodes_now.changes[nodes_now.change_count++] =
            (struct change){.resource = resource, .now = is};
    }
}

static struct counter counter_at(uint32_t node, uint32_t resource) {
    char held[SIM_KEY_SIZE], name[sizeof RL_COMMAND_COUNTER_PREFIX + SIM_KEY_SIZE];
    sim_key_name(&watched.world->options, resource, held);
    int length = snprintf(name, sizeof name, RL_COMMAND_COUNTER_PREFIX "%s", held);
    const struct server_key *key =
        server_keys_find(&watched.world->nodes[node].server->keys, 0, name, (size_t)length);
    struct counter counter = {.value = 0};
    if (key != NULL) {
        counter.value = strtoull(key->value.data, NULL, 10);
        counter.ends_ms = key->expires_ms;
    }
    return counter;
}

/* The token that another's command has written here; 0: none. */
static uint32_t written(uint32_t resource) {
    uint32_t token = 0;
    for (uint32_t i = 0; i < nodes_now.change_count; i++) {
        const struct change *change = &nodes_now.changes[i];
        if (change->resource == resource) {
            token = change->now.value < STEPS_SHARED ? change->now.value : 0;
        }
    }
    return token;
}

/* A command has run at now_ms of the node's clock. */
static void counted(uint32_t node, uint32_t token, uint32_t resources, const struct sim_ran *what,
                    uint64_t now_ms) {
    bool votes =
        what->command == SIM_SET || what->command == SIM_TAKE || what->command == SIM_RAISE;
    votes = votes && !what->reads && what->fence != 0 && what->verdict == SIM_YES;
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        struct counter *was = &nodes_now.counters[node][r], is = counter_at(node, r);
        uint64_t before = now_ms >= was->ends_ms ? 0 : was->value;
        if (resources >> r & 1 && votes) {
            steps_counter(watched.steps, node, token, what->command == SIM_RAISE, what->fence,
                          before, is.value);
            if (is.ends_ms < now_ms + watched.world->options.retention_ms) {
                steps_refuse(watched.steps, "vote: n%u's counter of r%u ends early", node + 1,
                             r + 1);
            }
        } else if (written(r) != 0 && written(r) != token && (before != 0 || is.value != 0)) {
            steps_counter_passed(watched.steps, node, written(r), before, is.value);
        } else if (is.value < before) {
            steps_refuse(watched.steps, "n%u's counter of r%u goes back", node + 1, r + 1);
        }
        *was = is;
    }
}

/* The resources of a command, from its keys. */
static uint32_t resources_of(const struct resp_command *command) {
    uint32_t mask = 0;
    for (size_t i = 0; i < command->count; i++) {
        mask |= watch_resource(command->args[i].data, command->args[i].length);
    }
    return mask;
}

/* The first sent command that matches, or the end of the list. */
static struct watch_sent **find_sent(const struct sim_conn *conn, uint8_t command, uint32_t token) {
    struct watch_sent **at = &watched.sent;
    while (*at != NULL && ((*at)->conn != conn->id || (*at)->token != token ||
                           (*at)->command != command || (*at)->is_refused)) {
        at = &(*at)->next;
    }
    return at;
}

static struct watch_sent take_sent(struct watch_sent **at) {
    struct watch_sent sent = {.round = STEPS_UNCOUNTED};
    if (*at != NULL) {
        struct watch_sent *one = *at;
        sent = *one;
        *at = one->next;
        free(one);
    }
    return sent;
}

/* The SHA-1 of the script of an EVALSHA or EVAL; NULL: another command, or not our script. */
static const char *script_of(const struct resp_command *command) {
    const char *text, *sha1;
    if (command->count < 4 || resp_is(&command->args[0], "evalsha")) {
        return command->count < 4 ? NULL : command->args[1].data;
    }
    for (size_t i = 0; (text = rl_command_script_at(i, &sha1)) != NULL; i++) {
        if (strlen(text) == command->args[1].length &&
            memcmp(text, command->args[1].data, command->args[1].length) == 0) {
            return sha1;
        }
    }
    return NULL;
}

static bool is_script_of(enum rl_command_kind kind, const char *sha1) {
    return rl_command_is_script(kind) && strncmp(rl_command_script_sha1(kind), sha1, 40) == 0;
}

/* Nothing has run. The client resends an unknown script whole, and each extension of a refused
 * batch on its own. The token is the first argument; in a batch it is every fourth. */
static void refused(const struct sim_conn *conn, const struct server_ran *ran) {
    const struct resp_command *command = ran->command;
    const char *sha1 = ran->reply[0] == '-' ? script_of(command) : NULL;
    const bool is_unknown = strncmp(ran->reply, "-NOSCRIPT", 9) == 0;
    long long keys = 0;
    if (sha1 == NULL || !resp_number(&command->args[2], &keys)) {
        return;
    }
    const bool is_many = is_script_of(RL_COMMAND_EXTEND_MANY, sha1);
    const size_t step = is_many ? 4 : command->count;
    for (size_t at = 3 + (size_t)keys;
         at < command->count && command->args[at].length >= RL_TOKEN_LEN; at += step) {
        const uint32_t token = sim_check_token(watched.world, command->args[at].data);
        struct watch_sent *one = watched.sent;
        while (one != NULL && (one->conn != conn->id || one->token != token || one->is_refused ||
                               (is_many ? one->kind != RL_COMMAND_EXTEND
                                        : !is_script_of((enum rl_command_kind)one->kind, sha1)))) {
            one = one->next;
        }
        if (one != NULL && (is_unknown || is_many)) {
            one->is_refused = true;
        } else if (one != NULL) {
            one->conn = UINT32_MAX; /* it will not run */
        }
    }
}

/* A SET, TAKE or EXTEND that says yes. */
static void puts_key(uint32_t node, const struct watch_sent *sent, const struct sim_ran *what,
                     uint64_t now_ms) {
    static const enum steps_put how[SIM_COMMANDS] = {
        [SIM_SET] = STEPS_SET, [SIM_TAKE] = STEPS_TAKE, [SIM_EXTEND] = STEPS_EXTEND};
    static const char *const names[] = {"SET", "TAKE", "EXTEND"};
    uint64_t ends_ms[SIM_RESOURCES_MAX];
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        const struct sim_seen *seen = &watched.world->check.seen[node][r];
        ends_ms[r] = seen->expires_ms;
        if (sent->wants >> r & 1 && seen->token != sent->token) {
            steps_refuse(watched.steps, "n%u says yes to token %u, and r%u has %u", node + 1,
                         sent->token, r + 1, seen->token);
        }
    }
    for (uint32_t i = 0; i < nodes_now.change_count; i++) {
        if (!(sent->wants >> nodes_now.changes[i].resource & 1)) {
            steps_refuse(watched.steps, "n%u changes r%u, which token %u does not want", node + 1,
                         nodes_now.changes[i].resource + 1, sent->token);
        }
    }
    if (sent->round == STEPS_UNCOUNTED) {
        watch_say("n%u: %s of token %u, of no round", node + 1, names[how[what->command]],
                  sent->token);
    } else {
        watch_say("n%u: %s of round %u of token %u", node + 1, names[how[what->command]],
                  sent->round, sent->token);
    }
    steps_put(watched.steps, how[what->command], node, sent->round, sent->token, sent->wants,
              ends_ms, now_ms + what->ttl_ms, watched.world->now_ns);
}

static uint32_t own_keys(uint32_t node, uint32_t token) {
    uint32_t mask = 0;
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        mask |= steps_at(watched.steps, node, r).value == token ? UINT32_C(1) << r : 0;
    }
    return token != 0 ? mask : 0;
}

/* The next token that a release names; 0: none. */
static uint32_t successor_of(const struct server_ran *ran, const struct sim_ran *what) {
    const struct resp_command *command = ran->command;
    long long keys = 0;
    bool names = what->command == SIM_RELEASE && ran->script != NULL && command->count > 2 &&
                 strncmp(ran->script, "release_line", 12) == 0 &&
                 resp_number(&command->args[2], &keys);
    const size_t at = 3 + (size_t)keys + 6;
    return names && at < command->count && command->args[at].length >= RL_TOKEN_LEN
               ? sim_check_token(watched.world, command->args[at].data)
               : 0;
}

/* A release, or a command of a line. */
static void leaves(uint32_t node, const struct server_ran *ran, const struct sim_ran *what,
                   uint32_t token) {
    const uint32_t next = successor_of(ran, what);
    const uint64_t now_ns = watched.world->now_ns;
    for (uint32_t i = 0; i < nodes_now.change_count; i++) {
        const struct change *change = &nodes_now.changes[i];
        const uint32_t r = change->resource;
        struct steps_value left = change->now;
        bool passes = next != 0 && left.value == next;
        watch_say("n%u: r%u is %s token %u", node + 1, r + 1,
                  left.value == STEPS_NOTHING    ? "free, by"
                  : left.value == STEPS_RESERVED ? "reserved, by"
                  : passes                       ? "passed on, by"
                                                 : "given by turn, by",
                  token);
        bool joins = what->command == SIM_JOIN || what->command == SIM_PEEK;
        if (joins && token != 0 && steps_at(watched.steps, node, r).value == token) {
            steps_expire(watched.steps, node, r, now_ns); /* its client has given up that turn */
        }
        left.ends_ms = watched.world->check.seen[node][r].expires_ms; /* PEXPIREAT, behind SET */
        steps_leave(watched.steps, node, token, r, left, passes, now_ns);
    }
}

/* Changes by a command that extends several locks: it changes their keys, and neither sets nor
 * frees any. */
static void changed_by_many(uint32_t node, uint32_t resources) {
    for (uint32_t i = 0; i < nodes_now.change_count; i++) {
        const struct change *change = &nodes_now.changes[i];
        if (!(resources >> change->resource & 1) ||
            change->now.value != steps_at(watched.steps, node, change->resource).value) {
            steps_refuse(watched.steps, "n%u changes r%u by an extension", node + 1,
                         change->resource + 1);
        }
    }
    nodes_now.change_count = 0;
}

static void node_ran(const struct sim_conn *conn, const struct server_ran *ran,
                     const struct sim_ran *what) {
    const uint32_t node = conn->node;
    const char *text = what->token != NULL ? what->token : what->place;
    uint32_t token = text != NULL ? sim_check_token(watched.world, text) : 0;
    uint32_t resources = resources_of(ran->command);
    const bool reads = sim_options_reads(&watched.world->options);
    bool puts = what->command == SIM_SET || what->command == SIM_TAKE ||
                what->command == SIM_EXTEND || what->command == SIM_SHARE ||
                what->command == SIM_UPGRADE;
    struct watch_sent sent = {.round = STEPS_UNCOUNTED};
    if (puts) {
        struct watch_sent **at = find_sent(conn, what->command, token);
        if (*at == NULL) {
            steps_refuse(watched.steps, "n%u runs what was not sent, of token %u", node + 1, token);
        }
        sent = take_sent(at);
    }
    if (sim_wire_is_many(ran)) {
        changed_by_many(node, resources);
    }
    /* A fenced SET that comes after a repair of its own key, on an older connection, says yes and
     * leaves the key unchanged. That yes must not count. */
    bool is_own = (resources & own_keys(node, token)) != 0;
    sent.round = what->command == SIM_SET && is_own ? STEPS_UNCOUNTED : sent.round;
    if (reads) {
        watch_leases_before(node, what, token, ran->now_us / 1000);
    }
    if (puts && what->verdict == SIM_YES && sent.shared) {
        watch_leases_put(node, &sent, what, ran->now_us / 1000);
    } else if (puts && what->verdict == SIM_YES) {
        puts_key(node, &sent, what, ran->now_us / 1000);
    } else {
        leaves(node, ran, what, token);
    }
    if (reads) {
        watch_leases_behind(node);
    }
    counted(node, token, resources, what, ran->now_us / 1000);
    nodes_now.change_count = 0;
}

WRAP(sim_wire_read);
bool __wrap_sim_wire_read(const struct server_ran *ran, uint32_t nth, struct sim_ran *out) {
    bool is_ours = __real_sim_wire_read(ran, nth, out);
    if (is_ours) {
        node_ran(ran->connection->owner, ran, out);
    } else if (nth == 0) {
        refused(ran->connection->owner, ran);
    }
    return is_ours;
}

/* -- What happens to nodes -- */

static void restarted(uint32_t node) {
    struct steps_value found[SIM_RESOURCES_MAX];
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        found[r] = value_of(node, r, &watched.world->check.seen[node][r]);
        nodes_now.counters[node][r] = counter_at(node, r);
    }
    watch_say("n%u forgets", node + 1);
    steps_restart(watched.steps, node, found);
    watch_leases_found(node);
}

WRAP(sim_node_forget);
void __wrap_sim_node_forget(struct sim_world *world, uint32_t node) {
    __real_sim_node_forget(world, node);
    restarted(node);
}

WRAP(sim_node_change_policy);
void __wrap_sim_node_change_policy(struct sim_world *world, uint32_t node) {
    __real_sim_node_change_policy(world, node);
    restarted(node);
}

WRAP(sim_node_fail_over);
void __wrap_sim_node_fail_over(struct sim_world *world, uint32_t node, bool same_server) {
    __real_sim_node_fail_over(world, node, same_server);
    restarted(node);
}

WRAP(sim_node_planted);
void __wrap_sim_node_planted(struct sim_world *world, uint32_t node, uint32_t resource) {
    nodes_now.is_planted = true;
    __real_sim_node_planted(world, node, resource);
    nodes_now.is_planted = false;
}

void watch_nodes_end(void) {
    memset(&nodes_now, 0, sizeof nodes_now);
}
