/* Running the client's loop: see drive.c. */
#ifndef RL_BLOCKING_DRIVE_H
#define RL_BLOCKING_DRIVE_H

#include "blocking/state.h"

/* For a caller that has set wheel to RL_WHEEL_CALLER: runs the loop until the ask is answered, or
 * for a moment. */
void rl_drive_until(redlock_blocking *blocking, const struct rl_ask *ask);
/* For the loop thread, outside its loop: returns when it has the wheel again. */
void rl_drive_rest(redlock_blocking *blocking);

#endif
