/* The moment of a message on the client's clock (core/calibration.h): with clocks that drift within
 * the allowance, it is never later than the true moment. */
#include "core/calibration.h"

#include "unit/check.h"

#define SECOND_US UINT64_C(1000000)
#define SENT_NS (50000 * MS)
#define TIME_US (7 * SECOND_US)
#define PPM 10000u

/* The moment for a time that the node reports a second after the command was sent. */
static uint64_t start_ns(uint64_t time_us) {
    const struct rl_calibration calibration = {.sent_ns = SENT_NS, .time_us = TIME_US};
    return rl_calibration_start_ns(&calibration, time_us, SENT_NS + 1000 * MS, 1, PPM);
}

/* Computed by hand. The node's time was up to 1 us later than it showed. */
TEST(counts_from_the_sending) {
    assert_true(start_ns(TIME_US + 1) == SENT_NS);
    assert_true(start_ns(TIME_US + 500001) == SENT_NS + 495 * MS);
    assert_true(start_ns(TIME_US) == SENT_NS - 1010);
    assert_true(start_ns(TIME_US - 499999) == SENT_NS - 505 * MS);
    const struct rl_calibration calibration = {.sent_ns = SENT_NS, .time_us = TIME_US};
    assert_true(rl_calibration_start_ns(&calibration, TIME_US + 2, SENT_NS + MS, 1, 1) ==
                SENT_NS + 999); /* fractions of a ns are rounded up */
    assert_true(rl_calibration_start_ns(&calibration, TIME_US, SENT_NS + MS, 1, 1) ==
                SENT_NS - 1001);
}

/* -- What it does not say -- */

TEST(says_nothing_without_a_calibration) {
    const struct rl_calibration none = {.time_us = TIME_US};
    assert_true(rl_calibration_start_ns(&none, TIME_US, SENT_NS, 0, PPM) == 0);
}

/* Another server may have answered before that. */
TEST(says_nothing_from_before_the_subscription) {
    const struct rl_calibration calibration = {.sent_ns = SENT_NS, .time_us = TIME_US};
    for (uint64_t at_ns = SENT_NS - 1; at_ns <= SENT_NS + 1; at_ns++) {
        const uint64_t said_ns =
            rl_calibration_start_ns(&calibration, TIME_US, SENT_NS + MS, at_ns, PPM);
        assert_int_equal(said_ns != 0, at_ns < SENT_NS);
    }
}

TEST(says_nothing_after_ten_seconds) {
    const struct rl_calibration calibration = {.sent_ns = SENT_NS, .time_us = TIME_US};
    static const uint64_t ages_ns[] = {0, 10000 * MS, 10000 * MS + 1, 3600000 * MS};
    for (size_t i = 0; i < COUNT(ages_ns); i++) {
        const uint64_t said_ns =
            rl_calibration_start_ns(&calibration, TIME_US, SENT_NS + ages_ns[i], 1, PPM);
        assert_int_equal(said_ns != 0, i < 2);
    }
}

/* If the node's clock steps forward by more than the message's travel time, it names the future. */
TEST(says_nothing_of_the_future) {
    const uint64_t now_us = TIME_US + 1 + 1000 * MS / 990; /* a second by the slowest clock */
    assert_true(start_ns(now_us - 2) != 0);
    assert_true(start_ns(now_us + 2) == 0);
    assert_true(start_ns(now_us + 3600 * SECOND_US) == 0);
    assert_true(start_ns(UINT64_MAX) == 0);
}

/* Nor of times before everything else; a node reports 0 if it has no time. */
TEST(says_nothing_of_long_ago) {
    const struct rl_calibration early = {.sent_ns = 1000 * MS, .time_us = TIME_US};
    assert_true(start_ns(0) != 0);
    assert_true(start_ns(TIME_US + 1 - 20 * SECOND_US) == 0);
    assert_true(rl_calibration_start_ns(&early, TIME_US - SECOND_US, 1001 * MS, 1, PPM) == 0);
    assert_true(rl_calibration_start_ns(&early, 0, 1001 * MS, 1, PPM) == 0);
}

/* -- Clocks -- */

#define MOMENTS 8

/* Moments in order, as both clocks show them. */
struct clocks {
    uint64_t client_ns[MOMENTS], node_ns[MOMENTS];
};

/* Between two moments, up to most_ns pass on the node's clock; the client's clock agrees within the
 * allowance, and is often at its edge. */
static void run_clocks(struct clocks *c, uint32_t most_ns, uint32_t ppm, uint64_t *seed) {
    c->client_ns[0] = 60000 * MS + random_next(seed) % (1000 * MS);
    c->node_ns[0] = 1700000000000 * MS + random_next(seed) % (1000 * MS);
    for (size_t i = 1; i < MOMENTS; i++) {
        const uint64_t node_ns = random_below(seed, 3) == 0 ? 0 : random_below(seed, most_ns);
        const uint64_t edge_ns = node_ns * ppm / 1000000;
        const uint64_t some_ns = random_next(seed) % (2 * edge_ns + 1);
        const uint64_t edges_ns[] = {0, 2 * edge_ns, some_ns};
        c->node_ns[i] = c->node_ns[i - 1] + node_ns;
        c->client_ns[i] = c->client_ns[i - 1] + node_ns - edge_ns + edges_ns[random_below(seed, 3)];
    }
}

/* The command is sent and run, the key is written before or after that, and the message comes
 * last. */
TEST(is_never_later_than_it_was) {
    static const uint32_t drifts_ppm[] = {0, 1, 500, 10000, 50000};
    static const uint32_t steps_ns[] = {3000, 1000000, 1000000000};
    uint64_t seed = random_seed();
    uint32_t before = 0, after = 0;
    for (uint32_t run = 0; run < 200000; run++) {
        const uint32_t ppm = drifts_ppm[random_below(&seed, COUNT(drifts_ppm))];
        const uint32_t sent = random_below(&seed, MOMENTS - 1);
        const uint32_t ran = sent + random_below(&seed, MOMENTS - 1 - sent);
        const uint32_t written = random_below(&seed, MOMENTS);
        struct clocks c;
        run_clocks(&c, steps_ns[random_below(&seed, COUNT(steps_ns))], ppm, &seed);
        const struct rl_calibration calibration = {.sent_ns = c.client_ns[sent],
                                                   .time_us = c.node_ns[ran] / 1000};
        const uint64_t at_ns = c.client_ns[written];
        const uint64_t said_ns =
            rl_calibration_start_ns(&calibration, c.node_ns[written] / 1000,
                                    c.client_ns[MOMENTS - 1], c.client_ns[0] - 1, ppm);
        if (said_ns > at_ns) {
            print_error("run %u, %u ppm: sent %u, ran %u, written %u\n", (unsigned)run,
                        (unsigned)ppm, (unsigned)sent, (unsigned)ran, (unsigned)written);
        }
        assert_true(said_ns <= at_ns);
        /* and earlier by no more than the way to the node, the drift and the digits cost */
        const uint64_t apart_ns = written < ran ? c.node_ns[ran] - c.node_ns[written]
                                                : c.node_ns[written] - c.node_ns[ran];
        const uint64_t cost_ns = c.client_ns[ran] - c.client_ns[sent] + 3000 +
                                 (apart_ns + 3000) / 500000 * ppm + 2 * ppm;
        assert_true(said_ns + cost_ns >= at_ns);
        before += written < ran;
        after += written > ran;
    }
    assert_true(before > 1000 && after > 1000);
}
