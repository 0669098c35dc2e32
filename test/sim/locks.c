/* The users' objects: locks of random resources, and holders of permits of the only semaphore "r1".
 * See user.h. */
#include <stdlib.h>

#include "redlock/semaphore.h"
#include "sim/user.h"
#include "sim/world.h"

static struct sim_world *world_of(const struct sim_user *user) {
    return user->client->sim;
}

static const struct sim_options *options_of(const struct sim_user *user) {
    return &user->client->sim->options;
}

static struct sim_random *dice(const struct sim_user *user) {
    return &world_of(user)->user_random;
}

/* -- Holders of permits -- */

static void choose(struct sim_user *user) {
    const struct sim_options *options = options_of(user);
    uint32_t permits = world_of(user)->permits, most = options->take_most;
    if (options->odd_percent > 0 && sim_chance(dice(user), options->odd_percent)) {
        permits = (uint32_t)sim_between(dice(user), 1, options->resources);
    }
    most = most < permits ? most : permits;
    user->permits = (uint8_t)permits;
    user->take = (uint8_t)(sim_chance(dice(user), 50) ? 1 : sim_between(dice(user), 1, most));
}

static void choose_permits(struct sim_user *user, redlock_lock_options *options) {
    const struct sim_options *world = options_of(user);
    if (world->permits == 0) {
        return;
    }
    choose(user);
    options->n_resources = 1;
    options->permits = user->permits;
    options->take = user->take;
}

/* -- Locks -- */

static uint32_t pick_resources(struct sim_user *user) {
    const struct sim_options *options = options_of(user);
    uint32_t all = (1u << options->resources) - 1, set = 0;
    if (options->permits > 0) {
        return 0; /* any slots that it will be granted */
    }
    if (options->several_percent == 0 || !sim_chance(dice(user), options->several_percent)) {
        uint32_t first = options->elections > 0; /* r1 is the election's */
        return 1u << (first + (user->client->index + user->index) % (options->resources - first));
    }
    while ((set & (set - 1)) == 0) { /* two at least */
        set = all & (uint32_t)sim_random(dice(user));
    }
    return set;
}

static void make_lock(struct sim_user *user, bool reads) {
    static const char *const names[SIM_RESOURCES_USUAL] = {"r1", "r2", "r3", "r4"};
    redlock_bytes resources[SIM_RESOURCES_USUAL] = {{names[0], 2}};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    char error[REDLOCK_MESSAGE_MAX];
    user->resources = pick_resources(user);
    for (uint32_t r = 0; r < SIM_RESOURCES_USUAL; r++) {
        if (user->resources >> r & 1) {
            resources[options.n_resources++] = (redlock_bytes){names[r], 2};
        }
    }
    options.resources = resources;
    user->made_reads = reads;
    options.mode = user->made_reads ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    choose_permits(user, &options);
    int status =
        redlock_lock_new_with(user->client->redlock, &options, &user->lock, error, sizeof error);
    if (status != 0) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u cannot make a lock: %s",
                       user->client->index + 1u, error);
        abort();
    }
}

void sim_user_make_lock(struct sim_user *user) {
    uint32_t percent = options_of(user)->reader_percent;
    make_lock(user, percent > 0 && sim_chance(dice(user), percent));
}

bool sim_permits_is_odd(const struct sim_user *user) {
    return user->take > 0 && user->permits != world_of(user)->permits;
}

/* -- Slots -- */

uint32_t sim_permits_slots(const struct sim_user *user) {
    uint32_t slots = 0;
    for (uint32_t i = 0; i < user->take; i++) {
        int32_t slot = redlock_lock_slot(user->lock, i);
        if (slot < 0 || slot >= SIM_RESOURCES_MAX || slots >> slot & 1) {
            sim_check_fail(world_of(user), SIM_COUNT, "c%u: permit %u has slot %d",
                           user->client->index + 1u, (unsigned)i, (int)slot);
            continue;
        }
        slots |= UINT32_C(1) << slot;
    }
    if (redlock_lock_slot(user->lock, user->take) != REDLOCK_NO_SLOT) {
        sim_check_fail(world_of(user), SIM_COUNT, "c%u has more slots than it takes",
                       user->client->index + 1u);
    }
    return slots;
}

void sim_permits_look(struct sim_user *user) {
    if (user->take > 0 && sim_permits_slots(user) != user->resources) {
        sim_check_fail(world_of(user), SIM_COUNT, "c%u holds other slots than it was told",
                       user->client->index + 1u);
    }
}

/* -- The number of permits -- */

static void on_resized(redlock_query *query, int status, void *data) {
    (void)query;
    sim_user_told(data, status);
}

void sim_permits_resize(struct sim_user *user, uint32_t permits) {
    struct sim_world *world = world_of(user);
    if (permits == 0) {
        permits = (uint32_t)sim_between(dice(user), 1, world->options.resources);
    }
    struct sim_submitted *what = sim_user_submit(user, SIM_OP_ACQUIRE);
    sim_trace(world, (struct sim_note){.kind = SIM_NOTE_RESIZE,
                                       .client = user->client->index,
                                       .lock = user->index,
                                       .node = SIM_NOBODY,
                                       .permits = (uint8_t)permits});
    user->client->may_call = false;
    if (redlock_set_permits(user->client->redlock, "r1", 2, (int32_t)permits, on_resized, what) !=
        0) {
        sim_user_unsubmit(what);
    }
    user->client->may_call = true;
    world->permits = permits;
    world->stats.resized++;
}

/* -- Tokens that are handed over -- */

struct sim_handover *sim_user_handover(struct sim_world *world, uint32_t resources) {
    for (uint32_t i = 0; i < SIM_HANDOVERS_MAX; i++) {
        struct sim_handover *handover = &world->handovers[i];
        if (handover->is_there == (resources != 0) &&
            (resources == 0 ||
             (handover->resources == resources && handover->since_ns <= world->now_ns))) {
            return handover;
        }
    }
    return NULL;
}

struct sim_handover *sim_permits_handover(const struct sim_user *user) {
    struct sim_world *world = world_of(user);
    for (uint32_t i = 0; i < SIM_HANDOVERS_MAX; i++) {
        struct sim_handover *handover = &world->handovers[i];
        uint32_t count = 0;
        for (uint32_t slots = handover->resources; slots != 0; slots &= slots - 1) {
            count++;
        }
        if (handover->is_there && handover->since_ns <= world->now_ns && count == user->take &&
            handover->resources >> user->permits == 0) {
            return handover;
        }
    }
    return NULL;
}

void sim_permits_name(struct sim_user *user, uint32_t slots) {
    int32_t list[SIM_TAKE_MAX];
    size_t n = 0;
    for (int32_t i = 0; slots >> i != 0 && n < SIM_TAKE_MAX; i++) {
        if (slots >> i & 1) {
            list[n++] = i;
        }
    }
    if (user->take > 0 && redlock_lock_set_slots(user->lock, list, n) == REDLOCK_ERR_INVALID) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u may not name slots %x",
                       user->client->index + 1u, (unsigned)slots);
    }
    user->resources = user->take > 0 ? slots : user->resources;
}
