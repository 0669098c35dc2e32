/* The number of commands that the locally started nodes have executed: counted at the nodes,
 * independently of the clients' own counts.
 *
 * Happy path: open one connection to each node; rl_bench_node_counts_read() adds up their
 * total_commands_processed (INFO). Commands that a script calls count as well. The INFOs of this
 * file are left out.
 *
 * Failure modes: a node that does not answer makes read() return 0: not measured.
 *
 * Used by the workloads contend and shells. */
#ifndef RL_BENCH_NODE_COUNTS_H
#define RL_BENCH_NODE_COUNTS_H

#include <stdint.h>

#include "tool/local_nodes.h"

struct rl_bench_node_counts;

/* local may be NULL. NULL if there is nothing to read from. */
struct rl_bench_node_counts *rl_bench_node_counts_open(const struct rl_local_nodes *local);
uint64_t rl_bench_node_counts_read(struct rl_bench_node_counts *counts);
void rl_bench_node_counts_close(struct rl_bench_node_counts *counts);

#endif /* RL_BENCH_NODE_COUNTS_H */
