/* What nodes report (redis/node.h), and what is due at them: passed on to whom it is about. */
#ifndef RL_CLIENT_NODES_H
#define RL_CLIENT_NODES_H

#include "client/state.h"

extern const struct rl_node_events rl_nodes_events;

void rl_nodes_due(struct rl_deadline *item, uint64_t now_ns);

#endif
