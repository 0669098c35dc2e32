/* The workload contend: clients that all want the same lock, each in a process of its own.
 *
 * Happy path: fork a process for each client (contender.h) and wait until all are connected; let
 * them go; measure slices, one after the other, of what goes on all the time; stop them. Every
 * client has written down when it asked, was granted and released, by the clock that all processes
 * of a machine share. The figures are computed from that at the end (timeline.h).
 *
 * Nothing is done for the library's sake: nobody steps aside, the clients are greedy unless
 * --think-ms is given, and what is counted is counted at the nodes as well.
 *
 * With --records nothing runs: the figures of a file are shown. That, too, is how programs that
 * measure something else than this library are judged.
 *
 * Safety check: no grant may come before the end of an earlier hold. A violation makes
 * redlock-bench exit with status 3.
 *
 * Failure modes: a client that cannot be opened, or whose process ends, ends the run with its
 * sentence. Processes that do not end by themselves are killed; they are also killed by the system
 * if this one ends.
 *
 * What it is for: redlock-bench --workload contend. */
#ifndef RL_BENCH_CONTEND_H
#define RL_BENCH_CONTEND_H

#include "bench.h"

int rl_bench_contend(struct rl_bench *bench);

#endif /* RL_BENCH_CONTEND_H */
