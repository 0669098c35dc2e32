/* What was asked is run and answered, by who has the wheel: see state.h. */
#ifndef RL_BLOCKING_WORK_H
#define RL_BLOCKING_WORK_H

#include "blocking/state.h"

/* The ask may be gone when this returns. */
void rl_ask_answer(struct rl_ask *ask, int status);
/* Wakes the callers of all that were answered; or also of those that will be, from now on at once.
 */
void rl_ask_tell(redlock_blocking *blocking);
void rl_ask_tell_all(redlock_blocking *blocking);
/* Before the loop waits, and after that: runs all that were sent. */
void rl_ask_before_wait(redlock_blocking *blocking);
void rl_ask_after_wait(redlock_blocking *blocking);

/* The sentence of the last failure. Any thread. */
void rl_mutex_say(redlock_mutex *mutex, const char *sentence);

#endif
