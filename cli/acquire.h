/* One acquire, as the options ask for it: how it waits, how a signal interrupts it, and how a
 * failure is reported.
 *
 * Failure modes: another client has the lock: the message names it. Too few nodes answer. A signal
 * arrived: a lock that was granted is released. */
#ifndef RL_CLI_ACQUIRE_H
#define RL_CLI_ACQUIRE_H

#include <stdbool.h>

#include "session.h"

/* Acquires one of n locks as --wait, --no-wait and --fence say. options: what differs from the
 * defaults; this fills in ttl, wait and fencing. keys: of all locks. Returns whether session->lock
 * is held; if not, the reason was reported, and *exit_status is set (-E can make it 0). */
bool rl_acquire(struct rl_session *session, redlock_lock *const *locks, size_t n, const char *keys,
                redlock_acquire_options *options, int *exit_status);

/* Releases a lock that was granted although a signal had arrived. Returns the exit status. */
int rl_acquire_give_back(struct rl_session *session, redlock_lock *lock);

#endif
