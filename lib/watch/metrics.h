/* Histograms, for clients that want them: see redlock/metrics.h.
 *
 * Happy path: rl_metrics_init() allocates all memory, a lock gets its label when it is made, and
 * each event is counted in a bucket. metrics.c also formats the text.
 *
 * Failure modes: no memory at the start. Labels beyond the limit become "other".
 */
#ifndef RL_WATCH_METRICS_H
#define RL_WATCH_METRICS_H

#include "client/state.h"

/* Upper bounds of the buckets except the last, in microseconds. */
extern const uint64_t rl_metrics_bounds_us[RL_METRICS_BOUNDS];

/* False: no memory. */
bool rl_metrics_init(redlock_client *client, const redlock_client_options *o);

/* Another node has this place now. */
void rl_metrics_joined(redlock_client *client, uint32_t node);

/* Runs the user's function, inside the call that makes the lock. */
void rl_metrics_label(redlock_lock *lock, const redlock_bytes *resource);

/* Only for clients with metrics. */
void rl_metrics_waited(redlock_lock *lock, uint64_t ns);
void rl_metrics_held(redlock_lock *lock, uint64_t ns);
void rl_metrics_answered(struct rl_client_node *member, const struct rl_request *request);

#endif
