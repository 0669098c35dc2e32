/* A node that did not answer is passed over for a time, and not for longer: also where nobody of
 * ours was in line when that time ended. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_again),
        cmocka_unit_test(at_its_first_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
