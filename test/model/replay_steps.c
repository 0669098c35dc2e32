/* See replay_steps.h. Few rounds exist at a time: every list drops rounds that are over or given up
 * when it is next used.
 *
 * Whether a pass is a vote, and when it ends, is known only when it is counted. Until then its key
 * lasts for nobody; conflicts are checked when it is counted. */
#include "model/replay_machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const steps_names[] = {"send",           "set",     "take",  "extend",  "set_uncounted",
                                   "take_uncounted", "release", "line",  "pass",    "expire",
                                   "restart",        "count",   "tell",  "give_up", "doubts",
                                   "vote",           "raise",   "share", "upgrade", "lease_ends",
                                   "lower",          NULL};

/* -- Memory -- */

static void *grown(void *items, uint32_t *room, uint32_t need, size_t size) {
    if (need <= *room) {
        return items;
    }
    uint32_t more = need > 2 * *room ? need + 16 : 2 * *room;
    char *memory = realloc(items, more * size);
    if (memory == NULL) {
        abort();
    }
    memset(memory + *room * size, 0, (more - *room) * size);
    *room = more;
    return memory;
}

void steps_add(struct list *list, uint32_t item) {
    list->items = grown(list->items, &list->room, list->count + 1, sizeof item);
    list->items[list->count++] = item;
}

struct steps *steps_new(uint32_t nodes, steps_over *is_over, void *owner) {
    struct steps *steps = calloc(1, sizeof *steps);
    if (steps == NULL) {
        abort();
    }
    steps->nodes = nodes;
    steps->is_over = is_over;
    steps->owner = owner;
    return steps;
}

void steps_free(struct steps *steps) {
    for (uint32_t n = 0; n < SIM_NODES_MAX; n++) {
        for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
            free(steps->keys[n][r].lasts.items);
        }
        free(steps->agreed[n].items);
    }
    free(steps->told.items);
    free(steps->rounds);
    free(steps->doubts);
    free(steps->tokens);
    free(steps->placed);
    free(steps);
}

/* -- Queries -- */

const char *steps_refused(const struct steps *steps) {
    return steps->refused;
}

void steps_refuse(struct steps *steps, const char *format, ...) {
    if (steps->refused[0] == '\0') {
        va_list args;
        va_start(args, format);
        vsnprintf(steps->refused, sizeof steps->refused, format, args);
        va_end(args);
    }
}

const uint64_t *steps_taken(const struct steps *steps) {
    return steps->taken;
}

const struct steps_round *steps_round(const struct steps *steps, uint32_t round) {
    return &steps->rounds[round];
}

struct steps_value steps_at(const struct steps *steps, uint32_t node, uint32_t resource) {
    return steps->keys[node][resource].is;
}

/* -- Who may still rely on what -- */

static uint8_t *token_of(struct steps *steps, uint32_t token) {
    steps->tokens = grown(steps->tokens, &steps->token_room, token + 1, sizeof *steps->tokens);
    return &steps->tokens[token];
}

bool steps_is_gone(const struct steps *steps, uint32_t token) {
    return token < steps->token_room && steps->tokens[token] & GONE;
}

static bool is_pending(const struct steps *steps, uint32_t node, uint32_t round) {
    return steps->rounds[round].ends_ns[node] == UINT64_MAX;
}

static bool is_over(const struct steps *steps, uint32_t round, uint64_t ends_ns, uint64_t true_ns) {
    return steps->is_over(steps->owner, steps->rounds[round].client, ends_ns, true_ns);
}

bool steps_is_live(const struct steps *steps, uint32_t node, uint32_t round, uint64_t true_ns) {
    return !steps_is_gone(steps, steps->rounds[round].token) &&
           (is_pending(steps, node, round) ||
            !is_over(steps, round, steps->rounds[round].ends_ns[node], true_ns));
}

uint64_t steps_until(const struct steps *steps, uint32_t round) {
    const struct steps_round *r = &steps->rounds[round];
    uint64_t until_ns = UINT64_MAX;
    for (uint32_t n = 0; n < steps->nodes; n++) {
        bool first = r->counted >> n & 1 && r->ends_ns[n] < until_ns;
        until_ns = first ? r->ends_ns[n] : until_ns;
    }
    return until_ns;
}

static bool is_relied(const struct steps *steps, uint32_t round, uint64_t true_ns) {
    return !steps_is_gone(steps, steps->rounds[round].token) &&
           !is_over(steps, round, steps_until(steps, round), true_ns);
}

bool steps_writes(const struct steps_round *round) {
    return !round->reads && !round->lowered;
}

static bool are_rivals(const struct steps *steps, uint32_t a, uint32_t b) {
    const struct steps_round *one = &steps->rounds[a], *other = &steps->rounds[b];
    return one->token != other->token && (one->wants & other->wants) != 0 &&
           (steps_writes(one) || steps_writes(other));
}

bool steps_is_vacant(uint32_t value) {
    return value == STEPS_NOTHING || value == STEPS_RESERVED;
}

/* -- Clients -- */

static uint32_t round_add(struct steps *steps, const struct steps_round *round) {
    steps->rounds =
        grown(steps->rounds, &steps->round_room, steps->round_count + 1, sizeof *steps->rounds);
    steps->rounds[steps->round_count] = *round;
    return steps->round_count++;
}

/* The attempt of a token that was passed a key. */
static uint32_t passed_round(const struct steps *steps, uint32_t token) {
    uint32_t round = steps->round_count - 1;
    while (steps->rounds[round].token != token || !steps->rounds[round].attempt) {
        round--;
    }
    return round;
}

uint32_t steps_send(struct steps *steps, const struct steps_round *round) {
    steps->taken[SEND]++;
    uint8_t *token = token_of(steps, round->token);
    if (round->attempt && *token & ATTEMPTED) {
        steps_refuse(steps, "send: token %u is of another attempt", round->token);
    }
    *token |= round->attempt ? ATTEMPTED : 0;
    bool was_passed = round->attempt && *token & PASSED;
    uint32_t number = was_passed ? passed_round(steps, round->token) : round_add(steps, round);
    struct steps_round *r = &steps->rounds[number];
    const struct steps_round passed = *r;
    *r = *round;
    if (was_passed && passed.wants == round->wants) { /* else not to all of it */
        r->agreed = passed.agreed;
        r->forgot = passed.forgot;
    }
    for (uint32_t n = 0; n < steps->nodes; n++) {
        r->ends_ns[n] = r->agreed >> n & 1 ? UINT64_MAX : r->until_ns;
    }
    return number;
}

/* Checks that of two rivals' yeses the node had forgotten one when it said the other. */
static void look_at_doubts(struct steps *steps, uint32_t node, uint32_t round, uint64_t true_ns) {
    for (uint32_t i = 0; i < steps->doubt_count; i++) {
        const struct doubt *doubt = &steps->doubts[i];
        bool is_it = doubt->node == node && (doubt->round == round || doubt->forgotten == round);
        if (is_it && steps->rounds[doubt->round].counted >> node & 1 &&
            !is_pending(steps, node, doubt->forgotten) &&
            steps_is_live(steps, node, doubt->forgotten, true_ns)) {
            steps_refuse(steps, "count: n%u agreed to token %u and had forgotten token %u",
                         node + 1, steps->rounds[doubt->round].token,
                         steps->rounds[doubt->forgotten].token);
        }
    }
}

/* A pass counts: its keys have stood since they were passed. */
static void count_pass(struct steps *steps, uint32_t node, uint32_t round, uint64_t ends_ns,
                       uint64_t true_ns) {
    struct steps_round *r = &steps->rounds[round];
    r->ends_ns[node] = ends_ns;
    for (uint32_t x = 0; x < SIM_RESOURCES_MAX; x++) {
        struct key *key = &steps->keys[node][x];
        bool stands = key->is.value == r->token && key->is_passed;
        if (!(r->wants >> x & 1) || r->forgot >> node & 1) {
            continue;
        }
        if (stands) {
            steps_add(&key->lasts, round);
        } else if (steps_is_live(steps, node, round, true_ns)) {
            steps_refuse(steps, "count: n%u has not kept r%u, which it passed to token %u",
                         node + 1, x + 1, r->token);
        }
    }
}

void steps_count(struct steps *steps, uint32_t node, uint32_t round, uint64_t ends_ns,
                 uint64_t true_ns) {
    struct steps_round *r = &steps->rounds[round];
    steps->taken[COUNT]++;
    if (!(r->agreed >> node & 1) || (ends_ns == 0 && is_pending(steps, node, round))) {
        steps_refuse(steps, "count: n%u has not agreed to the round of token %u", node + 1,
                     r->token);
    }
    if (ends_ns != 0) {
        count_pass(steps, node, round, ends_ns, true_ns);
    }
    r->counted |= UINT32_C(1) << node;
    look_at_doubts(steps, node, round, true_ns);
}

static uint32_t bits(uint32_t mask) {
    uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
}

void steps_tell(struct steps *steps, uint32_t round, uint64_t true_ns) {
    struct steps_round *r = &steps->rounds[round];
    steps->taken[TELL]++;
    if (bits(r->counted) < steps->nodes / 2 + 1) {
        steps_refuse(steps, "tell: the round of token %u has %u votes", r->token, bits(r->counted));
    }
    r->told = true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steps->told.count; i++) {
        uint32_t other = steps->told.items[i];
        if (is_relied(steps, other, true_ns)) {
            steps->told.items[kept++] = other;
            if (are_rivals(steps, round, other) && is_relied(steps, round, true_ns)) {
                steps_refuse(steps, "tokens %u and %u are both relied on", r->token,
                             steps->rounds[other].token);
            }
        }
    }
    steps->told.count = kept;
    steps_add(&steps->told, round);
}

void steps_give_up(struct steps *steps, uint32_t token) {
    steps->taken[GIVE_UP] += !steps_is_gone(steps, token);
    *token_of(steps, token) |= GONE;
}

/* -- Nodes -- */

/* A yes that a client may count. */
void steps_agree(struct steps *steps, uint32_t node, uint32_t round, uint64_t true_ns) {
    struct steps_round *r = &steps->rounds[round];
    if (r->agreed >> node & 1 && !is_pending(steps, node, round)) {
        steps_refuse(steps, "n%u has agreed to the round of token %u before", node + 1, r->token);
    }
    r->agreed |= UINT32_C(1) << node;
    r->forgot &= ~(UINT32_C(1) << node);
    r->ends_ns[node] = r->until_ns;
    struct list *list = &steps->agreed[node];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t other = list->items[i];
        if (!steps_is_live(steps, node, other, true_ns)) {
            continue;
        }
        list->items[kept++] = other;
        if (steps->rounds[other].forgot >> node & 1 && are_rivals(steps, round, other)) {
            steps->doubts = grown(steps->doubts, &steps->doubt_room, steps->doubt_count + 1,
                                  sizeof *steps->doubts);
            steps->doubts[steps->doubt_count++] =
                (struct doubt){.node = node, .round = round, .forgotten = other};
            steps->taken[DOUBTS]++;
        }
    }
    list->count = kept;
    steps_add(list, round);
}

static bool was_counted(const struct steps *steps, uint32_t node, uint32_t round) {
    const struct steps_round *r = &steps->rounds[round];
    return r->attempt && steps->tokens[r->token] & PASSED && r->counted >> node & 1;
}

static const char *put_name(enum steps_put how) {
    return how == STEPS_SET ? "set" : how == STEPS_TAKE ? "take" : "extend";
}

/* Checks and applies the rule for one resource. */
static void put_one(struct steps *steps, enum steps_put how, uint32_t node, uint32_t round,
                    uint32_t token, uint32_t resource, uint64_t ends_ms, uint64_t least_ms) {
    struct key *key = &steps->keys[node][resource];
    bool is_own = key->is.value == token, counts = round != STEPS_UNCOUNTED;
    bool may = how == STEPS_EXTEND ? is_own
               : how == STEPS_TAKE ? is_own || steps_is_vacant(key->is.value)
                                   : key->is.value == STEPS_NOTHING || (is_own && !counts);
    const char *name = put_name(how);
    if (!may) {
        steps_refuse(steps, "%s: n%u says yes to token %u, and r%u has %u", name, node + 1, token,
                     resource + 1, key->is.value);
    }
    if (is_own && ends_ms < key->is.ends_ms) {
        steps_refuse(steps, "%s: n%u shortens r%u of token %u by %u ms", name, node + 1,
                     resource + 1, token, (unsigned)(key->is.ends_ms - ends_ms));
    }
    if (counts && ends_ms < least_ms) {
        steps_refuse(steps, "%s: n%u ends r%u of token %u %u ms early", name, node + 1,
                     resource + 1, token, (unsigned)(least_ms - ends_ms));
    }
    key->is = (struct steps_value){.value = token, .ends_ms = ends_ms};
    key->lasts.count = is_own ? key->lasts.count : 0;
    if (counts) {
        steps_add(&key->lasts, round);
    }
}

void steps_put(struct steps *steps, enum steps_put how, uint32_t node, uint32_t round,
               uint32_t token, uint32_t resources, const uint64_t ends_ms[SIM_RESOURCES_MAX],
               uint64_t least_ms, uint64_t true_ns) {
    static const uint8_t kinds[2][3] = {{SET_UNCOUNTED, TAKE_UNCOUNTED, EXTEND},
                                        {SET, TAKE, EXTEND}};
    if (how == STEPS_TAKE && round != STEPS_UNCOUNTED && was_counted(steps, node, round)) {
        round = STEPS_UNCOUNTED; /* counted already: the message of its pass was faster */
    }
    bool counts = round != STEPS_UNCOUNTED;
    steps->taken[kinds[counts][how]]++;
    if (counts && steps->rounds[round].attempt == (how == STEPS_EXTEND)) {
        steps_refuse(steps, "%s: of a round of another kind", put_name(how));
    }
    for (uint32_t x = 0; x < SIM_RESOURCES_MAX; x++) {
        if (resources >> x & 1) {
            put_one(steps, how, node, round, token, x, ends_ms[x], least_ms);
        }
    }
    if (counts) {
        steps_agree(steps, node, round, true_ns);
    }
}

void steps_becomes(struct key *key, struct steps_value now) {
    key->is = now;
    key->lasts.count = 0;
    key->lease_count = 0;
    key->is_passed = false;
}

/* The next token is written and its client notified: a yes, if it is counted. */
static void pass(struct steps *steps, uint32_t node, uint32_t token, uint32_t resource,
                 uint64_t true_ns) {
    uint8_t *flags = token_of(steps, token);
    const struct steps_round passed = {
        .token = token, .wants = UINT32_C(1) << resource, .attempt = true};
    uint32_t round =
        *flags & (ATTEMPTED | PASSED) ? passed_round(steps, token) : round_add(steps, &passed);
    const struct steps_round *r = &steps->rounds[round];
    *flags |= PASSED;
    if (r->wants == passed.wants && !steps_is_gone(steps, token) &&
        (!(r->agreed >> node & 1) || is_pending(steps, node, round))) {
        steps->taken[PASS]++;
        steps_agree(steps, node, round, true_ns);
        steps->rounds[round].ends_ns[node] = UINT64_MAX;
        steps->keys[node][resource].is_passed = true;
    }
}

void steps_leave(struct steps *steps, uint32_t node, uint32_t token, uint32_t resource,
                 struct steps_value left, bool passes, uint64_t true_ns) {
    struct key *key = &steps->keys[node][resource];
    bool is_own = token != 0 && key->is.value == token;
    steps->taken[is_own ? RELEASE : LINE]++;
    if (!is_own && !steps_is_vacant(key->is.value)) {
        steps_refuse(steps, "%s: n%u ends r%u of token %u", token != 0 ? "release" : "line",
                     node + 1, resource + 1, key->is.value);
    }
    if (is_own && !steps_is_gone(steps, token)) {
        steps_refuse(steps, "release: n%u ends r%u of token %u, which was not given up", node + 1,
                     resource + 1, token);
    }
    if (left.value == STEPS_SHARED) {
        steps_refuse(steps, "line: n%u lets readers in under r%u", node + 1, resource + 1);
    }
    steps_becomes(key, left);
    if (passes) {
        pass(steps, node, left.value, resource, true_ns);
    }
}

void steps_expire(struct steps *steps, uint32_t node, uint32_t resource, uint64_t true_ns) {
    struct key *key = &steps->keys[node][resource];
    steps->taken[EXPIRE]++;
    steps_leases_end(steps, node, resource, true_ns);
    for (uint32_t i = 0; i < key->lasts.count; i++) {
        if (steps_is_live(steps, node, key->lasts.items[i], true_ns)) {
            steps_refuse(steps, "expire: n%u ends r%u of token %u before its validity", node + 1,
                         resource + 1, key->is.value);
        }
    }
    steps_becomes(key, (struct steps_value){.value = STEPS_NOTHING});
}

void steps_restart(struct steps *steps, uint32_t node,
                   const struct steps_value found[SIM_RESOURCES_MAX]) {
    steps->taken[RESTART]++;
    for (uint32_t x = 0; x < SIM_RESOURCES_MAX; x++) {
        steps_becomes(&steps->keys[node][x], found[x]);
    }
    for (uint32_t i = 0; i < steps->agreed[node].count; i++) {
        steps->rounds[steps->agreed[node].items[i]].forgot |= UINT32_C(1) << node;
    }
}

void steps_foreign(struct steps *steps, uint32_t node, uint32_t resource, struct steps_value now) {
    struct key *key = &steps->keys[node][resource];
    if (key->lasts.count > 0) {
        steps_refuse(steps, "another library has r%u of token %u at n%u", resource + 1,
                     key->is.value, node + 1);
    }
    steps_becomes(key, now);
}

/* -- Counters -- */

static struct placed *placed_of(struct steps *steps, uint32_t token) {
    steps->placed = grown(steps->placed, &steps->placed_room, token + 1, sizeof *steps->placed);
    return &steps->placed[token];
}

void steps_counter(struct steps *steps, uint32_t node, uint32_t token, bool raises, uint64_t fence,
                   uint64_t before, uint64_t now) {
    steps->taken[raises ? RAISE : VOTE]++;
    if (raises && (before > fence || now != fence)) {
        steps_refuse(steps, "raise: n%u's counter was %llu and is %llu, the fence is %llu",
                     node + 1, (unsigned long long)before, (unsigned long long)now,
                     (unsigned long long)fence);
    } else if (!raises && (now <= before || now != fence)) {
        steps_refuse(steps, "vote: n%u's counter was %llu and is %llu, it votes %llu", node + 1,
                     (unsigned long long)before, (unsigned long long)now,
                     (unsigned long long)fence);
    }
    placed_of(steps, token)->at[node] = fence;
}

void steps_counter_passed(struct steps *steps, uint32_t node, uint32_t token, uint64_t before,
                          uint64_t now) {
    if (now <= before) {
        steps_refuse(steps, "vote: n%u's counter was %llu and is %llu, and it has token %u now",
                     node + 1, (unsigned long long)before, (unsigned long long)now, token);
    }
    placed_of(steps, token)->passed[node] = now;
}

void steps_fence(struct steps *steps, uint32_t token, uint64_t fence) {
    const struct placed *placed = placed_of(steps, token);
    uint32_t nodes = 0;
    for (uint32_t n = 0; n < steps->nodes; n++) {
        nodes += placed->at[n] == fence || placed->passed[n] == fence;
    }
    if (nodes < steps->nodes / 2 + 1) {
        steps_refuse(steps, "tell: the fence of token %u is placed on %u nodes", token, nodes);
    }
}
