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
#ifndef RL_QUERY_SLOTS_H
#define RL_QUERY_SLOTS_H

#include "query/query_data.h"

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
