/* See check.h. The first violation is kept; what happens after it is not looked at. */
#include "sim/check.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/world.h"

#define NEVER UINT64_MAX
#define ROUNDING_NS 1000 /* of the mapping from local to true time */

static const char *const names[SIM_VIOLATIONS] = {
    [SIM_FINE] = "fine",         [SIM_OVERLAP] = "overlap", [SIM_VALIDITY] = "validity",
    [SIM_ONCE] = "once",         [SIM_ORPHAN] = "orphan",   [SIM_LOST_LATE] = "lost late",
    [SIM_REVIVED] = "revived",   [SIM_SUCCESS] = "success", [SIM_STUCK] = "stuck",
    [SIM_LEFTOVER] = "leftover", [SIM_FENCE] = "fence",
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

/* -- Tokens -- */

uint32_t sim_check_token(struct sim_world *world, const struct sim_lock *lock) {
    struct sim_check *check = &world->check;
    if (check->token_count + 1 >= check->token_capacity) {
        check->token_capacity = check->token_capacity == 0 ? 256 : 2 * check->token_capacity;
        check->tokens = realloc(check->tokens, check->token_capacity * sizeof check->tokens[0]);
        if (check->tokens == NULL) {
            abort();
        }
    }
    check->tokens[++check->token_count] = (struct sim_token){.drawn_ns = world->now_ns,
                                                             .given_up_ns = NEVER,
                                                             .client = lock->client->index,
                                                             .lock = lock->index};
    return check->token_count;
}

static uint32_t token_of(const struct sim_lock *lock) {
    char digits[9];
    memcpy(digits, lock->core.token, 8);
    digits[8] = '\0';
    return (uint32_t)strtoul(digits, NULL, 16);
}

static void token_in_use(struct sim_world *world, uint32_t number, bool in_use) {
    struct sim_token *token = &world->check.tokens[number];
    if (in_use) {
        token->given_up_ns = NEVER;
    } else if (token->given_up_ns == NEVER) {
        token->given_up_ns = world->now_ns;
    }
}

void sim_check_released(struct sim_world *world, uint32_t node, uint32_t token, uint32_t conn) {
    assert(token >= 1 && token <= world->check.token_count);
    world->check.tokens[token].released[node] = conn;
}

void sim_check_dropped(struct sim_world *world, uint32_t node, uint32_t token) {
    assert(token >= 1 && token <= world->check.token_count);
    assert(world->clients[world->check.tokens[token].client].links[node].owed.count ==
           world->options.owed_max);
    world->check.tokens[token].dropped |= UINT32_C(1) << node;
}

void sim_check_asked(const struct sim_call *call) {
    struct sim_world *world = call->lock->client->world;
    if (world->check.tokens[call->token].given_up_ns != NEVER) {
        sim_check_fail(world, SIM_REVIVED, "token %u was given up, but a %s was sent for it",
                       (unsigned)call->token,
                       call->command == SIM_SET ? "SET" : "raise or extension");
    }
}

/* -- Operations and holds -- */

static struct sim_hold *hold_of(const struct sim_lock *lock) {
    return &lock->client->world->check.holds[lock->client->index][lock->index];
}

/* The margin before the end of validity at which a holder is told, with what a timer needs. */
static uint64_t margin_ns(const struct sim_options *options) {
    return (options->lost_margin_ms + 2) * RL_NS_PER_MS;
}

static void hold_until(const struct sim_lock *lock, struct sim_hold *hold) {
    const struct sim_world *world = lock->client->world;
    hold->until_ns = sim_clock_when(&lock->client->clock, hold->until_local_ns);
    bool is_short = hold->until_ns < world->now_ns + 4 * margin_ns(&world->options);
    hold->late_ns = is_short ? world->options.timer_lag_ns + world->options.loop_lag_ns : 0;
}

void sim_check_begin(const struct sim_lock *lock, enum rl_op_kind op) {
    bool *active = &lock->client->world->check.active[lock->client->index][lock->index][op];
    assert(!*active);
    *active = true;
}

/* Whether a hold of this client is over and its user was not told. */
static bool loss_is_due(const struct sim_client *client) {
    const struct sim_world *world = client->world;
    for (uint32_t i = 0; i < world->options.locks; i++) {
        const struct sim_hold *hold = &world->check.holds[client->index][i];
        if (hold->is_open && world->now_ns >= hold->until_ns) {
            return true;
        }
    }
    return false;
}

void sim_check_end(const struct sim_lock *lock, enum rl_op_kind op, enum rl_result result) {
    struct sim_world *world = lock->client->world;
    bool *active = &world->check.active[lock->client->index][lock->index][op];
    if (!*active) {
        sim_check_fail(world, SIM_ONCE, "c%d: an operation was told twice",
                       lock->client->index + 1);
    }
    *active = false;
    if (result == RL_RESULT_OK && op != RL_OP_RELEASE && loss_is_due(lock->client)) {
        sim_check_fail(world, SIM_SUCCESS, "c%d was told a success while a loss was due",
                       lock->client->index + 1);
    }
    if (result == RL_RESULT_OK && op == RL_OP_ACQUIRE) {
        sim_check_hold(lock);
    }
}

void sim_check_hold(const struct sim_lock *lock) {
    struct sim_hold *hold = hold_of(lock);
    if (hold->is_open) {
        sim_check_fail(lock->client->world, SIM_ONCE, "c%d was granted what it holds",
                       lock->client->index + 1);
    }
    hold->is_open = true;
    hold->token = token_of(lock);
    hold->fence = rl_lock_fence(&lock->core);
    hold->until_local_ns = lock->core.valid_until_ns;
    hold_until(lock, hold);
    uint64_t least_ns = sim_client_now(lock->client) + hold->min_validity_ms * RL_NS_PER_MS;
    if (least_ns > hold->until_local_ns) {
        sim_check_fail(lock->client->world, SIM_SUCCESS, "c%d was told of a grant that was over",
                       lock->client->index + 1);
    }
    sim_check_fence(lock, hold);
}

void sim_check_wanted(const struct sim_lock *lock, const struct rl_acquire *acquire) {
    hold_of(lock)->min_validity_ms = acquire->min_validity_ms;
    hold_of(lock)->fences = acquire->fences;
}

void sim_check_let_go(const struct sim_lock *lock) {
    hold_of(lock)->is_open = false;
}

void sim_check_lost(const struct sim_lock *lock) {
    hold_of(lock)->is_open = false;
}

void sim_check_lock(const struct sim_lock *lock) {
    struct sim_world *world = lock->client->world;
    struct sim_hold *hold = hold_of(lock);
    uint32_t token = token_of(lock);
    bool in_use = lock->core.state == RL_TRYING || lock->core.state == RL_FENCING ||
                  lock->core.state == RL_GRANTED || lock->core.state == RL_HELD ||
                  lock->core.state == RL_EXTENDING;
    if (token != 0) {
        token_in_use(world, token, in_use);
    }
    bool holding = lock->core.state == RL_HELD || lock->core.state == RL_EXTENDING;
    if (hold->is_open && holding) {
        sim_check_fence_stays(lock, hold);
    }
    if (hold->is_open && holding && lock->core.valid_until_ns != hold->until_local_ns) {
        if (lock->core.valid_until_ns > hold->until_local_ns &&
            sim_client_now(lock->client) >= hold->until_local_ns) {
            sim_check_fail(world, SIM_REVIVED, "c%d: a window that was over was opened again",
                           lock->client->index + 1);
        }
        hold->until_local_ns = lock->core.valid_until_ns;
        hold_until(lock, hold);
    }
}

void sim_check_clock(const struct sim_client *client) {
    for (uint32_t i = 0; i < client->world->options.locks; i++) {
        struct sim_hold *hold = &client->world->check.holds[client->index][i];
        hold->until_ns = sim_clock_when(&client->clock, hold->until_local_ns);
    }
}

/* -- Excuses -- */

void sim_check_busy(const struct sim_client *client, uint64_t until_ns) {
    struct sim_world *world = client->world;
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

/* -- What is looked at after every step -- */

static void check_validity(struct sim_world *world, uint32_t client, uint32_t lock,
                           const struct sim_hold *hold) {
    uint32_t resource = world->clients[client].locks[lock].resource;
    uint32_t alive = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        const struct sim_key *key = sim_node_key(world, n, resource);
        alive += key != NULL && key->token == hold->token &&
                 (key->expires_ns == NEVER || key->expires_ns + ROUNDING_NS >= hold->until_ns);
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

/* The user must have been told by the end of validity, or as soon as the loop runs again. */
static void check_told(struct sim_world *world, uint32_t client, const struct sim_hold *hold) {
    uint64_t busy_ns = world->check.busy_until_ns[client] + margin_ns(&world->options);
    uint64_t by_ns = hold->until_ns + hold->late_ns;
    by_ns = busy_ns > by_ns ? busy_ns : by_ns;
    if (world->now_ns > by_ns + ROUNDING_NS) {
        sim_check_fail(world, SIM_LOST_LATE, "c%u is not told of a loss, %.3f ms after the end",
                       (unsigned)client + 1, (double)(world->now_ns - hold->until_ns) / 1e6);
    }
}

/* Where fences have to be in order although holds are not apart, an overlap is counted once. */
static void check_overlap(struct sim_world *world, uint32_t a, uint32_t b, uint32_t resource) {
    if (world->options.preset == SIM_FENCED) {
        world->stats.overlaps += !world->check.overlaps[resource];
    } else {
        sim_check_fail(world, SIM_OVERLAP, "c%u and c%u both hold r%u", (unsigned)a + 1,
                       (unsigned)b + 1, (unsigned)resource + 1);
    }
}

static void check_holds(struct sim_world *world) {
    uint8_t owner[SIM_RESOURCES_MAX] = {0};
    bool overlaps[SIM_RESOURCES_MAX] = {false};
    bool promised = sim_options_within_promise(&world->options);
    for (uint32_t c = 0; c < world->options.clients; c++) {
        for (uint32_t i = 0; i < world->options.locks; i++) {
            const struct sim_hold *hold = &world->check.holds[c][i];
            if (!hold->is_open) {
                continue;
            }
            uint32_t resource = world->clients[c].locks[i].resource;
            if (world->now_ns >= hold->until_ns) {
                check_told(world, c, hold);
            } else if (owner[resource] != 0) {
                overlaps[resource] = true;
                check_overlap(world, owner[resource] - 1u, c, resource);
            } else {
                owner[resource] = (uint8_t)(c + 1);
                if (promised) {
                    check_validity(world, c, i, hold);
                }
            }
        }
    }
    memcpy(world->check.overlaps, overlaps, sizeof overlaps);
}

/* How long a release may take when nothing is in its way: an owed one waits half a second after an
 * error. */
static uint64_t release_bound_ns(const struct sim_options *options) {
    return RL_OWED_RETRY_NS + RL_OWED_RETRY_NS / 10 +
           4 * (options->delay_max_ns + options->loop_lag_ns + options->timer_lag_ns) +
           10 * RL_NS_PER_MS;
}

static void check_key(struct sim_world *world, uint32_t node, const struct sim_key *key) {
    const struct sim_token *token = &world->check.tokens[key->token];
    if (token->given_up_ns == NEVER || world->nodes[node].is_slow || key->is_stale) {
        return;
    }
    const struct sim_link *link = &world->clients[token->client].links[node];
    bool late_set = token->released[node] > key->conn;
    bool dropped = token->dropped >> node & 1;
    if (late_set || dropped || !sim_link_is_up(link) || !sim_conn_is_sound(world, link->conn)) {
        return;
    }
    uint64_t since_ns = token->given_up_ns;
    since_ns = key->ran_ns > since_ns ? key->ran_ns : since_ns;
    since_ns = link->up_since_ns > since_ns ? link->up_since_ns : since_ns;
    uint64_t trouble_ns = world->check.trouble_ns[token->client][node];
    since_ns = trouble_ns > since_ns ? trouble_ns : since_ns;
    if (world->now_ns > since_ns && world->now_ns - since_ns > release_bound_ns(&world->options)) {
        sim_check_fail(world, SIM_ORPHAN,
                       "n%u has the key of token %u, which c%u gave up %.3f ms ago",
                       (unsigned)node + 1, (unsigned)key->token, token->client + 1u,
                       (double)(world->now_ns - token->given_up_ns) / 1e6);
    }
}

void sim_check_step(struct sim_world *world) {
    check_holds(world);
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            const struct sim_key *key = sim_node_key(world, n, r);
            if (key != NULL) {
                check_key(world, n, key);
            }
        }
    }
}

/* -- When everything is over -- */

static void check_lock_over(struct sim_world *world, uint32_t client, uint32_t lock) {
    for (uint32_t op = 0; op < RL_OPS; op++) {
        if (world->check.active[client][lock][op]) {
            sim_check_fail(world, SIM_ONCE, "c%u: operation %u never ended", (unsigned)client + 1,
                           (unsigned)op);
        }
    }
    if (world->check.holds[client][lock].is_open) {
        sim_check_fail(world, SIM_LOST_LATE, "c%u: a hold never ended", (unsigned)client + 1);
    }
}

void sim_check_over(struct sim_world *world) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        for (uint32_t i = 0; i < world->options.locks; i++) {
            check_lock_over(world, c, i);
        }
        for (uint32_t n = 0; n < world->options.nodes; n++) {
            bool reachable = world->reachable & UINT32_C(1) << n;
            if (reachable && world->clients[c].links[n].owed.count > 0) {
                sim_check_fail(world, SIM_LEFTOVER, "n%u is still owed a release by c%u",
                               (unsigned)n + 1, (unsigned)c + 1);
            }
        }
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            if (sim_node_key(world, n, r) != NULL && !world->nodes[n].is_slow) {
                sim_check_fail(world, SIM_LEFTOVER, "n%u still has a key of r%u", (unsigned)n + 1,
                               (unsigned)r + 1);
            }
        }
    }
}
