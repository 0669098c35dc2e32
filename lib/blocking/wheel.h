/* Which thread may run the client's loop: see state.h; drive.c says when. */
#ifndef RL_BLOCKING_WHEEL_H
#define RL_BLOCKING_WHEEL_H

#include "blocking/state.h"

/* How long the loop may go without a thread that runs it. */
#define RL_REST_MS 2

/* The calling thread runs the loop from now on, or no longer. `wheel` already says so, or will
 * while the gate is still closed. */
void rl_wheel_take(redlock_blocking *blocking);
void rl_wheel_let_go(redlock_blocking *blocking);
/* Whether the calling thread runs the loop. For assertions. */
bool rl_wheel_is_mine(const redlock_blocking *blocking);

/* With the gate closed, by the thread with the wheel: whether no thread needs the wheel for
 * RL_REST_MS. timeout_ms: how long the loop would wait; below 0: for ever. Sets due_ns. */
bool rl_wheel_may_let_go(redlock_blocking *blocking, int timeout_ms);
/* By the thread with the wheel, with the gate closed and all answers delivered: notes whether
 * callers come one by one. If so, the loop thread leaves its loop for them. */
void rl_wheel_consider(redlock_blocking *blocking);
/* By the thread that has set wheel to RL_WHEEL_THREAD: calls the loop thread. */
void rl_wheel_call(redlock_blocking *blocking);

/* The time of the clock of the gate's conditions. */
uint64_t rl_wheel_now_ns(void);

#endif
