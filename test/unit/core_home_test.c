/* The choice of the home node: the same on all machines; if a node is down, only its own resources
 * move. */
#include "core/home.h"

#include "core/quorum.h"
#include "unit/check.h"

static uint64_t hash_of(const char *text) {
    return rl_home_hash(text, (uint32_t)strlen(text));
}

static void name_nodes(uint64_t *hashes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "10.0.0.%u:6379", (unsigned)(i + 1));
        hashes[i] = hash_of(name);
    }
}

/* -- The same everywhere: worked out by another program, from the published definitions -- */

TEST(hashes_as_it_always_did) {
    static const struct {
        const char *bytes;
        uint32_t length;
        uint64_t hash;
    } rows[] = {
        {"", 0, UINT64_C(0xf52a15e9a9b5e89b)},
        {"a", 1, UINT64_C(0x2c0bdbf481420f8)},
        {"resource", 8, UINT64_C(0xe9b9484bb25d546e)},
        {"127.0.0.1:6379", 14, UINT64_C(0x15adec3eaaf6cb76)},
        {"\0", 1, UINT64_C(0x25fc6dd36ce04b20)},
        {"\0\0", 2, UINT64_C(0x7bc210046bd616cc)},
        {"\xff\x80", 2, UINT64_C(0xce476189e98c0818)}, /* bytes have no sign */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(rl_home_hash(rows[i].bytes, rows[i].length) == rows[i].hash);
    }
}

/* The whole order of five nodes: the home, the home without that node, and so on. */
TEST(orders_as_it_always_did) {
    static const struct {
        const char *resource;
        uint32_t nodes[5];
    } rows[] = {
        {"a", {1, 0, 3, 4, 2}},        {"b", {1, 3, 0, 2, 4}},
        {"orders:1", {4, 3, 2, 1, 0}}, {"orders:2", {3, 0, 4, 1, 2}},
        {"orders:3", {2, 3, 1, 0, 4}}, {"job", {4, 2, 1, 0, 3}},
        {"cron", {3, 4, 2, 0, 1}},     {"\xe2\x82\xac", {4, 1, 2, 3, 0}},
    };
    uint64_t hashes[5];
    name_nodes(hashes, 5);
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint32_t left = 31;
        for (uint32_t rank = 0; rank < 5; rank++) {
            uint32_t first = rl_home_node(hash_of(rows[i].resource), hashes, left);
            assert_int_equal(first, rows[i].nodes[rank]);
            left &= ~(UINT32_C(1) << first);
        }
    }
}

/* -- What the order is good for -- */

TEST(takes_one_of_those_with_the_same_name) {
    const uint64_t hashes[4] = {7, 7, 7, 7};
    for (uint32_t mask = 1; mask < 16; mask++) {
        for (uint64_t resource = 6; resource <= 7; resource++) { /* 7: they weigh nothing */
            uint32_t first = rl_home_node(resource, hashes, mask);
            assert_true(mask >> first & 1);
        }
    }
}
