/* Adopting a configuration that nodes have reported (nodes/membership.h), and parting from nodes
 * that it does not name.
 *
 * Can memory run out in the middle? All that an adoption needs is allocated before anything
 * changes; otherwise the client keeps what it has, and the nodes that have the new configuration
 * are connected to again, and asked again. Can a key be orphaned? A node that is left keeps its
 * connection for the longest ttl, and every release is sent there.
 */
#ifndef RL_CLIENT_ADOPT_H
#define RL_CLIENT_ADOPT_H

#include "client/state.h"

/* To be called at the beginning of each turn: adopts what was read. */
void rl_adopt_turn(redlock_client *client);

/* Closes a node that has left the set, if it is time. */
void rl_adopt_tick(struct rl_client_node *member, uint64_t now_ns);

#endif
