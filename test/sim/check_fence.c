/* The fences of a resource, as those who hold it see them: see core/fence.h for what they must be.
 *
 *     differ      no two grants have the same
 *     in order    a grant that was told before the attempt of another was sent has the smaller one
 *     as told     where no two hold the lock at once, the order of telling is that of the fences
 *     kept        nothing that happens to a hold changes its fence: an extension, a repair
 *     asked for   who asks for a fence gets one, and nobody else does
 *
 * Grants without a fence are not looked at. What is said of other grants is checked where it is
 * promised (options.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/check.h"
#include "sim/world.h"

static void grant_add(struct sim_grants *grants, uint64_t told_ns, uint64_t fence) {
    if (grants->count == grants->capacity) {
        grants->capacity = grants->capacity == 0 ? 64 : 2 * grants->capacity;
        grants->items = realloc(grants->items, grants->capacity * sizeof grants->items[0]);
        if (grants->items == NULL) {
            abort();
        }
    }
    uint64_t before = grants->count > 0 ? grants->items[grants->count - 1].highest : 0;
    grants->items[grants->count++] = (struct sim_grant){
        .told_ns = told_ns, .fence = fence, .highest = before > fence ? before : fence};
}

/* The highest fence that was told before a moment; 0 if there was none. */
static uint64_t highest_before(const struct sim_grants *grants, uint64_t moment_ns) {
    uint32_t count = grants->count;
    while (count > 0 && grants->items[count - 1].told_ns >= moment_ns) {
        count--;
    }
    return count > 0 ? grants->items[count - 1].highest : 0;
}

static bool was_told(const struct sim_grants *grants, uint64_t fence) {
    for (uint32_t i = 0; i < grants->count; i++) {
        if (grants->items[i].fence == fence) {
            return true;
        }
    }
    return false;
}

static void check_order(const struct sim_lock *lock, const struct sim_hold *hold,
                        const struct sim_grants *grants) {
    struct sim_world *world = lock->client->world;
    const unsigned client = lock->client->index + 1u, resource = lock->resource + 1u;
    uint64_t drawn_ns = world->check.tokens[hold->token].drawn_ns;
    uint64_t before = highest_before(grants, drawn_ns);
    if (was_told(grants, hold->fence)) {
        sim_check_fail(world, SIM_FENCE, "c%u has fence %" PRIu64 " of r%u, as another had", client,
                       hold->fence, resource);
    } else if (hold->fence <= before) {
        sim_check_fail(world, SIM_FENCE,
                       "c%u has fence %" PRIu64 " of r%u, and %" PRIu64 " was told before it asked",
                       client, hold->fence, resource, before);
    }
    before = highest_before(grants, UINT64_MAX);
    if (sim_options_is_exclusive(&world->options) && hold->fence <= before) {
        sim_check_fail(world, SIM_FENCE,
                       "c%u has fence %" PRIu64 " of r%u, and %" PRIu64 " was told before", client,
                       hold->fence, resource, before);
    }
}

void sim_check_fence(const struct sim_lock *lock, const struct sim_hold *hold) {
    struct sim_world *world = lock->client->world;
    struct sim_grants *grants = &world->check.grants[lock->resource];
    if (hold->fences != (hold->fence != 0)) {
        sim_check_fail(world, SIM_FENCE, "c%d %s a fence", lock->client->index + 1,
                       hold->fences ? "was granted without" : "did not ask for");
    }
    if (hold->fence != 0) {
        if (sim_options_is_fenced(&world->options)) {
            check_order(lock, hold, grants);
        }
        world->stats.fenced++;
        grant_add(grants, world->now_ns, hold->fence);
    }
}

void sim_check_fence_stays(const struct sim_lock *lock, const struct sim_hold *hold) {
    if (rl_lock_fence(&lock->core) != hold->fence) {
        sim_check_fail(lock->client->world, SIM_FENCE,
                       "c%d holds with fence %" PRIu64 ", and was told %" PRIu64,
                       lock->client->index + 1, rl_lock_fence(&lock->core), hold->fence);
    }
}

void sim_check_fences_free(struct sim_world *world) {
    for (uint32_t i = 0; i < SIM_RESOURCES_MAX; i++) {
        free(world->check.grants[i].items);
    }
}
