/* One client of the chaos run: a redlock client of its own, which takes a lock, works under it,
 * releases it and begins again until it is stopped.
 *
 *   open -> wait -> work -> release -> pause -> wait -> ... -> close
 *              \______\________\_______/  refused, lost, given back
 *
 * Many workers share one loop and one process, but no state of the library: each has connections of
 * its own, so they exclude each other only through the nodes, as processes on different machines
 * do.
 *
 * The work under a lock follows one of three plans, drawn at random:
 *   short     a few writes, as long as work_ms on average; by far the most frequent
 *   extended  about as long as the ttl, kept alive by redlock_extend()
 *   outlast   longer than the ttl and not extended: the lock is lost in the middle on purpose, and
 *             a correct client stops there
 * In the workload edge each is extended up to three times, the last time at any moment of its
 * validity, and outlasts that: it acts every millisecond at the end.
 *
 * Can a correct worker act after the end of validity? Every act of a holder goes through act() of
 * work.c, which reads the clock first and asks redlock_lock_is_valid() after it, so the time that
 * is recorded lies within the validity. No client can prevent that its process stalls between that
 * question and the write; the order of the lines in the register shows it, and the checker counts
 * it separately. */
#ifndef CHAOS_LIFE_H
#define CHAOS_LIFE_H

#include "worker.h"

void chaos_life_open(struct chaos_worker *worker, struct chaos_process *process, int number);

/* Ends the current work with its next step; then closes the client. */
void chaos_life_stop(struct chaos_worker *worker);

/* Writes the client's counters into the story. */
void chaos_life_count(const struct chaos_worker *worker);

#endif /* CHAOS_LIFE_H */
