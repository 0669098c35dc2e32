/* Running and answering asks, by the thread with the wheel: see state.h. */
#ifndef RL_BLOCKING_WORK_H
#define RL_BLOCKING_WORK_H

#include "blocking/state.h"

/* The ask may no longer exist when this returns. */
void rl_ask_answer(struct rl_ask *ask, int status);
/* Wakes the callers of all answered asks; or: also wakes later ones at once from now on.
 */
void rl_ask_tell(redlock_blocking *blocking);
void rl_ask_tell_all(redlock_blocking *blocking);
/* Before the loop waits, and after it: run all asks that were sent. */
void rl_ask_before_wait(redlock_blocking *blocking);
void rl_ask_after_wait(redlock_blocking *blocking);

/* Sets the sentence of the last failure. Any thread. */
void rl_mutex_say(redlock_mutex *mutex, const char *sentence);

#endif
