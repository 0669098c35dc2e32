/* What comes to the lines (line.h) from outside: answers, messages, the nodes, the clock. Each
 * finds the line that it is for, and the lock that waits there; or it comes too late and is
 * dropped. */
#ifndef RL_WAIT_LINE_EVENT_H
#define RL_WAIT_LINE_EVENT_H

#include "client/state.h"

/* To a JOIN or LEAVE. */
void rl_line_answer(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer);

/* Which nodes can be home, or be heard, has changed. */
void rl_line_nodes_changed(redlock_client *client);

/* Before the first resource, and behind rl_listening_init(). */
void rl_line_init(redlock_client *client);

#endif
