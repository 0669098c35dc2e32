/* A token of another client: a lock that is taken over with it, and a release of it. */
#include "unit/lock_world.h"

#define VALID_NS (9898 * MS) /* of the usual ttl of 10000 ms */

static void take_over(struct world *w, uint32_t up) {
    world_init(w, usual_rules(3));
    world_take_over(w, usual_acquire(), START_NS, up);
}

/* -- Taken over -- */

/* By extensions, so that nothing is set. Also nodes that may not vote are asked. */
static void is_held_when_a_majority_has_it(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    w.voters = 3;
    world_take_over(&w, usual_acquire(), START_NS, 7);
    assert_int_equal(w.out.send, 7);
    assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
    world_vote(&w, 2, GRANTS, START_NS + MS); /* whose yes does not count */
    world_vote(&w, 0, GRANTS, START_NS + 2 * MS);
    assert_false(w.out.tell);
    world_vote(&w, 1, GRANTS, START_NS + 3 * MS);
    assert_true(w.out.tell);
    world_simple(&w, RL_EV_TELL, START_NS + 4 * MS, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_OK);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
}

/* Its former holder may have set it on a node that is down now. */
static void is_released_everywhere(void **state) {
    (void)state;
    struct world w;
    take_over(&w, 3);
    assert_int_equal(w.out.send, 3);
    world_vote(&w, 0, GRANTS, START_NS + MS);
    world_vote(&w, 1, GRANTS, START_NS + MS);
    world_simple(&w, RL_EV_TELL, START_NS + MS, 3);
    world_simple(&w, RL_EV_RELEASE, START_NS + 2 * MS, 3);
    assert_int_equal(w.out.send, 3);
    assert_int_equal(w.out.owe, 4);
    assert_int_equal(w.out.may_have, 7);
}

/* It is tried once, and what is found is left as it is. */
static void is_left_alone_where_it_fails(void **state) {
    (void)state;
    static const struct {
        enum answer answer;
        uint64_t at_ns;
        enum rl_result wanted;
    } rows[] = {
        {REFUSES, START_NS + MS, RL_RESULT_LOST},
        {BREAKS, START_NS + MS, RL_RESULT_NO_QUORUM},
        {ANSWERS_ERROR, START_NS + MS, RL_RESULT_NO_QUORUM},
        {GRANTS, START_NS + VALID_NS - MS, RL_RESULT_EXPIRED}, /* 1 ms: min_validity_ms */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        take_over(&w, 7);
        world_vote(&w, 0, rows[i].answer, START_NS + MS);
        world_vote(&w, 1, rows[i].answer, rows[i].at_ns);
        assert_int_equal(w.out.acquired, rows[i].wanted);
        assert_int_equal(w.lock.state, RL_IDLE);
        assert_int_equal(w.out.release, 0);
        assert_int_equal(w.out.owe, 0);
    }
}

/* One that refused and one that did not answer: perhaps it is there, perhaps not. */
static void is_not_called_lost_without_a_majority(void **state) {
    (void)state;
    struct world w;
    take_over(&w, 7);
    world_vote(&w, 0, REFUSES, START_NS + MS);
    world_vote(&w, 1, BREAKS, START_NS + MS);
    assert_int_equal(w.out.acquired, RL_RESULT_NO_QUORUM);
    take_over(&w, 4);
    assert_int_equal(w.out.acquired, RL_RESULT_NO_QUORUM); /* at once */
}

/* What it found stays as it is in other ways out, too. */
static void is_left_alone_when_given_up(void **state) {
    (void)state;
    static const enum rl_event_type ways[] = {RL_EV_CANCEL, RL_EV_ABANDON};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct world w;
        take_over(&w, 7);
        world_vote(&w, 0, GRANTS, START_NS + MS);
        world_simple(&w, ways[i], START_NS + 2 * MS, 7);
        assert_int_equal(w.out.acquired, RL_RESULT_CANCELED);
        assert_int_equal(w.out.release, 0);
        assert_int_equal(w.out.owe, 0);
        world_hold(&w, usual_acquire(), 7); /* one of its own is released as ever */
        world_simple(&w, RL_EV_ABANDON, w.lock.now_ns, 7);
        assert_int_equal(w.out.release, 7);
    }
}

/* -- Released -- */

/* On all nodes: it is not known where it was set, or for how long. */
static void is_released_for_somebody_else(void **state) {
    (void)state;
    for (uint32_t was_lost = 0; was_lost < 2; was_lost++) {
        struct world w;
        world_init(&w, usual_rules(3));
        if (was_lost) {
            world_hold(&w, usual_acquire(), 7);
            world_tick(&w, 7);
            assert_int_equal(w.lock.state, RL_LOST);
        }
        world_release_token(&w, w.lock.now_ns, 5);
        assert_int_equal(w.out.send, 5);
        assert_int_equal(w.out.owe, 2);
        assert_int_equal(w.out.may_have, 7);
        assert_int_equal(w.lock.life_ms, REDLOCK_TTL_MS_MAX);
        world_vote(&w, 0, REFUSES, w.lock.now_ns); /* it is not there: just as good */
        world_vote(&w, 2, GRANTS, w.lock.now_ns);
        assert_int_equal(w.out.released, RL_RESULT_OK);
        assert_int_equal(w.lock.state, RL_IDLE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_held_when_a_majority_has_it),
        cmocka_unit_test(is_released_everywhere),
        cmocka_unit_test(is_left_alone_where_it_fails),
        cmocka_unit_test(is_not_called_lost_without_a_majority),
        cmocka_unit_test(is_left_alone_when_given_up),
        cmocka_unit_test(is_released_for_somebody_else),
    };
    return cmocka_run_group_tests_name("core_lock_token", tests, NULL, NULL);
}
