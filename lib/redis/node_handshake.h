/* A node's handshake: sends the first commands on a new connection, and handles their answers.
 * handshake.h has the commands, and which answers are acceptable. */
#ifndef RL_REDIS_NODE_HANDSHAKE_H
#define RL_REDIS_NODE_HANDSHAKE_H

#include "redis/node_state.h"

/* The connection is made: sends the handshake, after which the node is up or the connection is
 * broken. */
void rl_node_shake(struct rl_node *node);

/* One of its requests, or AUTH with newer credentials later, was answered. */
void rl_node_handshake_answer(struct rl_node *node, const struct rl_request *request,
                              const struct rl_answer *answer);

#endif
