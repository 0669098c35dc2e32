/* What nodes say of slots (permit.h), and what becomes of the lock that has asked.
 *
 * A peek: its attempt begins with the slots that home has reserved, or has failed as one that was
 * refused; where home does not say, it begins by chance. A no of home that was asked before a
 * release of ours had run there is none: it is asked again.
 */
#ifndef RL_MODE_PERMIT_ANSWER_H
#define RL_MODE_PERMIT_ANSWER_H

#include "client/state.h"
#include "wait/line_call.h"

/* To a JOIN or a TAKE of the present acquire: whether the node keeps the same number of permits.
 * True: so many do not that no quorum can agree, and the acquire has ended. */
bool rl_permit_hear(redlock_lock *lock, uint32_t node, const struct rl_answer *answer);

/* To any command of the lock, before its vote: a node that refuses a slot says which one not to ask
 * for again. */
void rl_permit_learn(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                     const struct rl_answer *answer);

/* Home has answered a peek, or will not. */
void rl_permit_answer(struct rl_line_request *call, const struct rl_answer *answer);

#endif
