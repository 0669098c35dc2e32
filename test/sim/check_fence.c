/* The fences of a resource, as its holders see them: see core/fence.h for the rules.
 *
 *     differ      no two grants to write have the same
 *     in order    a grant reported before the attempt of another was sent has the smaller one;
 *                 if the other reads, it is not larger: a reader may have that of the last writer,
 *                 and of other readers, and a later writer never has a reader's
 *     as told     if no two hold the lock at once, the order of reporting is that of the fences
 *                 (of readers and readers nothing is said: they do hold at once)
 *     kept        nothing that happens to a hold changes its fence: an extension, a repair
 *     asked for   a user that asks for a fence gets one, and no other does (user.c)
 *
 * In order as long as the nodes have the counters that a grant set: an extension keeps them.
 *
 * Grants without a fence are not checked. The rules are checked where they are guaranteed
 * (options.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/check.h"
#include "sim/world.h"

static void grant_add(struct sim_grants *grants, struct sim_grant grant) {
    if (grants->count == grants->capacity) {
        grants->capacity = grants->capacity == 0 ? 64 : 2 * grants->capacity;
        grants->items = realloc(grants->items, grants->capacity * sizeof grants->items[0]);
        if (grants->items == NULL) {
            abort();
        }
    }
    grants->items[grants->count++] = grant;
}

/* Whether the nodes still have the grant's counters. */
static bool is_kept(const struct sim_world *world, const struct sim_grant *grant) {
    uint64_t kept_ns = sim_options_kept_ns(&world->options);
    return kept_ns == RL_NEVER || world->now_ns < grant->kept_ns + kept_ns;
}

/* The highest fence that was reported before a given time, to any user or only to writers; 0 if
 * there was none. */
static uint64_t highest_before(const struct sim_world *world, const struct sim_grants *grants,
                               uint64_t moment_ns, bool of_writers) {
    uint64_t highest = 0;
    for (uint32_t i = 0; i < grants->count && grants->items[i].told_ns < moment_ns; i++) {
        const struct sim_grant *grant = &grants->items[i];
        bool counts = is_kept(world, grant) && !(of_writers && grant->reads);
        uint64_t fence = counts ? grant->fence : 0;
        highest = fence > highest ? fence : highest;
    }
    return highest;
}

/* The last grant, to write or to read, that reported this fence; NULL if there was none. */
static struct sim_grant *grant_of(const struct sim_grants *grants, uint64_t fence, bool reads) {
    for (uint32_t i = grants->count; i > 0; i--) {
        if (grants->items[i - 1].fence == fence && grants->items[i - 1].reads == reads) {
            return &grants->items[i - 1];
        }
    }
    return NULL;
}

static void fail(struct sim_world *world, unsigned client, unsigned resource,
                 const struct sim_hold *hold, const char *than, uint64_t other) {
    sim_check_fail(world, SIM_FENCE, "c%u %s r%u with fence %" PRIu64 ", and %" PRIu64 " %s",
                   client, hold->reads ? "reads" : "has", resource, hold->fence, other, than);
}

static void check_order(struct sim_world *world, unsigned client, unsigned resource,
                        const struct sim_hold *hold) {
    const struct sim_grants *grants = &world->check.grants[resource - 1];
    uint64_t drawn_ns = world->check.tokens[hold->token].drawn_ns;
    uint64_t above = hold->reads ? 0 : 1;
    uint64_t before = highest_before(world, grants, drawn_ns, false);
    const struct sim_grant *same = grant_of(grants, hold->fence, false);
    if (!hold->reads && same != NULL && is_kept(world, same)) {
        fail(world, client, resource, hold, "is another's", same->fence);
    } else if (hold->fence < before + above) {
        fail(world, client, resource, hold, "was told before it asked", before);
    }
    before = highest_before(world, grants, UINT64_MAX, hold->reads);
    if (sim_options_is_exclusive(&world->options) && hold->fence < before + above) {
        fail(world, client, resource, hold, "was told before", before);
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
            grant_add(&world->check.grants[r],
                      (struct sim_grant){.told_ns = world->now_ns,
                                         .fence = hold->fence,
                                         .kept_ns = world->check.tokens[hold->token].drawn_ns,
                                         .reads = hold->reads});
        }
    }
}

/* A writer may read by now. */
void sim_check_fence_kept(struct sim_world *world, const struct sim_hold *hold) {
    for (uint32_t r = 0; hold->resources >> r != 0; r++) {
        for (uint32_t reads = 0; reads < 2 && hold->resources >> r & 1; reads++) {
            struct sim_grant *grant = grant_of(&world->check.grants[r], hold->fence, reads == 1);
            if (grant != NULL) {
                /* The next one may have been sent before this was reported. */
                const struct sim_token *token = &world->check.tokens[hold->token];
                grant->kept_ns =
                    token->extend_ns == world->now_ns ? token->before_ns : token->extend_ns;
            }
        }
    }
}

void sim_check_fences_free(struct sim_world *world) {
    for (uint32_t i = 0; i < SIM_RESOURCES_MAX; i++) {
        free(world->check.grants[i].items);
    }
}
