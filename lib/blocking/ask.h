/* Takes a call from any thread to the loop thread, and the answer back: see state.h. */
#ifndef RL_BLOCKING_ASK_H
#define RL_BLOCKING_ASK_H

#include "blocking/state.h"

/* Sends an ask and waits for the answer. Returns the answer, or CLOSED, FORKED, WRONG_THREAD or
 * SYSTEM if nothing was asked. */
int rl_ask_send(redlock_blocking *blocking, struct rl_ask *ask);
/* Sends the client's last ask: refused if one was sent before. Does not wait. */
int rl_ask_send_last(redlock_blocking *blocking, struct rl_ask *ask);
/* Whether this call is possible at all: 0, FORKED or WRONG_THREAD. */
int rl_ask_check(const redlock_blocking *blocking);

void rl_blocking_ref(redlock_blocking *blocking);
void rl_blocking_unref(redlock_blocking *blocking);

#endif
