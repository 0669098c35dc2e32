/* Queries: every node is asked who holds a resource, who reads it, who waits for it, or who has
 * its permits. The public part is in redlock/token.h and redlock/semaphore.h.
 *
 *     redlock_query_holder(): RL_COMMAND_READ to every node that is up
 *         -> all have answered, or node_timeout has passed, or the client closes
 *         -> the callback, in the next turn of the loop (state.h)
 *     redlock_query_waiters(): RL_COMMAND_WAITER 0 of the writers' line and of the readers', and to
 *         each node that has a line the rest of them, all at once
 *         -> as above; node_timeout counts from the last that was sent, or of slots, which may be
 *         many, from the last answer
 *     redlock_query_readers(): the same with RL_COMMAND_READER; redlock_query_slots(): with
 *         RL_COMMAND_SLOT (query_result.h)
 *
 * The line may move between two answers of a node: then one who waits is missed, or comes twice and
 * is listed once; the same goes for readers that renew. A script that answers all of them at once
 * would need an array, which the guard of replies does not take, and could be of any size.
 *
 * Nothing is changed on a node, so nothing is pending, nothing has to be undone, and closing does
 * not wait for answers.
 *
 * Can the callback be missed or run twice? A query is finished in one place, which puts it into the
 * queue of the turn, once (it asserts): in the call itself if no node can be asked, by the last
 * answer, by its deadline, or by closing. The queue is emptied before the client goes.
 *
 * Memory: requests that are out refer to the query's name and looks, so it lives until its callback
 * and each of them is answered, the last by the end of its connection. An answer that comes after
 * the query was finished changes nothing.
 */
#ifndef RL_QUERY_H
#define RL_QUERY_H

#include <stdbool.h>

#include "client/state.h"

/* For the turn: the first of those that are finished, with what is to be called for it; NULL if
 * there is none. */
redlock_query *rl_query_take(redlock_client *client, redlock_query_cb *callback, int *status,
                             void **data);
/* It was called; the query may be gone then. */
void rl_query_told(redlock_query *query);

void rl_query_answer(struct rl_node *node, struct rl_request *request,
                     const struct rl_answer *answer);
/* What was asked since since_ns goes out at now_ns. */
void rl_query_put_off(redlock_client *client, uint64_t since_ns, uint64_t now_ns);
void rl_query_cancel_all(redlock_client *client);

#endif
