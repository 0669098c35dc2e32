/* A node that did not answer is passed over for a time, and not for longer: also where nobody of
 * ours was in line when that time ended. It is home again ahead of that when it answers, but only
 * once. */
#include "core/line.h"

#include "unit/check.h"

#define NODES 3u
#define ALL ((1u << NODES) - 1)
#define TIMEOUT_NS (50 * MS)

static const uint64_t node_hashes[NODES] = {11, 22, 33};

static struct rl_line_actions feed(struct rl_line *line, enum rl_line_event_type type,
                                   uint64_t now_ns) {
    static uint64_t places;
    struct rl_line_actions out;
    struct rl_line_event event = {.type = type,
                                  .now_ns = now_ns,
                                  .new_place = ++places,
                                  .timeout_ns = TIMEOUT_NS,
                                  .idle_ns = 30000 * MS,
                                  .resource = 5,
                                  .node_hashes = node_hashes,
                                  .homes = ALL,
                                  .heard = ALL};
    rl_line_step(line, &event, &out);
    return out;
}

/* No node answers in time. Returns when that was clear. */
static uint64_t all_are_silent(struct rl_line *line, uint64_t now_ns) {
    struct rl_line_actions out = feed(line, RL_LINE_EV_WANT, now_ns);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(out.join && !out.alone);
        assert_int_equal(line->state, RL_LINE_JOINING);
        now_ns += TIMEOUT_NS;
        out = feed(line, RL_LINE_EV_TICK, now_ns);
    }
    assert_true(out.alone);
    assert_int_equal(line->state, RL_LINE_OUT);
    return now_ns;
}

static void joins_again(void **state) {
    (void)state;
    struct rl_line line = {0};
    uint64_t now_ns = all_are_silent(&line, 1000 * MS);
    assert_true(feed(&line, RL_LINE_EV_WANT, now_ns + RL_LINE_AVOID_NS - MS).alone);
    struct rl_line_actions out = feed(&line, RL_LINE_EV_WANT, now_ns + RL_LINE_AVOID_NS);
    assert_true(out.join && !out.alone);
}

/* One that was passed over long ago is the first home again, at once. */
static void at_its_first_home(void **state) {
    (void)state;
    struct rl_line line = {0};
    uint64_t now_ns = 1000 * MS;
    feed(&line, RL_LINE_EV_WANT, now_ns);
    uint8_t home = line.home;
    now_ns += TIMEOUT_NS;
    feed(&line, RL_LINE_EV_TICK, now_ns);
    assert_int_not_equal(line.home, home);
    feed(&line, RL_LINE_EV_UNWANT, now_ns);
    feed(&line, RL_LINE_EV_WANT, now_ns + RL_LINE_AVOID_NS);
    assert_int_equal(line.home, home);
}

/* Home is passed over. Returns which it was. */
static uint32_t first_is_silent(struct rl_line *line, uint64_t now_ns) {
    const uint32_t home = line->home;
    assert_int_equal(line->state, RL_LINE_JOINING);
    struct rl_line_actions out = feed(line, RL_LINE_EV_TICK, now_ns);
    assert_true(out.leave && out.leave_home == home && out.join);
    assert_int_not_equal(line->home, home);
    return home;
}

static void is_home_again(struct rl_line *line, uint32_t home, uint64_t now_ns) {
    const uint32_t other = line->home;
    struct rl_line_actions out = feed(line, RL_LINE_EV_NODES, now_ns);
    assert_true(out.leave && out.leave_home == other && out.join);
    assert_int_equal(line->home, home);
}

static void when_it_answers(void **state) {
    (void)state;
    struct rl_line line = {0};
    uint64_t now_ns = 1000 * MS;
    feed(&line, RL_LINE_EV_WANT, now_ns);
    now_ns += TIMEOUT_NS;
    const uint32_t home = first_is_silent(&line, now_ns);
    assert_false(rl_line_trust(&line, line.home));
    assert_false(feed(&line, RL_LINE_EV_NODES, now_ns).join);
    assert_true(rl_line_trust(&line, home));
    is_home_again(&line, home, now_ns + MS);
}

/* One that is slow now and then is asked twice in a second, and not without end. */
static void when_it_answers_once(void **state) {
    (void)state;
    struct rl_line line = {0};
    uint64_t now_ns = 1000 * MS;
    feed(&line, RL_LINE_EV_WANT, now_ns);
    now_ns += TIMEOUT_NS;
    const uint32_t home = first_is_silent(&line, now_ns);
    assert_true(rl_line_trust(&line, home));
    now_ns += RL_LINE_AVOID_NS - 1; /* it answers as late as it may */
    is_home_again(&line, home, now_ns);
    now_ns += TIMEOUT_NS;
    assert_int_equal(first_is_silent(&line, now_ns), home);
    assert_false(rl_line_trust(&line, home));
    feed(&line, RL_LINE_EV_UNWANT, now_ns);
    now_ns += RL_LINE_AVOID_NS;
    feed(&line, RL_LINE_EV_WANT, now_ns); /* that time is over, and all is as it was */
    assert_int_equal(line.home, home);
    now_ns += TIMEOUT_NS;
    assert_int_equal(first_is_silent(&line, now_ns), home);
    assert_true(rl_line_trust(&line, home));
}

/* One that does not keep lines, or not for us, is not asked again before that time is over. */
static void when_it_refuses(void **state) {
    (void)state;
    struct rl_line line = {0};
    const uint64_t now_ns = 1000 * MS;
    feed(&line, RL_LINE_EV_WANT, now_ns);
    const uint32_t home = line.home;
    struct rl_line_event error = {.type = RL_LINE_EV_ANSWER,
                                  .now_ns = now_ns,
                                  .new_place = 1000,
                                  .timeout_ns = TIMEOUT_NS,
                                  .resource = 5,
                                  .node_hashes = node_hashes,
                                  .homes = ALL,
                                  .heard = ALL};
    struct rl_line_actions out;
    error.u.answer.place = line.place;
    error.u.answer.said = RL_LINE_SAID_NOTHING;
    rl_line_step(&line, &error, &out);
    assert_true(out.leave && out.join && line.home != home);
    assert_false(rl_line_trust(&line, home));
    feed(&line, RL_LINE_EV_TICK, now_ns + RL_LINE_AVOID_NS);
    assert_int_equal(line.home, home);
}

/* In the middle of a turn, or when nobody waits: the next place is there. */
static void when_it_answers_a_take(void **state) {
    (void)state;
    struct rl_line line = {0};
    uint64_t now_ns = 1000 * MS;
    feed(&line, RL_LINE_EV_WANT, now_ns);
    now_ns += TIMEOUT_NS;
    const uint32_t home = first_is_silent(&line, now_ns);
    struct rl_line_event yes = {.type = RL_LINE_EV_ANSWER, .now_ns = now_ns};
    struct rl_line_actions out;
    yes.u.answer.place = line.place;
    yes.u.answer.said = RL_LINE_SAID_YES;
    rl_line_step(&line, &yes, &out);
    assert_true(out.turn);
    feed(&line, RL_LINE_EV_TAKE, now_ns);
    assert_true(rl_line_trust(&line, home));
    out = feed(&line, RL_LINE_EV_NODES, now_ns);
    assert_true(!out.leave && !out.join);
    feed(&line, RL_LINE_EV_WON, now_ns);
    feed(&line, RL_LINE_EV_WANT, now_ns + MS);
    assert_int_equal(line.home, home);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_again),     cmocka_unit_test(at_its_first_home),
        cmocka_unit_test(when_it_answers), cmocka_unit_test(when_it_answers_once),
        cmocka_unit_test(when_it_refuses), cmocka_unit_test(when_it_answers_a_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
