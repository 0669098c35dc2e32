/* The thread with the wheel (state.h): which thread that is, and how it runs and answers asks. When
 * it changes is in drive.c. */
#ifndef RL_BLOCKING_DRIVE_H
#define RL_BLOCKING_DRIVE_H

#include "blocking/state.h"

/* -- The wheel -- */

/* The calling thread runs the loop from now on. `wheel` already shows this, or will before the gate
 * opens. */
void rl_wheel_take(redlock_blocking *blocking);
/* Whether the calling thread runs the loop. For assertions. */
bool rl_wheel_is_mine(const redlock_blocking *blocking);
/* By the thread that has set wheel to RL_WHEEL_THREAD: calls the loop thread. */
void rl_wheel_call(redlock_blocking *blocking);

/* -- Asks, by the thread with the wheel -- */

/* The ask may no longer exist when this returns. */
void rl_ask_answer(struct rl_ask *ask, int status);
/* Wakes the callers of all answered asks. */
void rl_ask_tell(redlock_blocking *blocking);
/* Before the loop waits, and after it: run all asks that were sent. */
void rl_ask_before_wait(void *owner);
void rl_ask_after_wait(void *owner);

/* -- Running the loop -- */

/* For a caller that has set wheel to RL_WHEEL_CALLER: runs the loop until the ask is answered, or
 * for a moment. */
void rl_drive_until(redlock_blocking *blocking, const struct rl_ask *ask);
/* For the loop thread, outside its loop: returns when it has the wheel again. */
void rl_drive_rest(void *owner);

#endif
