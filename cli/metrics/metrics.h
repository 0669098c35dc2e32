/* redlock metrics: metrics of the nodes, printed once.
 *
 * Happy path: all nodes are read at once (scan/scan.h), and printed as Prometheus's text format,
 * for node_exporter's textfile collector, or a pipe. There is no server: a timer runs it.
 *
 * Failure modes: for a node that is down, redlock_node_up is 0; values that a node does not report
 * are left out. Fewer than a quorum were read: RL_EXIT_NO_QUORUM; the text is printed all the same,
 * without the locks. */
#ifndef RL_CLI_METRICS_METRICS_H
#define RL_CLI_METRICS_METRICS_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_metrics(struct rl_args *args);

#endif
