/* The permits workload: each resource is a semaphore, and a client holds one to three of its
 * permits at once, under its assigned slots.
 *
 * The number of permits of each resource but the first changes now and then, for all clients: it is
 * lowered by two, or raised again, while permits are held. A client that is refused for its wrong
 * number uses the other one next time, as an operator would arrange. The first resource's number
 * stays, for clients that cannot change it: "redlock run --permits" (under.h).
 *
 * Failure modes: a change that reaches no quorum of nodes is noted, and has no effect. */
#ifndef CHAOS_PERMITS_H
#define CHAOS_PERMITS_H

#include "worker.h"

/* How many permits, of how many, the worker asks for next. */
void chaos_permits_choose(struct chaos_worker *worker);

/* The grant: records its slots. */
void chaos_permits_granted(struct chaos_worker *worker);

/* The acquire ended with this status. */
void chaos_permits_denied(struct chaos_worker *worker, int status);

/* Now and then: changes the number of its last resource. then runs in any case, at once or when the
 * nodes have answered. */
void chaos_permits_change(struct chaos_worker *worker, void (*then)(struct chaos_worker *worker));

#endif /* CHAOS_PERMITS_H */
