/* Credentials that are set while the client lives (redlock/credentials.h): passed on to the nodes,
 * and how far they have come. */
#ifndef RL_NODES_CREDENTIALS_H
#define RL_NODES_CREDENTIALS_H

#include "client/state.h"

/* Whether the newest ones are in use on a node: 0, or why not; NODE_DOWN: it has not answered yet.
 */
int16_t rl_credentials_status(const struct rl_client_node *place);

/* On how many nodes they are not. */
uint32_t rl_credentials_pending(const redlock_client *client);

#endif
