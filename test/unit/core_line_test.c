/* A place in line: the happy path, each way in which it can go wrong (core/line.h), and all events
 * at random. What must hold after any event is in line_scene.h; what becomes of each event in each
 * state is in core_line_table_test.c. */
#include "unit/line_scene.h"

#define GRACE_NS (250 * MS)

static uint64_t wakes_in_ns(const struct scene *s) {
    return rl_line_wake_ns(&s->line) - s->now_ns;
}

/* -- The happy path -- */

static void waits_for_its_turn_and_takes(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    s.heard = 0;
    assert_int_equal(scene_want(&s), DID_NOTHING);
    assert_int_equal(s.line.state, RL_LINE_LISTENING);
    assert_int_equal(wakes_in_ns(&s), TIMEOUT_NS);
    assert_int_equal(scene_nodes(&s, ALL_NODES, scene_bit(&s, 0)), DID_JOIN);
    assert_int_equal(s.line.home, s.order[0]);
    assert_int_equal(s.line.since_ns, START_NS - 1);
    assert_int_equal(wakes_in_ns(&s), TIMEOUT_NS);
    assert_int_equal(scene_no(&s, 4, 1000), DID_NOTHING);
    assert_int_equal(wakes_in_ns(&s), IDLE_NS);
    assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, s.line.place), DID_TURN);
    assert_int_equal(scene_feed(&s, RL_LINE_EV_TAKE), DID_NOTHING);
    assert_int_equal(scene_feed(&s, RL_LINE_EV_WON), DID_NOTHING); /* home took the place out */
    assert_int_equal(s.line.state, RL_LINE_OUT);
}

static void has_its_turn_at_once_where_nobody_waits(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    assert_int_equal(scene_want(&s), DID_JOIN);
    assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0), DID_TURN);
    assert_false(s.line.probes);
}

/* The message and the answer to the JOIN may cross. */
static void has_one_turn_of_two_tidings(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    scene_want(&s);
    assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, s.line.place), DID_TURN);
    assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0), DID_NOTHING);
    assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, s.line.place), DID_NOTHING);
    assert_false(s.line.turned);
    scene_feed(&s, RL_LINE_EV_TAKE);
    assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, s.line.place), DID_NOTHING);
    assert_int_equal(scene_feed(&s, RL_LINE_EV_WON), DID_NOTHING);
}

/* -- A turn is lost on the way -- */

static void asks_as_heir_ever_later(void **state) {
    (void)state;
    static const uint64_t pauses_us[] = {250000, 375000, 562500, 843750, 1000000, 1000000};
    struct scene s;
    scene_start(&s);
    scene_want(&s);
    for (size_t i = 0; i < COUNT(pauses_us); i++) {
        assert_int_equal(scene_no(&s, 0, 0), DID_NOTHING); /* the key at home has no holder */
        assert_int_equal(wakes_in_ns(&s), pauses_us[i] * 1000);
        s.now_ns += wakes_in_ns(&s) - 1;
        assert_int_equal(scene_feed(&s, RL_LINE_EV_TICK), DID_NOTHING); /* too early */
        assert_int_equal(scene_wake(&s), DID_JOIN);
    }
    assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0), DID_TURN);
}

/* Told so, it asks a grace later; and it asks when the key ends, if that is sooner. */
static void asks_a_grace_after_it_is_heir(void **state) {
    (void)state;
    struct scene s;
    scene_waiting(&s);
    s.now_ns += 10 * MS;
    assert_int_equal(scene_say(&s, RL_LINE_EV_HEIR, s.line.place), DID_NOTHING);
    assert_int_equal(wakes_in_ns(&s), GRACE_NS);
    assert_int_equal(scene_wake(&s), DID_JOIN);
    scene_no(&s, 0, 100);
    assert_int_equal(wakes_in_ns(&s), 101 * MS);
    scene_wake(&s);
    scene_no(&s, 7, 0); /* said before it was first: once told so, it stays */
    assert_true(s.line.is_heir);
    assert_int_equal(wakes_in_ns(&s), GRACE_NS / 4 * 9);
}

static void hears_that_it_is_heir_while_it_asks(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    scene_want(&s);
    assert_int_equal(scene_say(&s, RL_LINE_EV_HEIR, s.line.place), DID_NOTHING);
    assert_int_equal(wakes_in_ns(&s), TIMEOUT_NS); /* of the JOIN */
    scene_no(&s, 3, 0);
    assert_int_equal(wakes_in_ns(&s), GRACE_NS / 2 * 3);
}

static void asks_seldom_behind_others(void **state) {
    (void)state;
    struct scene s;
    scene_waiting(&s);
    assert_int_equal(wakes_in_ns(&s), IDLE_NS);
    s.idle_ns = 3600000 * MS;
    assert_int_equal(scene_wake(&s), DID_JOIN);
    scene_no(&s, 2, 10);
    assert_int_equal(wakes_in_ns(&s), 60000 * MS); /* whatever the ttl */
}

/* -- Home's key is a left-over -- */

static void tries_without_a_turn_every_other_time(void **state) {
    (void)state;
    struct scene s;
    scene_probing(&s); /* at the third */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(scene_feed(&s, RL_LINE_EV_TAKE), DID_NOTHING);
        assert_int_equal(scene_refuse(&s, 60000), DID_NOTHING);
        assert_int_equal(s.line.state, RL_LINE_WAITING);
        assert_int_equal(wakes_in_ns(&s), s.line.pause_ns);
        assert_int_equal(scene_wake(&s), DID_JOIN);
        assert_int_equal(scene_no(&s, 0, 60000), DID_NOTHING);
        assert_int_equal(scene_wake(&s), DID_JOIN);
        assert_int_equal(scene_no(&s, 0, 60000), DID_TURN);
        assert_true(s.line.probes);
    }
    scene_feed(&s, RL_LINE_EV_TAKE);
    assert_int_equal(scene_feed(&s, RL_LINE_EV_WON), DID_LEAVE); /* it still stands in line */
    scene_want(&s);
    assert_int_equal(scene_no(&s, 0, 60000), DID_NOTHING); /* that was another wait */
}

/* Then the one before it has its turn just now. */
static void does_not_try_when_told_heir_again(void **state) {
    (void)state;
    struct scene s;
    scene_probing_taking(&s);
    scene_refuse(&s, 60000);
    assert_int_equal(scene_say(&s, RL_LINE_EV_HEIR, s.line.place), DID_NOTHING);
    assert_int_equal(wakes_in_ns(&s), GRACE_NS);
}

/* The first place may have been left without home's knowledge, and so may all before ours. A place
 * far back asks less often: it has asked once already. */
static void tries_without_a_turn_from_behind(void **state) {
    (void)state;
    for (uint32_t rank = 1; rank <= 2; rank++) {
        struct scene s;
        scene_waiting(&s);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(scene_wake(&s), DID_JOIN);
            assert_int_equal(scene_no(&s, rank, 60000), i < 2 ? DID_NOTHING : DID_TURN);
        }
        assert_true(s.line.probes && !s.line.is_heir);
    }
}

/* A key that is gone, or one for which others stand before it, is none to try. */
static void does_not_try_without_need(void **state) {
    (void)state;
    struct scene s;
    scene_waiting(&s);
    for (int i = 0; i < 2; i++) {
        scene_wake(&s);
        assert_int_equal(scene_no(&s, 2, 60000), DID_NOTHING);
    }
    scene_say(&s, RL_LINE_EV_HEIR, s.line.place);
    for (int i = 0; i < 6; i++) {
        scene_wake(&s);
        assert_int_equal(scene_no(&s, 0, 0), DID_NOTHING);
    }
}

/* Its turn comes while it tries without: home has reserved the key by now. */
static void has_its_turn_while_it_tries(void **state) {
    (void)state;
    static const bool asked[] = {false, true};
    for (size_t i = 0; i < COUNT(asked); i++) {
        struct scene s;
        scene_probing(&s);
        if (asked[i]) {
            scene_feed(&s, RL_LINE_EV_TAKE);
        }
        assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, s.line.place), DID_NOTHING);
        if (!asked[i]) {
            scene_feed(&s, RL_LINE_EV_TAKE);
        }
        assert_int_equal(scene_refuse(&s, 60000), DID_TURN);
        assert_false(s.line.probes || s.line.turned);
        scene_feed(&s, RL_LINE_EV_TAKE);
        assert_int_equal(scene_feed(&s, RL_LINE_EV_WON), DID_NOTHING);
    }
    struct scene s;
    scene_probing_taking(&s);
    assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_YES, 0, 0), DID_NOTHING);
    assert_true(s.line.turned);
    assert_int_equal(scene_feed(&s, RL_LINE_EV_WON), DID_LEAVE);
}

/* -- Home -- */

static void moves_on_when_home_goes_and_back(void **state) {
    (void)state;
    struct scene s;
    scene_waiting(&s);
    const uint64_t place = s.line.place;
    s.now_ns += 200 * MS;
    scene_say(&s, RL_LINE_EV_HEIR, place);
    assert_int_equal(scene_nodes(&s, ALL_NODES & ~scene_bit(&s, 0), ALL_NODES),
                     DID_LEAVE | DID_JOIN);
    assert_int_equal(s.out.leave_home, s.order[0]);
    assert_true(s.out.leave_place == place && s.line.place != place);
    assert_int_equal(s.line.home, s.order[1]);
    assert_int_equal(s.line.since_ns, START_NS - 1); /* it has waited since then */
    /* what is said of the old place, also late, says nothing of the new one */
    assert_int_equal(scene_say(&s, RL_LINE_EV_TURN, place), DID_NOTHING);
    assert_int_equal(scene_say(&s, RL_LINE_EV_HEIR, place), DID_NOTHING);
    assert_int_equal(scene_answer(&s, place, RL_LINE_SAID_YES, 0, 0), DID_NOTHING);
    assert_int_equal(scene_answer(&s, place, RL_LINE_SAID_NOTHING, 0, 0), DID_NOTHING);
    assert_int_equal(s.line.state, RL_LINE_JOINING);
    assert_false(s.line.is_heir);
    assert_int_equal(scene_nodes(&s, ALL_NODES, ALL_NODES), DID_LEAVE | DID_JOIN);
    assert_int_equal(s.line.home, s.order[0]);
    scene_no(&s, 0, 0);
    assert_int_equal(wakes_in_ns(&s), GRACE_NS); /* heir anew */
}

/* A node that refuses, or does not answer, or where the client does not listen, is passed over. */
static void passes_a_home_over(void **state) {
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct scene s;
        scene_start(&s);
        s.heard &= how == 2 ? ~scene_bit(&s, 0) : ALL_NODES;
        const uint32_t left = how == 2 ? DID_NOTHING : DID_LEAVE; /* no JOIN was sent to it */
        scene_want(&s);
        if (how == 0) {
            scene_answer(&s, s.line.place, RL_LINE_SAID_NOTHING, 0, 0);
        } else {
            scene_wake(&s);
        }
        assert_int_equal(scene_did(&s), left | DID_JOIN);
        assert_int_equal(s.line.home, s.order[1]);
        s.heard = ALL_NODES;
        scene_no(&s, 1, 60000);
        assert_int_equal(wakes_in_ns(&s), 1000 * MS);
        assert_int_equal(scene_wake(&s), DID_LEAVE | DID_JOIN); /* it is home again */
        assert_int_equal(s.line.home, s.order[0]);
    }
}

/* ... and sooner, when it is connected anew. */
static void comes_back_to_a_home_that_is_connected_anew(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    scene_want(&s);
    scene_answer(&s, s.line.place, RL_LINE_SAID_NOTHING, 0, 0);
    scene_no(&s, 0, 100);
    assert_int_equal(scene_nodes(&s, ALL_NODES & ~scene_bit(&s, 0), ALL_NODES), DID_NOTHING);
    assert_int_equal(s.line.home, s.order[1]);
    assert_int_equal(scene_nodes(&s, ALL_NODES, ALL_NODES), DID_LEAVE | DID_JOIN);
    assert_int_equal(s.line.home, s.order[0]);
}

/* What was passed over once is none of the next wait's business, a while later. */
static void forgets_whom_it_passed_over(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    scene_want(&s);
    scene_answer(&s, s.line.place, RL_LINE_SAID_NOTHING, 0, 0);
    scene_feed(&s, RL_LINE_EV_UNWANT);
    s.now_ns += 999 * MS;
    scene_want(&s);
    assert_int_equal(s.line.home, s.order[1]);
    scene_feed(&s, RL_LINE_EV_UNWANT);
    s.now_ns += MS;
    scene_want(&s);
    assert_int_equal(s.line.home, s.order[0]);
}

static void goes_on_without_a_line(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    s.homes = 0;
    assert_int_equal(scene_want(&s), DID_ALONE);
    assert_int_equal(s.places, 0); /* the number was not used */
    s.homes = ALL_NODES;
    scene_want(&s);
    for (uint32_t i = 0; i + 1 < NODES; i++) {
        assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_NOTHING, 0, 0),
                         DID_LEAVE | DID_JOIN);
    }
    assert_int_equal(scene_answer(&s, s.line.place, RL_LINE_SAID_NOTHING, 0, 0),
                     DID_LEAVE | DID_ALONE);
}

/* A turn may have been announced to no one: it joins anew, the place is the same. */
static void joins_anew_when_it_is_heard_again(void **state) {
    (void)state;
    struct scene s;
    scene_waiting(&s);
    const uint64_t place = s.line.place;
    assert_int_equal(scene_nodes(&s, ALL_NODES, 0), DID_NOTHING);
    assert_int_equal(s.line.state, RL_LINE_LISTENING);
    s.now_ns += MS;
    assert_int_equal(scene_nodes(&s, ALL_NODES, ALL_NODES), DID_JOIN);
    assert_true(s.line.place == place);
    scene_no(&s, 0, 100);
    scene_nodes(&s, ALL_NODES, 0);
    assert_int_equal(scene_wake(&s), DID_LEAVE); /* too long: to the next home */
    assert_int_equal(s.line.home, s.order[1]);
}

/* -- What is known of others -- */

static void knows_for_a_while_that_others_wait(void **state) {
    (void)state;
    struct scene s;
    scene_start(&s);
    assert_false(rl_line_is_busy(&s.line, 0));
    rl_line_note(&s.line, true, START_NS);
    assert_true(rl_line_is_busy(&s.line, START_NS + 4 * GRACE_NS - 1));
    assert_false(rl_line_is_busy(&s.line, START_NS + 4 * GRACE_NS));
    rl_line_note(&s.line, false, START_NS);
    assert_false(rl_line_is_busy(&s.line, START_NS));
}

/* -- All of it, at random -- */

/* One event that the driver could feed in this state. */
static void random_event(struct scene *s, uint64_t *seed) {
    const enum rl_line_state at = s->line.state;
    const uint64_t place = random_below(seed, 5) == 0 ? STRANGER : s->line.place;
    s->random = random_next(seed);
    s->now_ns += random_below(seed, 20) * MS;
    switch (random_below(seed, 12)) {
        case 0:
            scene_want(s);
            break;
        case 1:
            scene_feed(s, random_below(seed, 20) == 0 ? RL_LINE_EV_UNWANT : RL_LINE_EV_TICK);
            break;
        case 2:
            if (random_below(seed, 8) == 0) {
                scene_nodes(s, random_below(seed, 8), random_below(seed, 8));
            }
            break;
        case 3:
            rl_line_trust(&s->line, (uint32_t)random_below(seed, NODES));
            scene_nodes(s, ALL_NODES, ALL_NODES);
            break;
        case 4:
            scene_say(s, random_below(seed, 2) ? RL_LINE_EV_TURN : RL_LINE_EV_PASS, place);
            break;
        case 5:
            scene_say(s, RL_LINE_EV_HEIR, place);
            break;
        case 6:
        case 7:
            if (rl_line_wake_ns(&s->line) != RL_NEVER && rl_line_wake_ns(&s->line) > s->now_ns) {
                scene_wake(s);
            }
            break;
        default:
            if (at == RL_LINE_TURN) {
                scene_feed(s, RL_LINE_EV_TAKE);
            } else if (at == RL_LINE_TAKING && random_below(seed, 3) != 0) {
                scene_refuse(s, random_below(seed, 300));
            } else if (at == RL_LINE_TAKING) {
                scene_feed(s, random_below(seed, 2) == 0 ? RL_LINE_EV_WON : RL_LINE_EV_FAILED);
            } else if (s->line.stands || place == STRANGER) {
                uint32_t said = random_below(seed, 12);
                scene_answer(s, place, said < 3 ? (enum rl_line_said)said : RL_LINE_SAID_NO,
                             random_below(seed, 4), random_below(seed, 3000));
            }
    }
}

static void keeps_its_promises_at_random(void **state) {
    (void)state;
    uint64_t seed = random_seed();
    uint32_t seen[RL_LINE_STATES] = {0}, probes = 0, turned = 0;
    for (int run = 0; run < 2000; run++) {
        struct scene s;
        scene_start(&s);
        s.is_of_many = run % 4 == 0;
        for (int i = 0; i < 100; i++) {
            random_event(&s, &seed);
            seen[s.line.state]++;
            probes += s.line.probes;
            turned += s.line.turned;
        }
    }
    for (uint32_t i = 0; i < RL_LINE_STATES; i++) {
        printf("# %s: %u\n", rl_line_state_name((enum rl_line_state)i), (unsigned)seen[i]);
        assert_true(seen[i] > 1000);
    }
    printf("# probing: %u, and turned meanwhile: %u\n", (unsigned)probes, (unsigned)turned);
    assert_true(probes > 1000 && turned > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_its_turn_and_takes),
        cmocka_unit_test(has_its_turn_at_once_where_nobody_waits),
        cmocka_unit_test(has_one_turn_of_two_tidings),
        cmocka_unit_test(asks_as_heir_ever_later),
        cmocka_unit_test(asks_a_grace_after_it_is_heir),
        cmocka_unit_test(hears_that_it_is_heir_while_it_asks),
        cmocka_unit_test(asks_seldom_behind_others),
        cmocka_unit_test(tries_without_a_turn_every_other_time),
        cmocka_unit_test(does_not_try_when_told_heir_again),
        cmocka_unit_test(tries_without_a_turn_from_behind),
        cmocka_unit_test(does_not_try_without_need),
        cmocka_unit_test(has_its_turn_while_it_tries),
        cmocka_unit_test(moves_on_when_home_goes_and_back),
        cmocka_unit_test(passes_a_home_over),
        cmocka_unit_test(comes_back_to_a_home_that_is_connected_anew),
        cmocka_unit_test(forgets_whom_it_passed_over),
        cmocka_unit_test(goes_on_without_a_line),
        cmocka_unit_test(joins_anew_when_it_is_heard_again),
        cmocka_unit_test(knows_for_a_while_that_others_wait),
        cmocka_unit_test(keeps_its_promises_at_random),
    };
    return cmocka_run_group_tests_name("core_line", tests, NULL, NULL);
}
