/* See fence.h for the argument. */
#include "core/fence.h"

#include <assert.h>

#include "core/quorum.h"

void rl_fence_begin(struct rl_fence *fence, uint64_t floor) {
    fence->floor = floor < RL_FENCE_FLOOR_MAX ? floor : RL_FENCE_FLOOR_MAX;
    fence->value = 0;
    fence->nodes = 0;
}

void rl_fence_vote(struct rl_fence *fence, uint32_t node, uint64_t counter) {
    assert(node < RL_NODES_MAX);
    assert(counter > 0);
    if (counter > fence->value) {
        fence->value = counter;
        fence->nodes = 0;
    }
    if (counter == fence->value) {
        fence->nodes |= UINT32_C(1) << node;
    }
}

bool rl_fence_is_placed(const struct rl_fence *fence, uint32_t n) {
    uint32_t count = 0;
    for (uint32_t nodes = fence->nodes; nodes != 0; nodes &= nodes - 1) {
        count++;
    }
    assert(count <= n);
    return count >= rl_quorum(n);
}

void rl_fence_settle(struct rl_fence *fence) {
    assert(fence->value > 0);
    fence->floor = fence->value;
}
