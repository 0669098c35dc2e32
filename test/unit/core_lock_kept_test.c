/* A lock that extends itself, and one with a maximum hold: figures worked out by hand. 10000 ms of
 * ttl are 9898 ms of validity; the watchdog extends after 3000 ms. */
#include "unit/lock_world.h"

#define VALID_NS (9898 * MS)

static struct rl_acquire kept(uint32_t max_hold_ms) {
    struct rl_acquire acquire = usual_acquire();
    acquire.renew_ms = 3000;
    acquire.max_hold_ms = max_hold_ms;
    return acquire;
}

/* Held since START_NS on three nodes. */
static void hold(struct world *w, uint32_t max_hold_ms, uint64_t margin_ns) {
    struct rl_rules rules = usual_rules(3);
    rules.lost_margin_ns = margin_ns;
    world_init(w, rules);
    w->random = 0;
    world_hold(w, kept(max_hold_ms), 7);
}

static void answer_all(struct world *w, enum answer answer, uint64_t now_ns) {
    world_vote(w, 0, answer, now_ns);
    world_vote(w, 1, answer, now_ns);
}

/* -- The watchdog -- */

static void extends_itself(void **state) {
    (void)state;
    struct world w;
    hold(&w, 0, 2 * MS);
    for (uint64_t at_ns = START_NS + 3000 * MS; at_ns < START_NS + 30000 * MS; at_ns += 3000 * MS) {
        assert_int_equal(rl_lock_wake_ns(&w.lock), at_ns);
        world_tick(&w, 7);
        assert_int_equal(w.out.send, 7);
        assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
        answer_all(&w, GRANTS, at_ns + 10 * MS);
        assert_int_equal(w.out.renewed, RL_RESULT_OK);
        assert_int_equal(w.out.extended, RL_RESULT_NONE); /* nobody had asked */
        assert_int_equal(w.lock.valid_until_ns, at_ns + VALID_NS);
    }
}

/* A pause is only for unknown outcomes: frequent renewals are on time, also after the grant. */
static void is_on_time(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire often = kept(0);
    often.renew_ms = 100;
    world_init(&w, usual_rules(3));
    w.random = 0;
    world_hold(&w, often, 7);
    for (uint64_t at_ns = START_NS + 100 * MS; at_ns < START_NS + 500 * MS; at_ns += 100 * MS) {
        assert_int_equal(rl_lock_wake_ns(&w.lock), at_ns);
        world_tick(&w, 7);
        answer_all(&w, GRANTS, at_ns + MS);
    }
}

/* Up to an eighth of its time earlier. */
static void is_spread_out(void **state) {
    (void)state;
    static const uint64_t randoms[] = {0, 1, 375 * MS, 375 * MS + 1};
    static const uint64_t early_ns[] = {0, 1, 375 * MS, 0};
    for (size_t i = 0; i < COUNT(randoms); i++) {
        struct world w;
        world_init(&w, usual_rules(3));
        w.random = randoms[i];
        world_hold(&w, kept(0), 7);
        assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 3000 * MS - early_ns[i]);
    }
}

/* An eighth of what is left later, not at once, and not later than it was due anyway. */
static void tries_again_when_the_outcome_is_unknown(void **state) {
    (void)state;
    struct world w;
    hold(&w, 0, 2 * MS);
    world_tick(&w, 7);
    answer_all(&w, BREAKS, START_NS + 3010 * MS);
    assert_int_equal(w.out.renewed, RL_RESULT_UNKNOWN);
    assert_int_equal(w.out.lost, RL_RESULT_NONE);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + (3010 + 6888 / 8) * MS);
    hold(&w, 0, 2 * MS);
    world_extend(&w, 0, START_NS + 1000 * MS, 7);
    answer_all(&w, BREAKS, START_NS + 1010 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(w.out.renewed, RL_RESULT_NONE);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 3000 * MS);
}

/* Its votes are waited for as long as a quarter of what is left, a caller's for the timeout. */
static void has_patience(void **state) {
    (void)state;
    struct world w;
    hold(&w, 0, 2 * MS);
    world_tick(&w, 7);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 3000 * MS + 6898 * MS / 4);
    hold(&w, 0, 2 * MS);
    world_extend(&w, 0, START_NS + 2999 * MS, 7);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 3249 * MS);
}

static void gives_way_to_the_caller(void **state) {
    (void)state;
    struct world w;
    hold(&w, 0, 2 * MS);
    world_tick(&w, 7);
    uint32_t round = w.lock.round.id;
    world_simple(&w, RL_EV_CANCEL, START_NS + 3001 * MS, 7); /* nobody's operation to cancel */
    assert_int_equal(w.lock.state, RL_EXTENDING);
    world_extend(&w, 20000, START_NS + 3002 * MS, 7);
    assert_int_equal(w.out.send, 7);
    assert_int_equal(w.out.extended, RL_RESULT_NONE);
    world_vote_of(&w, round, 0, GRANTS, START_NS + 3003 * MS, 7);
    assert_true(w.out.late);
    answer_all(&w, GRANTS, START_NS + 3004 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.out.renewed, RL_RESULT_NONE);
    assert_int_equal(w.lock.valid_until_ns, START_NS + (3002 + 19798) * MS);
}

/* If the watchdog's own extension finds the lock lost, the loss is reported. */
static void tells_a_loss_once(void **state) {
    (void)state;
    struct world w;
    hold(&w, 0, 2 * MS);
    world_tick(&w, 7);
    answer_all(&w, REFUSES, START_NS + 3010 * MS);
    assert_int_equal(w.out.lost, RL_RESULT_LOST);
    assert_int_equal(w.out.renewed, RL_RESULT_NONE);
    assert_int_equal(w.out.extended, RL_RESULT_NONE);
    hold(&w, 0, 2 * MS);
    world_tick(&w, 7);
    world_simple(&w, RL_EV_RELEASE, START_NS + 3010 * MS, 7);
    assert_int_equal(w.lock.state, RL_RELEASING);
    assert_int_equal(w.out.renewed, RL_RESULT_NONE);
    assert_int_equal(w.out.extended, RL_RESULT_NONE);
}

/* -- The limit -- */

static void ends_at_its_limit(void **state) {
    (void)state;
    struct world w;
    hold(&w, 12000, 2 * MS);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    world_tick(&w, 7);
    answer_all(&w, GRANTS, START_NS + 3010 * MS);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 12000 * MS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 11998 * MS); /* and no renewal before */
    world_tick(&w, 7);
    assert_int_equal(w.out.lost, RL_RESULT_MAX_HOLD);
    hold(&w, 5000, 2 * MS); /* less than one validity */
    assert_int_equal(w.lock.valid_until_ns, START_NS + 5000 * MS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 4998 * MS);
    hold(&w, 12000, 2 * MS);
    world_tick(&w, 7);
    world_simple(&w, RL_EV_TICK, START_NS + VALID_NS, 7); /* no node answered */
    assert_int_equal(w.out.lost, RL_RESULT_EXPIRED);
}

/* A loss is reported early by at most half of the remaining validity. No extension delays that. */
static void is_told_in_time_at_its_limit(void **state) {
    (void)state;
    struct world w;
    hold(&w, 12000, 60000 * MS);
    world_tick(&w, 7);
    answer_all(&w, GRANTS, START_NS + 3010 * MS);
    uint64_t told_ns = START_NS + 12000 * MS - 8990 * MS / 2;
    assert_int_equal(rl_lock_wake_ns(&w.lock), told_ns);
    world_extend(&w, 0, START_NS + 5000 * MS, 7);
    answer_all(&w, GRANTS, START_NS + 5010 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 12000 * MS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), told_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extends_itself),
        cmocka_unit_test(is_on_time),
        cmocka_unit_test(is_spread_out),
        cmocka_unit_test(tries_again_when_the_outcome_is_unknown),
        cmocka_unit_test(has_patience),
        cmocka_unit_test(gives_way_to_the_caller),
        cmocka_unit_test(tells_a_loss_once),
        cmocka_unit_test(ends_at_its_limit),
        cmocka_unit_test(is_told_in_time_at_its_limit),
    };
    return cmocka_run_group_tests_name("core_lock_kept", tests, NULL, NULL);
}
