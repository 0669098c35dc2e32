/* Calls: commands to one node on behalf of a lock (core/call.h), and the releases that nodes have
 * not answered.
 *
 * Can a key be orphaned here? A release is one rl_lock_call from the moment that the core asks
 * for it until the node answered it: out (in the node's list), or pending (in the node's pending
 * releases), and only given back by rl_calls_settle(), when the core says that it is done, or
 * dropped when it says that it is given up. The exception is a release for which there is no
 * memory: it is counted as dropped and the key ends by its ttl.
 */
#ifndef RL_LOCK_CALLS_H
#define RL_LOCK_CALLS_H

#include "client/state.h"

/* Writes the command, which is the same for all nodes that it is sent to next. */
void rl_calls_format(redlock_lock *lock, enum rl_call_kind kind);
/* Sends it. 0, and it will be answered; or why not. */
int16_t rl_calls_send(redlock_lock *lock, enum rl_call_kind kind, uint32_t round, uint32_t node);
/* A release of the present token, which could not be sent, is pending for the node. */
void rl_calls_owe(redlock_lock *lock, uint32_t node);

/* Whether a command whose script the node has forgotten is worth sending again. */
bool rl_calls_again(struct rl_node *node, struct rl_request *request);
/* It was answered, or will not be. */
void rl_calls_settle(struct rl_client_node *node, struct rl_lock_call *call,
                     enum rl_outcome outcome);

/* Sends a node everything that is pending for it. */
void rl_calls_retry(struct rl_client_node *node);
/* The node has passed a key to a place of this lock that was given up: it is released there. */
void rl_calls_give_back(redlock_lock *lock, uint32_t node, uint64_t place);
/* Drops what is pending for it. */
void rl_calls_drop(struct rl_client_node *node);
/* The memory of all calls, none of which is out. */
void rl_calls_free(redlock_client *client);

/* Whether requests are out. */
bool rl_calls_await_answers(const redlock_client *client);

#endif
