/* A client of the library, opened and closed as if that were synchronous.
 *
 * Happy path: rl_bench_session_open() opens a client with a counting allocator and runs the loop
 * until a quorum of nodes is up; rl_bench_session_close() runs it until the client is closed.
 *
 * Failure modes: options or URLs that the library refuses, and nodes that are not up, yield the
 * library's own sentence. A session whose opening failed is closed like any other.
 *
 * Used by all workloads; only between slices, since both calls run the loop. */
#ifndef RL_BENCH_SESSION_H
#define RL_BENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"
#include "heap.h"
#include "redlock/redlock.h"

/* Counters of clients since they were opened. */
struct rl_bench_counts {
    uint64_t attempts;
    uint64_t fenced;
    uint64_t raised;
    uint64_t commands; /* to all nodes */
    uint64_t allocations;
};

struct rl_bench_session {
    struct rl_bench *bench;
    redlock_client *client; /* NULL: not open */
    struct rl_bench_heap heap;
    bool is_done; /* what the loop is run for */
    int status;
};

/* The session must stay where it is until it is closed. 0, or -1 with bench->error set. */
int rl_bench_session_open(struct rl_bench_session *session, struct rl_bench *bench);

/* Waits until every node is up, has answered everything and no release is pending. 0, or -1 with
 * bench->error set after timeout_ms. */
int rl_bench_session_settle(struct rl_bench_session *session, uint64_t timeout_ms);

/* Adds what the client has done to sum; nothing if it is not open. */
void rl_bench_session_count(const struct rl_bench_session *session, struct rl_bench_counts *sum);

/* Notes in the slice the difference of the two. */
void rl_bench_counts_note(struct rl_bench_slice *slice, const struct rl_bench_counts *before,
                          const struct rl_bench_counts *after);

void rl_bench_session_close(struct rl_bench_session *session);

#endif /* RL_BENCH_SESSION_H */
