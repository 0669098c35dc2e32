/* What the nodes have answered to a query, put together. The public part is in redlock/token.h.
 *
 * Who holds it: what a quorum of servers has, two nodes of one server being one. Who waits: the
 * lines of all nodes, those of writers before those of readers, the longest first. Who reads: of
 * all nodes, those that a quorum has first.
 *
 * Failure modes: none. Nodes that have not answered have nothing here.
 */
#ifndef RL_QUERY_RESULT_H
#define RL_QUERY_RESULT_H

#include <stdint.h>

#include "redlock/token.h"

/* Once, when the query is finished. */
void rl_query_list(redlock_query *query);

/* 0: the node has answered; else why it has not. */
int16_t rl_query_node_status(const redlock_query *query, uint32_t node);

#endif
