/* Which node clients ask first when they are in each other's way.
 *
 * Clients that ask all nodes at once for one free resource split the votes: each gets some, nobody
 * a quorum, and all have to undo and try again. If they first ask one node alone, and all ask the
 * same one, then that node chooses between them, and the others have nothing to undo.
 *
 * The node is the one with the largest hash of resource and node (rendezvous hashing): every
 * resource has its own order of the nodes, so that they share the work, and when one is down, all
 * clients that know it go on to the same next one. Clients that do not agree, because they name a
 * node differently or do not know yet that it is down, only lose time: what is asked first has no
 * part in what makes a grant.
 */
#ifndef RL_CORE_FIRST_H
#define RL_CORE_FIRST_H

#include <stdint.h>

/* The first of the nodes of a mask that is not 0. resource: a hash of it; nodes: of each node's
 * name. */
uint32_t rl_first_node(uint64_t resource, const uint64_t *nodes, uint32_t mask);

/* A hash of bytes, the same on all machines. */
uint64_t rl_first_hash(const void *bytes, uint32_t length);

#endif
