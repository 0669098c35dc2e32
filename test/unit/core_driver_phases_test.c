/* Attempts of more than one phase, done by a driver: a fence that is raised, over all nodes that
 * cannot be sent to. */
#include "unit/driver_scene.h"

/* A raise that cannot be sent has failed at once; the keys exist, and their releases are sent or
 * pending. */
static void raises_the_counters(void **state) {
    (void)state;
    for (uint32_t busy = 0; busy < 8; busy++) {
        struct scene s;
        begin(&s, 3);
        acquire_so(&s, 1, true);
        assert_int_equal(s.lock.fence.floor, WALL_US);
        answer(&s, 0, RL_CALL_SET, RL_OUTCOME_YES);
        s.busy = busy;
        answer(&s, 2, RL_CALL_SET, RL_OUTCOME_YES);
        assert_int_equal(s.sent[RL_CALL_RAISE], 7 & ~busy);
        assert_int_equal(s.refused[RL_CALL_RAISE], busy);
        assert_int_equal(s.lock.fence.floor, count(busy) < 2 ? 52 : 0);
        if (count(busy) < 2) {
            assert_int_equal(s.lock.state, RL_FENCING);
            assert_string_equal(s.order, "dSR");
            assert_false(answer(&s, busy == 1 ? 1 : 0, RL_CALL_RAISE, RL_OUTCOME_YES));
            assert_false(answer(&s, busy > 2 ? 1 : 2, RL_CALL_RAISE, RL_OUTCOME_YES));
            assert_string_equal(s.order, "dSRt");
        } else {
            assert_string_equal(s.order, "dSRUoa");
            assert_int_equal(s.results[RL_OP_ACQUIRE], RL_RESULT_NO_QUORUM);
            assert_int_equal(s.sent[RL_CALL_RELEASE] | s.pending_releases, 7);
            assert_int_equal(s.pending_releases,
                             busy); /* the vote of node 1 is out, so it may have the key */
        }
    }
}

/* It is asked for a token until it has one. The place is for the attempt: it takes keys with it. */
static void asks_later(void **state) {
    (void)state;
    struct scene s;
    begin(&s, 3);
    s.is_late = true;
    s.place = 5;
    acquire(&s);
    assert_int_equal(s.lock.state, RL_READY);
    assert_string_equal(s.order, "d");
    s.now_ns += TIMEOUT_NS;
    feed_simple(&s, RL_EV_TICK);
    assert_int_equal(s.lock.state, RL_READY);
    s.is_late = false;
    forget(&s);
    feed_simple(&s, RL_EV_READY);
    assert_int_equal(s.lock.state, RL_TRYING);
    assert_int_equal(s.lock.set_ns, s.now_ns);
    assert_int_equal(s.lock.place, 5);
    assert_int_equal(s.sent[RL_CALL_TAKE], 7);
    assert_string_equal(s.order, "dT");
}

/* What it is passed it does not ask for; what is missing after a while it does. */
static void asks_for_what_is_not_passed(void **state) {
    (void)state;
    struct scene s;
    begin(&s, 3);
    s.place = 5;
    s.lease_ms = 400;
    acquire(&s);
    assert_string_equal(s.order, "d");
    assert_int_equal(s.lock.state, RL_TRYING);
    answer(&s, 1, RL_CALL_TAKE, RL_OUTCOME_YES);
    s.now_ns = rl_lock_wake_ns(&s.lock);
    assert_int_equal(s.now_ns, NOW_NS + TIMEOUT_NS / 4);
    s.busy = 1;
    feed_simple(&s, RL_EV_TICK);
    assert_int_equal(s.sent[RL_CALL_TAKE], 4);
    assert_int_equal(s.refused[RL_CALL_TAKE], 1);
    assert_int_equal(s.lock.ttl_ms, 400);
    answer(&s, 2, RL_CALL_TAKE, RL_OUTCOME_YES);
    assert_string_equal(s.order, "dTt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raises_the_counters),
        cmocka_unit_test(asks_later),
        cmocka_unit_test(asks_for_what_is_not_passed),
    };
    return cmocka_run_group_tests_name("core_driver_phases", tests, NULL, NULL);
}
