/* A node in its client: when it is to be looked at next. */
#ifndef RL_NODES_PLACE_H
#define RL_NODES_PLACE_H

#include "client/state.h"

/* Something has changed that decides it. */
void rl_place_update(struct rl_client_node *place);

#endif
