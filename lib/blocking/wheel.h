/* Who may run the client's loop: see state.h, and drive.c for when that is who. */
#ifndef RL_BLOCKING_WHEEL_H
#define RL_BLOCKING_WHEEL_H

#include "blocking/state.h"

/* For so long nobody may run the loop. */
#define RL_REST_MS 2

/* The calling thread runs the loop from now on, or no longer. `wheel` says so already, or will,
 * under the same closed gate. */
void rl_wheel_take(redlock_blocking *blocking);
void rl_wheel_let_go(redlock_blocking *blocking);
/* Whether the calling thread does. For assertions. */
bool rl_wheel_is_mine(const redlock_blocking *blocking);

/* With the gate closed, by who has the wheel: whether nobody needs to have it for RL_REST_MS.
 * timeout_ms: for how long the loop would wait, below 0: for ever. Sets due_ns. */
bool rl_wheel_may_let_go(redlock_blocking *blocking, int timeout_ms);
/* Who has the wheel, with the gate closed and all answers told: notes whether callers come one by
 * one. The loop thread then leaves its loop for them. */
void rl_wheel_consider(redlock_blocking *blocking);
/* Who has set wheel to RL_WHEEL_THREAD: the loop thread is to come. */
void rl_wheel_call(redlock_blocking *blocking);

/* Of the clock of the gate's conditions. */
uint64_t rl_wheel_now_ns(void);

#endif
