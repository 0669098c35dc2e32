/* Shared by the unit tests: cmocka and replayable randomness. */
#ifndef UNIT_CHECK_H
#define UNIT_CHECK_H

#include "seed.h"
#include "testing.h"

#define MS UINT64_C(1000000) /* in ns */

/* splitmix64: every seed is a good one. */
static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to limit - 1 */
static inline uint32_t random_below(uint64_t *state, uint32_t limit) {
    return (uint32_t)(random_next(state) % limit);
}

#endif
