/* Masks with a bit for each node. */
#ifndef RL_BASE_BITS_H
#define RL_BASE_BITS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t rl_bit(uint32_t i) {
    assert(i < 32);
    return UINT32_C(1) << i;
}

/* The number of bits that are set. */
static inline uint32_t rl_bits_count(uint32_t mask) {
    uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
}

/* The nth bit that is set, from 0; 32: there are fewer. */
static inline uint32_t rl_bits_nth(uint32_t mask, size_t n) {
    uint32_t i = 0;
    for (; i < 32 && ((mask >> i & 1) == 0 || n-- > 0); i++) {
    }
    return i;
}

#endif
