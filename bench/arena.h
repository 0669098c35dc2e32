/* Shared by the processes of the workload contend: memory for their grants, and the pipes that
 * start and end them.
 *
 * Happy path: the parent opens it and forks; each child claims a place for each grant by
 * rl_bench_arena_claim() and keeps its counters in its own `process`. The parent reads the counters
 * at any time, and the waits after the children have ended.
 *
 * Failure modes: open() returns -1 without memory or descriptors. Without a free place claim()
 * returns NULL, and the run fails: it was too long for this bench. The system provides memory as it
 * is written.
 *
 * All children read two pipes: the end of file on them means go, and stop. */
#ifndef RL_BENCH_ARENA_H
#define RL_BENCH_ARENA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "timeline.h"

#define RL_BENCH_ARENA_WAITS (UINT64_C(1) << 23)

/* Of one client, written by itself. */
struct rl_bench_process {
    _Atomic uint64_t attempts;
    _Atomic uint64_t commands;
    _Atomic uint64_t fenced;
    _Atomic uint64_t raised;
    _Atomic uint64_t failed;   /* acquires and releases that failed */
    struct rl_bench_hist late; /* of its relay */
    char error[512];           /* "": none */
};

struct rl_bench_arena {
    size_t n;
    struct rl_bench_process *processes; /* shared */
    struct rl_bench_wait *waits;        /* shared */
    _Atomic uint64_t *n_waits;          /* shared; may be more than there are places */
    int ready[2];                       /* a byte from each child: it is connected, or has failed */
    int go[2];
    int stop[2];
};

/* To be closed in any case. */
int rl_bench_arena_open(struct rl_bench_arena *arena, size_t n);
struct rl_bench_wait *rl_bench_arena_claim(struct rl_bench_arena *arena);

/* In a child: the ends of the pipes that are the parent's. */
void rl_bench_arena_enter(struct rl_bench_arena *arena);
void rl_bench_arena_close(struct rl_bench_arena *arena);

/* Closes it if it is open. */
void rl_bench_arena_shut(int *fd);

#endif /* RL_BENCH_ARENA_H */
