/* Answers about slots (permit.h), and their effect on the lock that has asked.
 *
 * After a peek the attempt begins with the slots that home has reserved, or fails as if refused; if
 * home does not answer properly, it begins with random slots. A no does not count if home answered
 * before a release of ours had run there: home is asked again.
 */
#ifndef RL_MODE_PERMIT_ANSWER_H
#define RL_MODE_PERMIT_ANSWER_H

#include "client/state.h"
#include "wait/line_call.h"

/* Learns from the answer to a JOIN or a TAKE of the present acquire whether the node keeps the same
 * number of permits. True: so many nodes differ that no quorum can agree, and the acquire has
 * ended. */
bool rl_permit_hear(redlock_lock *lock, uint32_t node, const struct rl_answer *answer);

/* Learns from the answer to any command of the lock; to be called before its vote is counted. A
 * node that refuses says which slot not to request again. */
void rl_permit_learn(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                     const struct rl_answer *answer);

/* Home has answered a peek, or will not. */
void rl_permit_answer(struct rl_line_request *call, const struct rl_answer *answer);

#endif
