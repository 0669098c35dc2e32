/* One client of the workload contend: a process of its own, which is forked for it.
 *
 * Happy path: rl_bench_contender_run(), in the child, makes a loop, a client and its locks, reports
 * that it is ready, and waits for the start. From then on each of its waiters asks for the lock,
 * holds it for --hold-ms, releases and asks again: greedy ones from the release's callback, or
 * without waiting for it (--again at-once), polite ones after --think-ms. At the stop, waits are
 * cancelled and holders finish; then the client is closed.
 *
 * With --idle the first process takes the lock before it is ready, and keeps it.
 *
 * Failure modes: if opening fails, the process's `error` has a sentence. An acquire that ends in an
 * error is counted as failed and repeated; a lock that is lost while held is counted as failed, and
 * its hold has ended.
 *
 * Is the time of a grant right? It is read when the callback runs, and the end before the release
 * is requested: a recorded hold is never longer than the real one, and never exceeds its validity.
 * So two overlapping holds mean two holders at one time. */
#ifndef RL_BENCH_CONTENDER_H
#define RL_BENCH_CONTENDER_H

#include "arena.h"
#include "bench.h"

/* bench: the parent's. Returns the exit status. */
int rl_bench_contender_run(const struct rl_bench *bench, struct rl_bench_arena *arena,
                           size_t number);

#endif /* RL_BENCH_CONTENDER_H */
