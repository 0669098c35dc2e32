/* See home.h. The hash of bytes is FNV-1a, by its published constants; the mixing after it is
 * the finalizer of splitmix64, since FNV's high bits hardly depend on the last bytes. */
#include "core/home.h"

#include <assert.h>

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint32_t rl_home_node(uint64_t resource, const uint64_t *nodes, rl_mask mask) {
    uint32_t first = 0;
    uint64_t largest = 0;
    assert(mask != 0);
    RL_EACH_BIT(i, mask) {
        uint64_t weight = mix(resource ^ nodes[i]);
        if (weight >= largest) {
            largest = weight;
            first = i;
        }
    }
    assert(mask >> first & 1);
    return first;
}

uint64_t rl_home_hash(const void *bytes, uint32_t length) {
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < length; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return mix(hash);
}
