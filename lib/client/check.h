/* What is true of a lock after each of its steps, and of a client at the end of each turn. In a
 * debug build it is asserted; a release build has none of it (but base/require.h). */
#ifndef RL_CLIENT_CHECK_H
#define RL_CLIENT_CHECK_H

#include "client/state.h"

#ifdef NDEBUG
static inline void rl_check_lock(const redlock_lock *lock) {
    (void)lock;
}
static inline void rl_check_client(const redlock_client *client) {
    (void)client;
}
static inline void rl_check_gone(const redlock_client *client) {
    (void)client;
}
#else
void rl_check_lock(const redlock_lock *lock);
/* Costs the same for any number of locks. */
void rl_check_client(const redlock_client *client);
/* Before its memory goes. */
void rl_check_gone(const redlock_client *client);
#endif

#endif
