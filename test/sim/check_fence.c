/* The fences of a resource, as those who hold it see them: see core/fence.h for what they must be.
 *
 *     differ      no two grants have the same
 *     in order    a grant that was told before the attempt of another was sent has the smaller one
 *     as told     where no two hold the lock at once, the order of telling is that of the fences
 *     kept        nothing that happens to a hold changes its fence: an extension, a repair
 *     asked for   who asks for a fence gets one, and nobody else does (user.c)
 *
 * In order as long as the nodes have the counters that a grant set: an extension keeps them.
 *
 * Grants without a fence are not looked at. What is said of other grants is checked where it is
 * promised (options.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/check.h"
#include "sim/world.h"

static void grant_add(struct sim_grants *grants, uint64_t told_ns, uint64_t drawn_ns,
                      uint64_t fence) {
    if (grants->count == grants->capacity) {
        grants->capacity = grants->capacity == 0 ? 64 : 2 * grants->capacity;
        grants->items = realloc(grants->items, grants->capacity * sizeof grants->items[0]);
        if (grants->items == NULL) {
            abort();
        }
    }
    grants->items[grants->count++] =
        (struct sim_grant){.told_ns = told_ns, .fence = fence, .kept_ns = drawn_ns};
}

/* Whether the nodes still have the grant's counters. */
static bool is_kept(const struct sim_world *world, const struct sim_grant *grant) {
    uint64_t kept_ns = sim_options_kept_ns(&world->options);
    return kept_ns == RL_NEVER || world->now_ns < grant->kept_ns + kept_ns;
}

/* The highest fence that was told before a moment; 0 if there was none. */
static uint64_t highest_before(const struct sim_world *world, const struct sim_grants *grants,
                               uint64_t moment_ns) {
    uint64_t highest = 0;
    for (uint32_t i = 0; i < grants->count && grants->items[i].told_ns < moment_ns; i++) {
        uint64_t fence = is_kept(world, &grants->items[i]) ? grants->items[i].fence : 0;
        highest = fence > highest ? fence : highest;
    }
    return highest;
}

/* The last grant that was told this fence; NULL if there was none. */
static struct sim_grant *grant_of(const struct sim_grants *grants, uint64_t fence) {
    for (uint32_t i = grants->count; i > 0; i--) {
        if (grants->items[i - 1].fence == fence) {
            return &grants->items[i - 1];
        }
    }
    return NULL;
}

static void check_order(struct sim_world *world, unsigned client, unsigned resource,
                        const struct sim_hold *hold) {
    const struct sim_grants *grants = &world->check.grants[resource - 1];
    uint64_t drawn_ns = world->check.tokens[hold->token].drawn_ns;
    uint64_t before = highest_before(world, grants, drawn_ns);
    const struct sim_grant *same = grant_of(grants, hold->fence);
    if (same != NULL && is_kept(world, same)) {
        sim_check_fail(world, SIM_FENCE, "c%u has fence %" PRIu64 " of r%u, as another had", client,
                       hold->fence, resource);
    } else if (hold->fence <= before) {
        sim_check_fail(world, SIM_FENCE,
                       "c%u has fence %" PRIu64 " of r%u, and %" PRIu64 " was told before it asked",
                       client, hold->fence, resource, before);
    }
    before = highest_before(world, grants, UINT64_MAX);
    if (sim_options_is_exclusive(&world->options) && hold->fence <= before) {
        sim_check_fail(world, SIM_FENCE,
                       "c%u has fence %" PRIu64 " of r%u, and %" PRIu64 " was told before", client,
                       hold->fence, resource, before);
    }
}

void sim_check_fence(struct sim_world *world, uint32_t client, const struct sim_hold *hold) {
    if (hold->fence == 0) {
        return;
    }
    world->stats.fenced++;
    for (uint32_t r = 0; hold->resources >> r != 0; r++) {
        if (hold->resources >> r & 1) {
            if (sim_options_is_fenced(&world->options)) {
                check_order(world, client + 1, r + 1, hold);
            }
            grant_add(&world->check.grants[r], world->now_ns,
                      world->check.tokens[hold->token].drawn_ns, hold->fence);
        }
    }
}

void sim_check_fence_kept(struct sim_world *world, const struct sim_hold *hold) {
    for (uint32_t r = 0; hold->resources >> r != 0; r++) {
        struct sim_grant *grant =
            hold->resources >> r & 1 ? grant_of(&world->check.grants[r], hold->fence) : NULL;
        if (grant != NULL) {
            grant->kept_ns = world->check.tokens[hold->token].extend_ns;
        }
    }
}

void sim_check_fences_free(struct sim_world *world) {
    for (uint32_t i = 0; i < SIM_RESOURCES_MAX; i++) {
        free(world->check.grants[i].items);
    }
}
