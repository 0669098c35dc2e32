/* How long a node or a listener that could not be connected is left alone: see node.h. */
#include "redis/node.h"

/* A jitter of half of the pause. xorshift is random enough to keep clients apart. */
uint64_t rl_node_pause_ns(const struct rl_node_options *options, uint64_t *last_ns,
                          uint64_t *random) {
    uint64_t pause_ns = *last_ns == 0 ? options->backoff_min_ns : *last_ns * 2;
    if (pause_ns > options->backoff_max_ns) {
        pause_ns = options->backoff_max_ns;
    }
    *last_ns = pause_ns;
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return pause_ns - *random % (pause_ns / 2 + 1);
}
