/* Credentials that are set while the client is open (redlock/credentials.h): hands them to the
 * nodes, and reports their progress. */
#ifndef RL_NODES_CREDENTIALS_H
#define RL_NODES_CREDENTIALS_H

#include "client/state.h"

/* 0 if the node uses the newest credentials; else why not. NODE_DOWN: it has not answered yet.
 */
int16_t rl_credentials_status(const struct rl_client_node *member);

/* The number of nodes that do not use them. */
uint32_t rl_credentials_pending(const redlock_client *client);

#endif
