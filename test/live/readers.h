/* Readers of real nodes. */
#ifndef LIVE_READERS_H
#define LIVE_READERS_H

#include "live/live.h"

/* Leases on all nodes together. */
static inline size_t readers_count(const struct live *live, const char *resource) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += (size_t)live_integer(live, i, "ZCARD libredlock:readers:{%s}", resource);
    }
    return count;
}

#endif
