/* Attempts of more than one phase, done by a driver: a fence that is raised, over all nodes that
 * cannot be sent to. */
#include "unit/driver_scene.h"

/* A raise that cannot be sent has failed at once; the keys are there, and are released or owed. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raises_the_counters),
    };
    return cmocka_run_group_tests_name("core_driver_phases", tests, NULL, NULL);
}
