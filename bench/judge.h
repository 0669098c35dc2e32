/* Computes one side of the report from the records.
 *
 * Happy path: rl_bench_judge() puts the timeline in order, computes each slice's figures, the
 * grants of the waiters and the overlaps, and saves the records if requested.
 *
 * Failure modes: out of memory, or a file that cannot be read or written: -1 with bench->error.
 *
 * Used by the workloads contend and shells. */
#ifndef RL_BENCH_JUDGE_H
#define RL_BENCH_JUDGE_H

#include "bench.h"
#include "records.h"

/* side: 0 or 1 of the report. If the records of side 0 have readers and writers, these become the
 * two sides. */
int rl_bench_judge(struct rl_bench *bench, size_t side, const char *name,
                   struct rl_bench_records *records);

/* The records of --records, as the one side. */
int rl_bench_judge_file(struct rl_bench *bench);

#endif /* RL_BENCH_JUDGE_H */
