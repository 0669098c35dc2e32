/* Timelines as text: to keep measurements, and to compute the figures of other programs in the same
 * way.
 *
 *     slice FROM_NS TO_NS CLIENT_CPU_US NODE_CPU_US ATTEMPTS COMMANDS EXECUTED     0: not measured
 *     wait ASKED_NS GRANTED_NS ENDED_NS WAITER PROCESS [1]              0: not before the end;
 *                                                                       the last 1: it reads
 *     wait ... PROCESS 0 SLOTS                       with --permits: the slots it was given, a bit
 *                                                    for each
 *
 * Failure modes: a line that is neither: -1, with a sentence in error that names it.
 *
 * Used for --records and --save-records, the peers' programs, and the test of the arithmetic. */
#ifndef RL_BENCH_RECORDS_H
#define RL_BENCH_RECORDS_H

#include <stddef.h>

#include "bench.h"
#include "timeline.h"

/* A measured period, and its counters. */
struct rl_bench_stretch {
    uint64_t from_ns;
    uint64_t to_ns;
    double cpu_us;
    double node_cpu_us;
    uint64_t attempts;
    uint64_t commands;
    uint64_t executed;
};

struct rl_bench_records {
    struct rl_bench_stretch *stretches;
    size_t n_stretches;
    struct rl_bench_timeline timeline; /* n_waiters is set */
};

void rl_bench_records_free(struct rl_bench_records *records);

/* Computes one side of the report from the records: puts the timeline in order, computes each
 * slice's figures, the grants of the waiters and the overlaps, and saves the records if requested.
 * -1 with bench->error: out of memory, or a file that cannot be read or written.
 *
 * side: 0 or 1 of the report. If the records of side 0 have readers and writers, these become the
 * two sides. */
int rl_bench_judge(struct rl_bench *bench, size_t side, const char *name,
                   struct rl_bench_records *records);

/* The records of --records, as the one side. */
int rl_bench_judge_file(struct rl_bench *bench);

#endif /* RL_BENCH_RECORDS_H */
