/* See check.h. The first violation is kept; later events are not checked. */
#include "sim/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/state.h"
#include "core/pending.h"
#include "redis/node.h"
#include "sim/world.h"

#define NEVER UINT64_MAX

static const char *const names[SIM_VIOLATIONS] = {
    [SIM_FINE] = "fine",       [SIM_OVERLAP] = "overlap",   [SIM_VALIDITY] = "validity",
    [SIM_ONCE] = "once",       [SIM_ORPHAN] = "orphan",     [SIM_LOST_LATE] = "lost_late",
    [SIM_REVIVED] = "revived", [SIM_SUCCESS] = "success",   [SIM_STUCK] = "stuck",
    [SIM_FENCE] = "fence",     [SIM_LEFTOVER] = "leftover", [SIM_SEAM] = "seam",
    [SIM_STATE] = "state",     [SIM_ORDER] = "order",       [SIM_STALL] = "stall",
    [SIM_SPIN] = "spin",       [SIM_COUNT] = "count",
};

const char *sim_violation_name(enum sim_violation what) {
    return names[what];
}

void sim_check_fail(struct sim_world *world, enum sim_violation what, const char *format, ...) {
    struct sim_check *check = &world->check;
    if (check->found == SIM_FINE && (check->only == SIM_FINE || check->only == what)) {
        va_list args;
        va_start(args, format);
        check->found = what;
        vsnprintf(check->message, sizeof check->message, format, args);
        va_end(args);
    }
}

/* The margin before the end of validity at which a holder is notified, including the timer's
 * lag. */
uint64_t sim_check_margin_ns(const struct sim_options *options) {
    return (options->lost_margin_ms + 2) * RL_NS_PER_MS;
}

/* -- Excuses -- */

void sim_check_busy(const struct sim_client *client, uint64_t until_ns) {
    struct sim_world *world = client->sim;
    uint64_t *busy_ns = &world->check.busy_until_ns[client->index];
    *busy_ns = until_ns > *busy_ns ? until_ns : *busy_ns;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        sim_check_trouble(world, client->index, n, until_ns);
    }
}

void sim_check_trouble(struct sim_world *world, uint32_t client, uint32_t node, uint64_t until_ns) {
    uint64_t *trouble_ns = &world->check.trouble_ns[client][node];
    *trouble_ns = until_ns > *trouble_ns ? until_ns : *trouble_ns;
}

/* -- Checks after every step -- */

static const struct sim_seen *key_of(const struct sim_world *world, uint32_t node, uint32_t r) {
    const struct sim_seen *key = &world->check.seen[node][r];
    return key->token != 0 && world->now_ns < key->expires_ns ? key : NULL;
}

static void check_validity(struct sim_world *world, uint32_t client, uint32_t resource,
                           const struct sim_hold *hold) {
    uint32_t alive = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        const struct sim_seen *key = key_of(world, n, resource);
        bool is_mine = key != NULL && key->token == hold->token;
        uint64_t ends_ns = is_mine ? key->expires_ns : 0;
        if (!is_mine && hold->reads) {
            ends_ns = sim_check_readers_until(world, n, resource, hold->token);
        }
        alive += ends_ns == NEVER || ends_ns + SIM_ROUNDING_NS >= hold->until_ns;
    }
    if (alive < world->options.nodes / 2 + 1) {
        sim_check_fail(
            world, SIM_VALIDITY,
            "c%u relies on r%u for %.3f ms more, and %u of %u nodes have its key so long",
            (unsigned)client + 1, (unsigned)resource + 1,
            (double)(hold->until_ns - world->now_ns) / 1e6, (unsigned)alive,
            (unsigned)world->options.nodes);
    }
}

/* The user must have been notified by the end of validity, or as soon as the loop runs again. */
static void check_told(struct sim_world *world, uint32_t client, const struct sim_hold *hold) {
    uint64_t busy_ns = world->check.busy_until_ns[client] + sim_check_margin_ns(&world->options);
    uint64_t by_ns = hold->until_ns + hold->late_ns;
    by_ns = busy_ns > by_ns ? busy_ns : by_ns;
    if (world->now_ns > by_ns + SIM_ROUNDING_NS) {
        sim_check_fail(world, SIM_LOST_LATE, "c%u is not told of a loss, %.3f ms after the end",
                       (unsigned)client + 1, (double)(world->now_ns - hold->until_ns) / 1e6);
    }
}

/* Where fences must be in order although holds may overlap, an overlap is counted once. */
static void check_overlap(struct sim_world *world, uint32_t a, uint32_t b, uint32_t resource) {
    if (world->options.preset == SIM_FENCED) {
        world->stats.overlaps += !world->check.overlaps[resource];
    } else {
        sim_check_fail(world, SIM_OVERLAP, "c%u and c%u both hold r%u", (unsigned)a + 1,
                       (unsigned)b + 1, (unsigned)resource + 1);
    }
}

/* Objects of one owner share a hold: one token. */
static bool may_share(const struct sim_hold *a, uint32_t client_a, const struct sim_hold *b,
                      uint32_t client_b) {
    return client_a == client_b && a->owner != 0 && a->owner == b->owner && a->token == b->token;
}

/* The holder of a resource: a writer, or the first of its readers. */
struct holder {
    const struct sim_hold *hold;
    uint32_t client;
};

struct holders {
    struct holder writer[SIM_RESOURCES_MAX], reader[SIM_RESOURCES_MAX];
    bool overlaps[SIM_RESOURCES_MAX];
};

static bool check_beside(struct sim_world *world, const struct holder *a, const struct holder *b,
                         uint32_t resource) {
    bool apart = a->hold == NULL || may_share(a->hold, a->client, b->hold, b->client);
    if (!apart) {
        check_overlap(world, a->client, b->client, resource);
    }
    return apart;
}

static void check_hold(struct sim_world *world, uint32_t client, const struct sim_hold *hold,
                       struct holders *holders) {
    const struct holder me = {hold, client};
    bool promised = sim_options_within_promise(&world->options);
    for (uint32_t r = 0; hold->resources >> r != 0; r++) {
        if (!(hold->resources >> r & 1)) {
            continue;
        }
        if (!check_beside(world, &holders->writer[r], &me, r) ||
            (!hold->reads && !check_beside(world, &holders->reader[r], &me, r))) {
            holders->overlaps[r] = true;
            continue;
        }
        *(hold->reads ? &holders->reader[r] : &holders->writer[r]) = me;
        if (hold->reads) {
            sim_check_line_reads(world, r);
        }
        if (promised) {
            check_validity(world, client, r, hold);
        }
    }
}

static void check_holds(struct sim_world *world) {
    struct holders holders = {.overlaps = {false}};
    for (uint32_t c = 0; c < SIM_CLIENTS_MAX + world->options.plain; c++) {
        c = c == world->options.clients ? SIM_CLIENTS_MAX : c;
        for (uint32_t i = 0; i < SIM_SLOTS_MAX && c < SIM_CLIENTS_MAX + world->options.plain; i++) {
            const struct sim_hold *hold = &world->check.holds[c][i];
            if (!hold->is_open) {
                continue;
            }
            if (world->now_ns >= hold->until_ns) {
                check_told(world, c, hold);
            } else {
                check_hold(world, c, hold, &holders);
            }
        }
    }
    memcpy(world->check.overlaps, holders.overlaps, sizeof holders.overlaps);
}

/* How long an unhindered release may take: its time in transit; a pending one waits half a second
 * after an error. */
static uint64_t flight_ns(const struct sim_options *options) {
    return 4 * (options->delay_max_ns + options->loop_lag_ns + options->timer_lag_ns) +
           10 * RL_NS_PER_MS;
}

static uint64_t pause_ns(void) {
    return RL_PENDING_RETRY_NS + RL_PENDING_RETRY_NS / 10;
}

/* Whether every connection between them is sound. */
static bool is_sound(const struct sim_world *world, uint32_t client, uint32_t node) {
    bool any = false;
    for (const struct sim_conn *conn = world->clients[client].conns; conn != NULL;
         conn = conn->next_open) {
        if (conn->node == node && !sim_conn_is_sound(conn)) {
            return false;
        }
        any = any || conn->node == node;
    }
    return any;
}

/* The node has left, and cannot be asked; or has room for few requests, and a pending release may
 * have found it too busy at each try. */
static bool is_pending(const struct sim_world *world, uint32_t client, uint32_t node) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    const bool is_member = sim_process_node(&world->clients[client], node, &info);
    const bool is_crowded = world->options.requests_max < RL_NODE_REQUESTS_MAX;
    return !is_member || (is_crowded && info.pending_releases > 0);
}

static uint64_t later_of(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Whether the library may have forgotten that it gave up this token. */
static bool is_long_ago(const struct sim_world *world, const struct sim_token *token) {
    uint32_t later = 0;
    for (uint32_t i = 1; i <= world->check.token_count; i++) {
        const struct sim_token *other = &world->check.tokens[i];
        later += other->client == token->client && other->given_up_ns != NEVER &&
                 other->given_up_ns >= token->given_up_ns;
    }
    return later > RL_LINES_LEFT / 2;
}

/* A key that a node gave the token by itself, for a turn or for a lease. A client that no longer
 * wants it releases the key when it learns that the node has passed it; a release that it sent
 * before found no key. */
static bool ends_by_itself(const struct sim_world *world, uint32_t node,
                           const struct sim_seen *key) {
    const struct sim_token *token = &world->check.tokens[key->token];
    const uint64_t heard_ns = later_of(world->check.up_since_ns[token->client][node],
                                       world->check.trouble_ns[token->client][node]);
    const bool is_told = token->said_ns[node] == key->ran_ns && key->ran_ns > heard_ns &&
                         key->ran_ns > world->check.unheard_ns[token->client][node];
    const bool is_refused = token->released[node] != 0 && !(token->found >> node & 1);
    return key->is_passed && (!is_told || !is_refused || is_long_ago(world, token) ||
                              world->options.requests_max < RL_NODE_REQUESTS_MAX);
}

bool sim_check_has(const struct sim_world *world, uint32_t node, uint32_t token) {
    bool has = false;
    for (uint32_t r = 0; r < world->options.resources; r++) {
        const struct sim_seen *key = key_of(world, node, r);
        const bool is_its = key != NULL && key->token == token && !key->is_stale &&
                            !key->is_passed &&
                            world->check.tokens[token].released[node] <= key->conn;
        has = has || is_its || sim_check_readers_until(world, node, r, token) != 0;
    }
    return has;
}

uint64_t sim_check_ended_ns(const struct sim_token *token) {
    const bool is_let_go = token->given_up_ns == NEVER && token->let_go_ns != 0;
    return is_let_go ? later_of(token->let_go_ns, token->linger_ns) : token->given_up_ns;
}

void sim_check_key(struct sim_world *world, uint32_t node, const struct sim_seen *key) {
    const struct sim_check *check = &world->check;
    const struct sim_token *token = &check->tokens[key->token];
    if (token->is_disowned || key->is_stale || world->nodes[node].is_slow) {
        return;
    }
    /* The process that gives up a handed-over token may be faster than the SET of the one that took
     * it. */
    bool by_another = token->released[node] != 0 && token->released[node] != key->conn;
    bool late_set =
        token->released[node] > key->conn || (by_another && world->options.adopt_percent > 0);
    bool dropped = token->dropped >> node & 1;
    if (late_set || dropped) {
        return;
    }
    if (token->owes >> node & 1 && !key->is_passed) {
        sim_check_fail(world, SIM_ORPHAN, "n%u has the key of token %u, whose client has closed",
                       (unsigned)node + 1, (unsigned)key->token);
    }
    const bool is_gone = token->client >= SIM_CLIENTS_MAX;
    uint64_t up_ns = is_gone ? NEVER : check->up_since_ns[token->client][node];
    if (up_ns == NEVER || sim_check_ended_ns(token) > world->now_ns) {
        return;
    }
    uint64_t since_ns = later_of(later_of(sim_check_ended_ns(token), key->ran_ns), up_ns);
    since_ns = later_of(since_ns, check->trouble_ns[token->client][node]);
    since_ns += key->is_passed ? 0 : pause_ns();
    if (world->now_ns <= since_ns || !is_sound(world, token->client, node)) {
        return;
    }
    if (is_pending(world, token->client, node)) {
        sim_check_trouble(world, token->client, node, world->now_ns);
    } else if (world->now_ns > since_ns + flight_ns(&world->options) &&
               !ends_by_itself(world, node, key)) {
        sim_check_fail(world, SIM_ORPHAN,
                       "n%u has the key of token %u, which c%u gave up %.3f ms ago",
                       (unsigned)node + 1, (unsigned)key->token, token->client + 1u,
                       (double)(world->now_ns - sim_check_ended_ns(token)) / 1e6);
    }
}

/* -- Clients that are not disturbed -- */

bool sim_check_is_calm(const struct sim_world *world, uint32_t client, uint32_t node,
                       uint64_t since_ns) {
    const struct sim_check *check = &world->check;
    return check->up_since_ns[client][node] <= since_ns &&
           check->trouble_ns[client][node] <= since_ns && is_sound(world, client, node);
}

void sim_check_closes(struct sim_world *world, uint32_t client) {
    struct sim_closing *closing = &world->check.closing[client];
    *closing = (struct sim_closing){.since_ns = world->now_ns};
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        closing->nodes |= (uint8_t)(sim_check_is_calm(world, client, n, world->now_ns) << n);
    }
}

void sim_check_step(struct sim_world *world) {
    check_holds(world);
    sim_check_line_step(world);
    sim_check_readers_step(world);
    sim_check_permits_step(world);
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            const struct sim_seen *key = &world->check.seen[n][r];
            if (key->token != 0 && world->now_ns < key->expires_ns) {
                sim_check_key(world, n, key);
            }
        }
    }
}

/* -- When everything is over -- */

static void check_client_over(struct sim_world *world, uint32_t client) {
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        if (world->check.holds[client][i].is_open) {
            sim_check_fail(world, SIM_LOST_LATE, "c%u: a hold never ended", (unsigned)client + 1);
        }
    }
}

/* Whatever becomes of the clients, nodes forget what they have written. (Administrators write for
 * good.) */
static void check_expiry(struct sim_world *world, uint32_t node) {
    uint32_t at = 0;
    const struct server_key *key;
    while ((key = server_keys_next(&world->nodes[node].server->keys, &at)) != NULL) {
        if (key->expires_ms == SERVER_NEVER_MS && !sim_options_changes(&world->options)) {
            sim_check_fail(world, SIM_LEFTOVER, "n%u keeps %.*s for ever", (unsigned)node + 1,
                           (int)key->name.length, key->name.data);
        }
    }
}

void sim_check_over(struct sim_world *world) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        check_client_over(world, c);
        sim_process_check_over(&world->clients[c]);
    }
    sim_check_line_over(world);
    sim_check_readers_over(world);
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        check_expiry(world, n);
        for (uint32_t r = 0; r < world->options.resources; r++) {
            if (key_of(world, n, r) != NULL && !world->nodes[n].is_slow) {
                sim_check_fail(world, SIM_LEFTOVER, "n%u still has a key of r%u", (unsigned)n + 1,
                               (unsigned)r + 1);
            }
        }
    }
}

void sim_check_free(struct sim_world *world) {
    struct sim_check *check = &world->check;
    sim_check_fences_free(world);
    while (check->free_facts != NULL) {
        struct sim_fact *fact = check->free_facts;
        check->free_facts = fact->next_free;
        free(fact);
    }
    free(check->tokens);
    free(check->hashes);
    free(check->index);
}
