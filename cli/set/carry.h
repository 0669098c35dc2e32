/* What outlives a lock, and goes along to the new nodes of a set: counters of fences, and numbers
 * of permits.
 *
 * Happy path: the keys of each old node that the joint text has met are read by SCAN, and written
 * to every node of the new set of their resource: a counter where it is larger than the node's own,
 * a number of permits where there is none; their life is extended to the longer one. Resources
 * whose old and new nodes are the same are left out.
 *
 * Does a fence stay larger than all before? A fence that the old nodes alone have granted is on a
 * majority of them, and was written before the cut: each majority that has met the joint text has
 * a node with it. All of the new nodes get it, also those that were old ones: of three nodes that
 * stay of five, a majority may lack it. Fences that are granted later come from both sides. So
 * with a majority of the new nodes each majority of them has it. All this is so of the old and the
 * new set of one resource. A node that has left a resource's set may still have its counter, which
 * is smaller.
 *
 * Failure modes: a node fails meanwhile, or a user may not: it does not count. */
#ifndef RL_CLI_SET_CARRY_H
#define RL_CLI_SET_CARRY_H

#include "set/nodes.h"
#include "set/steps.h"

/* from: old nodes that have met the joint text. Whether a majority of the old nodes was read, and
 * all of that was written to a majority of the new ones, of each set. */
bool rl_carry(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
              rl_mask from);

#endif
