/* How long to wait between two attempts. A fixed part, so that the nodes are not hammered, and a
 * random one, so that clients that split the votes do not collide again (specification, "Retry on
 * failure"). Randomness is an argument. */
#ifndef RL_CORE_RETRY_H
#define RL_CORE_RETRY_H

#include <stdint.h>

#define RL_RETRY_NS_MIN UINT64_C(1000000) /* shorter pauses would only burn the processor */

/* delay plus an evenly spread part of 0 to jitter, both included; at least RL_RETRY_NS_MIN. */
uint64_t rl_retry_delay_ns(uint32_t delay_ms, uint32_t jitter_ms, uint64_t random);

#endif
