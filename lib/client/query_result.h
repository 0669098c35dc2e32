/* What the nodes have answered to a query, put together. The public part is in redlock/token.h.
 *
 * Who holds it: what a quorum of servers has, two nodes of one server being one. Who waits: the
 * lines of all nodes, the longest first.
 *
 * Failure modes: none. Nodes that have not answered have nothing here.
 */
#ifndef RL_QUERY_RESULT_H
#define RL_QUERY_RESULT_H

#include "redlock/token.h"

/* Once, when the query is finished. */
void rl_query_list_waiters(redlock_query *query);

#endif
