/* Events of nodes (redis/node.h) and their deadlines, passed on to the parts of the client that
 * they concern. */
#ifndef RL_CLIENT_NODES_H
#define RL_CLIENT_NODES_H

#include "client/state.h"

extern const struct rl_node_events rl_nodes_events;

void rl_nodes_due(struct rl_deadline *item, uint64_t now_ns);

#endif
