/* A place in line (core/line.h): turns by keys that are passed to it, and refused turns. */
#include "unit/line_scene.h"

static uint64_t wakes_in_ns(const struct scene *s) {
    return rl_line_wake_ns(&s->line) - s->now_ns;
}

/* -- Its keys are passed to it -- */

/* By the nodes themselves. Where home has no part in that, the place is taken out of its line, and
 * no more: the key is the lock's. */
static void has_its_turn_by_what_it_is_passed(void **state) {
    (void)state;
    static const enum rl_line_event_type ends[] = {RL_LINE_EV_WON, RL_LINE_EV_FAILED,
                                                   RL_LINE_EV_UNWANT};
    for (size_t i = 0; i < COUNT(ends); i++) {
        for (int home_knows = 0; home_knows < 3; home_knows++) {
            struct scene s;
            scene_passed(&s);
            if (home_knows == 1) {
                assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, s.line.place), DID_NOTHING);
            } else if (home_knows == 2) {
                assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0),
                                 DID_NOTHING);
            }
            assert_int_equal(scene_feed(&s, ends[i]), home_knows ? DID_NOTHING : DID_LEAVE_LINE);
        }
    }
}

/* It stands with another token from now on, in the place where it stood. */
static void stands_anew_when_what_it_is_passed_is_refused(void **state) {
    (void)state;
    struct scene s;
    scene_passed(&s);
    const uint64_t place = s.line.place;
    assert_int_equal(scene_refuse(&s, 0), DID_LEAVE_LINE | DID_QUIET);
    assert_true(s.out.leave_place == place && s.line.place != place);
    assert_int_equal(s.line.since_ns, START_NS - 1);
    /* what the old one is passed is no turn of the new one */
    assert_int_equal(scene_say(&s, RL_LINE_EV_PASS, place), DID_NOTHING);
    assert_int_equal(scene_say(&s, RL_LINE_EV_PASS, s.line.place), DID_TURN);
}

/* ... while it tries without a turn: that is a turn when it was refused. */
static void is_passed_keys_while_it_tries(void **state) {
    (void)state;
    struct scene s;
    scene_probing_taking(&s);
    assert_int_equal(scene_say(&s, RL_LINE_EV_PASS, s.line.place), DID_NOTHING);
    assert_int_equal(scene_refuse(&s, 60000), DID_TURN);
    scene_feed(&s, RL_LINE_EV_TAKE);
    assert_int_equal(scene_feed(&s, RL_LINE_EV_WON), DID_LEAVE_LINE);
}

/* A lock's last try may be made with the place it waits with. */
static void is_used_outside_of_a_turn(void **state) {
    (void)state;
    for (int given = 0; given < 2; given++) {
        struct scene s;
        scene_waiting(&s);
        rl_line_use(&s.line, given);
        s.is_used = true;
        s.is_given = given;
        assert_int_equal(scene_feed(&s, RL_LINE_EV_UNWANT), given ? DID_NOTHING : DID_LEAVE_LINE);
    }
}

/* -- A turn is refused by other nodes -- */

/* It stands all the while, with a token that is new each time. */
static void pauses_after_each_refused_turn(void **state) {
    (void)state;
    static const uint64_t most_ms[] = {5, 10, 20, 40, 80, 160, 200, 200};
    for (int least = 0; least < 2; least++) {
        struct scene s;
        scene_taking(&s);
        for (size_t i = 0; i < COUNT(most_ms); i++) {
            uint64_t half_ns = most_ms[i] * MS / 2;
            s.random = least ? 0 : half_ns;
            assert_int_equal(scene_refuse(&s, 0), DID_QUIET);
            assert_int_equal(s.line.state, RL_LINE_PAUSING);
            assert_int_equal(wakes_in_ns(&s), least ? half_ns : 2 * half_ns);
            assert_int_equal(scene_no(&s, 0, 100), DID_NOTHING); /* to the quiet one */
            assert_int_equal(scene_wake(&s), DID_JOIN);
            assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0), DID_TURN);
            scene_feed(&s, RL_LINE_EV_TAKE);
        }
        scene_feed(&s, RL_LINE_EV_WON);
        scene_want(&s); /* another time begins anew */
        scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0);
        scene_feed(&s, RL_LINE_EV_TAKE);
        scene_refuse(&s, 0);
        assert_true(wakes_in_ns(&s) <= 5 * MS);
    }
}

/* Of several resources the first of two lines would be given its turn in each again and again. */
static void stands_nowhere_while_it_pauses_for_several(void **state) {
    (void)state;
    struct scene s;
    scene_taking(&s);
    s.is_of_many = true;
    assert_int_equal(scene_refuse(&s, 0), DID_NOTHING);
    assert_int_equal(s.line.state, RL_LINE_PAUSING);
    assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, s.line.place), DID_NOTHING);
    assert_int_equal(scene_wake(&s), DID_JOIN);
}

/* Meanwhile home is lost, or the client does not listen there, or no node can be home. */
static void is_refused_where_home_has_changed(void **state) {
    (void)state;
    enum { FIRST = 1, OTHERS = 2 };
    static const struct {
        uint32_t homes, heard, did;
        enum rl_line_state to;
    } rows[] = {
        {0, FIRST, DID_ALONE, RL_LINE_OUT},
        {OTHERS, FIRST, DID_NOTHING, RL_LINE_LISTENING},
        {OTHERS, OTHERS, DID_JOIN, RL_LINE_JOINING},
        {FIRST | OTHERS, OTHERS, DID_NOTHING, RL_LINE_LISTENING},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct scene s;
        scene_taking(&s);
        const uint32_t first = scene_bit(&s, 0), others = ALL_NODES & ~first;
        const uint32_t sets[] = {0, first, others, ALL_NODES};
        assert_int_equal(scene_nodes(&s, sets[rows[i].homes], sets[rows[i].heard]), DID_NOTHING);
        assert_int_equal(scene_refuse(&s, 60000), rows[i].did);
        assert_int_equal(s.line.state, rows[i].to);
    }
}

/* What is in the way ends sooner than the pause. */
static void pauses_no_longer_than_the_keys_live(void **state) {
    (void)state;
    struct scene s;
    scene_taking(&s);
    for (int i = 0; i < 9; i++) {
        scene_refuse(&s, 3);
        assert_true(wakes_in_ns(&s) <= 4 * MS);
        scene_wake(&s);
        scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0);
        scene_feed(&s, RL_LINE_EV_TAKE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_its_turn_by_what_it_is_passed),
        cmocka_unit_test(stands_anew_when_what_it_is_passed_is_refused),
        cmocka_unit_test(is_passed_keys_while_it_tries),
        cmocka_unit_test(is_used_outside_of_a_turn),
        cmocka_unit_test(pauses_after_each_refused_turn),
        cmocka_unit_test(stands_nowhere_while_it_pauses_for_several),
        cmocka_unit_test(is_refused_where_home_has_changed),
        cmocka_unit_test(pauses_no_longer_than_the_keys_live),
    };
    return cmocka_run_group_tests_name("core_line_pass", tests, NULL, NULL);
}
