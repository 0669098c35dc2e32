/* What home says of slots (permit.h), and what becomes of the lock that has asked.
 *
 * A peek: its attempt begins with the slots that home has reserved, or has failed as one that was
 * refused; where home does not say, it begins by chance. The error PERMITS ends the acquire.
 */
#ifndef RL_CLIENT_PERMIT_ANSWER_H
#define RL_CLIENT_PERMIT_ANSWER_H

#include "client/line_call.h"
#include "client/state.h"

/* Home has answered a peek, or will not. */
void rl_permit_answer(struct rl_line_request *call, const struct rl_answer *answer);

/* Home keeps another number of permits, and says so: a lock that waits for that ends. */
void rl_permit_disagrees(redlock_lock *lock, const char *text);

#endif
