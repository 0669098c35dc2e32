/* Masks of nodes. A client's masks have a bit for each of its nodes. A lock's core knows only the
 * nodes that concern the lock, by their seats (nodes/seats.h), and its masks have 32 bits, so a
 * lock costs the same however many nodes its client has. */
#ifndef RL_BASE_BITS_H
#define RL_BASE_BITS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* -- Seats -- */

#define RL_SEATS_MAX 31u /* one bit is kept free */

static inline uint32_t rl_seat(uint32_t i) {
    assert(i < RL_SEATS_MAX);
    return UINT32_C(1) << i;
}

/* The number of bits that are set: counted in pairs, in fours, in bytes, and summed. */
static inline uint32_t rl_seats_count(uint32_t mask) {
    mask -= mask >> 1 & 0x55555555;
    mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
    return ((mask + (mask >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* -- Nodes of a client -- */

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 rl_mask __attribute__((aligned(8)));
#define RL_MASK_BITS 128u
#else
typedef uint64_t rl_mask;
#define RL_MASK_BITS 64u
#endif

#define RL_NODES_MAX (RL_MASK_BITS - 1)

static inline rl_mask rl_bit(uint32_t i) {
    assert(i < RL_MASK_BITS);
    return (rl_mask)1 << i;
}

/* Most clients have few nodes, in the first word. */
static inline uint32_t rl_bits_count(rl_mask mask) {
    uint32_t count = rl_seats_count((uint32_t)mask);
    while ((mask >>= 32) != 0) {
        count += rl_seats_count((uint32_t)mask);
    }
    return count;
}

/* A mask with one bit for each of n nodes. */
static inline rl_mask rl_bits_below(uint32_t n) {
    return rl_bit(n) - 1;
}

/* The lowest bit that is set; there is one. */
static inline uint32_t rl_bits_lowest(rl_mask mask) {
    const uint64_t low = (uint64_t)mask, high = (uint64_t)(mask >> 32 >> 32);
    assert(mask != 0);
    return (uint32_t)(low != 0 ? __builtin_ctzll(low) : 64 + __builtin_ctzll(high));
}

/* The nth set bit, from 0; RL_MASK_BITS: there are fewer. */
static inline uint32_t rl_bits_nth(rl_mask mask, size_t n) {
    for (; n > 0 && mask != 0; n--) {
        mask &= mask - 1;
    }
    return mask != 0 ? rl_bits_lowest(mask) : RL_MASK_BITS;
}

/* For each bit that is set now, the lowest first. */
#define RL_EACH_BIT(i, mask)                                                 \
    for (rl_mask i##_left = (mask); i##_left != 0; i##_left = 0)             \
        for (uint32_t i; i##_left != 0 && (i = rl_bits_lowest(i##_left), 1); \
             i##_left &= i##_left - 1)

#endif
