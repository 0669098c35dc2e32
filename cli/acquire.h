/* One acquire, as the options say: waited for, interrupted, and its failure in a sentence.
 *
 * Failure modes: another has the lock, which is said with his name; too few nodes answer; a signal
 * came: then the lock is given back if it was granted. */
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
