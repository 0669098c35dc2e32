/* The validity of a mutex as every thread sees it: see valid.c. */
#ifndef RL_BLOCKING_VALID_H
#define RL_BLOCKING_VALID_H

#include "blocking/state.h"

/* Loop thread: held by owner until then; not valid any more, but the owner may still ask for its
 * token; unlocked. The latter two do nothing if another owner holds it. */
void rl_valid_publish(redlock_mutex *mutex, uint64_t owner, uint64_t until_ns);
void rl_valid_withdraw(redlock_mutex *mutex, uint64_t owner);
void rl_valid_forget(redlock_mutex *mutex, uint64_t owner);
/* Any thread. 0: it is not valid, or not for this owner. */
uint64_t rl_valid_left_ns(const redlock_mutex *mutex, uint64_t owner);

#endif
