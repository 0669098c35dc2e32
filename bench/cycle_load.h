/* The load of uncontested cycles: K workers of one client acquire and release, each its own lock.
 *
 * Happy path: open, any number of slices, close. A worker asks for its lock, is granted, releases
 * at once, and asks again when the release is done; there is always just one pending operation for
 * each worker. Acquire options are the library's defaults, except the ttl.
 *
 * Failure modes: an acquire or release that does not succeed is counted as failed, and the worker
 * goes on. A call that the library refuses fails the slice, with the reason in error.
 *
 * Used by the workload cycle. */
#ifndef RL_BENCH_CYCLE_LOAD_H
#define RL_BENCH_CYCLE_LOAD_H

#include "bench.h"
#include "session.h"

struct rl_bench_cycle_load;

/* Runs the loop until the client is up. 0, or -1 with bench->error set; close it in any case. name:
 * part of its keys, different for each load. */
int rl_bench_cycle_load_open(struct rl_bench_cycle_load **load, struct rl_bench *bench,
                             const char *name);

/* 0, or -1 with bench->error set. */
int rl_bench_cycle_load_slice(struct rl_bench_cycle_load *load, struct rl_bench_slice *slice,
                              int64_t slice_ms);

/* Whether the acquires of the next slices are fenced; at first they are not. */
void rl_bench_cycle_load_fence(struct rl_bench_cycle_load *load, bool fencing);

/* The kind of the locks of the next slices: that of one of the sides. */
void rl_bench_cycle_load_choose(struct rl_bench_cycle_load *load, enum rl_bench_lock kind);

struct rl_bench_session *rl_bench_cycle_load_session(struct rl_bench_cycle_load *load);

/* Runs the loop until the client is closed. NULL is ignored. */
void rl_bench_cycle_load_close(struct rl_bench_cycle_load *load);

#endif /* RL_BENCH_CYCLE_LOAD_H */
