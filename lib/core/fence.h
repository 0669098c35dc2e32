/* The fence of one grant: a number that is larger than those of all grants before it.
 *
 * Happy path: each node that grants sets its counter of the resource to max(counter + 1, floor) in
 * the same step as the key, and returns it. All return the same number, which is the fence. A fence
 * is *placed* on a node if the node's counter was exactly the fence at some moment at which the
 * node had the grant's token; a grant needs a quorum of such nodes. A release that passes its keys
 * sets counter and key in the same way, and its message carries the number. Every other script that
 * writes a token (such as home's for a turn) increments an existing counter, so that the counter
 * cannot still be another grant's fence.
 *
 * Failure modes: the nodes return different numbers, because only some counters are ahead of the
 * floor. Then the largest number is the fence, and a second round raises the other counters to it
 * on nodes that still have the token; the grant counts once that round has a quorum. A node whose
 * counter is already larger than the fence does not vote yes: a grant of ours that came too late to
 * be counted has set it.
 *
 * Why it grows: let A and B be two grants. Both fences are placed on quorums, so they share a node
 * s. Say s had A's token first. When s granted B, its counter was A's fence or more, so it became
 * larger than that; later it was exactly B's fence. So B's fence is larger. Hence all fences
 * differ; and if A was granted before B's SETs were sent, s had A's token first. None of this
 * depends on time: it holds whatever clocks and pauses do. While the clocks meet Redlock's
 * assumptions, validity windows do not overlap, and they follow the order on s.
 *
 * Assumptions: a raise compares the token and the counter on the node (otherwise a late raise could
 * set A's fence after B has come and gone); and counters outlive the keys, however long a hold
 * lasts. An extension is a raise as well, so a quorum that extended keeps the counters for another
 * retention. (There a larger counter is good enough: the grant has already placed the fence
 * exactly.) A counter is lost with its node, or if the lock was neither granted nor extended for
 * the retention. Then the floor carries the order. It is the client's wall clock, so clocks must
 * agree to within the time between the last grant or extension and the start of the attempt. The
 * attempt's SET may run up to a ttl after that start, so the ttl does not count towards a retention
 * that has ended.
 */
#ifndef RL_CORE_FENCE_H
#define RL_CORE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/quorum.h"

/* The largest floor: a node's scripts are exact up to 2^53, and 2^40 numbers are left for
 * counting. */
#define RL_FENCE_FLOOR_MAX ((UINT64_C(1) << 53) - (UINT64_C(1) << 40))

/* The largest counter that is accepted as a vote; counting never gets halfway through those
 * numbers. A larger counter would pull up all others, and at 2^53 no counter could grow any
 * further. */
#define RL_FENCE_VOTE_MAX ((UINT64_C(1) << 53) - (UINT64_C(1) << 39))

struct rl_fence {
    uint64_t floor; /* the number that commands carry: the floor in a SET, the fence in a raise */
    uint64_t value; /* the largest counter among the votes so far */
    uint32_t nodes; /* nodes that voted `value`, a mask */
};

/* Begins a new attempt. floor 0: without a fence. */
void rl_fence_begin(struct rl_fence *fence, uint64_t floor);

/* Records the node's counter from a vote that was counted. */
void rl_fence_vote(struct rl_fence *fence, uint32_t node, uint64_t counter);

/* Whether the votes alone have placed the largest counter, because a quorum voted it. */
bool rl_fence_is_placed(const struct rl_fence *fence, const struct rl_electorate *electorate);

/* Fixes the fence: later commands (a raise, a repair) carry it instead of the floor. */
void rl_fence_settle(struct rl_fence *fence);

#endif
