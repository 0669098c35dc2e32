/* The fence of one grant: a number that is larger than those of all grants before it.
 *
 * Happy path: each node that grants sets its counter of the resource to max(counter + 1, floor) in
 * the same step as the key, and returns it. All return the same number, which is the fence. A fence
 * is *placed* on a node when the node's counter was exactly the fence at some moment at which the
 * node had the grant's token; a grant needs a quorum of such nodes. A release that passes its keys
 * sets counter and key likewise, and the message has the number. Any other script that writes a
 * token, as home does for a turn, counts up an existing counter, so that the counter is never
 * another grant's fence by then.
 *
 * Failure modes: the nodes return different numbers (a counter is ahead of the floor, and another
 * is not). Then the largest is the fence, and a second round raises the counters to it, only where
 * the token still is; the grant counts when that round has a quorum. A counter that is larger than
 * the fence already is not a yes: a grant of ours that came too late to be counted has set it.
 *
 * Why it grows: let A and B be two grants. Both fences are placed on quorums, so on one node s both
 * were placed. Say s had A's token first. When s granted B, its counter was A's fence or more, so
 * it became larger than that; and later it was exactly B's fence. So B's fence is larger. Hence all
 * fences differ; and if A was granted before B's SETs were sent, it was A that s had first.
 * Nothing here is about time: it holds whatever clocks and pauses do. While the clocks keep what
 * Redlock assumes of them, windows of validity do not overlap, and their order is that on s.
 *
 * What it rests on: a raise compares the token, and the counter, on the node (without that, a late
 * one could put A's fence in place after B has come and gone); and counters outlive the keys,
 * however long a hold lasts: an extension is a raise as well, so a quorum that extended has the
 * counters for another retention. (A larger counter is good enough there; that the fence was placed
 * exactly is settled by the grant.) Where a counter was lost, with its node or because nobody was
 * granted the lock or extended it for longer than the retention, the floor carries the order: it is
 * the wall clock of the client, so clocks must agree to within the time that has passed from the
 * last grant or extension to the beginning of the attempt. Its SET may run as much as a ttl later
 * than that, so the ttl does not count towards a retention that has ended.
 */
#ifndef RL_CORE_FENCE_H
#define RL_CORE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/quorum.h"

/* Floors end here: numbers up to 2^53 are exact in a node's scripts, and 2^40 are left to count. */
#define RL_FENCE_FLOOR_MAX ((UINT64_C(1) << 53) - (UINT64_C(1) << 40))

/* No larger counter is accepted as a vote: half of those numbers are never reached by counting. A
 * larger counter would pull all others up, and at 2^53 none of them could count any further. */
#define RL_FENCE_VOTE_MAX ((UINT64_C(1) << 53) - (UINT64_C(1) << 39))

struct rl_fence {
    uint64_t floor; /* what a command carries: a SET the floor, a raise the fence */
    uint64_t value; /* the largest counter that was voted, so far */
    uint32_t nodes; /* that voted `value`, as a mask */
};

/* Begins a new attempt. floor 0: without a fence. */
void rl_fence_begin(struct rl_fence *fence, uint64_t floor);

/* Takes a counted vote with the node's counter. */
void rl_fence_vote(struct rl_fence *fence, uint32_t node, uint64_t counter);

/* Whether the votes alone have placed the maximum: a quorum voted it. */
bool rl_fence_is_placed(const struct rl_fence *fence, const struct rl_electorate *electorate);

/* From now on commands carry the fence itself: a raise, or the repair of a key. */
void rl_fence_settle(struct rl_fence *fence);

#endif
