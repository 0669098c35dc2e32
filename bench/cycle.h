/* The workload cycle: uncontested locks as fast as they go, beside a bare fan-out if wanted.
 *
 * Happy path: open the library's client and, with --baseline, the bare connections; warm both up;
 * then slices of one and the other in turn, the order alternating from pair to pair, so that a
 * drift of the machine favours neither. With --fencing both the other one is the library too.
 *
 * Failure modes: nodes that are not up end it with the library's or hiredis's sentence. The bare
 * fan-out needs every node, the library a quorum.
 *
 * Used by redlock-bench --workload cycle. */
#ifndef RL_BENCH_CYCLE_H
#define RL_BENCH_CYCLE_H

#include "bench.h"

int rl_bench_cycle(struct rl_bench *bench);

#endif /* RL_BENCH_CYCLE_H */
