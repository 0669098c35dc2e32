/* When a client is open: when as many nodes have connected as will, or time is up. */
#ifndef RL_CLIENT_PHASE_H
#define RL_CLIENT_PHASE_H

#include "client/state.h"

/* Asked in each turn. True: on_open is to run with this status. */
bool rl_opening_is_over(redlock_client *client, uint64_t now_ns, int *status);

/* When a client is closed: when all that its locks have released is released, or time is up, and
 * all callbacks have run. Then the nodes go, and then the world. */

/* Asked in each turn. */
void rl_closing_check(redlock_client *client);

#endif
