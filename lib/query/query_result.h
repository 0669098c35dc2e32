/* What the nodes have answered to a query, put together. The public part is in redlock/token.h.
 *
 * Who holds it: what a quorum of servers has, two nodes of one server being one. Who waits: the
 * lines of all nodes, those of writers before those of readers, the longest first. Who reads: of
 * all nodes, those that a quorum has first. Who has which slot of a semaphore.
 *
 * Failure modes: none. Nodes that have not answered have nothing here.
 */
#ifndef RL_QUERY_QUERY_RESULT_H
#define RL_QUERY_QUERY_RESULT_H

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

/* What the nodes have answered to a query for the slots of a semaphore, put together. The public
 * part is in redlock/semaphore.h.
 *
 *     redlock_query_slots(): RL_COMMAND_SLOT of all slots to each node: how many permits it keeps,
 *         and how many slots are to be looked at
 *         -> the same of each of these, all at once: at most 1,024 small requests to a node
 *         -> the callback: slot by slot, who has it on most nodes
 *
 * A node's slots are asked for one by one because an answer is a text of limited length (the guard
 * of replies takes no arrays), and by number because then those of all nodes fit together.
 *
 * Failure modes: a node that says that it has more slots than there can be has answered nothing. A
 * slot that changes hands meanwhile is seen with either holder, or none. Nodes whose number of
 * permits differs have the slots that they have; redlock_query_permits() tells the numbers.
 */

/* The answer of a node: of all slots, of one. */
void rl_query_take_span(struct rl_query_look *look, const struct rl_answer *answer);
void rl_query_take_slot(struct rl_query_look *look, const struct rl_answer *answer);

/* Whether there is time for further answers after this one: they may be many, and are waited for
 * as long as one comes each node_timeout_ms; but not for ever, however slowly a node answers. */
bool rl_query_slots_go_on(const redlock_query *query, const struct rl_query_look *look);

/* Before answers are counted: a node that has not said it of all its slots has not answered. */
void rl_query_judge_slots(redlock_query *query);

/* Once, when the query is finished. */
void rl_query_list_slots(redlock_query *query);

#endif
