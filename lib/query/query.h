/* Queries: ask every node for the holder of a resource, its readers, its waiters, or the holders of
 * its permits. The public part is in redlock/token.h and redlock/semaphore.h.
 *
 *     redlock_query_holder(): RL_COMMAND_READ to every node that is up
 *         -> all have answered, or node_timeout has passed, or the client closes
 *         -> the callback, in the next turn of the loop (state.h)
 *     redlock_query_waiters(): RL_COMMAND_WAITER 0 of the writers' line and of the readers', and to
 *         each node that has a line the rest of them, all at once -> the end as for holders;
 *         node_timeout counts from the last request, or for slots, which may be many, from the last
 *         answer
 *     redlock_query_readers(): likewise with RL_COMMAND_READER redlock_query_slots():
 *     RL_COMMAND_SLOT of all slots to each node: how many permits it keeps,
 *         and how many slots to look at; and the same of each of these, all at once: at most 1,024
 *         small requests to a node
 *
 * The line may move between two answers of a node: then a waiter is missed, or reported twice and
 * listed once. The same goes for readers that renew. A script that reported all of them at once
 * would need an array, which could be of any size, and which the guard of replies does not accept.
 * Slots are asked for by number, so that the answers of all nodes match.
 *
 * A query changes nothing on a node, so there is nothing to undo, and closing does not wait for
 * answers.
 *
 * Can the callback be missed or run twice? No. A query is finished in one place, which puts it into
 * the turn's queue, once (it asserts): in the call itself if no node can be asked, by the last
 * answer, by its deadline, or by closing. The queue is emptied before the client is freed.
 *
 * Memory: outstanding requests refer to the query's name and looks, so it lives until its callback
 * has run and each request is settled, at the latest by the end of its connection. An answer after
 * the query has finished changes nothing.
 */
#ifndef RL_QUERY_H
#define RL_QUERY_H

#include "client/state.h"

/* For the turn: takes the first finished query; NULL: none. */
redlock_query *rl_query_take(redlock_client *client);
/* The callback was called; may free the query. */
void rl_query_told(redlock_query *query);

void rl_query_answer(struct rl_node *node, struct rl_request *request,
                     const struct rl_answer *answer);
/* Requests that were made since since_ns are written at now_ns: moves their deadline. */
void rl_query_put_off(redlock_client *client, uint64_t since_ns, uint64_t now_ns);
void rl_query_due(struct rl_deadline *item, uint64_t now_ns);
void rl_query_cancel_all(redlock_client *client);

#endif
