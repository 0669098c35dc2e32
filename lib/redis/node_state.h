/* How a node moves from state to state, the list of what it has not answered and until when that is
 * waited for, and what is true between two events. */
#ifndef RL_REDIS_NODE_STATE_H
#define RL_REDIS_NODE_STATE_H

#include "redis/node_data.h"

/* Asserts that the move is one of the table. */
void rl_node_move(struct rl_node *node, enum rl_node_state to);

void rl_node_set_deadline(struct rl_node *node, uint64_t at_ns);

/* What was sent waits for its answer, behind all that was sent before. */
void rl_node_push(struct rl_node *node, struct rl_request *request);

/* The same on a connection that is up: it is waited for. */
void rl_node_push_live(struct rl_node *node, struct rl_request *request, uint64_t now_ns);

/* The same request, which is in no list, in the form that it has now. False: the connection is
 * broken. */
bool rl_node_resend(struct rl_node *node, struct rl_request *request);

/* Sets whether the script goes out whole, before the request is written: the first time on this
 * connection. So what a client says last, and what must not be sent again, needs no second round
 * trip. */
void rl_node_put_script(const struct rl_node *node, struct rl_request *request);

/* What is sent behind it finds the script; and an answer says that it does not. */
void rl_node_script_sent(struct rl_node *node, const struct rl_request *request);
void rl_node_script_missing(struct rl_node *node, const struct rl_request *request);

/* Room for a command of so many bytes, and if it acquires for its release. False: no memory. */
bool rl_node_reserve(struct rl_node *node, const struct rl_request *request, size_t length);

/* What was sent goes out now: the node's latency counts from here on, and not from when the nodes
 * before it were written to. What is sent again keeps its first time. */
void rl_node_note_written(struct rl_node *node);

/* How long the node has taken for it so far. What the node's socket does not take, since the node
 * is behind, has waited for the node. */
uint64_t rl_request_latency_ns(const struct rl_request *request, uint64_t now_ns);

/* Between two events. */
void rl_node_invariant(const struct rl_node *node);

/* -- For everybody; node.h has the rest -- */

bool rl_node_is_up(const struct rl_node *node);

/* Where it is connected to; only while it is up. */
const struct rl_address *rl_node_address(const struct rl_node *node);

/* When rl_node_tick() is to be called. */
uint64_t rl_node_deadline_ns(const struct rl_node *node);

/* What was sent or begun since since_ns goes out at now_ns, so its answer is waited for from then
 * on. */
void rl_node_put_off(struct rl_node *node, uint64_t since_ns, uint64_t now_ns);

#endif
