/* What a holder hears of other clients. Home notifies the holder of the client that comes next
 * (line.h), and the holder's release passes the keys on to it. Holders that have waited hear it,
 * and those that may linger (lock/reentrancy.h), which listen at home from before their attempt on.
 *
 * Can another client want a lock that counts as unwanted? Only if no message of home says so: that
 * client does not stand in line; it stands in line at another node, since it cannot reach home or
 * does not know all nodes; or it was the first in line already when home's key became free and this
 * client won it, since home notifies a holder only when the first in line changes. (A lock that was
 * won without home counts as wanted: home may have given its key to another client, and would not
 * know the holder.)
 */
#ifndef RL_WAIT_HEAR_H
#define RL_WAIT_HEAR_H

#include "client/state.h"

/* To be called after every step of a lock, before rl_line_follow(). before: the core's state until
 * then. */
void rl_hear_follow(redlock_lock *lock, uint8_t before);

/* Whether no other lock, of this client or of another, is known to want what the lock holds, and
 * this client would have heard of another client. */
bool rl_hear_is_unwanted(const redlock_lock *lock, uint64_t now_ns);

/* Whether the client hears of any successor: else none of its locks lingers. */
bool rl_hear_has_any(const redlock_client *client);

/* Another client wants what the lock holds, or may want it unheard. */
void rl_hear_wanted(redlock_lock *lock);

/* Whether the lock was unwanted until now, and the client does not hear of others any more. */
bool rl_hear_is_deaf(const redlock_lock *lock);

#endif
