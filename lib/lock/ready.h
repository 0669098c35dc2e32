/* The queues that the turn empties: what is done goes in here, and is looked at there. So nothing
 * has to call the turn, and nothing that is found while a reply is read steps another lock on the
 * spot: a thousand waiters that fail at once are not a thousand nested calls.
 *
 * A lock is in each of them at most once, with a reference. */
#ifndef RL_LOCK_READY_H
#define RL_LOCK_READY_H

#include "client/state.h"

/* It has callbacks to run. Of no effect if it is in the queue already; so are the others. */
void rl_ready_done(redlock_lock *lock);
/* Its on_lost is to run. */
void rl_ready_lost(redlock_lock *lock);
/* It is to be stepped: its turn in line has come, or it is to try soon. */
void rl_ready_step(redlock_lock *lock);

/* The first one, with its reference; NULL if there is none. */
redlock_lock *rl_ready_take_done(redlock_client *client);
redlock_lock *rl_ready_take_lost(redlock_client *client);
redlock_lock *rl_ready_take_step(redlock_client *client);

/* Whether code of the user's is to run. */
bool rl_ready_has_callbacks(const redlock_client *client);

#endif
