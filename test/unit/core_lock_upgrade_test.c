/* A reader becomes the writer: 8 in core/lock.h. Every outcome in every order first, then the cases
 * that a reader would ask about.
 *
 * Happy path: a majority converts, and the hold is the writer's.
 *
 * Failure modes: others read, or too few nodes answer: what has been converted is converted back by
 * an extension, whose end is the upgrade's. It is cancelled, or the hold ends meanwhile.
 */
#include "marks.h"
#include "unit/upgrade_scene.h"

/* Held by three nodes since START_NS. */
static void hold(struct world *w) {
    world_init(w, usual_rules(3));
    world_hold(w, usual_acquire(), 7);
}

static bool is_upgrading(const struct world *w) {
    return w->lock.state == RL_EXTENDING && w->lock.round.kind == RL_ROUND_UPGRADE;
}

/* -- Everything -- */

static struct exploration upgrading = {.probes = true, .salt = 2};

static void ends_as_it_must_in_every_order(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 5; n++) {
        struct world w;
        upgrading.probes = n <= 3;
        world_init(&w, usual_rules(n));
        world_hold(&w, usual_acquire(), world_all(&w));
        upgrade_it(&w, &upgrading);
    }
    assert_true(upgrading.states > 3000);
}

/* -- Won -- */

static void is_won_by_a_majority(void **state) {
    (void)state;
    struct world w;
    hold(&w);
    upgrade(&w, START_NS + 100 * MS, 7);
    assert_int_equal(w.out.send, 7);
    assert_int_equal(w.lock.round.kind, RL_ROUND_UPGRADE);
    assert_int_equal(w.lock.ttl_ms, 10000);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 350 * MS);
    world_vote(&w, 2, REFUSES, START_NS + 101 * MS);
    world_vote(&w, 0, GRANTS, START_NS + 102 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_NONE);
    world_vote(&w, 1, GRANTS, START_NS + 103 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.out.send | w.out.repair, 0); /* a node that refuses has it, for a reader */
    assert_int_equal(w.lock.valid_until_ns, START_NS + 100 * MS + VALID_NS);
    assert_int_equal(w.lock.state, RL_HELD);
}

/* That a reader is valid for longer rests on nodes that need not be those of the upgrade: two of
 * three had promised so long, and the third, which converts, had not. */
static void is_asked_for_all_of_the_validity(void **state) {
    (void)state;
    struct world w;
    hold(&w);
    world_extend(&w, 60000, START_NS + 10 * MS, 3);
    votes(&w, "yy", START_NS + 11 * MS);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 10 * MS + LONG_NS);
    upgrade(&w, START_NS + 100 * MS, 7);
    assert_int_equal(w.lock.ttl_ms, 60000);
    world_vote(&w, 1, GRANTS, START_NS + 101 * MS);
    world_vote(&w, 2, GRANTS, START_NS + 101 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 100 * MS + LONG_NS);
    assert_int_equal(w.lock.life_ms, 60000);
}

static void is_held_for_no_longer_than_is_allowed(void **state) {
    (void)state;
    struct rl_acquire acquire = usual_acquire();
    struct world w;
    acquire.max_hold_ms = 5000;
    world_init(&w, usual_rules(3));
    world_hold(&w, acquire, 7);
    const uint64_t lost_ns = w.lock.lost_at_ns;
    upgrade(&w, START_NS + 100 * MS, 7);
    votes(&w, "yy", START_NS + 101 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 5000 * MS);
    assert_int_equal(w.lock.lost_at_ns, lost_ns);
}

/* -- Votes that do not count -- */

/* A node that forgot another reader would convert, and should not: it is not asked. One that may
 * vote no more since it was is not counted. */
static void counts_no_yes_of_who_may_not_vote(void **state) {
    (void)state;
    struct world w;
    MARK_FROM(YES_NOT_COUNTED);
    hold(&w);
    w.voters = 3;
    upgrade(&w, START_NS + 100 * MS, 7);
    assert_int_equal(w.out.send, 3);
    assert_int_equal(w.ballots[2].reason, -42); /* why it may not vote */
    hold(&w);
    upgrade(&w, START_NS + 100 * MS, 7);
    assert_int_equal(w.out.send, 7);
    w.voters = 3;
    world_vote(&w, 2, GRANTS, START_NS + 101 * MS);
    assert_int_equal(w.ballots[2].reason, -42);
    world_vote(&w, 0, GRANTS, START_NS + 102 * MS);
    assert_true(is_upgrading(&w));
    world_vote(&w, 1, REFUSES, START_NS + 103 * MS);
    assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
    votes(&w, "yy", START_NS + 104 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_HELD);
    MARK_TO(YES_NOT_COUNTED);
}

static void counts_a_server_once(void **state) {
    (void)state;
    static const uint32_t duplicates[3] = {2, 1, 0};
    MARK_FROM(TWIN_NOT_COUNTED);
    for (uint32_t first = 0; first < 2; first++) {
        struct world w;
        struct rl_actions out;
        hold(&w);
        upgrade(&w, START_NS + 100 * MS, 7);
        for (uint32_t i = 0; i < 2; i++) { /* the model knows nothing of twins */
            struct rl_event e = world_event(&w, RL_EV_VOTE, START_NS + 101 * MS, 7);
            e.duplicates = duplicates;
            e.u.vote = (struct rl_ballot_in){.round = w.lock.round.id,
                                             .node = i == 0 ? first : 1 - first,
                                             .vote = RL_VOTE_GRANTED};
            rl_lock_step(&w.lock, &e, &out);
        }
        assert_int_equal(out.extended, RL_RESULT_NONE);
        assert_true(is_upgrading(&w));
        assert_int_equal(w.lock.round.granted, 1);
        assert_int_equal(w.lock.round.failed, 1);
    }
    MARK_TO(TWIN_NOT_COUNTED);
}

/* After a second one was begun: node 0 may have been converted back since. */
static void counts_no_vote_of_an_earlier_upgrade(void **state) {
    (void)state;
    struct world w;
    hold(&w);
    upgrade(&w, START_NS + 10 * MS, 7);
    const uint32_t first = w.lock.round.id;
    world_simple(&w, RL_EV_CANCEL, START_NS + 20 * MS, 7);
    const uint32_t back = w.lock.round.id;
    upgrade(&w, START_NS + 30 * MS, 7);
    for (uint32_t node = 0; node < 3; node++) {
        world_vote_of(&w, first, node, GRANTS, START_NS + 40 * MS, 7);
        assert_true(w.out.late);
        world_vote_of(&w, back, node, GRANTS, START_NS + 40 * MS, 7);
        assert_true(w.out.late);
    }
    assert_true(is_upgrading(&w));
}

/* -- In vain -- */

/* It ends with the extension that converts back, and then reports its result. */
static void is_converted_back(void **state) {
    (void)state;
    static const struct {
        const char *upgrade, *back;
        enum rl_result wanted, lost;
    } rows[] = {
        {"nn", "yy", RL_RESULT_HELD, RL_RESULT_NONE},
        {"ynn", "yy", RL_RESULT_HELD, RL_RESULT_NONE},
        {"yln", "yy", RL_RESULT_HELD, RL_RESULT_NONE},
        {"nn", "ll", RL_RESULT_HELD, RL_RESULT_NONE}, /* it stays the writer's here and there */
        {"el", "yy", RL_RESULT_UNKNOWN, RL_RESULT_NONE},
        {"yll", "yly", RL_RESULT_UNKNOWN, RL_RESULT_NONE},
        {"ll", "ll", RL_RESULT_UNKNOWN, RL_RESULT_NONE},
        {"nn", "nn", RL_RESULT_LOST, RL_RESULT_LOST}, /* no reader either any more */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        hold(&w);
        upgrade(&w, START_NS + 100 * MS, 7);
        votes(&w, rows[i].upgrade, START_NS + 101 * MS);
        assert_int_equal(w.out.extended, RL_RESULT_NONE);
        assert_int_equal(w.out.send, 7);
        assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
        assert_int_equal(w.lock.ttl_ms, 10000);
        assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
        votes(&w, rows[i].back, START_NS + 102 * MS);
        assert_int_equal(w.out.extended, rows[i].wanted);
        assert_int_equal(w.out.lost, rows[i].lost);
        assert_int_equal(w.out.renewed, RL_RESULT_NONE);
        const bool prolonged = strncmp(rows[i].back, "y", 1) == 0;
        if (rows[i].lost == RL_RESULT_NONE) {
            assert_int_equal(w.lock.valid_until_ns, START_NS + prolonged * 101 * MS + VALID_NS);
        }
    }
}

/* No node answers, neither to the upgrade nor to the extension. */
static void is_given_up_by_the_clock(void **state) {
    (void)state;
    struct world w;
    hold(&w);
    upgrade(&w, START_NS + 100 * MS, 7);
    world_tick(&w, 7);
    assert_int_equal(w.lock.now_ns, START_NS + 350 * MS);
    assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
    assert_int_equal(w.out.extended, RL_RESULT_NONE);
    world_tick(&w, 7);
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    assert_int_equal(w.lock.state, RL_HELD);
}

/* The usual ttl would be less than the reader has: it is given back for as long as it has been. */
static void is_not_converted_back_by_shortening_it(void **state) {
    (void)state;
    static const enum rl_event_type ends[] = {RL_EV_VOTE, RL_EV_CANCEL};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct world w;
        hold(&w);
        world_extend(&w, 60000, START_NS + 10 * MS, 7);
        votes(&w, "yy", START_NS + 11 * MS);
        upgrade(&w, START_NS + 100 * MS, 7);
        if (ends[i] == RL_EV_VOTE) {
            votes(&w, "nn", START_NS + 101 * MS);
            assert_int_equal(w.out.extended, RL_RESULT_NONE);
        } else {
            world_simple(&w, RL_EV_CANCEL, START_NS + 101 * MS, 7);
            assert_int_equal(w.out.extended, RL_RESULT_CANCELED);
        }
        assert_int_equal(w.out.send, 7);
        assert_int_equal(w.lock.ttl_ms, 60000);
        assert_int_equal(w.lock.valid_until_ns, START_NS + 10 * MS + LONG_NS);
        votes(&w, "yy", START_NS + 102 * MS);
        assert_int_equal(w.lock.state, RL_HELD);
        assert_int_equal(w.lock.valid_until_ns, START_NS + 101 * MS + LONG_NS);
    }
}

/* Nothing is converted that cannot be won. */
static void asks_no_nodes_that_are_too_few(void **state) {
    (void)state;
    static const uint32_t ups[] = {0, 1, 4};
    for (size_t i = 0; i < COUNT(ups); i++) {
        struct world w;
        hold(&w);
        upgrade(&w, START_NS + 100 * MS, ups[i]);
        assert_int_equal(w.out.send, 0);
        assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
        assert_int_equal(w.lock.state, RL_HELD);
        assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
        for (uint32_t node = 0; node < 3; node++) {
            const int16_t reason =
                (int16_t)(ups[i] >> node & 1 ? NOT_ASKED_REASON : -40 - (int)node);
            assert_int_equal(w.ballots[node].vote, RL_VOTE_FAILED);
            assert_int_equal(w.ballots[node].reason, reason);
        }
        upgrade(&w, START_NS + 200 * MS, 7); /* as good as new */
        votes(&w, "yy", START_NS + 201 * MS);
        assert_int_equal(w.out.extended, RL_RESULT_OK);
    }
}

/* -- Ended while it is pending -- */

/* No caller waits for the extension that converts back then: it is the watchdog's, whether there is
 * one or not. */
static void is_cancelled(void **state) {
    (void)state;
    struct world w;
    hold(&w);
    upgrade(&w, START_NS + 100 * MS, 7);
    world_vote(&w, 0, GRANTS, START_NS + 101 * MS);
    world_simple(&w, RL_EV_CANCEL, START_NS + 102 * MS, 7);
    assert_int_equal(w.out.extended, RL_RESULT_CANCELED);
    assert_int_equal(w.out.send, 7);
    assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
    assert_true(w.lock.renews);
    struct world again;
    world_copy(&again, &w); /* a user's extension or upgrade does not wait for it */
    upgrade(&again, START_NS + 103 * MS, 7);
    assert_int_equal(again.out.extended | again.out.renewed, RL_RESULT_NONE);
    votes(&again, "yy", START_NS + 104 * MS);
    assert_int_equal(again.out.extended, RL_RESULT_OK);
    votes(&w, "yy", START_NS + 104 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_NONE);
    assert_int_equal(w.out.renewed, RL_RESULT_OK);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 102 * MS + VALID_NS);
}

/* Also while it is converted back, which goes on nowhere then. */
static void is_cancelled_in_vain(void **state) {
    (void)state;
    struct world w;
    hold(&w);
    upgrade(&w, START_NS + 100 * MS, 7);
    votes(&w, "nn", START_NS + 101 * MS);
    world_simple(&w, RL_EV_CANCEL, START_NS + 102 * MS, 7);
    assert_int_equal(w.out.extended, RL_RESULT_CANCELED);
    assert_int_equal(w.out.send, 0);
    assert_int_equal(w.lock.state, RL_HELD);
    world_extend(&w, 0, START_NS + 103 * MS, 7);
    votes(&w, "yy", START_NS + 104 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK); /* what came of the upgrade is forgotten */
}

static void ends_with_the_hold(void **state) {
    (void)state;
    static const enum rl_event_type ends[] = {RL_EV_RELEASE, RL_EV_ABANDON, RL_EV_DISOWN,
                                              RL_EV_TICK};
    for (size_t i = 0; i < 2 * COUNT(ends); i++) {
        const enum rl_event_type end = ends[i / 2];
        struct rl_rules rules = usual_rules(3);
        struct world w;
        rules.node_timeout_ns = 20000 * MS;
        world_init(&w, rules);
        world_hold(&w, usual_acquire(), 7);
        upgrade(&w, START_NS + 100 * MS, 7);
        if (i % 2 == 0) {
            world_vote(&w, 0, GRANTS, START_NS + 101 * MS);
        } else { /* in vain already */
            votes(&w, "nn", START_NS + 101 * MS);
        }
        const uint32_t round = w.lock.round.id;
        world_simple(&w, end, end == RL_EV_TICK ? w.lock.lost_at_ns : START_NS + 102 * MS, 7);
        const bool expired = end == RL_EV_TICK, kept = end == RL_EV_DISOWN;
        assert_int_equal(w.out.extended, expired ? RL_RESULT_EXPIRED : RL_RESULT_CANCELED);
        assert_int_equal(w.out.lost, expired ? RL_RESULT_EXPIRED : RL_RESULT_NONE);
        assert_int_equal(w.out.release | w.out.send, kept ? 0 : 7);
        assert_true(w.out.send == 0 || w.lock.round.kind == RL_ROUND_RELEASE);
        world_vote_of(&w, round, 1, GRANTS, w.lock.now_ns + MS, 7);
        world_vote_of(&w, round, 2, GRANTS, w.lock.now_ns + MS, 7);
        assert_int_equal(w.out.extended, RL_RESULT_NONE);
        assert_int_equal(w.lock.valid_until_ns, 0);
    }
}

/* The majority comes so many ns before the reader's validity ends. */
static void comes_too_late_after_the_end(void **state) {
    (void)state;
    for (uint64_t left_ns = 0; left_ns < 3; left_ns++) {
        struct rl_rules rules = usual_rules(3);
        struct world w;
        rules.node_timeout_ns = 20000 * MS;
        world_init(&w, rules);
        world_hold(&w, usual_acquire(), 7);
        upgrade(&w, START_NS + 100 * MS, 7);
        world_vote(&w, 0, GRANTS, START_NS + 200 * MS);
        world_vote(&w, 1, GRANTS, START_NS + VALID_NS - left_ns); /* no timer fired in time */
        assert_int_equal(w.out.extended, left_ns > 0 ? RL_RESULT_OK : RL_RESULT_EXPIRED);
        assert_int_equal(w.out.lost, left_ns > 0 ? RL_RESULT_NONE : RL_RESULT_EXPIRED);
    }
}

/* Asked for after the end: it finds the hold lost. */
static void finds_it_lost(void **state) {
    (void)state;
    struct world w;
    hold(&w);
    upgrade(&w, START_NS + VALID_NS, 7);
    assert_int_equal(w.out.extended, RL_RESULT_EXPIRED);
    assert_int_equal(w.out.lost, RL_RESULT_EXPIRED);
    assert_int_equal(w.out.send, 0);
    assert_int_equal(w.out.release, 7);
}

/* -- Beside the watchdog -- */

static void takes_precedence_over_the_watchdog(void **state) {
    (void)state;
    struct rl_acquire acquire = usual_acquire();
    struct world w;
    acquire.renew_ms = 3000;
    world_init(&w, usual_rules(3));
    world_hold(&w, acquire, 7);
    world_tick(&w, 7);
    assert_true(w.lock.renews);
    const uint64_t now_ns = w.lock.now_ns;
    const uint32_t renewal = w.lock.round.id;
    upgrade(&w, now_ns + MS, 7);
    assert_int_equal(w.out.renewed, RL_RESULT_NONE);
    assert_true(is_upgrading(&w));
    world_vote_of(&w, renewal, 0, GRANTS, now_ns + 2 * MS, 7);
    assert_true(w.out.late);
    votes(&w, "yy", now_ns + 3 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_in_range(rl_lock_wake_ns(&w.lock), now_ns + MS, now_ns + 4000 * MS); /* it goes on */
    world_tick(&w, 7);
    assert_true(w.lock.renews);
    assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_as_it_must_in_every_order),
        cmocka_unit_test(is_won_by_a_majority),
        cmocka_unit_test(is_asked_for_all_of_the_validity),
        cmocka_unit_test(is_held_for_no_longer_than_is_allowed),
        cmocka_unit_test(counts_no_yes_of_who_may_not_vote),
        cmocka_unit_test(counts_a_server_once),
        cmocka_unit_test(counts_no_vote_of_an_earlier_upgrade),
        cmocka_unit_test(is_converted_back),
        cmocka_unit_test(is_given_up_by_the_clock),
        cmocka_unit_test(is_not_converted_back_by_shortening_it),
        cmocka_unit_test(asks_no_nodes_that_are_too_few),
        cmocka_unit_test(is_cancelled),
        cmocka_unit_test(is_cancelled_in_vain),
        cmocka_unit_test(ends_with_the_hold),
        cmocka_unit_test(comes_too_late_after_the_end),
        cmocka_unit_test(finds_it_lost),
        cmocka_unit_test(takes_precedence_over_the_watchdog),
    };
    return cmocka_run_group_tests_name("core_lock_upgrade", tests, NULL, NULL);
}
