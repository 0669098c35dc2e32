/* What the holder of a lock hears of the client that comes next: home notifies it (line.h), and its
 * release passes the keys on.
 */
#ifndef RL_WAIT_HEAR_H
#define RL_WAIT_HEAR_H

#include "client/state.h"

/* To be called after every step of a lock, before rl_line_follow(). */
void rl_hear_follow(redlock_lock *lock);

#endif
