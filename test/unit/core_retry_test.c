/* The pause between two attempts: from delay to delay + jitter, both ends reached, evenly spread;
 * and never so short that an attempt would follow an attempt without end. */
#include "core/retry.h"

#include "unit/check.h"

#define DAY_MS 86400000u

static void adds_a_part_of_the_jitter(void **state) {
    (void)state;
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

static void stays_within_its_bounds(void **state) {
    (void)state;
    uint64_t random = random_seed();
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t delay_ms = random_below(&random, DAY_MS + 1) >> random_below(&random, 27);
        uint32_t jitter_ms = random_below(&random, DAY_MS + 1) >> random_below(&random, 27);
        uint64_t got_ns = rl_retry_delay_ns(delay_ms, jitter_ms, random_next(&random));
        assert_true(got_ns >= delay_ms * MS);
        uint64_t most_ns = (uint64_t)delay_ms * MS + jitter_ms * MS;
        assert_true(got_ns >= RL_RETRY_NS_MIN);
        assert_true(got_ns <= (most_ns > RL_RETRY_NS_MIN ? most_ns : RL_RETRY_NS_MIN));
    }
}

/* Ten bins of 10 ms, 10,000 pauses: 1000 in each, give or take five standard deviations. */
static void is_evenly_spread(void **state) {
    (void)state;
    uint64_t random = random_seed();
    uint32_t bins[10] = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t jitter_ns = rl_retry_delay_ns(50, 100, random_next(&random)) - 50 * MS;
        bins[jitter_ns == 100 * MS ? 9 : jitter_ns / (10 * MS)]++;
    }
    for (size_t i = 0; i < COUNT(bins); i++) {
        assert_in_range(bins[i], 850, 1150);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_a_part_of_the_jitter),
        cmocka_unit_test(stays_within_its_bounds),
        cmocka_unit_test(is_evenly_spread),
    };
    return cmocka_run_group_tests_name("core_retry", tests, NULL, NULL);
}
