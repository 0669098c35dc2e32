/* The facts that processes announce; tokens, which are numbered as they appear: see check.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/check.h"
#include "sim/world.h"

#define NEVER UINT64_MAX

/* -- Tokens: numbered in order of appearance -- */

static uint64_t digits(const char *text, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned digit = (unsigned char)text[i];
        digit = digit >= '0' && digit <= '9'   ? digit - '0'
                : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                               : 99;
        if (digit > 15) {
            return 0;
        }
        value = value << 4 | digit;
    }
    return value;
}

static void index_put(struct sim_check *check, uint32_t number) {
    uint32_t slot = (uint32_t)check->hashes[number] & (check->index_size - 1);
    while (check->index[slot] != 0) {
        slot = (slot + 1) & (check->index_size - 1);
    }
    check->index[slot] = number;
}

static void *grown(void *items, size_t size) {
    items = realloc(items, size);
    if (items == NULL) {
        abort();
    }
    return items;
}

static void tokens_grow(struct sim_check *check) {
    check->token_capacity = check->token_capacity == 0 ? 256 : 2 * check->token_capacity;
    check->tokens = grown(check->tokens, check->token_capacity * sizeof check->tokens[0]);
    check->hashes = grown(check->hashes, check->token_capacity * sizeof check->hashes[0]);
    check->index_size = 4 * check->token_capacity;
    check->index = grown(check->index, check->index_size * sizeof check->index[0]);
    memset(check->index, 0, check->index_size * sizeof check->index[0]);
    for (uint32_t i = 1; i <= check->token_count; i++) {
        index_put(check, i);
    }
}

uint32_t sim_check_token(struct sim_world *world, const char *text) {
    struct sim_check *check = &world->check;
    const uint64_t place = digits(text + 16, 16);
    uint64_t hash = digits(text, 16) * UINT64_C(0x9e3779b97f4a7c15) + place;
    if (digits(text, 16) == 0 || hash == 0) {
        return 0;
    }
    if (check->token_count + 1 >= check->token_capacity) {
        tokens_grow(check);
    }
    uint32_t slot = (uint32_t)hash & (check->index_size - 1);
    while (check->index[slot] != 0) {
        if (check->hashes[check->index[slot]] == hash) {
            return check->index[slot];
        }
        slot = (slot + 1) & (check->index_size - 1);
    }
    uint32_t number = ++check->token_count;
    check->tokens[number] = (struct sim_token){
        .drawn_ns = world->now_ns, .given_up_ns = NEVER, .place = place, .client = SIM_CLIENTS_MAX};
    check->hashes[number] = hash;
    check->index[slot] = number;
    return number;
}

void sim_check_released(struct sim_world *world, uint32_t node, uint32_t token, uint32_t conn,
                        bool found) {
    if (token != 0) {
        world->check.tokens[token].released[node] = conn;
        world->check.tokens[token].found |= (uint8_t)(found << node);
    }
    for (uint32_t r = 0; r < world->options.resources; r++) { /* a key that it passes to its own
                                                                 client */
        struct sim_seen *seen = &world->check.seen[node][r];
        seen->is_passed |= seen->conn == conn && seen->ran_ns == world->now_ns;
    }
}

/* Since when a lock of its client is asked to have what the token has. */
static uint64_t wanted_ns(const struct sim_world *world, const struct sim_token *token) {
    uint64_t wanted_ns = NEVER;
    for (uint32_t i = 0; i < world->options.locks; i++) {
        const struct sim_user *user = &world->clients[token->client].users[i];
        const bool wants = user->ops[SIM_OP_ACQUIRE] != NULL && user->resources & token->resources;
        wanted_ns = wants && user->asked_ns < wanted_ns ? user->asked_ns : wanted_ns;
    }
    return wanted_ns;
}

/* A client that is not stopped, and is connected to a node, sends that node its releases. */
static bool could_release(const struct sim_world *world, uint32_t client, uint64_t since_ns) {
    bool is_up = false;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        is_up = is_up || world->check.up_since_ns[client][n] < since_ns;
    }
    return is_up && world->check.busy_until_ns[client] < since_ns;
}

/* A hold lingers until linger_ms after its first release, or until its client wants it otherwise or
 * hears that others wait. */
static void check_lingered(struct sim_world *world, const struct sim_token *token) {
    if (token->let_go_ns == 0 || token->given_up_ns != NEVER) {
        return; /* no client here has held by it, or it was given up */
    }
    const struct sim_options *options = &world->options;
    const uint64_t slack_ns = 5 * RL_NS_PER_MS + 2 * (options->delay_max_ns + options->loop_lag_ns +
                                                      options->timer_lag_ns);
    const bool is_told =
        token->told_ns != 0 &&
        sim_check_line_answers(world, token->client, token->told_at, token->told_ns);
    uint64_t ends_ns = wanted_ns(world, token);
    ends_ns = token->linger_ns < ends_ns ? token->linger_ns : ends_ns;
    ends_ns = is_told && token->told_ns < ends_ns ? token->told_ns : ends_ns;
    ends_ns = token->let_go_ns > ends_ns ? token->let_go_ns : ends_ns;
    if (world->now_ns > ends_ns + slack_ns && could_release(world, token->client, ends_ns)) {
        sim_check_fail(world, SIM_STALL, "c%u's lock lingers for %.3f ms longer than it may",
                       token->client + 1u, (double)(world->now_ns - ends_ns) / 1e6);
    }
}

static void give_up(struct sim_world *world, uint32_t token) {
    if (token != 0 && world->check.tokens[token].given_up_ns == NEVER) {
        world->check.tokens[token].given_up_ns = world->now_ns;
    }
}

/* -- Holds -- */

static void hold_until(struct sim_world *world, uint32_t client, struct sim_hold *hold) {
    hold->until_ns = sim_clock_when(&world->clients[client].clock, hold->until_local_ns);
    bool is_short = hold->until_ns < world->now_ns + 4 * sim_check_margin_ns(&world->options);
    hold->late_ns = is_short ? world->options.timer_lag_ns + world->options.loop_lag_ns : 0;
}

static bool is_shared(const struct sim_world *world, uint32_t client, uint32_t token) {
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        const struct sim_hold *hold = &world->check.holds[client][i];
        if (hold->is_open && hold->token == token) {
            return true;
        }
    }
    return false;
}

static void check_most(struct sim_world *world, const struct sim_fact *fact,
                       const struct sim_hold *hold) {
    if (fact->until_ns > hold->most_ns) {
        sim_check_fail(world, SIM_VALIDITY, "c%u relies on it for %.3f ms more than max_hold_ms",
                       fact->client + 1u, (double)(fact->until_ns - hold->most_ns) / 1e6);
    }
}

/* Whether a hold of this client is over and its user was not notified. */
static bool loss_is_due(const struct sim_world *world, uint32_t client) {
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        const struct sim_hold *hold = &world->check.holds[client][i];
        if (hold->is_open && world->now_ns >= hold->until_ns) {
            return true;
        }
    }
    return false;
}

/* A released lock that does not linger is free at a quorum. */
static void check_free(struct sim_world *world, const struct sim_fact *fact) {
    const struct sim_token *token = &world->check.tokens[fact->token];
    const uint32_t most = (world->options.nodes - 1) / 2;
    uint32_t has = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        has += sim_check_has(world, n, fact->token);
    }
    if (fact->token != 0 && has > most && !sim_options_changes(&world->options) &&
        !token->is_disowned && token->linger_ms == 0 &&
        sim_check_ended_ns(token) <= world->now_ns) {
        sim_check_fail(world, SIM_SUCCESS,
                       "c%u was told that it is free, and %u of %u have its key", fact->client + 1u,
                       (unsigned)has, (unsigned)world->options.nodes);
    }
}

static void fact_end(struct sim_world *world, const struct sim_fact *fact) {
    if (fact->status == 0 && fact->op != SIM_OP_RELEASE && !fact->was_stopped &&
        loss_is_due(world, fact->client)) {
        sim_check_fail(world, SIM_SUCCESS, "c%u was told a success while a loss was due",
                       fact->client + 1u);
    }
    if (fact->status != 0 && fact->op == SIM_OP_ACQUIRE) {
        sim_check_line_left(world, fact->client, fact);
    }
    if (fact->status == 0 && fact->op == SIM_OP_RELEASE && fact->owner == 0) {
        check_free(world, fact);
    }
    /* A token that was granted ends by its release or loss: another of its owner may have it. */
    if (fact->status != 0 && fact->op == SIM_OP_ACQUIRE && !fact->arg && fact->token != 0 &&
        !world->check.tokens[fact->token].is_granted) {
        give_up(world, fact->token);
    }
}

static void fact_hold(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_hold *hold = &world->check.holds[fact->client][fact->slot];
    if (hold->is_open) {
        sim_check_fail(world, SIM_ONCE, "c%u was granted what it holds", fact->client + 1u);
    }
    if (fact->token == 0 || fact->until_ns == 0) {
        sim_check_fail(world, SIM_STATE, "c%u was granted a lock without a token or validity",
                       fact->client + 1u);
        return;
    }
    *hold = (struct sim_hold){.until_local_ns = fact->until_ns,
                              .fence = fact->fence,
                              .owner = fact->owner,
                              .token = fact->token,
                              .resources = fact->resources,
                              .take = fact->take,
                              .permits = fact->permits,
                              .reads = fact->reads,
                              .is_open = true};
    hold_until(world, fact->client, hold);
    sim_check_permits_hold(world, fact->client, hold);
    struct sim_token *token = &world->check.tokens[fact->token];
    const bool adopts = token->is_disowned;
    const bool joins = token->is_granted; /* the owner's own, one that lingers, or adopted */
    const bool shares = joins && !adopts && (token->let_go_ns == 0 || fact->owner != 0);
    uint32_t least_ms = shares ? 0 : (uint32_t)fact->status;
    token->client = fact->client;
    token->is_disowned = false;
    const bool is_over = fact->now_ns + least_ms * RL_NS_PER_MS > fact->until_ns;
    if (is_over && !fact->was_stopped) {
        sim_check_fail(world, SIM_SUCCESS, "c%u was told of a grant that was over",
                       fact->client + 1u);
    }
    hold->most_ns = (!joins || adopts) && fact->max_hold_ms > 0
                        ? fact->now_ns + fact->max_hold_ms * RL_NS_PER_MS
                        : NEVER;
    check_most(world, fact, hold);
    if (!joins) {
        if (!is_over) {
            sim_check_fence(world, fact->client, hold);
        }
        sim_check_line_grant(world, fact->client, hold, fact->asked_ns);
    }
    token->linger_ms = joins ? token->linger_ms : fact->linger_ms;
    token->let_go_ns = 0;
    token->resources = fact->resources;
    token->is_granted = true;
}

static void fact_let_go(struct sim_world *world, const struct sim_fact *fact,
                        struct sim_hold *hold) {
    struct sim_token *token = &world->check.tokens[hold->token];
    hold->is_open = false;
    if (!is_shared(world, fact->client, hold->token)) {
        token->let_go_ns = world->now_ns;
        token->linger_ns = token->linger_ns != 0
                               ? token->linger_ns
                               : sim_clock_when(&world->clients[fact->client].clock,
                                                fact->now_ns + token->linger_ms * RL_NS_PER_MS);
    }
}

static void fact_until(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_hold *hold = &world->check.holds[fact->client][fact->slot];
    if (!hold->is_open) {
        return;
    }
    const bool is_election = fact->slot >= SIM_LOCKS_MAX; /* which says what is left in whole ms */
    const uint64_t over_ns = hold->until_local_ns + (is_election ? RL_NS_PER_MS : 0);
    if (fact->until_ns > hold->until_local_ns && fact->now_ns >= over_ns) {
        sim_check_fail(world, SIM_REVIVED, "c%u: a window that was over was opened again",
                       fact->client + 1u);
    }
    if (fact->fence != hold->fence) {
        sim_check_fail(world, SIM_FENCE, "c%u holds with another fence than it was told",
                       fact->client + 1u);
    }
    check_most(world, fact, hold);
    hold->until_local_ns = fact->until_ns;
    hold_until(world, fact->client, hold);
}

static void fact_sent(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_token *token = &world->check.tokens[fact->token];
    if (token->given_up_ns != NEVER) {
        sim_check_fail(world, SIM_REVIVED, "token %u was given up, but a command was sent for it",
                       (unsigned)fact->token);
    }
    if (fact->arg) {
        token->before_ns = token->extend_ns;
        token->extend_ns = world->now_ns;
    }
}

static void fact_attempt(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_token *token = &world->check.tokens[fact->token];
    token->client = fact->client;
    if (token->given_up_ns != NEVER) {
        sim_check_fail(world, SIM_REVIVED, "token %u was given up, but a SET was sent for it",
                       (unsigned)fact->token);
    }
    if (fact->token != 0 && !token->has_asked) {
        token->has_asked = true;
        token->drawn_ns = token->passed_ns != 0 ? token->passed_ns : world->now_ns;
        sim_node_asked(world, fact->client, fact->token);
    }
}

/* -- Reports -- */

static void fact_node(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_check *check = &world->check;
    uint64_t *up_ns = &check->up_since_ns[fact->client][fact->node];
    if (fact->kind == SIM_FACT_UP) {
        *up_ns = world->now_ns;
    } else if (fact->kind == SIM_FACT_DOWN) {
        *up_ns = NEVER;
    } else {
        check->tokens[fact->token].dropped |= UINT32_C(1) << fact->node;
    }
}

/* A client that has closed before it had to give up waiting for answers has released its tokens at
 * all nodes that nothing has come between. */
static uint8_t released_at(const struct sim_world *world, uint32_t client) {
    const struct sim_check *check = &world->check;
    const struct sim_closing *closing = &check->closing[client];
    const uint64_t timeout_ns = (world->options.node_timeout_ms - 1) * RL_NS_PER_MS;
    uint8_t nodes = world->now_ns < closing->since_ns + timeout_ns ? closing->nodes : 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        if (check->trouble_ns[client][n] > closing->since_ns) {
            nodes &= (uint8_t) ~(1u << n);
        }
    }
    return nodes;
}

static void fact_gone(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_check *check = &world->check;
    const uint8_t owes = released_at(world, fact->client);
    sim_check_line_gone(world, fact->client);
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        check->up_since_ns[fact->client][n] = NEVER;
    }
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        check->holds[fact->client][i].is_open = false;
    }
    for (uint32_t i = 1; i <= check->token_count; i++) {
        if (check->tokens[i].client == fact->client) {
            check->tokens[i].owes = check->tokens[i].is_disowned ? 0 : owes;
            check->tokens[i].client = SIM_CLIENTS_MAX;
        }
    }
}

/* An upgrade is a grant with a fence of its own. */
static void fact_mode(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_hold *hold = &world->check.holds[fact->client][fact->slot];
    hold->reads = fact->arg;
    if (!hold->reads && hold->is_open) {
        if ((fact->fence != 0) != (hold->fence != 0)) {
            sim_check_fail(world, SIM_FENCE, "c%u %s a fence by an upgrade", fact->client + 1u,
                           fact->fence != 0 ? "has got" : "has lost");
        }
        hold->fence = fact->fence;
        sim_check_fence(world, fact->client, hold);
    }
}

static void apply(struct sim_world *world, const struct sim_fact *fact) {
    struct sim_hold *hold = &world->check.holds[fact->client][fact->slot];
    switch ((enum sim_fact_kind)fact->kind) {
        case SIM_FACT_ATTEMPT:
            fact_attempt(world, fact);
            break;
        case SIM_FACT_SENT:
            fact_sent(world, fact);
            break;
        case SIM_FACT_GIVEN_UP:
            if (fact->arg) {
                check_lingered(world, &world->check.tokens[fact->token]);
            }
            give_up(world, fact->token);
            break;
        case SIM_FACT_END:
            fact_end(world, fact);
            break;
        case SIM_FACT_HOLD:
            fact_hold(world, fact);
            break;
        case SIM_FACT_UNTIL:
            fact_until(world, fact);
            break;
        case SIM_FACT_OVER:
            hold->until_local_ns = fact->now_ns - SIM_ROUNDING_NS;
            hold_until(world, fact->client, hold);
            break;
        case SIM_FACT_RENEWED:
            sim_check_fence_kept(world, hold);
            break;
        case SIM_FACT_MODE:
            fact_mode(world, fact);
            break;
        case SIM_FACT_DISOWN:
            world->check.tokens[hold->token].is_disowned = true;
            hold->is_open = false;
            break;
        case SIM_FACT_OWN:
            world->check.tokens[fact->token].is_disowned = false;
            world->check.tokens[fact->token].client = fact->client;
            break;
        case SIM_FACT_UNUSED:
            world->check.tokens[fact->token].let_go_ns = world->now_ns;
            break;
        case SIM_FACT_LET_GO:
            fact_let_go(world, fact, hold);
            break;
        case SIM_FACT_LOST:
            hold->is_open = false;
            if (!is_shared(world, fact->client, hold->token)) {
                give_up(world, hold->token);
            }
            break;
        case SIM_FACT_UP:
        case SIM_FACT_DOWN:
        case SIM_FACT_DROPPED:
            fact_node(world, fact);
            break;
        case SIM_FACT_GONE:
            fact_gone(world, fact);
            break;
    }
}

void sim_check_fact(struct sim_world *world, struct sim_fact *fact) {
    apply(world, fact);
    fact->next_free = world->check.free_facts;
    world->check.free_facts = fact;
}

void sim_check_tell(struct sim_client *client, const struct sim_fact *told) {
    struct sim_world *world = client->sim;
    struct sim_fact *fact = world->check.free_facts;
    struct sim_fact now = *told;
    now.client = client->index;
    if (!client->is_inside || client->at_ns <= world->now_ns) {
        apply(world, &now);
        return;
    }
    if (fact != NULL) {
        world->check.free_facts = fact->next_free;
    } else if ((fact = malloc(sizeof *fact)) == NULL) {
        abort();
    }
    *fact = now;
    struct sim_event event = {
        .at_ns = client->at_ns, .kind = SIM_EV_FACT, .client = client->index, .what = fact};
    sim_queue_add_first(&world->queue, &event);
}

void sim_check_clock(const struct sim_client *client) {
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        struct sim_hold *hold = &client->sim->check.holds[client->index][i];
        hold->until_ns = sim_clock_when(&client->clock, hold->until_local_ns);
    }
}

void sim_check_start(struct sim_world *world) {
    sim_check_line_start(world);
    memset(world->check.up_since_ns, 0xff, sizeof world->check.up_since_ns);
    tokens_grow(&world->check);
}
