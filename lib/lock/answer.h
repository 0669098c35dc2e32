/* Turns a node's answer to a call of a lock into a vote, and steps the lock with it. */
#ifndef RL_LOCK_ANSWER_H
#define RL_LOCK_ANSWER_H

#include "client/state.h"

void rl_answer_take(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer);

#endif
