/* The work under a lock: writes in small steps, each only while the lock is valid.
 *
 *   enter ... write ... (extend) ... write ... exit
 *
 * It ends early, with a note "lost", when on_lost runs or when a step finds that the lock is not
 * valid any more, whichever comes first. The control "ignore-validity" does neither: it works to
 * its end.
 */
#ifndef CHAOS_WORK_H
#define CHAOS_WORK_H

#include "worker.h"

/* The lock is held: work. on_worked runs when the work is over, or ended by a loss. */
void chaos_work_begin(struct chaos_worker *worker, void (*on_worked)(struct chaos_worker *worker));

/* Until when its lock is valid, right after an answer. 0: it is not. */
uint64_t chaos_work_valid_until_ns(const struct chaos_worker *worker);

/* on_renew ran: a lock that was passed is valid for its ttl, after a lease. */
void chaos_work_renewed(struct chaos_worker *worker, int status);

/* on_lost ran. */
void chaos_work_lost(struct chaos_worker *worker, int status);

#endif /* CHAOS_WORK_H */
