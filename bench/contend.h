/* The workload contend: clients that all want the same lock, each in a process of its own.
 *
 * Happy path: fork a process for each client (contender.h) and wait until all are connected; let
 * them go; measure consecutive slices while they run; stop them. Every client records when it
 * asked, was granted and released, by the clock that all processes of a machine share. The figures
 * are computed from that at the end (timeline.h).
 *
 * Nothing favours the library: no client steps aside, the clients are greedy unless --think-ms is
 * given, and commands are counted at the nodes as well.
 *
 * With --records nothing runs: it shows the figures of a file. Programs that measure other
 * libraries are judged in this way, too.
 *
 * Safety check: no grant may come before the end of an earlier hold. A violation makes
 * redlock-bench exit with status 3.
 *
 * Failure modes: a client that cannot be opened, or whose process ends, ends the run with its
 * sentence. Processes that do not end by themselves are killed; the system also kills them if this
 * one ends.
 *
 * Used by redlock-bench --workload contend. */
#ifndef RL_BENCH_CONTEND_H
#define RL_BENCH_CONTEND_H

#include "bench.h"

int rl_bench_contend(struct rl_bench *bench);

#endif /* RL_BENCH_CONTEND_H */
