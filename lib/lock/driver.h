/* The client's driver (core/driver.h): what the core decides is done to real nodes. Commands are
 * sent, what ends is noted and queued. What else follows from a step is step.h's.
 *
 * No function here calls user code, the trace hook excepted.
 */
#ifndef RL_LOCK_DRIVER_H
#define RL_LOCK_DRIVER_H

#include "client/state.h"

/* Completes an event whose type and union are filled in, steps the lock's core with it, and does
 * what it asks for. Returns whether it was a late vote. */
bool rl_driver_run(redlock_lock *lock, struct rl_event *event);

#endif
