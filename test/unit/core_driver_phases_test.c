/* Attempts of more than one phase, done by a driver: a fence that is raised, and one node that is
 * asked before the others; over all nodes that cannot be sent to, or may not vote any more. */
#include "core/first.h"
#include "unit/driver_scene.h"

/* A raise that cannot be sent has failed at once; the keys are there, and are released or owed. */
static void raises_the_counters(void **state) {
    (void)state;
    for (uint32_t busy = 0; busy < 8; busy++) {
        struct scene s;
        begin(&s, 3);
        acquire_so(&s, 1, true, false);
        assert_int_equal(s.lock.fence.floor, WALL_US);
        answer(&s, 0, RL_SENT_SET, RL_OUTCOME_YES);
        s.busy = busy;
        answer(&s, 2, RL_SENT_SET, RL_OUTCOME_YES);
        assert_int_equal(s.sent[RL_SENT_RAISE], 7 & ~busy);
        assert_int_equal(s.refused[RL_SENT_RAISE], busy);
        assert_int_equal(s.lock.fence.floor, count(busy) < 2 ? 52 : 0);
        if (count(busy) < 2) {
            assert_int_equal(s.lock.state, RL_FENCING);
            assert_string_equal(s.order, "dSR");
            assert_false(answer(&s, busy == 1 ? 1 : 0, RL_SENT_RAISE, RL_OUTCOME_YES));
            assert_false(answer(&s, busy > 2 ? 1 : 2, RL_SENT_RAISE, RL_OUTCOME_YES));
            assert_string_equal(s.order, "dSRt");
        } else {
            assert_string_equal(s.order, "dSRUoa");
            assert_int_equal(s.results[RL_OP_ACQUIRE], RL_RESULT_NO_QUORUM);
            assert_int_equal(s.sent[RL_SENT_RELEASE] | s.owed, 7);
            assert_int_equal(s.owed, busy); /* the vote of node 1 is out, so it may have the key */
        }
    }
}

/* An attempt was refused; the next one asks one node, while some cannot be sent to. */
static void ask_one(struct scene *s, uint32_t n, uint32_t busy) {
    begin(s, n);
    acquire_so(s, 2, false, true);
    for (uint32_t i = 0; i < n && s->lock.state == RL_TRYING; i++) {
        answer(s, i, RL_SENT_SET, RL_OUTCOME_NO);
    }
    assert_int_equal(s->lock.state, RL_BACKOFF);
    s->now_ns = s->lock.retry_ns;
    s->busy = busy;
    forget(s);
    feed_simple(s, RL_EV_TICK);
}

static void goes_on_alone_where_it_cannot_send(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= N_MAX; n++) {
        for (uint32_t busy = 0; busy <= rl_all_nodes(n); busy++) {
            struct scene s;
            uint32_t left = rl_all_nodes(n), tried = 0, asked = 0;
            ask_one(&s, n, busy);
            while (asked == 0 && n - count(tried) >= rl_quorum(n)) {
                uint32_t first = BIT(rl_first_node(0, s.rules.node_hashes, left));
                asked = first & ~busy;
                tried |= first & busy;
                left &= ~first;
            }
            assert_int_equal(s.sent[RL_SENT_SET], asked);
            assert_int_equal(s.refused[RL_SENT_SET], tried);
            assert_int_equal(s.lock.may_hold, asked);
            assert_int_equal(s.lock.state, asked != 0 ? RL_TRYING : RL_IDLE);
            assert_int_equal(s.owed, 0);
        }
    }
}

/* The one has granted, and of the others some cannot be sent to, or may not vote any more. */
static void sends_to_the_others_in_a_second_phase(void **state) {
    (void)state;
    for (uint32_t mix = 0; mix < 32 * 32; mix++) {
        struct scene s;
        ask_one(&s, 5, 0);
        uint32_t first = s.sent[RL_SENT_SET], node = 0;
        uint32_t voters = mix >> 5, others = 31 & ~first & voters, busy = mix & others;
        while (BIT(node) != first) {
            node++;
        }
        s.busy = busy;
        s.voters = voters;
        answer(&s, node, RL_SENT_SET, RL_OUTCOME_YES);
        bool sends = 1 + count(others) >= 3, open = 1 + count(others & ~busy) >= 3;
        assert_int_equal(s.sent[RL_SENT_SET], first | (sends ? others & ~busy : 0));
        assert_int_equal(s.refused[RL_SENT_SET], sends ? busy : 0);
        assert_int_equal(s.lock.state, open ? RL_TRYING : RL_IDLE);
        assert_int_equal(s.lock.may_hold, open ? s.sent[RL_SENT_SET] : 0);
        assert_int_equal(s.owed, 0); /* nothing was set where it could not be sent */
        uint32_t told = 31 & ~(sends ? busy : others); /* those not asked have nothing of ours */
        assert_int_equal(s.sent[RL_SENT_RELEASE], open ? 0 : told);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raises_the_counters),
        cmocka_unit_test(goes_on_alone_where_it_cannot_send),
        cmocka_unit_test(sends_to_the_others_in_a_second_phase),
    };
    return cmocka_run_group_tests_name("core_driver_phases", tests, NULL, NULL);
}
