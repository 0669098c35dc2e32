/* Combines the nodes' answers to a query. The public part is in redlock/token.h.
 *
 * The holder: what a quorum of servers has; two nodes of one server count once. The waiters: the
 * lines of all nodes, those of writers before those of readers, the longest first. The readers of
 * all nodes, those that a quorum has first. The holder of each slot of a semaphore.
 *
 * Failure modes: none. Nodes that have not answered contribute nothing.
 */
#ifndef RL_QUERY_QUERY_RESULT_H
#define RL_QUERY_QUERY_RESULT_H

#include <stdint.h>

#include "query/query_data.h"
#include "redlock/token.h"

/* Once, when the query is finished. */
void rl_query_list(redlock_query *query);

/* How long what a look saw lives from the start of the callback, by its node's earlier answer. */
int64_t rl_query_remaining_ms(const redlock_query *query, const struct rl_query_look *look);
/* Inserts a life into the array, sorted longest first; a key that never expires comes before all
 * others. */
void rl_query_insert_life(int64_t lives[], uint32_t count, int64_t life);

/* 0 if the node has answered; else why it has not. */
int16_t rl_query_node_status(const redlock_query *query, uint32_t node);

/* Combines the nodes' answers to a query for the slots of a semaphore. The public part is in
 * redlock/semaphore.h.
 *
 *     redlock_query_slots(): RL_COMMAND_SLOT of all slots to each node: how many permits it keeps,
 *         and how many slots to look at -> the same of each of these, all at once: at most 1,024
 *         small requests to a node -> the callback: for each slot, its holder on most nodes
 *
 * A node's slots are asked for one by one because an answer is a text of limited length (the guard
 * of replies accepts no arrays), and by number so that the answers of all nodes match.
 *
 * Failure modes: a node that reports more slots than possible counts as not having answered. A slot
 * that changes hands meanwhile is seen with either holder, or none. Nodes with a different number
 * of permits report the slots that they have; redlock_query_permits() reports the numbers.
 */

/* A node's answer: about all slots; about one. */
void rl_query_take_span(struct rl_query_look *look, const struct rl_answer *answer);
void rl_query_take_slot(struct rl_query_look *look, const struct rl_answer *answer);

/* Whether there is time for further answers after this one: there may be many, and the query waits
 * as long as one comes within each node_timeout_ms; but not for ever, however slowly a node
 * answers. */
bool rl_query_slots_go_on(const redlock_query *query, const struct rl_query_look *look);

/* To be called before answers are counted: a node that has not reported all its slots has not
 * answered. */
void rl_query_judge_slots(redlock_query *query);

/* Once, when the query is finished. */
void rl_query_list_slots(redlock_query *query);

#endif
