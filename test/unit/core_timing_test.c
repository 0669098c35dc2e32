/* Pauses: figures computed by hand, and the bounds for all others. */
#include "core/timing.h"

#include "unit/check.h"

#define DAY_MS 86400000u
#define SECOND UINT64_C(1000000000)

/* -- Between two attempts: from delay to delay + jitter, both ends reached, evenly spread -- */

TEST(adds_a_part_of_the_jitter) {
    static const struct {
        uint32_t delay_ms, jitter_ms;
        uint64_t random, wanted_ns;
    } rows[] = {
        {50, 100, 0, 50 * MS},
        {50, 100, 1, 50 * MS + 1},
        {50, 100, 100 * MS, 150 * MS},    /* the end is included */
        {50, 100, 100 * MS + 1, 50 * MS}, /* and the next one begins again */
        {50, 0, UINT64_MAX, 50 * MS},
        {0, 0, 12345, MS}, /* never shorter than the least */
        {0, 1, MS, MS},
        {0, 100, 3, MS},
        {0, 100, MS - 1, MS},
        {0, 100, MS + 1, MS + 1},
        {DAY_MS, DAY_MS, 0, DAY_MS * MS},
        {DAY_MS, DAY_MS, DAY_MS * MS, 2 * DAY_MS * MS},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX * MS, UINT32_MAX * MS * 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t got_ns = rl_retry_delay_ns(rows[i].delay_ms, rows[i].jitter_ms, rows[i].random);
        assert_int_equal(got_ns, rows[i].wanted_ns);
    }
}

/* -- The watchdog -- */

/* 10 s of validity, renewed when 3 s are used up: 3 s after the beginning, 2.625 s at the earliest,
 * down to a step of 30 ms. */
TEST(extends_in_time) {
    const uint64_t eighth_ns = 3 * SECOND / 8;
    assert_int_equal(rl_watch_next_ns(10 * SECOND, 10 * SECOND, 3 * SECOND, 0), 3 * SECOND);
    assert_int_equal(rl_watch_next_ns(10 * SECOND, 10 * SECOND, 3 * SECOND, eighth_ns), 2610 * MS);
    assert_int_equal(rl_watch_next_ns(10 * SECOND, 10 * SECOND, 3 * SECOND, eighth_ns + 1),
                     3 * SECOND);
    assert_int_equal(rl_watch_next_ns(70 * SECOND, 10 * SECOND, 3 * SECOND, 0), 63 * SECOND);
    assert_int_equal(rl_watch_next_ns(SECOND, 10 * SECOND, 3 * SECOND, 0), 0); /* at once */
}

TEST(is_spread_out) {
    uint64_t random = random_seed();
    uint32_t early = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t validity_ns = 2 + random_below(&random, 1000000);
        uint64_t renew_ns = 1 + random_below(&random, (uint32_t)validity_ns - 1);
        uint64_t until_ns = validity_ns + random_next(&random) % (1000 * SECOND);
        uint64_t at_ns = rl_watch_next_ns(until_ns, validity_ns, renew_ns, random_next(&random));
        uint64_t latest_ns = until_ns - validity_ns + renew_ns;
        assert_true(at_ns <= latest_ns);
        assert_true(at_ns >= latest_ns - renew_ns / 8 - renew_ns / RL_WATCH_STEPS);
        early += at_ns < latest_ns - renew_ns / 16;
    }
    assert_in_range(early, 4000, 6000);
}

/* The more time is left, the longer it can wait. */
TEST(tries_again_soon_but_not_at_once) {
    assert_int_equal(rl_watch_retry_ns(8 * SECOND, 0), SECOND);
    assert_int_equal(rl_watch_retry_ns(800000000, 0), SECOND / 10);
    assert_int_equal(rl_watch_retry_ns(86400 * SECOND, 0), RL_WATCH_RETRY_NS_MAX);
    assert_int_equal(rl_watch_retry_ns(1, 0), RL_WATCH_RETRY_NS_MIN);
    assert_int_equal(rl_watch_retry_ns(8 * SECOND, SECOND / 4 - 1), SECOND - SECOND / 4 + 1);
    assert_int_equal(rl_watch_retry_ns(8 * SECOND, SECOND / 4), SECOND);
    assert_int_equal(rl_watch_wait_ns(SECOND / 4, 40 * SECOND), 10 * SECOND);
    assert_int_equal(rl_watch_wait_ns(SECOND / 4, 1100 * MS), 275 * MS);
    assert_int_equal(rl_watch_wait_ns(SECOND / 4, SECOND), SECOND / 4);
    assert_int_equal(rl_watch_wait_ns(SECOND / 4, 900 * MS), SECOND / 4);
    assert_int_equal(rl_watch_wait_ns(SECOND / 4, 0), SECOND / 4);
}
