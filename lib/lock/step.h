/* The client's driver (core/driver.h) carries out the core's decisions: it sends commands to the
 * nodes, and records and queues what has ended. The step functions also do what else follows from a
 * step.
 *
 * No function here calls user code, the trace hook excepted.
 */
#ifndef RL_LOCK_STEP_H
#define RL_LOCK_STEP_H

#include "client/state.h"

/* Completes an event whose type and union are filled in, steps the lock's core with it, and carries
 * out the result. Returns whether it was a late vote. */
bool rl_driver_run(redlock_lock *lock, struct rl_event *event);

/* One step of a lock, and what follows from it: other locks may get their turn in line, the client
 * starts or stops listening for releases, and the lock's deadline changes.
 */

/* Steps the lock with an event whose type and union are filled in. Returns whether it was a late
 * vote. Without another reference the lock may be gone. */
bool rl_step_event(redlock_lock *lock, struct rl_event *event);
/* Steps a lock that has a call (enum rl_line_call): it asks the nodes, or pauses. */
void rl_step_called(redlock_lock *lock);
void rl_step_simple(redlock_lock *lock, enum rl_event_type type);

/* Ends what the client's locks have under way: other nodes vote from now on, and no ttl may be
 * longer. */
void rl_step_changed(redlock_client *client, uint32_t max_ttl_ms);

/* A deadline of the lock has come. */
void rl_step_due(struct rl_deadline *item, uint64_t now_ns);
void rl_step_end_due(struct rl_deadline *item, uint64_t now_ns);

#endif
