/* Queries on a lock. */
#ifndef RL_CORE_LOCK_VIEW_H
#define RL_CORE_LOCK_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lock_data.h"

/* When RL_EV_TICK is due, RL_NEVER if no deadline is set. */
uint64_t rl_lock_wake_ns(const struct rl_lock *lock);

/* When the loss of a held lock is due, which RL_EV_TICK reports; RL_NEVER if it is not held. For
 * drivers with many locks: rl_lock_wake_ns() alone may name something less urgent. */
uint64_t rl_lock_lost_ns(const struct rl_lock *lock);

/* Whether the lock is held, and its validity has not ended at now_ns. */
bool rl_lock_is_valid(const struct rl_lock *lock, uint64_t now_ns);

/* Whether the lock is held or extending, whatever the time. */
bool rl_lock_is_holding(const struct rl_lock *lock);

/* The fence of the last grant; 0 before it, or if the acquire did not ask for one. */
uint64_t rl_lock_fence(const struct rl_lock *lock);

/* Whether there is an attempt or a hold with this token, so that no release of it was sent. */
bool rl_lock_has_token(const struct rl_lock *lock, const char *token);

/* Whether an acquire (waiting to granted) is pending. */
bool rl_lock_is_acquiring(const struct rl_lock *lock);

/* Whether the lock keeps its place in line: it asks the nodes, holds, or waits for its turn. */
bool rl_lock_is_in_line(const struct rl_lock *lock);

#endif
