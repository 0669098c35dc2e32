/* What a node answered to a call of a lock becomes a vote, and the lock is stepped. */
#ifndef RL_LOCK_ANSWER_H
#define RL_LOCK_ANSWER_H

#include "client/state.h"

void rl_answer_take(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer);

#endif
