/* The arithmetic of Redlock: quorums that meet, and a validity that is exact to the nanosecond. */
#include "core/quorum.h"

#include "unit/check.h"

#define DAY_MS 86400000u

static uint32_t bits_of(uint32_t mask) {
    uint32_t bits = 0;
    for (; mask != 0; mask &= mask - 1) {
        bits++;
    }
    return bits;
}

TEST(is_the_least_majority) {
    static const uint32_t wanted[] = {0, 1, 2, 2, 3, 3, 4, 4};
    for (uint32_t n = 1; n <= RL_SEATS_MAX; n++) {
        uint32_t quorum = rl_quorum(n);
        assert_true(quorum <= n);
        assert_true(2 * quorum > n);        /* two quorums always meet */
        assert_true(2 * (quorum - 1) <= n); /* two smaller sets need not */
        if (n < COUNT(wanted)) {
            assert_int_equal(quorum, wanted[n]);
        }
    }
}

/* Whether a quorum of list a and one of list b can have no node in common. */
static bool can_part(uint32_t a, uint32_t b) {
    for (uint32_t x = 0; x <= a; x++) {
        for (uint32_t y = 0; y <= b; y++) {
            if ((x & ~a) == 0 && bits_of(x) == rl_quorum(bits_of(a)) && (y & ~b) == 0 &&
                bits_of(y) == rl_quorum(bits_of(b)) && (x & y) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Clients with different lists of nodes: what docs/nodes.md says about changing the list. With one
 * node more or less, they exclude each other. With two, they do not if the numbers are odd, so a
 * change from three to five goes by four. Renaming a node counts as two changes. */
TEST(lists_one_node_apart_meet) {
    for (uint32_t n = 1; n <= 7; n++) {
        uint32_t all = rl_all_nodes(n), more = rl_all_nodes(n + 1), two_more = rl_all_nodes(n + 2);
        uint32_t renamed = more & ~UINT32_C(1); /* n nodes: the first is replaced by a new one */
        assert_false(can_part(all, all));
        assert_false(can_part(all, more));
        assert_int_equal(can_part(all, two_more), n % 2);
        assert_int_equal(can_part(all, renamed), n % 2);
    }
}

struct row {
    uint32_t ttl_ms, drift_ppm;
    uint64_t drift_ns; /* the constant part */
    uint64_t wanted_drift_ns, wanted_validity_ns;
};

TEST(is_exact) {
    static const struct row rows[] = {
        /* the defaults: 0.01 and 2 ms */
        {10000, 10000, 2 * MS, 102 * MS, 9898 * MS},
        {1000, 10000, 2 * MS, 12 * MS, 988 * MS},
        {100, 10000, 2 * MS, 3 * MS, 97 * MS},
        {30000, 10000, 2 * MS, 302 * MS, 29698 * MS},
        /* parts of a millisecond are kept */
        {1, 10000, 0, 10000, 990000},
        {3, 333333, 1, 1000000, 2000000},
        {3, 1, 0, 3, 2999997},
        {12345, 12345, 678, 152399703, 12192600297},
        /* no allowance, all of it */
        {1, 0, 0, 0, MS},
        {1000, 1000000, 0, 1000 * MS, 0},
        /* the drift eats the ttl, to the last nanosecond and beyond */
        {2, 10000, 2 * MS, 2020000, 0},
        {3, 10000, 2 * MS, 2030000, 970000},
        {2, 0, 2 * MS, 2 * MS, 0},
        {2, 0, 2 * MS - 1, 2 * MS - 1, 1},
        {1, 0, 86400000 * MS, 86400000 * MS, 0},
        {0, 10000, 2 * MS, 2 * MS, 0},
        /* a day, and the largest values */
        {DAY_MS, 10000, 2 * MS, 864002 * MS, 85535998 * MS},
        {DAY_MS, 999999, 0, 86399913600000, 86400000},
        {DAY_MS, 0, 0, 0, 86400000000000},
        {UINT32_MAX, 10000, 0, 42949672950000, 4252017622050000},
        {UINT32_MAX, 1000000, DAY_MS * MS, 4381367295000000, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct rl_rules rules = {.drift_ppm = row->drift_ppm, .drift_ns = row->drift_ns};
        assert_int_equal(rl_drift_ns(&rules, row->ttl_ms), row->wanted_drift_ns);
        assert_int_equal(rl_validity_ns(&rules, row->ttl_ms), row->wanted_validity_ns);
    }
}
