/* Adopts a configuration that nodes have reported (nodes/membership.h), and leaves nodes that it
 * does not name.
 *
 * Can memory run out halfway? No: an adoption allocates everything before it changes anything. If
 * that fails, the client keeps its configuration, and reconnects to the nodes that have the new one
 * to read it again. Can a key be orphaned? No: a node that is left keeps its connection for the
 * longest ttl, and gets every release.
 */
#ifndef RL_CLIENT_ADOPT_H
#define RL_CLIENT_ADOPT_H

#include "client/state.h"

/* Adopts what was read. Call this at the beginning of each turn. */
void rl_adopt_turn(redlock_client *client);

/* Closes a node that has left the set, if it is time. */
void rl_adopt_tick(struct rl_client_node *member, uint64_t now_ns);

#endif
