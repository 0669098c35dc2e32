/* One client of the workload contend: a process of its own, which is forked for it.
 *
 * Happy path: rl_bench_contender_run(), in the child, makes a loop, a client and its locks, says
 * that it is ready, and waits until it may go. From then on each of its waiters asks for the lock,
 * holds it for --hold-ms, releases and asks again: greedy ones from the release's callback, or
 * without waiting for it (--again at-once), polite ones after --think-ms. When it is told to stop,
 * those who wait are cancelled, holders finish; then the client is closed.
 *
 * With --idle the first process takes the lock before it is ready, and keeps it.
 *
 * Failure modes: what cannot be opened is a sentence in the process's `error`. An acquire that ends
 * in an error is counted as failed and repeated; a lock that is lost while held is counted as
 * failed, its hold has ended then.
 *
 * Is the grant's time the right one? It is read when the callback runs, and the end before the
 * release is asked for: a hold is never written down longer than the holder had it, nor beyond its
 * validity. So two holds that overlap are two holders at one time. */
#ifndef RL_BENCH_CONTENDER_H
#define RL_BENCH_CONTENDER_H

#include "arena.h"
#include "bench.h"

/* bench: the parent's. Returns the exit status. */
int rl_bench_contender_run(const struct rl_bench *bench, struct rl_bench_arena *arena,
                           size_t number);

#endif /* RL_BENCH_CONTENDER_H */
