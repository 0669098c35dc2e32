/* A node that did not answer is passed over for a limited time, even if none of our locks was in
 * line when that time ended. It is home again ahead of that when it answers, but only once. */
#include "unit/line_scene.h"

static void wants(struct scene *s) {
    scene_start(s);
    assert_int_equal(scene_want(s), DID_JOIN);
    assert_int_equal(s->line.home, s->order[0]);
}

/* The first home does not answer in time, and the next one is asked. */
static void is_passed_over(struct scene *s) {
    assert_int_equal(s->line.home, s->order[0]);
    assert_int_equal(s->line.state, RL_LINE_JOINING);
    assert_int_equal(scene_wake(s), DID_LEAVE | DID_JOIN);
    assert_int_equal(s->out.leave_home, s->order[0]);
    assert_int_equal(s->line.home, s->order[1]);
}

static void is_home_again(struct scene *s) {
    assert_int_equal(scene_feed(s, RL_LINE_EV_NODES), DID_LEAVE | DID_JOIN);
    assert_int_equal(s->out.leave_home, s->order[1]);
    assert_int_equal(s->line.home, s->order[0]);
}

static void joins_again(void **state) {
    struct scene s;
    (void)state;
    wants(&s);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(s.line.state, RL_LINE_JOINING);
        assert_int_equal(scene_wake(&s), DID_LEAVE | (i + 1 < NODES ? DID_JOIN : DID_ALONE));
    }
    assert_int_equal(s.line.state, RL_LINE_OUT);
    s.now_ns += RL_LINE_AVOID_NS - MS;
    assert_int_equal(scene_want(&s), DID_ALONE);
    s.now_ns += MS;
    assert_int_equal(scene_want(&s), DID_JOIN);
}

/* One that was passed over long ago is the first home again, at once. */
static void at_its_first_home(void **state) {
    struct scene s;
    (void)state;
    wants(&s);
    is_passed_over(&s);
    scene_feed(&s, RL_LINE_EV_UNWANT);
    s.now_ns += RL_LINE_AVOID_NS;
    scene_want(&s);
    assert_int_equal(s.line.home, s.order[0]);
}

static void when_it_answers(void **state) {
    struct scene s;
    (void)state;
    wants(&s);
    is_passed_over(&s);
    assert_false(rl_line_trust(&s.line, s.line.home));
    assert_int_equal(scene_feed(&s, RL_LINE_EV_NODES), DID_NOTHING);
    assert_true(rl_line_trust(&s.line, s.order[0]));
    s.now_ns += MS;
    is_home_again(&s);
}

/* One that is slow now and then is asked twice in a second, and not without end. */
static void when_it_answers_once(void **state) {
    struct scene s;
    (void)state;
    wants(&s);
    is_passed_over(&s);
    assert_true(rl_line_trust(&s.line, s.order[0]));
    s.now_ns += RL_LINE_AVOID_NS - 1; /* it answers as late as it may */
    is_home_again(&s);
    is_passed_over(&s);
    assert_false(rl_line_trust(&s.line, s.order[0]));
    scene_feed(&s, RL_LINE_EV_UNWANT);
    s.now_ns += RL_LINE_AVOID_NS;
    scene_want(&s); /* that time is over, and all is as it was */
    is_passed_over(&s);
    assert_true(rl_line_trust(&s.line, s.order[0]));
}

/* One that does not keep lines, or not for us, is not asked again before that time is over. */
static void when_it_refuses(void **state) {
    struct scene s;
    (void)state;
    wants(&s);
    assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_NOTHING, 0, 0),
                     DID_LEAVE | DID_JOIN);
    assert_int_equal(s.line.home, s.order[1]);
    assert_false(rl_line_trust(&s.line, s.order[0]));
    s.now_ns += RL_LINE_AVOID_NS;
    scene_feed(&s, RL_LINE_EV_TICK);
    assert_int_equal(s.line.home, s.order[0]);
}

/* In the middle of a turn, or when no lock waits: the next place is there. */
static void when_it_answers_a_take(void **state) {
    struct scene s;
    (void)state;
    wants(&s);
    is_passed_over(&s);
    assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0), DID_TURN);
    scene_feed(&s, RL_LINE_EV_TAKE);
    assert_true(rl_line_trust(&s.line, s.order[0]));
    assert_int_equal(scene_feed(&s, RL_LINE_EV_NODES), DID_NOTHING);
    scene_feed(&s, RL_LINE_EV_WON);
    s.now_ns += MS;
    scene_want(&s);
    assert_int_equal(s.line.home, s.order[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_again),     cmocka_unit_test(at_its_first_home),
        cmocka_unit_test(when_it_answers), cmocka_unit_test(when_it_answers_once),
        cmocka_unit_test(when_it_refuses), cmocka_unit_test(when_it_answers_a_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
