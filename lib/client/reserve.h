/* Room that is taken before it is needed, so that what is done later cannot fail for want of it.
 * False: no memory. */
#ifndef RL_CLIENT_RESERVE_H
#define RL_CLIENT_RESERVE_H

#include "client/state.h"

#define RL_CLIENT_DEADLINES 3 /* the client's own, listening's, notifications'; and all others */

/* For the deadlines of one more lock, query or recipe, and of so many resources. */
bool rl_reserve_deadline(redlock_client *client, uint32_t resources);
/* To write any command of target. */
bool rl_reserve_wire(redlock_client *client, const struct rl_target *target);

#endif
