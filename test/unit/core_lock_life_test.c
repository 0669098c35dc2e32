/* Whole lives of a lock: acquired, extended, released, lost, cancelled, abandoned, acquired again,
 * in every order that lock.h allows, each round with every outcome of every vote, with time passing
 * to the next deadline at each point. Then the same at random, with more nodes, odd rules and votes
 * that come rounds too late. The checks after every step are in lock_ledger.h. */
#include "unit/lock_explore.h"

#define LIVES 4000 /* that are drawn */

/* -- Everything, with a bound on the rounds -- */

struct life {
    uint32_t n;
    uint32_t rounds_max;
    uint32_t n_ups;
    uint32_t ups[4]; /* the nodes that may be up when something ends or begins */
    bool may_vote;   /* of these, while all are up */
    struct rl_acquire wish;
    bool later;        /* it may take time until it is known what to ask the nodes for */
    uint32_t lease_ms; /* its keys are passed to it for so long; 0: it asks for them */
};

static uint64_t states_lived, life_number;
static uint64_t fences_lived[2];                      /* granted at once, and after a raise */
static uint64_t ends_lived[RL_RESULT_PERMITS + 1][5]; /* by result; acquired, extended, ... */

static void live(const struct world *w, const struct life *life);

/* The nodes that are up; sets those that may vote. */
static uint32_t nodes_of(struct world *w, const struct life *life, uint32_t nodes) {
    w->voters = life->may_vote ? nodes : UINT32_MAX;
    return life->may_vote ? world_all(w) : nodes;
}

static void note_ends(const struct world *w) {
    const struct rl_actions *x = &w->out;
    fences_lived[w->raised != 0] += x->acquired == RL_RESULT_OK && w->fence != 0;
    ends_lived[x->acquired][0]++;
    ends_lived[x->extended][1]++;
    ends_lived[x->released][2]++;
    ends_lived[x->lost][3]++;
    ends_lived[x->renewed][4]++;
}

/* Begins something, or ends it. */
static void live_event(const struct world *w, const struct life *life, enum rl_event_type type,
                       uint32_t nodes, uint32_t ttl_ms) {
    struct world next;
    uint64_t now_ns = w->lock.now_ns;
    world_copy(&next, w);
    uint32_t up = nodes_of(&next, life, nodes);
    next.lease_ms = life->lease_ms;
    next.early_ns = 3 * MS;
    next.awaited = 1;
    if (type == RL_EV_ACQUIRE) {
        world_acquire(&next, life->wish, now_ns);
    } else if (type == RL_EV_ATTEMPT) {
        world_attempt(&next, now_ns, up);
    } else if (type == RL_EV_ADOPT) {
        world_take_over(&next, life->wish, now_ns, up);
    } else if (type == RL_EV_EXTEND) {
        world_extend(&next, ttl_ms, now_ns, up);
    } else if (type == RL_EV_TICK) {
        world_tick(&next, up);
    } else {
        world_simple(&next, type, now_ns, up);
    }
    note_ends(&next);
    live(&next, life);
}

static bool has_a_point(const struct world *w, const struct life *life, enum rl_event_type type) {
    if (type == RL_EV_UPGRADE && life->n > 2) {
        return false; /* of more nodes in core_lock_upgrade_test.c, and at random, here */
    }
    bool begins_round = type == RL_EV_ACQUIRE || type == RL_EV_ATTEMPT || type == RL_EV_EXTEND ||
                        type == RL_EV_ADOPT || type == RL_EV_UPGRADE ||
                        (type == RL_EV_TICK && w->lock.state == RL_HELD &&
                         (w->lock.acquire.renew_ms || w->lock.is_leased));
    if (begins_round && w->lock.round.id >= life->rounds_max) {
        return false;
    }
    bool waits = type == RL_EV_TICK || type == RL_EV_READY || type == RL_EV_NONE;
    if (w->lock.state == RL_READY && waits && !life->later) {
        return false;
    }
    if (type == RL_EV_TICK) {
        return rl_lock_wake_ns(&w->lock) != RL_NEVER;
    }
    return type != RL_EV_VOTE && world_allows(w, type) &&
           (type != RL_EV_TELL || w->lock.state == RL_GRANTED);
}

static void live_vote(const struct world *w, const struct life *life, uint32_t node, enum answer a,
                      uint64_t counter) {
    for (uint32_t i = 0; i < life->n_ups; i++) {
        struct world next;
        world_copy(&next, w);
        uint32_t up = nodes_of(&next, life, life->ups[i]);
        next.counter = counter;
        world_vote_of(&next, w->lock.round.id, node, a, w->lock.now_ns, up);
        note_ends(&next);
        live(&next, life);
    }
}

static void live_votes(const struct world *w, const struct life *life) {
    bool counts = w->lock.acquire.fences && w->lock.state == RL_TRYING;
    for (uint32_t node = 0; node < life->n; node++) {
        enum answer last = world_is_passed(w, w->lock.round.id, node) ? GRANTS : BREAKS;
        for (enum answer a = GRANTS; a <= last && model_out(&w->model) >> node & 1; a++) {
            live_vote(w, life, node, a, 1);
            if (a == GRANTS && counts) {
                live_vote(w, life, node, a, 2);
            }
        }
    }
}

static void live(const struct world *w, const struct life *life) {
    static const uint32_t ttls_ms[] = {0, 40, 20000};
    if (world_seen(w, life_number)) {
        return;
    }
    states_lived++;
    live_votes(w, life);
    for (enum rl_event_type type = RL_EV_ACQUIRE; type < RL_EVENT_TYPES; type++) {
        for (uint32_t i = 0; i < life->n_ups && has_a_point(w, life, type); i++) {
            live_event(w, life, type, life->ups[i], 0);
            for (uint32_t j = 1; j < COUNT(ttls_ms) && type == RL_EV_EXTEND; j++) {
                live_event(w, life, type, life->ups[i], ttls_ms[j]);
            }
        }
    }
}

static void has_lived_with_fences(void) {
    assert_true(fences_lived[0] > 0);
    assert_true(fences_lived[1] > 0);
    memset(fences_lived, 0, sizeof fences_lived);
}

static void keeps_its_promises_in_every_life(void **state) {
    (void)state;
    const struct rl_acquire wish = {10000, 2, 5000, 50, 100, 1, 0, 0, false, false, 0};
    /* with a watchdog, a limit and a line */
    const struct rl_acquire kept = {3000, 2, 5000, 50, 100, 1, 1000, 4500, true, false, 0};
    const struct rl_acquire fenced = {3000, 2, 5000, 50, 100, 1, 1000, 0, false, true, 0};
    const struct life lives[] = {
        {1, 5, 2, {1, 0}, false, wish, false, 0},    {2, 4, 4, {3, 0, 1, 2}, false, wish, false, 0},
        {3, 4, 2, {7, 2}, false, wish, false, 0},    {1, 6, 2, {1, 0}, false, kept, false, 0},
        {2, 5, 2, {3, 1}, false, kept, false, 0},    {3, 4, 2, {7, 2}, false, kept, false, 0},
        {1, 6, 2, {1, 0}, true, fenced, false, 0},   {2, 4, 2, {3, 2}, false, fenced, false, 0},
        {3, 2, 1, {7}, true, fenced, false, 0},      {2, 4, 2, {3, 1}, true, wish, false, 0},
        {3, 2, 3, {7, 6, 1}, true, wish, false, 0},  {2, 2, 2, {3, 2}, false, kept, true, 0},
        {1, 5, 2, {1, 0}, false, wish, false, 400},  {2, 3, 2, {3, 1}, false, kept, false, 400},
        {2, 3, 2, {3, 2}, true, fenced, false, 400}, {3, 2, 2, {7, 2}, false, wish, false, 400},
    };
    for (size_t i = 0; i < COUNT(lives); i++) {
        struct world w;
        world_init(&w, usual_rules(lives[i].n));
        life_number = i;
        live(&w, &lives[i]);
    }
    /* each way to end has been lived through */
    static const enum rl_result acquired[] = {
        RL_RESULT_OK, RL_RESULT_HELD, RL_RESULT_NO_QUORUM, RL_RESULT_DEADLINE, RL_RESULT_CANCELED,
    };
    static const enum rl_result extended[] = {
        RL_RESULT_OK,      RL_RESULT_LOST,     RL_RESULT_UNKNOWN,
        RL_RESULT_EXPIRED, RL_RESULT_CANCELED, RL_RESULT_HELD,
    };
    static const enum rl_result released[] = {RL_RESULT_OK, RL_RESULT_LOST, RL_RESULT_NO_QUORUM,
                                              RL_RESULT_CANCELED};
    for (size_t i = 0; i < COUNT(acquired); i++) {
        assert_true(ends_lived[acquired[i]][0] > 0);
    }
    for (size_t i = 0; i < COUNT(extended); i++) {
        assert_true(ends_lived[extended[i]][1] > 0);
    }
    for (size_t i = 0; i < COUNT(released); i++) {
        assert_true(ends_lived[released[i]][2] > 0);
    }
    assert_true(ends_lived[RL_RESULT_EXPIRED][3] > 0);
    assert_true(ends_lived[RL_RESULT_LOST][3] > 0);
    assert_true(ends_lived[RL_RESULT_MAX_HOLD][3] > 0);
    assert_true(ends_lived[RL_RESULT_OK][4] > 0);
    assert_true(ends_lived[RL_RESULT_UNKNOWN][4] > 0);
    has_lived_with_fences();
}

/* -- At random -- */

#define REQUESTS_MAX 512u

static uint64_t passes_lived, leases_lived; /* keys that were passed; extended after that */

struct request {
    uint32_t round;
    uint32_t node;
};

struct walk {
    struct world world;
    uint64_t random;
    uint32_t up;
    uint32_t yes; /* of 16 answers so many grant */
    struct request requests[REQUESTS_MAX];
    uint32_t count;
};

static struct rl_rules random_rules(uint64_t *random) {
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 5, 3, 31};
    return (struct rl_rules){
        .n = sizes[random_below(random, COUNT(sizes))],
        .drift_ppm = random_below(random, 3) * 10000,
        .drift_ns = random_below(random, 3) * MS + random_below(random, 2),
        .node_timeout_ns = (1 + random_below(random, 300)) * MS,
        .lost_margin_ns = random_below(random, 3) * 20 * MS,
    };
}

static struct rl_acquire random_wish(uint64_t *random) {
    return (struct rl_acquire){
        .ttl_ms = 20 + random_below(random, 500),
        .tries = random_below(random, 2) ? 1 + random_below(random, 4) : RL_NO_LIMIT,
        .wait_ms = random_below(random, 2) ? 1 + random_below(random, 1000) : RL_NO_LIMIT,
        .delay_ms = random_below(random, 60),
        .jitter_ms = random_below(random, 60),
        .min_validity_ms = random_below(random, 4),
        .renew_ms = random_below(random, 2) ? 1 + random_below(random, 10) : 0,
        .max_hold_ms = random_below(random, 4) == 0 ? 5 + random_below(random, 2000) : 0,
        .waits = random_below(random, 2),
        .fences = random_below(random, 2),
    };
}

/* Each command is answered once at most, perhaps after the connection was lost and made anew. */
static void walk_note_requests(struct walk *walk) {
    const struct world *w = &walk->world;
    for (uint32_t node = 0; node < w->rules.n; node++) {
        if (w->out.send >> node & 1) {
            uint32_t i = walk->count < REQUESTS_MAX ? walk->count++
                                                    : random_below(&walk->random, REQUESTS_MAX);
            walk->requests[i] = (struct request){w->lock.round.id, node};
        }
    }
}

/* The oldest requests are the likeliest to be answered. */
static void walk_vote(struct walk *walk, uint64_t now_ns) {
    uint32_t range = random_below(&walk->random, walk->count) + 1;
    uint32_t i = random_below(&walk->random, range);
    struct request request = walk->requests[i];
    bool yes = random_below(&walk->random, 16) < walk->yes;
    enum answer answer = yes ? GRANTS : (enum answer)(1 + random_below(&walk->random, 3));
    walk->requests[i] = walk->requests[--walk->count];
    world_vote_of(&walk->world, request.round, request.node, answer, now_ns, walk->up);
}

static uint64_t walk_time(struct walk *walk) {
    const struct world *w = &walk->world;
    uint64_t moments[32];
    size_t n_moments = world_moments(w, moments);
    switch (random_below(&walk->random, 12)) {
        case 0:
            return moments[random_below(&walk->random, (uint32_t)n_moments)];
        case 1:
            return w->lock.now_ns + random_below(&walk->random, 100) * MS;
        default:
            return w->lock.now_ns + random_below(&walk->random, MS);
    }
}

/* A node tells of the key that it has passed, which it was not asked for. */
static bool walk_passed(struct walk *walk, uint64_t now_ns) {
    struct world *w = &walk->world;
    const uint32_t node = random_below(&walk->random, w->rules.n);
    const bool is_out = w->lock.state == RL_TRYING && model_out(&w->model) >> node & 1;
    if (!is_out || !world_is_passed(w, w->lock.round.id, node)) {
        return false;
    }
    w->early_ns = random_below(&walk->random, 30) * MS;
    if (random_below(&walk->random, 4) == 0) {
        world_ask(w, node, now_ns, walk->up);
    } else {
        world_vote_of(w, w->lock.round.id, node, GRANTS, now_ns, walk->up);
    }
    return true;
}

static void walk_event(struct walk *walk, enum rl_event_type type, uint64_t now_ns) {
    struct world *w = &walk->world;
    if (type == RL_EV_ACQUIRE) {
        world_acquire(w, random_wish(&walk->random), now_ns);
    } else if (type == RL_EV_ATTEMPT) {
        w->lease_ms =
            random_below(&walk->random, 3) == 0 ? 10 + random_below(&walk->random, 400) : 0;
        w->awaited = (uint32_t)random_next(&walk->random) & world_all(w);
        world_attempt(w, now_ns, walk->up);
    } else if (type == RL_EV_ADOPT) {
        world_take_over(w, random_wish(&walk->random), now_ns, walk->up);
    } else if (type == RL_EV_RELEASE && w->lock.state == RL_LOST &&
               random_below(&walk->random, 2) == 0) {
        world_release_token(w, now_ns, walk->up);
    } else if (type == RL_EV_EXTEND) {
        bool same = random_below(&walk->random, 2) == 0;
        world_extend(w, same ? 0 : 20 + random_below(&walk->random, 500), now_ns, walk->up);
    } else {
        world_simple(w, type, now_ns, walk->up);
    }
}

/* Typical behaviour of a driver and its user: a token is generated at once, a grant is reported
 * soon. */
static void walk_step(struct walk *walk) {
    struct world *w = &walk->world;
    const bool was_leased = w->lock.is_leased;
    uint64_t now_ns = walk_time(walk);
    enum rl_event_type type = (enum rl_event_type)random_below(&walk->random, RL_EVENT_TYPES);
    w->random = random_next(&walk->random);
    if (random_below(&walk->random, 20) == 0) {
        walk->up = (uint32_t)(random_next(&walk->random) | random_next(&walk->random));
        walk->up &= world_all(w);
    }
    if (random_below(&walk->random, 10) == 0) {
        w->voters = (uint32_t)(random_next(&walk->random) | random_next(&walk->random));
        w->voters = random_below(&walk->random, 2) ? w->voters : UINT32_MAX;
    }
    w->counter = 1 + random_below(&walk->random, 3);
    w->floor = 1 + random_next(&walk->random) / 2;
    if (w->lock.state == RL_READY && random_below(&walk->random, 8) != 0) {
        walk_event(walk, RL_EV_ATTEMPT, now_ns);
    } else if (w->lock.state == RL_GRANTED && random_below(&walk->random, 4) != 0) {
        walk_event(walk, RL_EV_TELL, now_ns);
    } else if (random_below(&walk->random, 2) == 0 && walk_passed(walk, now_ns)) {
        passes_lived++;
    } else if (walk->count > 0 && random_below(&walk->random, 3) != 0) {
        walk_vote(walk, now_ns);
    } else if (w->lock.state == RL_BACKOFF && random_below(&walk->random, 2) == 0) {
        world_tick(w, walk->up);
    } else if (w->lock.state == RL_IDLE && type == RL_EV_RELEASE) {
        world_release_token(w, now_ns, walk->up);
    } else if (type != RL_EV_VOTE && world_allows(w, type) &&
               (type != RL_EV_ABANDON || random_below(&walk->random, 4) == 0)) {
        walk_event(walk, type, now_ns);
    } else {
        return;
    }
    note_ends(w);
    leases_lived += was_leased && w->out.renewed == RL_RESULT_OK;
    walk_note_requests(walk);
}

static void keeps_its_promises_at_random(void **state) {
    (void)state;
    uint64_t random = random_seed();
    memset(ends_lived, 0, sizeof ends_lived);
    for (uint32_t run = 0; run < LIVES; run++) {
        struct walk walk = {.random = random_next(&random)};
        world_init(&walk.world, random_rules(&walk.random));
        walk.world.lock.round.id = walk.world.model.id = random_below(&random, 2) ? 0 : UINT32_MAX;
        walk.up = world_all(&walk.world);
        walk.yes = 4 + random_below(&walk.random, 13);
        for (uint32_t step = 0; step < 300; step++) {
            walk_step(&walk);
        }
    }
    for (enum rl_result result = RL_RESULT_OK; result <= RL_RESULT_CANCELED; result++) {
        assert_true(ends_lived[result][0] > 0);
    }
    assert_true(passes_lived > 1000 && leases_lived > 0);
    has_lived_with_fences();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_its_promises_at_random),
        cmocka_unit_test(keeps_its_promises_in_every_life),
    };
    return cmocka_run_group_tests_name("core_lock_life", tests, NULL, NULL);
}
