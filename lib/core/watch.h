/* When the watchdog extends a lock.
 *
 * Happy path: whenever renew_ns of the validity are used up, so that with the usual third of the
 * ttl two more tries fit in before the end. Up to an eighth of that earlier, at random: locks that
 * were acquired together do not renew together.
 *
 * Failure modes: an extension of which nobody knows whether it took effect is repeated after a
 * twentieth of the validity, but neither in a tight loop nor so late that a short outage costs the
 * lock.
 */
#ifndef RL_CORE_WATCH_H
#define RL_CORE_WATCH_H

#include <stdint.h>

#define RL_WATCH_RETRY_NS_MIN UINT64_C(5000000)
#define RL_WATCH_RETRY_NS_MAX UINT64_C(500000000)

/* For a lock that is valid until valid_until_ns, and for validity_ns after each extension. */
uint64_t rl_watch_next_ns(uint64_t valid_until_ns, uint64_t validity_ns, uint64_t renew_ns,
                          uint64_t random);

/* The pause after an unknown outcome. */
uint64_t rl_watch_retry_ns(uint64_t validity_ns, uint64_t random);

#endif
