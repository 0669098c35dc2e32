/* One acquire, as the options ask for it: how it waits, how a signal interrupts it, and how a
 * failure is reported.
 *
 * Failure modes: another client has the lock, and is named; too few nodes answer; a signal
 * arrived, after which a lock that was granted is released. */
#ifndef RL_CLI_ACQUIRE_H
#define RL_CLI_ACQUIRE_H

#include <stdbool.h>

#include "session.h"

/* Acquires as --wait, --no-wait and --fence say. options: what differs from the defaults; ttl, wait
 * and fencing are filled in by this. Returns whether the lock is held; if not, why was said, and
 * *exit_status is what it means (which -E can make 0). */
bool rl_acquire(struct rl_session *session, redlock_lock *lock, const char *keys,
                redlock_acquire_options *options, int *exit_status);

/* A lock that was acquired while a signal came is released. Returns the exit status. */
int rl_acquire_give_back(struct rl_session *session, redlock_lock *lock);

#endif
