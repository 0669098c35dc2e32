/* The work of the thread with the wheel (state.h) for a mutex. */
#ifndef RL_BLOCKING_HOLD_H
#define RL_BLOCKING_HOLD_H

#include "blocking/state.h"

/* Asks. */
void rl_hold_lock(struct rl_ask *ask);
void rl_hold_unlock(struct rl_ask *ask);
void rl_hold_extend(struct rl_ask *ask);
void rl_hold_alive(struct rl_ask *ask);
void rl_hold_downgrade(struct rl_ask *ask);
void rl_hold_upgrade(struct rl_ask *ask);
/* The client is about to be closed: withdraws all validity. */
void rl_hold_end_all(redlock_blocking *blocking);

#endif
