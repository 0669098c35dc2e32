/* The span of an acquire, from its submission to its end, and of the resulting hold, for traces and
 * metrics. Nothing here changes what a lock does.
 *
 * Does each span end exactly once? Yes. An acquire ends where its operation is taken for delivery.
 * A hold begins there, and ends where the object's `depth` becomes 0: released, disowned or
 * abandoned (reentrancy.c), or where its loss is taken for delivery.
 */
#ifndef RL_WATCH_SPAN_H
#define RL_WATCH_SPAN_H

#include "client/state.h"

/* An acquire, or an adoption, begins. */
void rl_span_submitted(redlock_lock *lock, bool joins);

/* The acquire ends: the object holds the lock (its depth is not counted yet), or the status says
 * why not. */
void rl_span_acquired(redlock_lock *lock, bool is_first);
void rl_span_failed(redlock_lock *lock, int status);

/* An extension, of the watchdog or of the user, ended with 0. */
void rl_span_renewed(redlock_lock *lock);

/* The hold ends, unless the object was acquired more often than it was released. */
void rl_span_released(redlock_lock *lock);
void rl_span_lost(redlock_lock *lock, int status);

/* After a step: traces whether the lock has begun to wait or to pause. */
void rl_span_trace_state(redlock_lock *lock, uint8_t before);

void rl_span_trace_vote(redlock_lock *lock, const struct rl_ballot_in *vote, int status, bool late);

/* The lock has its place in the line of a node; rank: how many are ahead. */
void rl_span_trace_place(redlock_lock *lock, uint32_t node, uint32_t rank);

#endif
