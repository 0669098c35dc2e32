/* A node's newer credentials: sending them, and handling the answer. See credentials.h.
 *
 * On a live connection AUTH is a request like any other: answered in order, with the same timeouts.
 * It is written when all earlier requests have been answered, and later ones wait for that, about a
 * round trip. Can it cost the connection? Only through an unexpected reply, or none: a refusal
 * leaves the connection as it was. */
#ifndef RL_REDIS_NODE_AUTH_H
#define RL_REDIS_NODE_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/node_state.h"

/* Offers newer credentials, copied: tried now if the node is up, else on its next connection, which
 * begins at once if the node pauses because the old ones were refused. is_first: the loop has not
 * run since the client was opened; unless the node has been sent others, they replace those of the
 * URL. False: there is no memory for AUTH, and they are tried on the next connection. */
bool rl_node_offer(struct rl_node *node, const struct rl_credentials *credentials, bool is_first);

/* Offers refused credentials once more, since another connection has shown that the old ones are no
 * longer valid. Not more often than a node that is down is retried. */
void rl_node_offer_again(struct rl_node *node);

/* -- For node.c -- */

/* Sends AUTH with the offered ones first in a handshake. False: there are none to send. */
bool rl_node_auth_greet(struct rl_node *node);

/* The node has just come up: sends credentials that were offered during the handshake, or omitted
 * in it. */
void rl_node_auth_up(struct rl_node *node);

/* The connection has ended, for this reason; the state is still what it was. */
void rl_node_auth_ended(struct rl_node *node, int16_t reason);

/* The answer to AUTH with the old ones, in a handshake. */
void rl_node_auth_former(struct rl_node *node, const struct rl_answer *answer);

/* Ends a connection in its handshake. If the node demands a password, and has refused one on this
 * connection, it is down because of that refusal. */
void rl_node_auth_break(struct rl_node *node, int16_t reason, const char *text);

/* The answer to AUTH with the offered ones. Returns 0 if they were accepted, or why not; then the
 * old ones stay in use, unless it is NODE_PROTOCOL: then the connection is broken. */
int16_t rl_node_auth_answer(struct rl_node *node, const struct rl_answer *answer);

#endif
