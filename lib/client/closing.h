/* When a client is closed: when all that its locks have released is released, or time is up, and
 * all callbacks have run. Then the nodes go, and then the world. */
#ifndef RL_CLIENT_CLOSING_H
#define RL_CLIENT_CLOSING_H

#include "client/state.h"

/* Asked in each turn. */
void rl_closing_check(redlock_client *client);

#endif
