/* Which node is the home of a resource: the same one for all clients that see the same nodes.
 *
 * It is the node with the largest hash of resource and node (rendezvous hashing): every resource
 * has its own order of the nodes, so that they share the work, and when one is down, all clients
 * that know it go on to the same next one.
 *
 * Can clients that do not agree on a home make two holders? No: it has no part in what makes a
 * grant. Clients that name a node differently, or do not know yet that it is down, lose only order
 * and time.
 */
#ifndef RL_CORE_HOME_H
#define RL_CORE_HOME_H

#include <stdint.h>

/* The first of the nodes of a mask that is not 0. resource: a hash of it; nodes: of each node's
 * name. */
uint32_t rl_home_node(uint64_t resource, const uint64_t *nodes, uint32_t mask);

/* A hash of bytes, the same on all machines. */
uint64_t rl_home_hash(const void *bytes, uint32_t length);

#endif
