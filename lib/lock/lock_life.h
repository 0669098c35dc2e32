/* How long the memory of a lock lives: as long as there is a reference to it. */
#ifndef RL_LOCK_LOCK_LIFE_H
#define RL_LOCK_LOCK_LIFE_H

#include "client/state.h"

/* The first reference, the maker's: the client knows the lock from now on. */
void rl_lock_enlist(redlock_lock *lock);
void rl_lock_ref(redlock_lock *lock);
/* The lock may be gone then. */
void rl_lock_unref(redlock_lock *lock);
/* Whatever refers to it: the client is gone. */
void rl_lock_destroy(redlock_lock *lock);

#endif
