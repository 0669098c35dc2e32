/* When the watchdog extends: figures worked out by hand, and the bounds for all others. */
#include "core/watch.h"

#include "unit/check.h"

#define SECOND UINT64_C(1000000000)

/* 10 s of validity, renewed when 3 s are used up: 3 s after the beginning, 2.625 s at the earliest.
 */
static void extends_in_time(void **state) {
    (void)state;
    const uint64_t eighth_ns = 3 * SECOND / 8;
    assert_int_equal(rl_watch_next_ns(10 * SECOND, 10 * SECOND, 3 * SECOND, 0), 3 * SECOND);
    assert_int_equal(rl_watch_next_ns(10 * SECOND, 10 * SECOND, 3 * SECOND, eighth_ns),
                     3 * SECOND - eighth_ns);
    assert_int_equal(rl_watch_next_ns(10 * SECOND, 10 * SECOND, 3 * SECOND, eighth_ns + 1),
                     3 * SECOND);
    assert_int_equal(rl_watch_next_ns(70 * SECOND, 10 * SECOND, 3 * SECOND, 0), 63 * SECOND);
    assert_int_equal(rl_watch_next_ns(SECOND, 10 * SECOND, 3 * SECOND, 0), 0); /* at once */
}

static void is_spread_out(void **state) {
    (void)state;
    uint64_t random = random_seed();
    uint32_t early = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t validity_ns = 2 + random_below(&random, 1000000);
        uint64_t renew_ns = 1 + random_below(&random, (uint32_t)validity_ns - 1);
        uint64_t until_ns = validity_ns + random_next(&random) % (1000 * SECOND);
        uint64_t at_ns = rl_watch_next_ns(until_ns, validity_ns, renew_ns, random_next(&random));
        uint64_t latest_ns = until_ns - validity_ns + renew_ns;
        assert_true(at_ns <= latest_ns);
        assert_true(at_ns >= latest_ns - renew_ns / 8);
        early += at_ns < latest_ns - renew_ns / 16;
    }
    assert_in_range(early, 4000, 6000);
}

/* The more is left, the longer it can wait. */
static void tries_again_soon_but_not_at_once(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extends_in_time),
        cmocka_unit_test(is_spread_out),
        cmocka_unit_test(tries_again_soon_but_not_at_once),
    };
    return cmocka_run_group_tests_name("core_watch", tests, NULL, NULL);
}
