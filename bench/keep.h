/* The workload keep: many locks that renew themselves, and what happens to them when every node
 * stops answering.
 *
 * Happy path: acquire L locks with auto_extend, a bounded number at a time; let them run for S
 * seconds and count renewals, CPU time and losses; then, with nodes of our own, stop all of them
 * (SIGSTOP) and note for each lock when on_lost ran, against the end of its validity; continue the
 * nodes, and close.
 *
 * Failure modes: a lock that is not granted ends the workload with the library's sentence. A lock
 * that is lost while the nodes answer is counted, and shown.
 *
 * Used by redlock-bench --workload keep. */
#ifndef RL_BENCH_KEEP_H
#define RL_BENCH_KEEP_H

#include "bench.h"

int rl_bench_keep(struct rl_bench *bench);

#endif /* RL_BENCH_KEEP_H */
