/* See quorum.h for the argument. */
#include "core/quorum.h"

#include <assert.h>

#include "base/bits.h"

uint32_t rl_quorum(uint32_t n) {
    assert(n >= 1);
    assert(n <= RL_SEATS_MAX);
    uint32_t quorum = n / 2 + 1;
    assert(2 * quorum > n); /* two quorums share a node */
    return quorum;
}

struct rl_electorate rl_electorate_of(uint32_t n) {
    const uint32_t all = rl_all_nodes(n);
    return (struct rl_electorate){{all, all}};
}

bool rl_is_majority(rl_mask side, rl_mask nodes) {
    assert(side != 0);
    return 2 * rl_bits_count(nodes & side) > rl_bits_count(side);
}

static struct rl_sides sides_of(const struct rl_electorate *electorate) {
    return (struct rl_sides){{electorate->sides[0], electorate->sides[1]}};
}

bool rl_is_quorum(const struct rl_electorate *electorate, uint32_t nodes) {
    const struct rl_sides sides = sides_of(electorate);
    return rl_sides_quorum(&sides, nodes);
}

uint32_t rl_votes_needed(const struct rl_electorate *electorate) {
    const struct rl_sides sides = sides_of(electorate);
    return rl_sides_votes_needed(&sides);
}

uint32_t rl_all_nodes(uint32_t n) {
    assert(n >= 1);
    assert(n <= RL_SEATS_MAX);
    return (UINT32_C(1) << n) - 1;
}

bool rl_sides_quorum(const struct rl_sides *sides, rl_mask nodes) {
    const rl_mask *of = sides->of;
    return rl_is_majority(of[0], nodes) && (of[1] == of[0] || rl_is_majority(of[1], nodes));
}

uint32_t rl_sides_lack(const struct rl_sides *sides, rl_mask nodes) {
    const rl_mask *of = sides->of;
    uint32_t lacking[2];
    for (int side = 0; side < 2; side++) {
        const uint32_t needed = rl_quorum(rl_bits_count(of[side]));
        const uint32_t have = rl_bits_count(of[side] & nodes);
        lacking[side] = needed > have ? needed - have : 0;
    }
    /* A node on both sides counts for both. */
    const uint32_t less = lacking[0] < lacking[1] ? lacking[0] : lacking[1];
    const uint32_t both = rl_bits_count(of[0] & of[1] & ~nodes);
    return lacking[0] + lacking[1] - (both < less ? both : less);
}

uint32_t rl_sides_votes_needed(const struct rl_sides *sides) {
    const uint32_t old = rl_quorum(rl_bits_count(sides->of[0]));
    const uint32_t new = rl_quorum(rl_bits_count(sides->of[1]));
    return old > new ? old : new;
}

uint64_t rl_drift_ns(const struct rl_rules *rules, uint32_t ttl_ms) {
    assert(rules->drift_ppm <= 1000000);
    return (uint64_t)ttl_ms * rules->drift_ppm + rules->drift_ns;
}

uint64_t rl_validity_ns(const struct rl_rules *rules, uint32_t ttl_ms) {
    uint64_t ttl_ns = ttl_ms * RL_NS_PER_MS;
    uint64_t drift_ns = rl_drift_ns(rules, ttl_ms);
    return ttl_ns > drift_ns ? ttl_ns - drift_ns : 0;
}
