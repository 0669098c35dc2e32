/* Calls: commands to one node on behalf of a lock, and the releases that nodes have not answered.
 *
 * Happy path: the node answers yes or no, which is its vote (answer.c).
 *
 * Failure modes: the node answered with an error, and did not run the command. Or there was no
 * answer, or an unexpected reply: the command may have run, or may still run. A release without a
 * yes or a no is pending (core/pending.h) until it is sent again and answered.
 *
 * Can a key be orphaned here? Only yes and no end a release: they say that the token is not in the
 * key. And only an answer says that a SET did not run. A release is one rl_lock_call from the
 * core's request until the node's answer: outstanding (in the node's list), or pending (in the
 * node's pending releases). Only rl_calls_settle() frees it when it is over, or drops it when the
 * core gives it up. The exception is a release for which there is no memory: it counts as dropped,
 * and the key expires after its ttl.
 */
#ifndef RL_LOCK_CALLS_H
#define RL_LOCK_CALLS_H

#include "client/state.h"

/* Prepares the command for the nodes that rl_calls_send() names next. */
void rl_calls_format(redlock_lock *lock, enum rl_call_kind kind);
/* Sends the command. Returns 0 if it will be answered, else the reason why it was not sent. */
int16_t rl_calls_send(redlock_lock *lock, enum rl_call_kind kind, uint32_t round, uint32_t node);
/* Makes a release of the current token, which could not be sent, pending for the node. */
void rl_calls_keep_release(redlock_lock *lock, uint32_t node);

/* Whether to send a command again whose script the node has forgotten. */
bool rl_calls_again(struct rl_node *node, struct rl_request *request);
/* Whether the command may have run, or may still run. */
bool rl_calls_may_have_run(enum rl_verdict verdict);
/* The call was answered, or will not be. */
void rl_calls_settle(struct rl_client_node *node, struct rl_lock_call *call,
                     enum rl_verdict verdict);

/* Sends a node everything that is pending for it. */
void rl_calls_retry(struct rl_client_node *node);
/* Releases a key that the node has passed to a place after this lock gave it up. */
void rl_calls_give_back(redlock_lock *lock, uint32_t node, uint64_t place);
/* Drops all releases that are pending for the node. */
void rl_calls_drop(struct rl_client_node *node);
/* Frees the memory of all calls, none of which is outstanding. */
void rl_calls_free(redlock_client *client);

/* Whether requests are outstanding. */
bool rl_calls_await_answers(const redlock_client *client);

#endif
