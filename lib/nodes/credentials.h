/* Credentials that are set while the client is open (redlock/credentials.h): passing them on to the
 * nodes, and their progress there. */
#ifndef RL_NODES_CREDENTIALS_H
#define RL_NODES_CREDENTIALS_H

#include "client/state.h"

/* Whether the newest credentials are in use on a node: 0, or why not; NODE_DOWN: it has not
 * answered yet.
 */
int16_t rl_credentials_status(const struct rl_client_node *member);

/* The number of nodes on which they are not in use. */
uint32_t rl_credentials_pending(const redlock_client *client);

#endif
