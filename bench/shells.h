/* The workload shells: the effect of `redlock run KEY --` in front of a command.
 *
 * Happy path: in each round N shells are started, --spacing-ms apart, each behind `redlock run` for
 * one lock; when it has the lock it works (sleeps) for --work-ms. Each shell reports its begin and
 * its end through a pipe, at whose other end the clock is read. Each round is paired with one of
 * another program: flock(1) with a file of its own, or what --beside names.
 *
 * The figures are those of timeline.h: tau of the order of service against that of arrival, and the
 * gap from the end of one shell's work to the begin of the next one's. It contains the end of a
 * shell and the begin of the next one, for all programs alike.
 *
 * Failure modes: a shell that does not run, or does not end within END_S, is counted as failed; a
 * round in which none runs ends the run. Without flock(1) in PATH it says so, and there is no
 * comparison.
 *
 * Used by redlock-bench --workload shells. */
#ifndef RL_BENCH_SHELLS_H
#define RL_BENCH_SHELLS_H

#include "bench.h"

int rl_bench_shells(struct rl_bench *bench);

#endif /* RL_BENCH_SHELLS_H */
