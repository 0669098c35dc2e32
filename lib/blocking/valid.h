/* The validity of a hold as every thread sees it: see valid.c. */
#ifndef RL_BLOCKING_VALID_H
#define RL_BLOCKING_VALID_H

#include "blocking/state.h"

/* For the thread with the wheel. Publish: its owner holds until then. Withdraw: no longer valid,
 * but the owner may still read its token. Forget: unlocked. */
void rl_valid_publish(struct rl_hold *hold, uint64_t until_ns);
void rl_valid_withdraw(struct rl_hold *hold);
void rl_valid_forget(struct rl_hold *hold);
/* Any thread. The hold of an owner, or NULL. */
const struct rl_hold *rl_valid_hold(const redlock_mutex *mutex, uint64_t owner);
/* Any thread. 0: not valid, or not for this owner. */
uint64_t rl_valid_left_ns(const redlock_mutex *mutex, uint64_t owner);

#endif
