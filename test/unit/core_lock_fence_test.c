/* Acquiring with a fence: every outcome in every order, with counters that agree and that do not;
 * then the cases that a reader would ask about. */
#include "marks.h"
#include "unit/lock_explore.h"

#define VALID_NS (9898 * MS) /* of the usual ttl, from the first SET on */

static struct rl_acquire fenced(void) {
    struct rl_acquire acquire = usual_acquire();
    acquire.fences = true;
    return acquire;
}

/* -- Everything -- */

static void explore_fenced(uint32_t n, struct rl_acquire wish, uint32_t voters,
                           struct exploration *exploration) {
    struct world w;
    world_init(&w, usual_rules(n));
    w.voters = voters;
    world_acquire(&w, wish, START_NS);
    exploration->salt++;
    world_attempt(&w, START_NS, world_all(&w));
    world_explore(&w, exploration);
}

static void ends_as_it_must_in_every_order(void **state) {
    (void)state;
    struct exploration exploration = {.probes = true, .counters = 3};
    struct rl_acquire brief = fenced(); /* its validity ends within a node's timeout */
    brief.ttl_ms = 60;
    brief.min_validity_ms = 20;
    for (uint32_t n = 1; n <= 3; n++) {
        for (uint32_t voters = 1; voters < 1u << n; voters++) {
            explore_fenced(n, fenced(), voters, &exploration);
            explore_fenced(n, brief, voters, &exploration);
        }
    }
    exploration.probes = false;
    explore_fenced(4, fenced(), 15, &exploration);
    exploration.counters = 2;
    explore_fenced(5, fenced(), 23, &exploration);
    assert_true(exploration.states > 20000);
}

/* -- One case each -- */

/* With the counters of node 0, 1, ...; 0: it does not answer. */
static void attempt_with(struct world *w, uint32_t n, struct rl_acquire wish,
                         const uint64_t *counters) {
    world_init(w, usual_rules(n));
    world_acquire(w, wish, START_NS);
    world_attempt(w, START_NS, world_all(w));
    for (uint32_t node = 0; node < n; node++) {
        if (counters[node] != 0) {
            w->counter = counters[node];
            world_vote(w, node, GRANTS, START_NS + (node + 1) * MS);
        }
    }
}

static void is_granted_at_once_if_a_majority_agrees(void **state) {
    (void)state;
    static const struct {
        uint32_t n;
        uint64_t counters[5];
        bool at_once;
    } rows[] = {
        {1, {9}, true},        {2, {9, 9}, true},           {2, {9, 8}, false},
        {3, {9, 9}, true},     {3, {9, 0, 8}, false},       {3, {0, 9, 9}, true},
        {4, {9, 9, 9}, true},  {4, {9, 9, 8}, false},       {5, {9, 9, 9, 8, 7}, true},
        {5, {9, 9, 8}, false}, {5, {0, 8, 8, 9, 0}, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        attempt_with(&w, rows[i].n, fenced(), rows[i].counters);
        assert_int_equal(w.lock.state, rows[i].at_once ? RL_GRANTED : RL_FENCING);
        assert_int_equal(rl_lock_fence(&w.lock), 0); /* the user does not know yet */
        if (rows[i].at_once) {
            world_simple(&w, RL_EV_TELL, START_NS + 9 * MS, world_all(&w));
            assert_int_equal(rl_lock_fence(&w.lock), 9);
            assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
        }
    }
}

static void raises_the_counters_that_differ(void **state) {
    (void)state;
    MARK_FROM(FENCE_RAISED);
    struct world w;
    attempt_with(&w, 5, fenced(), (const uint64_t[]){9, 7, 8, 0, 0});
    assert_int_equal(w.lock.state, RL_FENCING);
    assert_int_equal(w.lock.round.kind, RL_ROUND_FENCE);
    assert_int_equal(w.out.send, 31); /* a SET that is still out may be run before the raise */
    assert_int_equal(w.lock.fence.floor, 9);
    assert_int_equal(w.out.release | w.out.owe, 0);
    assert_int_equal(w.lock.may_hold, 31);
    w.counter = 50; /* that SET's answer, which comes too late to be counted */
    world_vote_of(&w, w.set_round, 3, GRANTS, START_NS + 4 * MS, 31);
    assert_true(w.out.late);
    world_vote(&w, 3, REFUSES, START_NS + 5 * MS); /* so there the fence cannot be put in place */
    world_vote(&w, 4, REFUSES, START_NS + 5 * MS);
    world_vote(&w, 1, GRANTS, START_NS + 5 * MS);
    world_vote(&w, 0, GRANTS, START_NS + 6 * MS);
    assert_int_equal(w.lock.state, RL_FENCING);
    world_vote(&w, 2, GRANTS, START_NS + 90 * MS);
    assert_true(w.out.tell);
    world_simple(&w, RL_EV_TELL, START_NS + 91 * MS, 31);
    assert_int_equal(rl_lock_fence(&w.lock), 9);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS); /* not from the raise on */
    assert_int_equal(w.lock.may_hold, 31); /* a refused raise says nothing of the key */
    MARK_TO(FENCE_RAISED);
}

/* Nodes that may not vote have not granted, but a slow one of them may have the token. */
static void raises_on_all_that_are_up(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    world_acquire(&w, fenced(), START_NS);
    world_attempt(&w, START_NS, 7);
    world_vote(&w, 0, GRANTS, START_NS + MS);
    w.counter = 8;
    w.voters = 1;
    world_vote_of(&w, w.set_round, 1, GRANTS, START_NS + 2 * MS, 6);
    assert_int_equal(w.out.send, 6);
    assert_int_equal(rl_round_mask(&w.lock.round, RL_VOTE_FAILED), 1);
    assert_int_equal(w.ballots[0].reason, -40);
}

static void says_why_a_raise_failed(void **state) {
    (void)state;
    static const struct {
        const char *votes; /* to the raise */
        enum rl_result wanted;
    } rows[] = {
        {"nn", RL_RESULT_EXPIRED}, /* the keys are gone, or the counters are larger */
        {"yyn", RL_RESULT_OK},       {"yn", RL_RESULT_NONE},       {"en", RL_RESULT_EXPIRED},
        {"el", RL_RESULT_NO_QUORUM}, {"yel", RL_RESULT_NO_QUORUM},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        struct rl_acquire once = fenced();
        once.tries = 1;
        attempt_with(&w, 3, once, (const uint64_t[]){9, 8, 0});
        for (uint32_t node = 0; rows[i].votes[node] != '\0' && w.lock.state == RL_FENCING; node++) {
            enum answer answer = (enum answer)(strchr("ynel", rows[i].votes[node]) - "ynel");
            world_vote(&w, node, answer, START_NS + 5 * MS);
        }
        if (w.lock.state == RL_GRANTED) {
            world_simple(&w, RL_EV_TELL, START_NS + 6 * MS, 7);
        }
        assert_int_equal(w.out.acquired, rows[i].wanted);
        if (rows[i].wanted != RL_RESULT_OK && rows[i].wanted != RL_RESULT_NONE) {
            assert_int_equal(w.out.release, 7);
            assert_int_equal(rl_lock_fence(&w.lock), 0);
        }
    }
}

static void raises_nothing_that_cannot_win(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire once = fenced();
    once.tries = 1;
    world_init(&w, usual_rules(3));
    world_acquire(&w, once, START_NS);
    world_attempt(&w, START_NS, 7);
    world_vote(&w, 0, GRANTS, START_NS + MS);
    w.counter = 8;
    world_vote_of(&w, w.set_round, 1, GRANTS, START_NS + 2 * MS, 2);
    assert_int_equal(w.out.acquired, RL_RESULT_NO_QUORUM);
    assert_int_equal(w.out.send, 0);
    assert_int_equal(w.out.release, 2);
    assert_int_equal(w.out.owe, 5);
}

/* Votes that no timer has given up in time, and raises. */
static void raises_nothing_that_is_over(void **state) {
    (void)state;
    for (uint64_t left_ns = 0; left_ns < 2; left_ns++) {
        struct world w;
        struct rl_acquire once = fenced();
        once.tries = 1;
        once.wait_ms = RL_NO_LIMIT;
        attempt_with(&w, 3, once, (const uint64_t[]){9, 0, 0});
        w.counter = 8;
        world_vote(&w, 1, GRANTS, START_NS + VALID_NS - left_ns);
        assert_int_equal(w.lock.state, left_ns == 0 ? RL_IDLE : RL_FENCING);
        assert_int_equal(w.out.acquired, left_ns == 0 ? RL_RESULT_EXPIRED : RL_RESULT_NONE);
        assert_int_equal(w.out.release, left_ns == 0 ? 7 : 0);
        if (left_ns > 0) { /* nor is it waited for for longer than that */
            assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + VALID_NS);
            world_tick(&w, 7);
            assert_int_equal(w.out.acquired, RL_RESULT_NO_QUORUM);
        }
    }
}

static void waits_for_a_raise_as_for_any_vote(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire wish = fenced();
    attempt_with(&w, 3, wish, (const uint64_t[]){9, 8, 0});
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 252 * MS);
    wish.wait_ms = 100;
    attempt_with(&w, 3, wish, (const uint64_t[]){9, 8, 0});
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 100 * MS);
    world_tick(&w, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_DEADLINE);
    assert_int_equal(w.out.release, 7);
}

/* -- How long it is known -- */

static void hold_fenced(struct world *w) {
    attempt_with(w, 3, fenced(), (const uint64_t[]){9, 9, 0});
    world_simple(w, RL_EV_TELL, START_NS + 3 * MS, 7);
    assert_int_equal(rl_lock_fence(&w->lock), 9);
}

static void is_kept_until_the_next_acquire(void **state) {
    (void)state;
    static const enum rl_event_type ends[] = {RL_EV_RELEASE, RL_EV_TICK, RL_EV_ABANDON,
                                              RL_EV_DISOWN};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct world w;
        hold_fenced(&w);
        world_simple(&w, ends[i], ends[i] == RL_EV_TICK ? w.lock.lost_at_ns : START_NS + 4 * MS, 7);
        if (w.lock.state == RL_RELEASING) {
            world_tick(&w, 7);
        }
        assert_int_equal(rl_lock_fence(&w.lock), 9);
        world_acquire(&w, usual_acquire(), w.lock.now_ns);
        assert_int_equal(rl_lock_fence(&w.lock), 0);
        world_attempt(&w, w.lock.now_ns, 7);
        world_vote(&w, 0, GRANTS, w.lock.now_ns);
        world_vote(&w, 1, GRANTS, w.lock.now_ns);
        world_simple(&w, RL_EV_TELL, w.lock.now_ns, 7);
        assert_int_equal(w.lock.state, RL_HELD); /* a lock without a fence this time */
        assert_int_equal(rl_lock_fence(&w.lock), 0);
    }
}

static void is_not_known_after_an_acquire_that_failed(void **state) {
    (void)state;
    static const enum rl_lock_state from[] = {RL_READY, RL_TRYING, RL_FENCING, RL_BACKOFF,
                                              RL_GRANTED};
    for (size_t i = 0; i < COUNT(from); i++) {
        struct world w;
        hold_fenced(&w);
        world_tick(&w, 7);
        world_acquire(&w, fenced(), w.lock.now_ns);
        if (from[i] != RL_READY) {
            world_attempt(&w, w.lock.now_ns, 7);
            world_vote(&w, 0, from[i] == RL_BACKOFF ? REFUSES : GRANTS, w.lock.now_ns);
        }
        if (from[i] > RL_TRYING) {
            w.counter += from[i] == RL_FENCING;
            world_vote(&w, 1, from[i] == RL_BACKOFF ? REFUSES : GRANTS, w.lock.now_ns);
        }
        assert_int_equal(w.lock.state, from[i]);
        assert_int_equal(rl_lock_fence(&w.lock), 0);
        world_simple(&w, RL_EV_CANCEL, w.lock.now_ns, 7);
        assert_int_equal(w.out.acquired, RL_RESULT_CANCELED);
        assert_int_equal(rl_lock_fence(&w.lock), 0);
    }
}

/* An adopting lock does not know it: the nodes are asked for an extension, which returns no
 * counter. */
static void is_not_known_after_an_adoption(void **state) {
    (void)state;
    struct world w;
    hold_fenced(&w);
    world_tick(&w, 7);
    world_take_over(&w, fenced(), w.lock.now_ns, 7);
    world_vote(&w, 0, GRANTS, w.lock.now_ns);
    world_vote(&w, 1, GRANTS, w.lock.now_ns);
    world_simple(&w, RL_EV_TELL, w.lock.now_ns, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_OK);
    assert_int_equal(rl_lock_fence(&w.lock), 0);
    assert_int_equal(w.lock.fence.floor, 0);
}

/* An extension leaves it as it is, and a node that is given the key back is given the fence. */
static void goes_with_a_repair(void **state) {
    (void)state;
    struct world w;
    hold_fenced(&w);
    world_extend(&w, 0, START_NS + 5 * MS, 7);
    world_vote(&w, 2, REFUSES, START_NS + 6 * MS);
    world_vote(&w, 0, GRANTS, START_NS + 6 * MS);
    world_vote(&w, 1, GRANTS, START_NS + 6 * MS);
    assert_int_equal(w.out.repair, 4);
    assert_int_equal(w.lock.fence.floor, 9);
    assert_int_equal(rl_lock_fence(&w.lock), 9);
}

static void a_set_carries_the_clock(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    for (uint32_t with = 0; with < 2; with++) {
        struct rl_acquire wish = usual_acquire();
        wish.fences = with;
        w.floor = UINT64_C(1753000000000000);
        world_acquire(&w, wish, START_NS);
        world_attempt(&w, START_NS, 7);
        assert_int_equal(w.lock.fence.floor, with ? w.floor : 0);
        world_simple(&w, RL_EV_CANCEL, START_NS, 7);
    }
    w.floor = 0;
    world_acquire(&w, fenced(), START_NS);
    world_attempt(&w, START_NS, 7);
    assert_int_equal(w.lock.fence.floor, 1); /* 0 would mean that no fence is wanted */
    world_simple(&w, RL_EV_CANCEL, START_NS, 7);
    w.floor = UINT64_MAX; /* a clock out of its mind leaves room to count */
    world_acquire(&w, fenced(), START_NS);
    world_attempt(&w, START_NS, 7);
    assert_true(w.lock.fence.floor == RL_FENCE_FLOOR_MAX);
}

/* The floor is the time at which the token was generated. A process that is stopped after that has
 * used up that much of its validity, or all of it, whatever the nodes say. */
static void is_valid_from_before_its_floor(void **state) {
    static const uint64_t stops_ms[] = {0, 500, 20000};
    (void)state;
    for (size_t i = 0; i < COUNT(stops_ms); i++) {
        struct rl_rules rules = usual_rules(1);
        struct rl_ballot ballots[1];
        struct rl_lock lock;
        struct rl_actions out;
        const int16_t reasons[1] = {0};
        struct rl_event event = {
            .type = RL_EV_ACQUIRE, .now_ns = START_NS, .up = 1, .voters = 1, .reasons = reasons};
        rl_lock_init(&lock, &rules, ballots, TIMEOUT_REASON);
        event.u.acquire = usual_acquire();
        event.u.acquire.fences = true;
        rl_lock_step(&lock, &event, &out);
        assert_true(out.generate_token);
        event.type = RL_EV_ATTEMPT;
        event.since_ns = START_NS;
        event.now_ns = START_NS + stops_ms[i] * MS;
        event.u.token = "0123456789012345678901234567890123456789";
        rl_lock_step(&lock, &event, &out);
        if (stops_ms[i] > usual_acquire().ttl_ms) {
            assert_int_equal(out.send | out.release | out.owe, 0);
            assert_int_equal(out.acquired, RL_RESULT_DEADLINE); /* else again, with a new token */
            continue;
        }
        assert_int_equal(out.send, 1);
        event.type = RL_EV_VOTE;
        event.u.vote =
            (struct rl_ballot_in){.round = lock.round.id, .vote = RL_VOTE_GRANTED, .counter = 1};
        rl_lock_step(&lock, &event, &out);
        assert_true(out.tell);
        assert_int_equal(lock.valid_until_ns, START_NS + rl_validity_ns(&rules, 10000));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_as_it_must_in_every_order),
        cmocka_unit_test(is_granted_at_once_if_a_majority_agrees),
        cmocka_unit_test(raises_the_counters_that_differ),
        cmocka_unit_test(raises_on_all_that_are_up),
        cmocka_unit_test(says_why_a_raise_failed),
        cmocka_unit_test(raises_nothing_that_cannot_win),
        cmocka_unit_test(raises_nothing_that_is_over),
        cmocka_unit_test(waits_for_a_raise_as_for_any_vote),
        cmocka_unit_test(is_kept_until_the_next_acquire),
        cmocka_unit_test(is_not_known_after_an_acquire_that_failed),
        cmocka_unit_test(is_not_known_after_an_adoption),
        cmocka_unit_test(goes_with_a_repair),
        cmocka_unit_test(a_set_carries_the_clock),
        cmocka_unit_test(is_valid_from_before_its_floor),
    };
    return cmocka_run_group_tests_name("core_lock_fence", tests, NULL, NULL);
}
