/* A node's newer credentials: how they go out, and what the node says of them. See credentials.h.
 *
 * On a live connection AUTH is a request like any other: answered in order, and waited for as long.
 * It is written when all before it has been answered, and what comes behind it waits that long,
 * about a round trip. Can it cost the connection? Only an answer that Redis does not give, or none:
 * a refusal leaves the connection as it was. */
#ifndef RL_REDIS_NODE_AUTH_H
#define RL_REDIS_NODE_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/node_data.h"

/* Newer ones, copied: tried now if the node is up, else when it is connected next, which is at once
 * if it waits because those before were refused. is_first: the loop has not run since the client
 * was opened; unless the node has been sent others, they replace those of the URL. False: there is
 * no memory for AUTH, and they are tried with the next connection. */
bool rl_node_offer(struct rl_node *node, const struct rl_credentials *credentials, bool is_first);

/* Those that it has refused, once more: something else says that those before are no longer good.
 * Not more often than a node that is down is tried. */
void rl_node_offer_again(struct rl_node *node);

/* -- For node.c -- */

/* In a handshake, first: AUTH with the offered ones. False: there are none to say. */
bool rl_node_auth_greet(struct rl_node *node);

/* It has just come up: what was offered during the handshake, or was not said in it. */
void rl_node_auth_up(struct rl_node *node);

/* The connection has ended, for this reason; the state is still what it was. */
void rl_node_auth_ended(struct rl_node *node, int16_t reason);

/* The answer to AUTH with those before, in a handshake. */
void rl_node_auth_former(struct rl_node *node, const struct rl_answer *answer);

/* Ends a connection in its handshake. A node that wants to be told a password, and has refused one
 * on this connection, is down because of that refusal. */
void rl_node_auth_break(struct rl_node *node, int16_t reason, const char *text);

/* The answer to AUTH with the offered ones. Returns 0 if they were accepted, or why not; then those
 * before go on, unless it is NODE_PROTOCOL: then the connection is broken. */
int16_t rl_node_auth_answer(struct rl_node *node, const struct rl_answer *answer);

#endif
