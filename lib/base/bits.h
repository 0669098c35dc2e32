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

/* The number of bits that are set: counted in pairs, in fours, in bytes, and summed. */
static inline uint32_t rl_bits_count(uint32_t mask) {
    mask -= mask >> 1 & 0x55555555;
    mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
    return ((mask + (mask >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* The nth bit that is set, from 0; 32: there are fewer. */
static inline uint32_t rl_bits_nth(uint32_t mask, size_t n) {
    uint32_t i = 0;
    for (; i < 32 && ((mask >> i & 1) == 0 || n-- > 0); i++) {
    }
    return i;
}

#endif
