/* The seed of a random test: REDLOCK_SEED, or one from the system's entropy; one per process. It is
 * printed, so that a failure can be repeated: REDLOCK_SEED=N PROGRAM. */
#ifndef TEST_SEED_H
#define TEST_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static inline uint64_t random_seed(void) {
    static uint64_t seed;
    static int is_drawn;
    const char *text = getenv("REDLOCK_SEED");
    if (!is_drawn) {
        if (text != NULL) {
            seed = strtoull(text, NULL, 0);
        } else if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
            abort();
        }
        is_drawn = 1;
        printf("# REDLOCK_SEED=%" PRIu64 "\n", seed);
        fflush(stdout);
    }
    return seed;
}

#endif
