/* Pauses: between two attempts, and until the watchdog extends a lock. The caller supplies the
 * random number.
 *
 * Between attempts: a fixed part, to spare the nodes, and a random part, so that clients that split
 * the votes do not collide again (specification, "Retry on failure").
 *
 * The watchdog extends when renew_ns of the validity are used up; with the usual third of the ttl,
 * two more tries fit in before the end. It extends up to an eighth of that earlier, at random, so
 * that locks that were acquired together do not all renew together. The time is then rounded down
 * to a step of the clock, a hundredth of the interval: locks that are due in one step renew in one
 * command per node.
 *
 * Failure modes: slow nodes. A lock with much validity left can wait for them, so the wait for
 * votes, and the pause before the next try, depend on what is left. With a fixed pace, one hiccup
 * longer than the node timeout would be fatal to a hundred thousand locks: their retries alone
 * would keep the nodes overloaded until all locks are lost. (This was measured.)
 */
#ifndef RL_CORE_TIMING_H
#define RL_CORE_TIMING_H

#include <stdint.h>

#define RL_RETRY_NS_MIN UINT64_C(1000000) /* shorter pauses would only burn the processor */
#define RL_WATCH_STEPS 100                /* per renew_ns */
#define RL_WATCH_RETRY_NS_MIN UINT64_C(5000000)
#define RL_WATCH_RETRY_NS_MAX UINT64_C(5000000000)

/* delay plus a uniformly random part from 0 to jitter, inclusive; at least RL_RETRY_NS_MIN. */
uint64_t rl_retry_delay_ns(uint32_t delay_ms, uint32_t jitter_ms, uint64_t random);

/* When to extend a lock that is valid until valid_until_ns, and for validity_ns after each
 * extension. */
uint64_t rl_watch_next_ns(uint64_t valid_until_ns, uint64_t validity_ns, uint64_t renew_ns,
                          uint64_t random);

/* How long to wait for the votes of an extension: node_timeout_ns, or a quarter of the remaining
 * validity. */
uint64_t rl_watch_wait_ns(uint64_t node_timeout_ns, uint64_t left_ns);

/* The pause after an unknown outcome: an eighth of the remaining validity, a quarter of that at
 * random. */
uint64_t rl_watch_retry_ns(uint64_t left_ns, uint64_t random);

#endif
