/* The load of uncontested cycles through the blocking interface: K threads of one client lock and
 * unlock, each its own mutex.
 *
 * Happy path: open, any number of slices, close. A slice starts its threads, which lock and unlock
 * until it is over, and waits for them on the loop, as slices of other loads do. Options are the
 * library's defaults, except the ttl and the fence.
 *
 * Failure modes: a lock or an unlock that does not succeed is counted as failed, and the thread
 * goes on; a slice without any lock fails, with a sentence. Threads that do not end in time are
 * ended by closing the client, and the slice has failed.
 *
 * Can a thread use freed memory? No: a failed slice closes the client, which ends every call, and
 * joins the threads before it returns.
 *
 * Used by the workload cycle with --blocking. */
#ifndef RL_BENCH_THREADS_LOAD_H
#define RL_BENCH_THREADS_LOAD_H

#include "bench.h"

struct rl_bench_threads_load;

/* 0, or -1 with bench->error set; it is to be closed in any case. */
int rl_bench_threads_load_open(struct rl_bench_threads_load **load, struct rl_bench *bench);

/* 0, or -1 with bench->error set: it is to be closed then. */
int rl_bench_threads_load_slice(struct rl_bench_threads_load *load, struct rl_bench_slice *slice,
                                int64_t slice_ms);

/* NULL is ignored. */
void rl_bench_threads_load_close(struct rl_bench_threads_load *load);

#endif /* RL_BENCH_THREADS_LOAD_H */
