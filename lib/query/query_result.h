/* What the nodes have answered to a query, put together. The public part is in redlock/token.h.
 *
 * Who holds it: what a quorum of servers has, two nodes of one server being one. Who waits: the
 * lines of all nodes, those of writers before those of readers, the longest first. Who reads: of
 * all nodes, those that a quorum has first. Who has which slot of a semaphore: query_slots.h.
 *
 * Failure modes: none. Nodes that have not answered have nothing here.
 */
#ifndef RL_QUERY_RESULT_H
#define RL_QUERY_RESULT_H

#include <stdint.h>

#include "query/query_data.h"
#include "redlock/token.h"

/* Once, when the query is finished. */
void rl_query_list(redlock_query *query);

/* How long what a look saw lives on after the callback began, by what its node said before that. */
int64_t rl_query_remaining_ms(const redlock_query *query, const struct rl_query_look *look);
/* Into those that are there, longest first; one that never ends before all others. */
void rl_query_insert_life(int64_t lives[], uint32_t count, int64_t life);

/* 0: the node has answered; else why it has not. */
int16_t rl_query_node_status(const redlock_query *query, uint32_t node);

#endif
