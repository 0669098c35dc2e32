/* See pause.h. */
#include "redis/pause.h"

#include <assert.h>

/* xorshift is random enough to keep clients apart. */
uint64_t rl_pause_ns(uint64_t shortest_ns, uint64_t longest_ns, uint64_t *last_ns,
                     uint64_t *random) {
    assert(shortest_ns > 0 && shortest_ns <= longest_ns);
    assert(*last_ns <= longest_ns);
    assert(*random != 0);
    uint64_t pause_ns = *last_ns == 0 ? shortest_ns : *last_ns * 2;
    if (pause_ns > longest_ns) {
        pause_ns = longest_ns;
    }
    *last_ns = pause_ns;
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return pause_ns - *random % (pause_ns / 2 + 1);
}
