/* How a node moves from state to state, and what is true of it between two events. */
#ifndef RL_REDIS_NODE_STATE_H
#define RL_REDIS_NODE_STATE_H

#include "redis/node_data.h"

/* Asserts that the move is one of the table. */
void rl_node_move(struct rl_node *node, enum rl_node_state to);

/* Between two events. */
void rl_node_invariant(const struct rl_node *node);

#endif
