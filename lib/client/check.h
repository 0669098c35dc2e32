/* Invariants of a lock after each of its steps, and of a client at the end of each turn. A debug
 * build asserts them; a release build only has RL_REQUIRE() (base/require.h). */
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
/* Its cost does not depend on the number of locks. */
void rl_check_client(const redlock_client *client);
/* Call this before the client's memory is freed. */
void rl_check_gone(const redlock_client *client);
#endif

#endif
