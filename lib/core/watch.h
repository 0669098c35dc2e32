/* When the watchdog extends a lock.
 *
 * Happy path: whenever renew_ns of the validity are used up, so that with the usual third of the
 * ttl two more tries fit in before the end. Up to an eighth of that earlier, at random: locks that
 * were acquired together do not renew together.
 *
 * Failure modes: nodes that are behind. A lock with much validity left can wait for them: its votes
 * are waited for, and the extension is repeated, at a pace that follows what is left. A fixed pace
 * would be a trap: if a hundred thousand locks met one hiccup that is longer than a vote is waited
 * for, their repetitions alone would keep the nodes behind until all are lost. (That was measured.)
 */
#ifndef RL_CORE_WATCH_H
#define RL_CORE_WATCH_H

#include <stdint.h>

#define RL_WATCH_RETRY_NS_MIN UINT64_C(5000000)
#define RL_WATCH_RETRY_NS_MAX UINT64_C(5000000000)

/* For a lock that is valid until valid_until_ns, and for validity_ns after each extension. */
uint64_t rl_watch_next_ns(uint64_t valid_until_ns, uint64_t validity_ns, uint64_t renew_ns,
                          uint64_t random);

/* How long the votes of an extension are waited for: node_timeout_ns, or a quarter of what is left
 * of the validity. */
uint64_t rl_watch_wait_ns(uint64_t node_timeout_ns, uint64_t left_ns);

/* The pause after an unknown outcome: an eighth of what is left of the validity, a quarter of that
 * at random. */
uint64_t rl_watch_retry_ns(uint64_t left_ns, uint64_t random);

#endif
