/* The client's driver (core/driver.h): what the core decides is done to real nodes. Commands are
 * sent, what ends is noted and queued. What else follows from a step is step.h's.
 *
 * No function here calls user code, the trace hook excepted.
 */
#ifndef RL_LOCK_STEP_H
#define RL_LOCK_STEP_H

#include "client/state.h"

/* Completes an event whose type and union are filled in, steps the lock's core with it, and does
 * what it asks for. Returns whether it was a late vote. */
bool rl_driver_run(redlock_lock *lock, struct rl_event *event);

/* One step of a lock, and what follows from it: others may have their turn in line, its releases
 * are listened for or not any more, it is due at another time.
 */

/* Steps the lock with an event whose type and union are filled in. Returns whether it was a late
 * vote. Without another reference the lock may be gone. */
bool rl_step_event(redlock_lock *lock, struct rl_event *event);
/* One that has a call (enum rl_line_call): it asks the nodes, or pauses. */
void rl_step_called(redlock_lock *lock);
void rl_step_simple(redlock_lock *lock, enum rl_event_type type);

/* A deadline of the lock has come. */
void rl_step_due(struct rl_deadline *item, uint64_t now_ns);
void rl_step_end_due(struct rl_deadline *item, uint64_t now_ns);

#endif
