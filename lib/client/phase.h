/* A client is open when as many nodes have connected as will, or time is up. */
#ifndef RL_CLIENT_PHASE_H
#define RL_CLIENT_PHASE_H

#include "client/state.h"

/* To be called in each turn. True: on_open is to run with this status. */
bool rl_opening_is_over(redlock_client *client, uint64_t now_ns, int *status);

/* A client is closed when all releases of its locks are done, or time is up, and all callbacks have
 * run. Then the nodes close, and then the world. */

/* To be called in each turn. */
void rl_closing_check(redlock_client *client);

#endif
