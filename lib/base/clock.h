/* The clock of everything that runs on a real machine: it continues during suspend, and never goes
 * back. */
#ifndef RL_CLOCK_H
#define RL_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/require.h"

static inline uint64_t rl_clock_ns(void) {
    struct timespec now;
#ifdef CLOCK_BOOTTIME
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);
#else
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    RL_REQUIRE(failed == 0); /* else validity would depend on garbage from the stack */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
