/* See fence.h for the argument. */
#include "core/fence.h"

#include <assert.h>

void rl_fence_begin(struct rl_fence *fence, uint64_t floor) {
    fence->floor = floor < RL_FENCE_FLOOR_MAX ? floor : RL_FENCE_FLOOR_MAX;
    fence->value = 0;
    fence->nodes = 0;
}

void rl_fence_vote(struct rl_fence *fence, uint32_t node, uint64_t counter) {
    assert(node < RL_SEATS_MAX);
    assert(counter > 0);
    if (counter > fence->value) {
        fence->value = counter;
        fence->nodes = 0;
    }
    if (counter == fence->value) {
        fence->nodes |= UINT32_C(1) << node;
    }
}

bool rl_fence_is_placed(const struct rl_fence *fence, const struct rl_electorate *electorate) {
    assert((fence->nodes & ~rl_electors(electorate)) == 0);
    return rl_is_quorum(electorate, fence->nodes);
}

void rl_fence_settle(struct rl_fence *fence) {
    assert(fence->value > 0);
    fence->floor = fence->value;
}
