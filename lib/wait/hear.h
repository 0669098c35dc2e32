/* What a holder hears of other clients. Home notifies the holder of the client that comes next
 * (line.h), and the holder's release passes the keys to it. A holder receives this if it has
 * waited, or if it may linger (lock/reentrancy.h): then it listens at home from before its attempt.
 *
 * Can another client want a lock that counts as unwanted? Only if home sends no message about it:
 * that client does not stand in line; it stands in line at another node, since it cannot reach home
 * or does not know all nodes; or it was already first in line when home's key became free and this
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

/* Whether no other lock, of this client or another, is known to want the lock's resource, and this
 * client would have heard of another client. */
bool rl_hear_is_unwanted(const redlock_lock *lock, uint64_t now_ns);

/* Whether the client hears of any successor; otherwise none of its locks lingers. */
bool rl_hear_has_any(const redlock_client *client);

/* Another client wants the lock's resource, or may want it without this client hearing of it. */
void rl_hear_wanted(redlock_lock *lock);

/* Whether the lock was unwanted so far, and the client no longer hears of others. */
bool rl_hear_is_deaf(const redlock_lock *lock);

#endif
