/* When a client is open: when as many nodes have connected as will, or time is up. */
#ifndef RL_CLIENT_OPENING_H
#define RL_CLIENT_OPENING_H

#include "client/state.h"

/* Asked in each turn. True: on_open is to run with this status. */
bool rl_opening_is_over(redlock_client *client, uint64_t now_ns, int *status);

#endif
