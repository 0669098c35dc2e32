/* Asking one node before the others, after another's key was met: every outcome in every order;
 * then the cases that a reader would ask about. */
#include "core/first.h"

#include "marks.h"
#include "unit/lock_explore.h"

static struct rl_acquire breaking_ties(void) {
    struct rl_acquire acquire = usual_acquire();
    acquire.breaks_ties = true;
    acquire.tries = 20;
    acquire.wait_ms = RL_NO_LIMIT;
    return acquire;
}

/* The node that is asked first, of a mask. */
static uint32_t first_of(const struct world *w, uint32_t nodes) {
    return rl_first_node(RESOURCE, w->rules.node_hashes, nodes);
}

/* All nodes refuse what they were asked. */
static void refuse_all(struct world *w) {
    for (uint32_t node = 0; node < w->rules.n && w->lock.state == RL_TRYING; node++) {
        if (model_due(&w->model) >> node & 1) {
            world_vote(w, node, REFUSES, w->lock.now_ns + MS);
        }
    }
    assert_int_equal(w->lock.state, RL_BACKOFF);
}

static void next_attempt(struct world *w) {
    world_tick(w, world_all(w));
    assert_true(w->out.draw);
    world_attempt(w, w->lock.now_ns, world_all(w));
}

/* An attempt was refused, and the next one has asked one node. Returns which. */
static uint32_t go_alone(struct world *w, uint32_t n, struct rl_acquire wish) {
    world_init(w, usual_rules(n));
    world_acquire(w, wish, START_NS);
    world_attempt(w, START_NS, world_all(w));
    assert_int_equal(w->out.send, world_all(w)); /* so far nobody is in the way */
    refuse_all(w);
    next_attempt(w);
    uint32_t first = first_of(w, world_all(w));
    assert_int_equal(w->out.send, UINT32_C(1) << first);
    return first;
}

/* -- Everything -- */

static void ends_as_it_must_in_every_order(void **state) {
    (void)state;
    struct exploration exploration = {.probes = true};
    struct rl_acquire wishes[] = {breaking_ties(), breaking_ties(), breaking_ties()};
    wishes[1].ttl_ms = 60; /* over within a node's timeout */
    wishes[1].min_validity_ms = 20;
    wishes[2].fences = true;
    for (size_t i = 0; i < COUNT(wishes); i++) {
        for (uint32_t n = 2; n <= 5; n++) {
            struct world w;
            exploration.salt++;
            exploration.probes = n <= (wishes[i].fences ? 3 : 5);
            exploration.counters = wishes[i].fences && n <= 4 ? 2 : 0;
            go_alone(&w, n, wishes[i]);
            world_explore(&w, &exploration);
        }
    }
    assert_true(exploration.states > 20000);
}

/* -- When one node is asked first -- */

static void is_for_those_who_met_another_and_want_it(void **state) {
    (void)state;
    static const struct {
        bool breaks_ties;
        const char *votes; /* to the first attempt */
        bool alone;
    } rows[] = {
        {true, "nn", true},  {true, "yne", true},  {true, "el", false},
        {true, "enl", true}, {false, "nn", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        struct rl_acquire wish = breaking_ties();
        wish.breaks_ties = rows[i].breaks_ties;
        world_init(&w, usual_rules(3));
        world_acquire(&w, wish, START_NS);
        world_attempt(&w, START_NS, 7);
        for (uint32_t node = 0; w.lock.state == RL_TRYING; node++) {
            enum answer answer = (enum answer)(strchr("ynel", rows[i].votes[node]) - "ynel");
            world_vote(&w, node, answer, START_NS + MS);
        }
        next_attempt(&w);
        assert_int_equal(set_size(w.out.send), rows[i].alone ? 1 : 3);
        assert_int_equal(rl_lock_wake_ns(&w.lock), w.lock.now_ns + 250 * MS);
    }
}

/* What an acquire met before is not this one's: also not if it pauses in line before it asks. */
static void begins_anew_with_each_acquire(void **state) {
    (void)state;
    for (uint32_t in_line = 0; in_line < 2; in_line++) {
        struct world w;
        struct rl_acquire wish = breaking_ties();
        go_alone(&w, 3, wish);
        refuse_all(&w);
        world_simple(&w, RL_EV_CANCEL, w.lock.now_ns, 7);
        wish.waits = in_line;
        world_acquire(&w, wish, w.lock.now_ns);
        if (in_line) {
            struct rl_event e = world_event(&w, RL_EV_TURN, w.lock.now_ns, 7);
            e.u.pause = true;
            world_step(&w, &e);
            world_tick(&w, 7);
        }
        world_attempt(&w, w.lock.now_ns, 7);
        assert_int_equal(w.out.send, 7);
    }
}

/* A node that refuses for ever must not keep a majority from granting. */
static void asks_all_now_and_then(void **state) {
    (void)state;
    struct world w;
    go_alone(&w, 5, breaking_ties());
    for (uint32_t attempt = 2; attempt < 18; attempt++) {
        assert_int_equal(set_size(w.out.send), attempt % 4 == 1 ? 5 : 1);
        refuse_all(&w);
        next_attempt(&w);
    }
}

/* -- What becomes of it -- */

static void leaves_nothing_to_undo_where_it_is_refused(void **state) {
    (void)state;
    MARK_FROM(REFUSED_ALONE);
    struct world w;
    uint32_t first = go_alone(&w, 5, breaking_ties());
    world_vote(&w, first, REFUSES, w.lock.now_ns + MS);
    assert_int_equal(w.lock.state, RL_BACKOFF);
    assert_int_equal(w.out.release | w.out.owe | w.out.send, 0);
    for (uint32_t node = 0; node < 5; node++) {
        assert_int_equal(w.ballots[node].vote, node == first ? RL_VOTE_REFUSED : RL_VOTE_FAILED);
        assert_int_equal(w.ballots[node].reason, node == first ? 0 : NOT_ASKED_REASON);
    }
    MARK_TO(REFUSED_ALONE);
}

/* A node before it may have run its SET. */
static void undoes_what_may_have_been_set(void **state) {
    (void)state;
    for (uint32_t up = 0; up < 32; up++) {
        struct world w;
        uint32_t first = go_alone(&w, 5, breaking_ties());
        world_vote(&w, first, BREAKS, w.lock.now_ns + MS);
        uint32_t second = first_of(&w, 31 & ~(1u << first));
        assert_int_equal(w.out.send, 1u << second);
        world_vote_of(&w, w.lock.round.id, second, REFUSES, w.lock.now_ns + MS, up);
        assert_int_equal(w.out.release, up & 1u << first);
        assert_int_equal(w.out.owe, ~up & 1u << first);
    }
}

static void goes_on_where_nodes_fail(void **state) {
    (void)state;
    struct world w;
    uint32_t left = 31;
    go_alone(&w, 5, breaking_ties());
    uint64_t set_ns = w.lock.now_ns;
    for (uint32_t asked = 0; asked < 3; asked++) {
        uint32_t first = first_of(&w, left);
        assert_int_equal(w.out.send, 1u << first);
        assert_int_equal(rl_lock_wake_ns(&w.lock), set_ns + (asked * 200 + 250) * MS);
        left &= ~(1u << first);
        world_vote(&w, first, ANSWERS_ERROR, set_ns + (asked + 1) * 200 * MS);
    }
    assert_int_equal(w.lock.state, RL_BACKOFF); /* two cannot be a majority of five */
    assert_int_equal(w.out.send, 0);
    assert_int_equal(w.out.owe, 0);
    assert_int_equal(rl_round_mask(&w.lock.round, RL_VOTE_FAILED), 31);
    assert_int_equal(w.ballots[first_of(&w, left)].reason, NOT_ASKED_REASON);
}

static void asks_the_others_when_it_is_granted(void **state) {
    (void)state;
    struct world w;
    uint32_t first = go_alone(&w, 5, breaking_ties());
    uint64_t set_ns = w.lock.now_ns;
    uint32_t others = 31 & ~(1u << first);
    world_vote(&w, first, GRANTS, set_ns + 240 * MS);
    assert_int_equal(w.out.send, others);
    assert_int_equal(w.lock.round.kind, RL_ROUND_ACQUIRE);
    assert_int_equal(rl_lock_wake_ns(&w.lock), set_ns + 490 * MS); /* they have as long as it had */
    for (uint32_t granted = 1, node = 0; granted < 3; node++) {
        if (others >> node & 1) {
            world_vote(&w, node, GRANTS, set_ns + 480 * MS);
            granted++;
        }
    }
    assert_true(w.out.tell);
    assert_int_equal(w.lock.valid_until_ns, set_ns + 9898 * MS); /* from the first SET on */
}

static void asks_the_others_when_it_is_silent(void **state) {
    (void)state;
    MARK_FROM(SILENT_ALONE);
    struct world w;
    uint32_t first = go_alone(&w, 3, breaking_ties());
    uint64_t set_ns = w.lock.now_ns;
    world_simple(&w, RL_EV_TICK, set_ns + 250 * MS - 1, 7);
    assert_int_equal(w.out.send, 0);
    world_tick(&w, 7);
    assert_int_equal(w.out.send, 7 & ~(1u << first));
    assert_int_equal(rl_lock_wake_ns(&w.lock), set_ns + 500 * MS);
    world_vote(&w, first, GRANTS, set_ns + 300 * MS); /* its vote still counts */
    world_vote(&w, (first + 1) % 3, GRANTS, set_ns + 400 * MS);
    assert_true(w.out.tell);
    assert_int_equal(w.lock.valid_until_ns, set_ns + 9898 * MS);
    MARK_TO(SILENT_ALONE);
}

/* A node that has restarted since may have forgotten another's key. */
static void sends_nothing_to_who_may_not_vote_any_more(void **state) {
    (void)state;
    MARK_FROM(PASSED_OVER);
    for (uint32_t gone = 1; gone < 32; gone++) {
        for (uint32_t way = 0; way < 3; way++) { /* granted, failed, silent */
            struct world w;
            uint32_t first = go_alone(&w, 5, breaking_ties());
            uint32_t others = 31 & ~(1u << first), still = others & ~gone;
            w.voters = ~gone;
            if (way == 2) {
                world_tick(&w, 31);
            } else {
                world_vote(&w, first, way == 0 ? GRANTS : ANSWERS_ERROR, w.lock.now_ns + MS);
            }
            bool can_win = set_size(still) + (way != 1) >= 3;
            uint32_t wanted = way == 1 && still != 0 ? 1u << first_of(&w, still) : still;
            assert_int_equal(w.lock.state, can_win ? RL_TRYING : RL_BACKOFF);
            assert_int_equal(w.out.send, can_win ? wanted : 0);
            if ((others & gone) != 0 && first != 1 && (gone & 2)) {
                assert_int_equal(w.ballots[1].reason, -41); /* the driver's reason */
            }
        }
    }
    MARK_TO(PASSED_OVER);
}

static void asks_nobody_for_what_is_over(void **state) {
    (void)state;
    for (uint32_t way = 0; way < 3; way++) { /* granted, failed, silent */
        for (uint64_t left_ns = 0; left_ns < 2; left_ns++) {
            struct world w;
            struct rl_acquire wish = breaking_ties();
            wish.ttl_ms = 60; /* valid for 57.4 ms */
            uint32_t first = go_alone(&w, 3, wish);
            uint64_t set_ns = w.lock.now_ns, end_ns = set_ns + 57400000;
            assert_int_equal(rl_lock_wake_ns(&w.lock), end_ns);
            if (way == 2) {
                world_simple(&w, RL_EV_TICK, end_ns - left_ns, 7);
            } else {
                world_vote(&w, first, way == 0 ? GRANTS : BREAKS, end_ns - left_ns);
            }
            assert_int_equal(w.out.send != 0, left_ns > 0 && way != 2);
            assert_int_equal(w.out.release, left_ns > 0 ? 0 : 1u << first);
            assert_int_equal(w.lock.state, left_ns > 0 ? RL_TRYING : RL_BACKOFF);
        }
    }
}

/* The last try says why it failed: another's key, or no time to ask the others. */
static void says_why_the_last_try_failed(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire wish = breaking_ties();
    wish.tries = 2;
    wish.ttl_ms = 60; /* valid for 57.4 ms */
    uint32_t first = go_alone(&w, 3, wish);
    world_vote(&w, first, REFUSES, w.lock.now_ns + MS);
    assert_int_equal(w.out.acquired, RL_RESULT_HELD);
    first = go_alone(&w, 3, wish);
    world_vote(&w, first, GRANTS, rl_lock_wake_ns(&w.lock));
    assert_int_equal(w.out.acquired, RL_RESULT_EXPIRED);
    assert_int_equal(w.out.release, 1u << first);
}

/* Only the node that was asked has to be told, and is known not to have answered. */
static void ends_where_it_has_begun(void **state) {
    (void)state;
    for (uint32_t up = 0; up < 8; up++) {
        struct world w;
        uint32_t first = go_alone(&w, 3, breaking_ties());
        world_simple(&w, RL_EV_CANCEL, w.lock.now_ns + MS, up);
        assert_int_equal(w.out.acquired, RL_RESULT_CANCELED);
        assert_int_equal(w.out.release, up & 1u << first);
        assert_int_equal(w.out.owe, ~up & 1u << first);
        assert_int_equal(w.ballots[first].vote, RL_VOTE_PENDING);
        assert_int_equal(w.ballots[(first + 1) % 3].vote, RL_VOTE_FAILED);
        assert_int_equal(w.ballots[(first + 1) % 3].reason, NOT_ASKED_REASON);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_as_it_must_in_every_order),
        cmocka_unit_test(is_for_those_who_met_another_and_want_it),
        cmocka_unit_test(begins_anew_with_each_acquire),
        cmocka_unit_test(asks_all_now_and_then),
        cmocka_unit_test(leaves_nothing_to_undo_where_it_is_refused),
        cmocka_unit_test(undoes_what_may_have_been_set),
        cmocka_unit_test(goes_on_where_nodes_fail),
        cmocka_unit_test(asks_the_others_when_it_is_granted),
        cmocka_unit_test(asks_the_others_when_it_is_silent),
        cmocka_unit_test(sends_nothing_to_who_may_not_vote_any_more),
        cmocka_unit_test(asks_nobody_for_what_is_over),
        cmocka_unit_test(says_why_the_last_try_failed),
        cmocka_unit_test(ends_where_it_has_begun),
    };
    return cmocka_run_group_tests_name("core_lock_alone", tests, NULL, NULL);
}
