/* Who may call: the thread that runs the client's loop. In a debug build (without NDEBUG) a call
 * from another one ends the program, with a sentence that names the function: it would be a race,
 * which shows itself much later or never.
 *
 * Which thread that is, is known from each turn of the loop. Before the first one nothing is known
 * and no caller is refused: a client may be opened in one thread, and handed over with its loop. A
 * child after fork() is known otherwise (fork.h). */
#ifndef RL_OWN_H
#define RL_OWN_H

#include "redlock/redlock.h"

#ifdef NDEBUG
static inline void rl_own_turn(redlock_client *client) {
    (void)client;
}
static inline void rl_own(const redlock_client *client, const char *function) {
    (void)client, (void)function;
}
#else
/* This thread runs the loop. */
void rl_own_turn(redlock_client *client);

/* function: of the interface, that was called on this client. */
void rl_own(const redlock_client *client, const char *function);
#endif

#endif
