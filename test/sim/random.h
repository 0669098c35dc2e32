/* Random numbers that replay: splitmix64, one stream per concern, so that a change in one concern
 * does not shift the numbers of another. Nothing here can fail; a range is inclusive at both
 * ends. */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/splitmix.h"

struct sim_random {
    uint64_t state;
};

static inline uint64_t sim_random(struct sim_random *random) {
    return next_random(&random->state);
}

/* A stream of its own, by number, out of one seed. */
static inline struct sim_random sim_random_stream(uint64_t seed, uint32_t stream) {
    struct sim_random random = {seed};
    random.state = sim_random(&random) + stream * UINT64_C(0xd1342543de82ef95);
    sim_random(&random);
    return random;
}

static inline uint64_t sim_between(struct sim_random *random, uint64_t low, uint64_t high) {
    assert(low <= high);
    return low + sim_random(random) % (high - low + 1);
}

/* The same, of small numbers. */
static inline uint32_t sim_any(struct sim_random *random, uint64_t low, uint64_t high) {
    return (uint32_t)sim_between(random, low, high);
}

/* One of 0 to count - 1. */
static inline uint32_t sim_pick(struct sim_random *random, uint32_t count) {
    return (uint32_t)sim_between(random, 0, count - 1);
}

static inline bool sim_chance(struct sim_random *random, uint32_t percent) {
    return sim_pick(random, 100) < percent;
}

/* Mostly small, now and then near the end: like durations. */
static inline uint64_t sim_skewed(struct sim_random *random, uint64_t low, uint64_t high) {
    uint64_t part = sim_between(random, 0, 1000);
    return low + (high - low) / 1000000000 * (part * part * part) +
           (high - low) % 1000000000 * (part * part * part) / 1000000000;
}

#endif
