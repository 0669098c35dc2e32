/* The home node of a resource: the same for all clients that see the same nodes.
 *
 * It is the node with the largest hash of resource and node (rendezvous hashing). Every resource
 * orders the nodes differently, so the nodes share the work; when one is down, all clients that
 * know this choose the same next one.
 *
 * Can clients that disagree on home make two holders? No: home has no part in a grant. Clients that
 * name a node differently, or do not know yet that it is down, lose only order and time.
 */
#ifndef RL_CORE_HOME_H
#define RL_CORE_HOME_H

#include <stdint.h>

#include "base/bits.h"

/* The home among the nodes of a mask that is not 0. resource: a hash of its name; nodes: a hash for
 * each node. */
uint32_t rl_home_node(uint64_t resource, const uint64_t *nodes, rl_mask mask);

/* A hash of bytes, the same on all machines. */
uint64_t rl_home_hash(const void *bytes, uint32_t length);

#endif
