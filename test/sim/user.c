/* See user.h. The generation voids what a user had in mind when something else happened first. */
#include "sim/user.h"

#include "sim/world.h"

/* Whether the user does what chance says: not a probe, and not part of a story. */
static bool is_free(const struct sim_lock *lock) {
    const struct sim_world *world = lock->client->world;
    return world->phase == SIM_SAFETY && world->options.preset != SIM_STORY;
}

static struct sim_random *dice(const struct sim_lock *lock) {
    return &lock->client->world->user_random;
}

static void act_in(struct sim_lock *lock, uint64_t after_ns) {
    struct sim_world *world = lock->client->world;
    struct sim_event event = {.at_ns = world->now_ns + after_ns,
                              .kind = SIM_EV_USER,
                              .client = lock->client->index,
                              .node = lock->index,
                              .arg = ++lock->user_generation};
    sim_queue_add(&world->queue, &event);
}

static uint64_t think_ns(struct sim_lock *lock) {
    const struct sim_options *options = &lock->client->world->options;
    return sim_skewed(dice(lock), 0, options->think_max_ms * RL_NS_PER_MS);
}

/* A callback that does not come back for a while. */
static void maybe_block(struct sim_lock *lock) {
    struct sim_world *world = lock->client->world;
    if (world->phase == SIM_SAFETY && world->options.block_percent > 0 &&
        sim_chance(dice(lock), world->options.block_percent)) {
        world->stats.faults[SIM_FAULT_BLOCK]++;
        sim_loop_busy(lock->client,
                      world->now_ns + sim_skewed(dice(lock), 0, world->options.fault_ns));
    }
}

/* -- Asking -- */

static uint32_t random_ttl(struct sim_lock *lock) {
    const struct sim_options *options = &lock->client->world->options;
    return (uint32_t)sim_skewed(dice(lock), options->ttl_min_ms, options->ttl_max_ms);
}

/* A watchdog, at times one that is late for its validity, and at times a limit. */
static void watch(struct sim_lock *lock, struct rl_acquire *options) {
    struct sim_random *random = dice(lock);
    const uint32_t watch_percent = lock->client->world->options.watch_percent;
    uint64_t validity_ms = rl_validity_ns(&lock->client->rules, options->ttl_ms) / RL_NS_PER_MS;
    if (watch_percent == 0 || validity_ms < 3 || !sim_chance(random, watch_percent)) {
        return;
    }
    uint64_t usual_ms = options->ttl_ms / 3 < validity_ms ? options->ttl_ms / 3 : 1;
    options->renew_ms = (uint32_t)(sim_chance(random, 70) && usual_ms > 0
                                       ? usual_ms
                                       : sim_between(random, 1, validity_ms - 1));
    if (sim_chance(random, 30)) {
        options->max_hold_ms = (uint32_t)sim_skewed(random, 10, 8 * options->ttl_ms);
    }
}

/* From a stream of its own: what else happens does not depend on it. */
static void fence_and_break_ties(struct sim_lock *lock, struct rl_acquire *acquire) {
    struct sim_world *world = lock->client->world;
    acquire->fences = sim_chance(&world->fence_random, world->options.fence_percent);
    acquire->breaks_ties = sim_chance(&world->fence_random, world->options.ties_percent);
}

static void acquire(struct sim_lock *lock) {
    struct sim_random *random = dice(lock);
    struct rl_acquire options = {.ttl_ms = random_ttl(lock),
                                 .tries = RL_NO_LIMIT,
                                 .wait_ms = (uint32_t)sim_skewed(random, 1, 10000),
                                 .delay_ms = (uint32_t)sim_skewed(random, 0, 100),
                                 .jitter_ms = (uint32_t)sim_skewed(random, 0, 200)};
    if (sim_chance(random, 40)) {
        options.tries = (uint32_t)sim_between(random, 1, 4);
        options.wait_ms = sim_chance(random, 50) ? RL_NO_LIMIT : options.wait_ms;
    }
    if (sim_chance(random, 30)) {
        options.min_validity_ms = (uint32_t)sim_between(random, 0, options.ttl_ms / 2);
    }
    if (options.tries == RL_NO_LIMIT && options.delay_ms + options.jitter_ms < 5) {
        options.delay_ms = 5; /* a client that does not wait at all is a load, not a test */
    }
    watch(lock, &options);
    fence_and_break_ties(lock, &options);
    if (sim_lock_acquire(lock, &options)) {
        if (sim_chance(random, 15)) {
            act_in(lock, sim_skewed(random, 0, 2000 * RL_NS_PER_MS)); /* to cancel */
        }
    } else {
        act_in(lock, think_ns(lock));
    }
}

static void extend(struct sim_lock *lock) {
    bool other = !lock->client->world->options.same_ttl && sim_chance(dice(lock), 50);
    if (!sim_lock_extend(lock, other ? random_ttl(lock) : 0)) {
        act_in(lock, think_ns(lock));
    } else if (sim_chance(dice(lock), 10)) {
        act_in(lock, sim_skewed(dice(lock), 0, 100 * RL_NS_PER_MS)); /* to cancel or release */
    }
}

/* What a holder does next, now or later. */
static void hold(struct sim_lock *lock) {
    uint64_t left_ns = lock->core.valid_until_ns - lock->core.now_ns;
    if (sim_chance(dice(lock), 5)) {
        return; /* lets it run out */
    }
    uint64_t part = sim_between(dice(lock), 0, lock->client->world->options.hold_percent);
    act_in(lock, left_ns / 100 * part);
}

static void act_holding(struct sim_lock *lock) {
    uint32_t what = sim_pick(dice(lock), 100);
    if (what < lock->client->world->options.extend_percent) {
        extend(lock);
    } else if (what < 97) {
        sim_lock_release(lock);
    } else {
        sim_lock_abandon(lock);
        act_in(lock, think_ns(lock));
    }
}

static void act_probe(struct sim_lock *lock) {
    struct rl_acquire options = {.ttl_ms = lock->client->world->options.ttl_max_ms,
                                 .tries = RL_NO_LIMIT,
                                 .wait_ms = RL_NO_LIMIT,
                                 .delay_ms = 20,
                                 .jitter_ms = 80};
    fence_and_break_ties(lock, &options);
    if (lock->probe_left > 0 && !sim_lock_acquire(lock, &options)) {
        act_in(lock, 10 * RL_NS_PER_MS); /* something of the past is still ending */
    }
}

void sim_user_acts(struct sim_lock *lock) {
    if (lock->client->world->phase != SIM_SAFETY) {
        act_probe(lock);
    } else if (rl_lock_is_acquiring(&lock->core)) {
        sim_lock_cancel(lock);
    } else if (lock->core.state == RL_EXTENDING) {
        if (sim_chance(dice(lock), 50)) {
            sim_lock_cancel(lock);
        } else {
            sim_lock_release(lock);
        }
    } else if (lock->core.state == RL_HELD) {
        act_holding(lock);
    } else if (lock->core.state == RL_LOST && sim_chance(dice(lock), 30)) {
        sim_lock_release(lock);
    } else {
        acquire(lock);
    }
}

void sim_user_start(struct sim_lock *lock) {
    if (!is_free(lock)) {
        return;
    }
    act_in(lock, think_ns(lock));
}

/* -- Callbacks -- */

void sim_user_acquired(struct sim_lock *lock, enum rl_result result) {
    struct sim_world *world = lock->client->world;
    world->stats.grants += result == RL_RESULT_OK;
    if (world->phase != SIM_SAFETY) {
        if (result == RL_RESULT_OK && lock->probe_left > 0) {
            lock->probe_left--;
            world->probing--;
            sim_lock_release(lock);
        } else if (result == RL_RESULT_OK) {
            sim_lock_abandon(lock); /* granted before the probes began */
        }
        return;
    }
    maybe_block(lock);
    if (!is_free(lock)) {
        return;
    }
    if (result == RL_RESULT_OK) {
        hold(lock);
    } else {
        act_in(lock, think_ns(lock));
    }
}

void sim_user_extended(struct sim_lock *lock, enum rl_result result) {
    struct sim_world *world = lock->client->world;
    world->stats.renewals += result == RL_RESULT_OK;
    maybe_block(lock);
    if (lock->core.state != RL_HELD || !is_free(lock)) {
        return;
    }
    if (result == RL_RESULT_UNKNOWN || sim_chance(dice(lock), 20)) {
        extend(lock); /* at once, in the callback */
    } else {
        hold(lock);
    }
}

void sim_user_released(struct sim_lock *lock, enum rl_result result) {
    struct sim_world *world = lock->client->world;
    world->stats.releases += result == RL_RESULT_OK;
    maybe_block(lock);
    if (is_free(lock)) {
        if (sim_chance(dice(lock), 20)) {
            acquire(lock);
        } else {
            act_in(lock, think_ns(lock));
        }
    }
}

void sim_user_lost(struct sim_lock *lock, enum rl_result result) {
    struct sim_world *world = lock->client->world;
    (void)result;
    world->stats.losses++;
    maybe_block(lock);
    if (is_free(lock)) {
        act_in(lock, sim_chance(dice(lock), 30) ? 0 : think_ns(lock));
    }
}

/* -- The liveness phase -- */

void sim_user_probe(struct sim_world *world) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        for (uint32_t i = 0; i < world->options.locks; i++) {
            struct sim_lock *lock = &world->clients[c].locks[i];
            sim_lock_abandon(lock);
            lock->user_generation++;
        }
        struct sim_lock *probe = &world->clients[c].locks[0];
        probe->probe_left = 1;
        world->probing++;
        act_in(probe, sim_between(&world->user_random, 0, 50 * RL_NS_PER_MS));
    }
}
