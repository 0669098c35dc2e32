/* One client of the workload contend, in a forked process of its own.
 *
 * Happy path: rl_bench_contender_run(), in the child, makes a loop, a client and its locks, reports
 * that it is ready, and waits for the start. From then on each of its waiters acquires the lock,
 * holds it for --hold-ms, releases it and acquires again: greedy ones in the release's callback, or
 * without waiting for it (--again at-once), polite ones after --think-ms. At the stop, waits are
 * cancelled and holders finish; then the client is closed.
 *
 * With --idle the first process takes the lock before it is ready, and keeps it.
 *
 * Failure modes: if opening fails, the process's `error` has a sentence. An acquire that ends in an
 * error is counted as failed and repeated; a lock that is lost while held is counted as failed, and
 * its hold has ended.
 *
 * Are the recorded times right? The grant's is read when the callback runs, the end's before the
 * release is requested: a recorded hold is never longer than the real one, and never exceeds its
 * validity. So two overlapping holds mean two holders at the same time. */
#ifndef RL_BENCH_CONTENDER_H
#define RL_BENCH_CONTENDER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "histogram.h"
#include "timeline.h"

/* Shared by the processes of the workload contend: memory for their grants, and the pipes that
 * start and end them.
 *
 * Happy path: the parent opens it and forks; each child claims a place for each grant by
 * arena_claim() and keeps its counters in its own `process`. The parent reads the counters
 * at any time, and the waits after the children have ended.
 *
 * Failure modes: open() returns -1 without memory or descriptors. Without a free place claim()
 * returns NULL, and the run fails: it was too long. The system allocates memory as it is written.
 *
 * All children read two pipes: the end of file on them means go, and stop. */

#define RL_BENCH_ARENA_WAITS (UINT64_C(1) << 23)

/* One client's, written by itself. */
struct rl_bench_process {
    _Atomic uint64_t attempts;
    _Atomic uint64_t commands;
    _Atomic uint64_t fenced;
    _Atomic uint64_t raised;
    _Atomic uint64_t failed;   /* acquires and releases that failed */
    struct rl_bench_hist late; /* its relay's delays */
    char error[512];           /* "": none */
};

struct rl_bench_arena {
    size_t n;
    struct rl_bench_process *processes; /* shared */
    struct rl_bench_wait *waits;        /* shared */
    _Atomic uint64_t *n_waits;          /* shared; may exceed the number of places */
    int ready[2];                       /* a byte from each child: it is connected, or has failed */
    int go[2];
    int stop[2];
};

/* To be closed in any case. */
int rl_bench_arena_open(struct rl_bench_arena *arena, size_t n);
void rl_bench_arena_close(struct rl_bench_arena *arena);

/* Closes it if it is open. */
void rl_bench_arena_shut(int *fd);

/* bench: the parent's. Returns the exit status. */
int rl_bench_contender_run(const struct rl_bench *bench, struct rl_bench_arena *arena,
                           size_t number);

#endif /* RL_BENCH_CONTENDER_H */
