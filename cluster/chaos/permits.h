/* The permits workload: each resource is a semaphore, and a client holds one to three of its
 * permits at once, under the slots that it is given.
 *
 * Of all resources but the first the number of permits changes now and then, for all: it is lowered
 * by two, or raised again, while permits are held. Whoever is then told that it asks with the wrong
 * number takes the other one next time, as an operator would see to it. The first resource's number
 * stays, for those who cannot change it: "redlock run --permits" (under.h).
 *
 * Failure modes: a change that reaches no quorum of nodes is noted, and as good as none.
 */
#ifndef CHAOS_PERMITS_H
#define CHAOS_PERMITS_H

#include "worker.h"

/* How many of how many the worker asks for next, of its resource. */
void chaos_permits_choose(struct chaos_worker *worker);

/* The grant: takes its slots down. */
void chaos_permits_granted(struct chaos_worker *worker);

/* The acquire ended with this status. */
void chaos_permits_denied(struct chaos_worker *worker, int status);

/* Now and then: changes the number of the resource that it was at. then runs in any case, at once
 * or when the nodes have answered. */
void chaos_permits_change(struct chaos_worker *worker, void (*then)(struct chaos_worker *worker));

#endif /* CHAOS_PERMITS_H */
