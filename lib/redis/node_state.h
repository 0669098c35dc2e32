/* The states of a node and the moves between them, its list of unanswered requests with their
 * deadlines, and its invariants. */
#ifndef RL_REDIS_NODE_STATE_H
#define RL_REDIS_NODE_STATE_H

#include "redis/node_data.h"

/* Asserts that the move is one of the table. */
void rl_node_move(struct rl_node *node, enum rl_node_state to);

void rl_node_set_deadline(struct rl_node *node, uint64_t at_ns);

/* Appends a sent request to the list of those that wait for an answer. */
void rl_node_push(struct rl_node *node, struct rl_request *request);

/* The same on a connection that is up, with a deadline. */
void rl_node_push_live(struct rl_node *node, struct rl_request *request, uint64_t now_ns);

/* Sends a request again, which is in no list, in its present form. False: the connection is
 * broken. */
bool rl_node_resend(struct rl_node *node, struct rl_request *request);

/* Decides, before the request is written, whether the script is sent whole: the first time on this
 * connection. So a client's last command, and one that must not be sent again, need no second round
 * trip. */
void rl_node_put_script(const struct rl_node *node, struct rl_request *request);

/* Later requests will find the script; and: an answer says that they will not. */
void rl_node_script_sent(struct rl_node *node, const struct rl_request *request);
void rl_node_script_missing(struct rl_node *node, const struct rl_request *request);

/* Reserves room for a command of so many bytes, and for its release if it acquires. False: no
 * memory. */
bool rl_node_reserve(struct rl_node *node, const struct rl_request *request, size_t length);

/* Everything sent is written now: the node's latency counts from here, not from when the nodes
 * before it were written to. A request that is sent again keeps its first time. */
void rl_node_note_written(struct rl_node *node);

/* How long the node has taken for the request so far. If the node is slow and its socket is full,
 * the wait for the socket counts. */
uint64_t rl_request_latency_ns(const struct rl_request *request, uint64_t now_ns);

/* Must hold between two events. */
void rl_node_invariant(const struct rl_node *node);

/* -- For everybody; node.h has the rest -- */

bool rl_node_is_up(const struct rl_node *node);

/* The address that it is connected to; only while it is up. */
const struct rl_address *rl_node_address(const struct rl_node *node);

/* When rl_node_tick() is due. */
uint64_t rl_node_deadline_ns(const struct rl_node *node);

/* Requests that were sent or begun since since_ns are written at now_ns: the wait for their answers
 * starts then. */
void rl_node_put_off(struct rl_node *node, uint64_t since_ns, uint64_t now_ns);

#endif
