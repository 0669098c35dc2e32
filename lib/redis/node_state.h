/* How a node moves from state to state, what is true of it between two events, and the list of what
 * it has not answered. */
#ifndef RL_REDIS_NODE_STATE_H
#define RL_REDIS_NODE_STATE_H

#include "redis/node_data.h"

/* Asserts that the move is one of the table. */
void rl_node_move(struct rl_node *node, enum rl_node_state to);

/* Between two events. */
void rl_node_invariant(const struct rl_node *node);

/* What was sent waits for its answer, behind all that was sent before. */
void rl_node_push(struct rl_node *node, struct rl_request *request);

/* The same request, which is in no list, in the form that it has now. False: the connection is
 * broken. */
bool rl_node_resend(struct rl_node *node, struct rl_request *request);

#endif
