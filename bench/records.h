/* Timelines as text: to keep measurements, and to judge those of another program by the same
 * arithmetic.
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

#include "options.h"
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

int rl_bench_records_save(const struct rl_bench_records *records, const char *path, char *error,
                          size_t error_size);

/* To be freed in any case. */
int rl_bench_records_load(struct rl_bench_records *records, const char *path, char *error,
                          size_t error_size);
void rl_bench_records_free(struct rl_bench_records *records);

#endif /* RL_BENCH_RECORDS_H */
