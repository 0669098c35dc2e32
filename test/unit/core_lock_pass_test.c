/* A lock whose keys are passed to it by the former holder: the attempt, and the hold until it has
 * extended them. 10000 ms of ttl are 9898 ms of validity, 1000 ms of a lease 988. */
#include "unit/lock_explore.h"

#define VALID_NS (9898 * MS)

/* -- The attempt -- */

/* Its keys are passed to it, some of them long before it hears of that. */
static void ends_as_it_must_when_it_is_passed(void **state) {
    (void)state;
    struct exploration exploration = {.probes = true, .salt = 5000};
    static const struct rl_acquire wishes[] = {
        /* ttl, tries, wait, delay, jitter, min_validity */
        {10000, 1, RL_NO_LIMIT, 50, 100, 1, 0, 0, false, false, 0},
        {10000, 2, 1000, 50, 100, 1, 0, 0, false, true, 0},
        {10000, RL_NO_LIMIT, 200, 50, 100, 0, 0, 0, false, false, 0},
        {60, 2, RL_NO_LIMIT, 0, 0, 20, 0, 0, false, false, 0}, /* less than the lease */
    };
    static const uint64_t early_ns[] = {0, 5 * MS, 300 * MS};
    for (size_t i = 0; i < COUNT(wishes); i++) {
        for (size_t j = 0; j < COUNT(early_ns); j++) {
            for (uint32_t n = 1; n <= 3; n++) {
                struct world w;
                world_init(&w, usual_rules(n));
                w.lines = i % 2;
                w.lease_ms = 200;
                w.early_ns = early_ns[j];
                w.awaited = j % 2;
                world_acquire(&w, wishes[i], START_NS);
                world_attempt(&w, START_NS, world_all(&w));
                exploration.salt++;
                world_explore(&w, &exploration);
            }
        }
    }
    assert_true(exploration.states > 1000);
}

/* A key that is passed counts from when it was written, for as long as it lives: 1000 ms less 12 ms
 * of drift. One that is asked for counts from the attempt on. */
static void is_valid_from_the_first_key_that_was_passed(void **state) {
    (void)state;
    static const struct {
        uint64_t early_ns[2]; /* of nodes 0 and 2; 0: it is asked */
        uint64_t wanted_ns;   /* from the attempt on */
    } rows[] = {
        {{7 * MS, 2 * MS}, 981 * MS},
        {{2 * MS, 7 * MS}, 981 * MS},
        {{7 * MS, 0}, 981 * MS},
        {{0, 0}, 988 * MS},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        world_init(&w, usual_rules(3));
        w.lease_ms = 1000;
        world_acquire(&w, usual_acquire(), START_NS);
        world_attempt(&w, START_NS, 7);
        assert_int_equal(w.out.send, 0);
        assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 20 * MS);
        uint32_t asked = 2;
        for (uint32_t j = 0; j < 2; j++) {
            w.early_ns = rows[i].early_ns[j];
            asked |= w.early_ns == 0 ? 1u << 2 * j : 0;
            if (w.early_ns != 0) {
                world_vote(&w, 2 * j, GRANTS, START_NS);
            }
        }
        for (uint32_t j = 0; j < 2 && asked != 2; j++) {
            if (w.lock.collect_ns != RL_NEVER) {
                world_tick(&w, 7);
                assert_int_equal(w.out.send, asked);
                assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 270 * MS);
            }
            if (rows[i].early_ns[j] == 0) {
                world_vote(&w, 2 * j, GRANTS, START_NS + 25 * MS);
            }
        }
        assert_true(w.out.tell);
        assert_int_equal(w.lock.valid_until_ns, START_NS + rows[i].wanted_ns);
    }
}

/* Whose word is worth a moment: 1 ms once it has won without, and no longer than any other. */
static void waits_a_moment_for_one(void **state) {
    (void)state;
    for (uint32_t how = 0; how < 4; how++) {
        struct world w;
        world_init(&w, usual_rules(5));
        w.lease_ms = 1000;
        w.awaited = 16;
        world_acquire(&w, usual_acquire(), START_NS);
        world_attempt(&w, START_NS, 31);
        for (uint32_t node = 0; node < 3; node++) {
            world_vote(&w, node, GRANTS, START_NS + 10 * MS);
        }
        assert_int_equal(w.lock.state, RL_TRYING);
        assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 11 * MS);
        if (how == 0) {
            world_vote(&w, 4, GRANTS, START_NS + 10 * MS);
        } else if (how == 1) {
            world_vote(&w, 3, GRANTS, START_NS + 10 * MS); /* of another */
            assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 11 * MS);
            world_tick(&w, 31);
            assert_int_equal(w.out.send, 0);
        } else if (how == 2) {
            world_ask(&w, 4, START_NS + 10 * MS, 31);
            assert_int_equal(w.out.send, 16);
            world_vote(&w, 4, BREAKS, START_NS + 10 * MS);
        } else {
            world_ask(&w, 3, START_NS + 10 * MS, 31);
            world_ask(&w, 3, START_NS + 10 * MS, 31);
            assert_int_equal(w.out.send, 0); /* once */
            world_tick(&w, 31);
        }
        assert_true(w.out.tell);
    }
}

/* It is won at the deadline, but for the fence, for which there is no time left. */
static void raises_nothing_when_the_time_is_over(void **state) {
    (void)state;
    struct rl_acquire acquire = usual_acquire();
    struct world w;
    acquire.fences = true;
    acquire.wait_ms = 10;
    world_init(&w, usual_rules(3));
    w.lease_ms = 1000;
    w.awaited = 4;
    world_acquire(&w, acquire, START_NS);
    world_attempt(&w, START_NS, 7);
    world_vote(&w, 0, GRANTS, START_NS + 10 * MS - 1);
    w.counter++;
    world_vote(&w, 1, GRANTS, START_NS + 10 * MS - 1);
    assert_int_equal(w.lock.state, RL_TRYING);
    world_simple(&w, RL_EV_TICK, START_NS + 10 * MS, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_DEADLINE);
    assert_int_equal(w.out.send, 0);
    assert_int_equal(w.out.release, 7);
}

/* The process resumes when the attempt can no longer be won: no node is asked. */
static void asks_for_nothing_that_is_over(void **state) {
    (void)state;
    struct rl_acquire acquire = usual_acquire();
    struct world w;
    acquire.wait_ms = RL_NO_LIMIT;
    world_init(&w, usual_rules(3));
    w.lease_ms = 1000;
    world_acquire(&w, acquire, START_NS);
    world_attempt(&w, START_NS, 7);
    world_vote(&w, 0, GRANTS, START_NS);
    world_simple(&w, RL_EV_TICK, START_NS + 988 * MS, 7);
    assert_int_equal(w.out.send, 0);
    assert_int_equal(w.out.release, 7);
    assert_int_equal(w.lock.state, RL_BACKOFF);
}

static void answer_all(struct world *w, enum answer answer, uint64_t now_ns) {
    world_vote(w, 0, answer, now_ns);
    world_vote(w, 1, answer, now_ns);
}

/* -- Held by keys that live for a short time, which others have chosen -- */

/* Held since START_NS by keys that live for 1000 ms: 988 ms of validity. */
static void hold_passed_until(struct world *w, struct rl_acquire acquire, uint64_t until_ns) {
    world_init(w, usual_rules(3));
    w->random = 0;
    w->lease_ms = 1000;
    w->early_ns = 0;
    world_acquire(w, acquire, START_NS);
    world_attempt(w, START_NS, 7);
    world_vote(w, 0, GRANTS, START_NS);
    world_vote(w, 1, GRANTS, START_NS);
    world_simple(w, RL_EV_TELL, START_NS + 4 * MS, 7);
    assert_int_equal(w->lock.valid_until_ns, until_ns);
}

static void hold_passed(struct world *w, struct rl_acquire acquire) {
    hold_passed_until(w, acquire, START_NS + 988 * MS);
}

/* After 50 ms, or a third of it if that is less, to the ttl that was asked for; then as if nothing
 * had been. */
static void is_soon_extended_when_it_was_passed(void **state) {
    (void)state;
    struct rl_acquire renewed = usual_acquire();
    renewed.renew_ms = 3000;
    const struct rl_acquire acquires[] = {usual_acquire(), renewed};
    for (size_t i = 0; i < COUNT(acquires); i++) {
        struct world w;
        hold_passed(&w, acquires[i]);
        const uint64_t at_ns = START_NS + 54 * MS;
        assert_int_equal(rl_lock_wake_ns(&w.lock), at_ns);
        world_tick(&w, 7);
        assert_int_equal(w.out.send, 7);
        assert_int_equal(w.lock.ttl_ms, 10000);
        answer_all(&w, GRANTS, at_ns + MS);
        assert_int_equal(w.out.renewed, RL_RESULT_OK);
        assert_int_equal(w.lock.valid_until_ns, at_ns + VALID_NS);
        const uint64_t next_ns = i == 0 ? at_ns + VALID_NS - 2 * MS : at_ns + 3000 * MS;
        assert_int_equal(rl_lock_wake_ns(&w.lock), next_ns);
    }
}

/* An eighth of what is left later, until it is known. A caller's extension is as good. */
static void is_extended_until_it_is_known(void **state) {
    (void)state;
    struct world w;
    hold_passed(&w, usual_acquire());
    world_tick(&w, 7);
    const uint64_t at_ns = w.lock.now_ns;
    answer_all(&w, BREAKS, at_ns);
    assert_int_equal(w.out.renewed, RL_RESULT_UNKNOWN);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 988 * MS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), at_ns + (988 - 54) * MS / 8);
    world_extend(&w, 5000, at_ns + MS, 7);
    answer_all(&w, GRANTS, at_ns + 2 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(rl_lock_wake_ns(&w.lock), at_ns + MS + 4948 * MS - 2 * MS);
}

/* Up to its limit, and no further. */
static void is_not_extended_at_its_limit_when_it_was_passed(void **state) {
    (void)state;
    struct rl_acquire acquire = usual_acquire();
    struct world w;
    acquire.max_hold_ms = 500;
    hold_passed_until(&w, acquire, START_NS + 500 * MS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 498 * MS);
}

/* Disowning leaves keys with the requested ttl: sent once more, and nothing waits for it. */
static void lives_as_long_as_was_asked_when_it_is_disowned(void **state) {
    (void)state;
    for (uint32_t up = 0; up < 8; up++) {
        struct world w;
        hold_passed(&w, usual_acquire());
        world_simple(&w, RL_EV_DISOWN, START_NS + 10 * MS, up);
        assert_int_equal(w.out.send, up);
        assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
        assert_int_equal(w.lock.ttl_ms, 10000);
        assert_int_equal(w.out.release | w.out.owe, 0);
        assert_int_equal(w.lock.state, RL_IDLE);
        assert_int_equal(rl_lock_wake_ns(&w.lock), RL_NEVER);
        world_vote(&w, 0, REFUSES, START_NS + 20 * MS);
        assert_true(w.out.late && w.out.repair == 0);
        hold_passed(&w, usual_acquire());
        world_tick(&w, 7);
        answer_all(&w, GRANTS, w.lock.now_ns);
        world_simple(&w, RL_EV_DISOWN, w.lock.now_ns, up);
        assert_int_equal(w.out.send, 0); /* they do already */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_as_it_must_when_it_is_passed),
        cmocka_unit_test(is_valid_from_the_first_key_that_was_passed),
        cmocka_unit_test(waits_a_moment_for_one),
        cmocka_unit_test(raises_nothing_when_the_time_is_over),
        cmocka_unit_test(asks_for_nothing_that_is_over),
        cmocka_unit_test(is_soon_extended_when_it_was_passed),
        cmocka_unit_test(is_extended_until_it_is_known),
        cmocka_unit_test(is_not_extended_at_its_limit_when_it_was_passed),
        cmocka_unit_test(lives_as_long_as_was_asked_when_it_is_disowned),
    };
    return cmocka_run_group_tests_name("core_lock_pass", tests, NULL, NULL);
}
