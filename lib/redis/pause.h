/* How long a node or a listener that could not be connected is left alone. */
#ifndef RL_REDIS_PAUSE_H
#define RL_REDIS_PAUSE_H

#include <stdint.h>

/* The next pause before connecting: it doubles from *last_ns (0: the first) up to the longest,
 * with a jitter of half of itself. random: the state of the jitter, not 0. */
uint64_t rl_pause_ns(uint64_t shortest_ns, uint64_t longest_ns, uint64_t *last_ns,
                     uint64_t *random);

#endif
