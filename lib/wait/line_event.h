/* Input to the lines (line.h): answers, messages, changes of the nodes, the clock. Each is matched
 * to its line and the lock that waits there, or dropped if it comes too late. */
#ifndef RL_WAIT_LINE_EVENT_H
#define RL_WAIT_LINE_EVENT_H

#include "client/state.h"

/* Steps the lock in the loop's turn: its turn has come, among this client's locks or all clients,
 * or it was notified of a release, which the caller handles. */
void rl_line_run(redlock_lock *lock);

/* The answer to a JOIN or LEAVE. */
void rl_line_answer(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer);

/* The set of nodes that can be home, or be heard, has changed. */
void rl_line_nodes_changed(redlock_client *client);

/* A line's deadline is due. */
void rl_line_due(struct rl_deadline *item, uint64_t now_ns);

/* Call this after rl_listening_init(). */
void rl_line_init(redlock_client *client);

#endif
