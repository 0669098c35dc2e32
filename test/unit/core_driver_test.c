/* A step's requests, executed by a driver that records them: exhaustively over the nodes that are
 * up, silent, or cannot be sent to, for N = 1 to 5. */
#include "marks.h"
#include "unit/driver_scene.h"

/* A node that cannot be sent to has failed at once, with the driver's reason, and nothing waits for
 * it. */
static void fails_votes_that_cannot_be_sent(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= N_MAX; n++) {
        const uint32_t all = rl_all_nodes(n);
        for (uint32_t busy = 0; busy <= all; busy++) {
            struct scene s;
            begin(&s, n);
            s.busy = busy;
            acquire(&s);
            assert_int_equal(s.sent[RL_CALL_SET], all & ~busy);
            for (uint32_t i = 0; i < n; i++) {
                if (busy & BIT(i)) {
                    assert_int_equal(s.ballots[i].vote, RL_VOTE_FAILED);
                    assert_int_equal(s.ballots[i].reason, BUSY_REASON);
                }
            }
            bool open = n - count(busy) >= rl_quorum(n);
            assert_int_equal(s.lock.state, open ? RL_TRYING : RL_IDLE);
            assert_int_equal(s.results[RL_OP_ACQUIRE], open ? RL_RESULT_NONE : RL_RESULT_NO_QUORUM);
            assert_string_equal(s.order, open ? "dS" : "dSUa");
            assert_int_equal(s.pending_releases,
                             0); /* a SET that was not sent left nothing behind */
        }
    }
}

/* Releases are pending for exactly the nodes that may have the key and could not be reached, on
 * every way out. */
static void owes_where_the_key_may_be(void **state) {
    (void)state;
    static const enum rl_event_type ways[] = {RL_EV_RELEASE, RL_EV_ABANDON};
    for (uint32_t n = 1; n <= N_MAX; n++) {
        const uint32_t all = rl_all_nodes(n);
        for (uint32_t mix = 0; mix <= all; mix++) {
            for (uint32_t down = 0; down <= all && count(mix) >= rl_quorum(n); down++) {
                for (uint32_t busy = 0; busy <= all; busy++) {
                    for (size_t way = 0; way < COUNT(ways); way++) {
                        struct scene s;
                        hold(&s, n, mix);
                        s.up = all & ~down;
                        s.busy = busy;
                        feed_simple(&s, ways[way]);
                        assert_int_equal(s.sent[RL_CALL_RELEASE], s.up & ~busy);
                        assert_int_equal(s.pending_releases, mix & (down | busy));
                    }
                }
            }
        }
    }
}

/* At the very moment at which a vote would be given up, the node still counts as answering. */
static void leaves_out_the_silent(void **state) {
    (void)state;
    MARK_FROM(SILENT_LEFT_OUT);
    const uint64_t ages_ns[] = {0, TIMEOUT_NS - 1, TIMEOUT_NS, TIMEOUT_NS + 1, 20 * TIMEOUT_NS};
    for (uint32_t n = 1; n <= N_MAX; n++) {
        for (size_t age = 0; age < COUNT(ages_ns); age++) {
            for (uint32_t silent = 0; silent <= rl_all_nodes(n); silent++) {
                struct scene s;
                begin(&s, n);
                for (uint32_t i = 0; i < n; i++) {
                    s.oldest_ns[i] = silent & BIT(i) ? NOW_NS - ages_ns[age] : RL_NEVER;
                }
                uint32_t out = ages_ns[age] > TIMEOUT_NS ? silent : 0;
                acquire(&s);
                bool asks = n - count(out) >= rl_quorum(n);
                assert_int_equal(s.sent[RL_CALL_SET], asks ? rl_all_nodes(n) & ~out : 0);
                for (uint32_t i = 0; i < n; i++) {
                    bool is_out = out & BIT(i);
                    assert_int_equal(s.ballots[i].reason == TIMEOUT_REASON, is_out);
                }
            }
        }
    }
    MARK_TO(SILENT_LEFT_OUT);
}

/* Of nodes that are down or may not vote, some silent as well: each has the reason that is its. */
static void says_why_each_was_left_out(void **state) {
    (void)state;
    const uint32_t n = 4, all = rl_all_nodes(n);
    for (uint32_t mix = 0; mix < 1u << 3 * n; mix++) {
        const uint32_t up = mix & all, voters = mix >> n & all, silent = mix >> 2 * n;
        struct scene s;
        begin(&s, n);
        s.up = up;
        s.voters = voters;
        for (uint32_t i = 0; i < n; i++) {
            s.reasons[i] = (int16_t)(-100 - (int)i);
            s.oldest_ns[i] = silent & BIT(i) ? 0 : RL_NEVER;
        }
        acquire(&s);
        assert_int_equal(s.attempt_up, up & ~silent);
        assert_int_equal(s.attempt_voters, up & voters & ~silent);
        for (uint32_t i = 0; i < n; i++) {
            int16_t wanted = up & silent & BIT(i) ? TIMEOUT_REASON : s.reasons[i];
            if (!(s.attempt_voters & BIT(i))) {
                assert_int_equal(s.ballots[i].reason, wanted);
            }
        }
    }
}

static void knows_who_is_silent(void **state) {
    (void)state;
    const struct rl_rules rules = {.electorate = rl_electorate_of(3),
                                   .node_timeout_ns = TIMEOUT_NS};
    assert_false(rl_is_silent(&rules, RL_NEVER, UINT64_MAX - 1));
    assert_false(rl_is_silent(&rules, NOW_NS, NOW_NS));
    assert_false(rl_is_silent(&rules, NOW_NS, NOW_NS + TIMEOUT_NS));
    assert_true(rl_is_silent(&rules, NOW_NS, NOW_NS + TIMEOUT_NS + 1));
}

/* A release that a silent node cannot need is not sent: where the key may be it is, whatever the
 * node does. A vote of a release is a failed one then, as it would be by waiting. */
static void tells_the_silent_what_they_need(void **state) {
    (void)state;
    static const enum rl_event_type ways[] = {RL_EV_RELEASE, RL_EV_ABANDON};
    MARK_FROM(SILENT_NOT_TOLD);
    for (uint32_t n = 1; n <= N_MAX; n++) {
        const uint32_t all = rl_all_nodes(n);
        for (uint32_t keys = 0; keys <= all; keys++) {
            for (uint32_t silent = 0; silent <= all && count(keys) >= rl_quorum(n); silent++) {
                for (size_t way = 0; way < COUNT(ways); way++) {
                    struct scene s;
                    hold(&s, n, keys);
                    for (uint32_t i = 0; i < n; i++) {
                        s.oldest_ns[i] = silent & BIT(i) ? 0 : RL_NEVER;
                    }
                    feed_simple(&s, ways[way]);
                    assert_int_equal(s.sent[RL_CALL_RELEASE], all & ~(silent & ~keys));
                    assert_int_equal(s.pending_releases, 0);
                    for (uint32_t i = 0; i < n && ways[way] == RL_EV_RELEASE; i++) {
                        bool told = s.sent[RL_CALL_RELEASE] & BIT(i);
                        assert_int_equal(s.ballots[i].vote,
                                         told ? RL_VOTE_PENDING : RL_VOTE_FAILED);
                        assert_int_equal(s.ballots[i].reason, told ? 0 : TIMEOUT_REASON);
                    }
                }
            }
        }
    }
    MARK_TO(SILENT_NOT_TOLD);
}

/* The key may have come to be there by a SET that was not answered, or by a repair. */
static void tells_the_silent_of_repairs(void **state) {
    (void)state;
    struct scene s;
    hold(&s, 3, 3);
    s.oldest_ns[2] = 0;
    feed_simple(&s, RL_EV_EXTEND);
    answer(&s, 2, RL_CALL_EXTEND, RL_OUTCOME_NO);
    answer(&s, 0, RL_CALL_EXTEND, RL_OUTCOME_YES);
    answer(&s, 1, RL_CALL_EXTEND, RL_OUTCOME_YES);
    assert_int_equal(s.sent[RL_CALL_SET], 4);
    feed_simple(&s, RL_EV_RELEASE);
    assert_int_equal(s.sent[RL_CALL_RELEASE], 7);
    begin(&s, 3);
    acquire(&s);
    answer(&s, 0, RL_CALL_SET, RL_OUTCOME_NO);
    s.oldest_ns[0] = s.oldest_ns[2] = 0;
    answer(&s, 1, RL_CALL_SET, RL_OUTCOME_NO);
    assert_int_equal(s.sent[RL_CALL_RELEASE], 6); /* node 2 has not answered */
}

/* A conversion that cannot be sent has failed at once; in vain, what was sent is converted back, in
 * one step of the driver. */
static void converts_and_converts_back(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= N_MAX; n++) {
        const uint32_t all = rl_all_nodes(n);
        for (uint32_t busy = 0; busy <= all; busy++) {
            struct scene s;
            hold(&s, n, all);
            s.busy = busy;
            feed_simple(&s, RL_EV_UPGRADE);
            bool open = n - count(busy) >= rl_quorum(n);
            assert_int_equal(s.sent[RL_CALL_UPGRADE], all & ~busy);
            assert_int_equal(s.sent[RL_CALL_EXTEND], open ? 0 : all & ~busy);
            assert_string_equal(s.order, open ? "P" : "PXe");
            assert_int_equal(s.results[RL_OP_EXTEND], open ? RL_RESULT_NONE : RL_RESULT_UNKNOWN);
            for (uint32_t i = 0; i < n && open; i++) {
                answer(&s, i, RL_CALL_UPGRADE, RL_OUTCOME_YES);
            }
            assert_string_equal(s.order, open ? "Pe" : "PXe");
            assert_int_equal(s.results[RL_OP_EXTEND], open ? RL_RESULT_OK : RL_RESULT_UNKNOWN);
            assert_int_equal(s.lock.state, RL_HELD);
            assert_int_equal(s.pending_releases, 0);
        }
    }
}

/* An extension may still be answered in time; a release has to reach every node with a key. */
static void asks_the_silent_for_what_is_held(void **state) {
    (void)state;
    static const enum rl_event_type types[] = {RL_EV_EXTEND, RL_EV_UPGRADE, RL_EV_RELEASE,
                                               RL_EV_ABANDON};
    static const enum rl_call_kind kinds[] = {RL_CALL_EXTEND, RL_CALL_UPGRADE, RL_CALL_RELEASE,
                                              RL_CALL_RELEASE};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct scene s;
        hold(&s, 3, 7);
        s.oldest_ns[0] = s.oldest_ns[1] = s.oldest_ns[2] = 0;
        feed_simple(&s, types[i]);
        assert_int_equal(s.sent[kinds[i]], 7);
    }
}

static void needs_a_token(void **state) {
    (void)state;
    struct scene s;
    begin(&s, 3);
    s.is_without_randomness = true;
    acquire(&s);
    assert_string_equal(s.order, "dan");
    assert_int_equal(s.results[RL_OP_ACQUIRE], RL_RESULT_CANCELED);
    assert_int_equal(s.lock.state, RL_IDLE);
}

/* Releases and debts, then the ends of operations, then the loss. */
static void keeps_the_order(void **state) {
    (void)state;
    struct scene s;
    hold(&s, 3, 7);
    feed_simple(&s, RL_EV_EXTEND);
    s.up = 3;
    s.now_ns += 2000 * MS;
    feed_simple(&s, RL_EV_TICK);
    assert_string_equal(s.order, "XUoel");
    assert_int_equal(s.results[RL_OP_EXTEND], RL_RESULT_EXPIRED);
    assert_int_equal(s.lost, RL_RESULT_EXPIRED);
    forget(&s);
    feed_simple(&s, RL_EV_RELEASE);
    assert_string_equal(s.order, "r");
    assert_int_equal(s.results[RL_OP_RELEASE], RL_RESULT_LOST);
}

/* The watchdog's extension finds the key gone from one node, which is given it back. */
static void repairs_after_a_renewal(void **state) {
    (void)state;
    struct scene s;
    hold(&s, 3, 7);
    s.now_ns = s.lock.renew_ns;
    feed_simple(&s, RL_EV_TICK);
    assert_int_equal(s.sent[RL_CALL_EXTEND], 7);
    assert_false(answer(&s, 2, RL_CALL_EXTEND, RL_OUTCOME_NO));
    assert_false(answer(&s, 0, RL_CALL_EXTEND, RL_OUTCOME_YES));
    assert_false(answer(&s, 1, RL_CALL_EXTEND, RL_OUTCOME_YES));
    assert_string_equal(s.order, "XwS");
    assert_int_equal(s.renewed, RL_RESULT_OK);
    assert_int_equal(s.sent[RL_CALL_SET], 4);
    assert_true(answer(&s, 2, RL_CALL_EXTEND, RL_OUTCOME_YES)); /* it has voted already */
}

/* The last vote that cannot be sent ends an extension, and nothing is set or released for that. */
static void ends_an_extension_that_cannot_be_sent(void **state) {
    (void)state;
    struct scene s;
    hold(&s, 5, 31);
    s.busy = 7;
    feed_simple(&s, RL_EV_EXTEND);
    assert_string_equal(s.order, "Xe");
    assert_int_equal(s.results[RL_OP_EXTEND], RL_RESULT_UNKNOWN);
    assert_int_equal(s.lock.state, RL_HELD);
    assert_int_equal(s.steps, 4); /* the extension and three failed votes */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_votes_that_cannot_be_sent),
        cmocka_unit_test(owes_where_the_key_may_be),
        cmocka_unit_test(leaves_out_the_silent),
        cmocka_unit_test(says_why_each_was_left_out),
        cmocka_unit_test(knows_who_is_silent),
        cmocka_unit_test(tells_the_silent_what_they_need),
        cmocka_unit_test(tells_the_silent_of_repairs),
        cmocka_unit_test(converts_and_converts_back),
        cmocka_unit_test(asks_the_silent_for_what_is_held),
        cmocka_unit_test(needs_a_token),
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(repairs_after_a_renewal),
        cmocka_unit_test(ends_an_extension_that_cannot_be_sent),
    };
    return cmocka_run_group_tests_name("core_driver", tests, NULL, NULL);
}
