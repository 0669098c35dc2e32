/* The users' random actions: see user.h. */
#include <string.h>

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

/* -- Asking, at random -- */

static uint32_t random_ttl(struct sim_user *user) {
    const struct sim_options *options = options_of(user);
    uint32_t most_ms = sim_world_max_ttl_ms(world_of(user), user->client->index);
    uint32_t ttl_ms = (uint32_t)sim_skewed(dice(user), options->ttl_min_ms, options->ttl_max_ms);
    return ttl_ms < most_ms ? ttl_ms : most_ms;
}

/* A watchdog, sometimes one that is late for its validity, and sometimes a limit. */
static void watch(struct sim_user *user, redlock_acquire_options *acquire) {
    const struct sim_options *options = options_of(user);
    uint64_t drift_ns =
        (uint64_t)acquire->ttl_ms * options->drift_ppm + options->drift_ms * RL_NS_PER_MS;
    int64_t left_ms =
        acquire->ttl_ms - (int64_t)(drift_ns / RL_NS_PER_MS) - options->lost_margin_ms - 2;
    if (options->watch_percent == 0 || left_ms < 3 ||
        !sim_chance(dice(user), options->watch_percent)) {
        return;
    }
    int64_t usual_ms = acquire->ttl_ms / 3 < left_ms ? acquire->ttl_ms / 3 : 1;
    acquire->auto_extend = 1;
    acquire->renew_ms = sim_chance(dice(user), 70) && usual_ms > 0
                            ? usual_ms
                            : (int64_t)sim_between(dice(user), 1, (uint64_t)left_ms - 1);
    if (sim_chance(dice(user), 30)) {
        acquire->max_hold_ms = (int64_t)sim_skewed(dice(user), 10, 8 * (uint64_t)acquire->ttl_ms);
    }
    struct sim_random *life = &world_of(user)->life_random;
    if (options->silence_percent > 0 && sim_chance(life, options->silence_percent)) {
        acquire->max_silence_ms = (int64_t)sim_skewed(life, 1, 8 * (uint64_t)acquire->ttl_ms);
    }
}

/* -- Signs of life -- */

void sim_life_note(struct sim_user *user) {
    const uint64_t until_ns = redlock_lock_valid_until_ns(user->lock);
    user->most_ns =
        sim_client_now(user->client) + ((uint64_t)user->silence_ms + user->ttl_ms) * RL_NS_PER_MS;
    user->most_ns = until_ns > user->most_ns ? until_ns : user->most_ns; /* by a longer ttl */
}

void sim_life_check(struct sim_user *user) {
    const uint64_t until_ns = redlock_lock_valid_until_ns(user->lock);
    if (user->silence_ms != 0 && user->owner == 0 && sim_user_holds(user) &&
        until_ns > user->most_ns) {
        sim_check_fail(world_of(user), SIM_VALIDITY,
                       "c%u: renewed for %.3f ms more than max_silence_ms allows",
                       user->client->index + 1u, (double)(until_ns - user->most_ns) / 1e6);
    }
}

static void give_sign(struct sim_user *user) {
    const uint64_t now_ns = sim_client_now(user->client);
    user->client->may_call = false;
    const int status = redlock_lock_alive(user->lock);
    user->client->may_call = true;
    if (status == 0) {
        user->sign_ns = now_ns;
        sim_life_note(user);
    }
}

/* From a separate stream of random numbers: nothing else depends on it. */
static void fence(struct sim_user *user, redlock_acquire_options *acquire) {
    struct sim_world *world = world_of(user);
    acquire->fencing = sim_chance(&world->fence_random, world->options.fence_percent);
}

/* Mostly as the time before, or no acquire would go on with a hold that lingers. */
static void linger(struct sim_user *user, redlock_acquire_options *acquire) {
    struct sim_random *random = &world_of(user)->life_random;
    redlock_acquire_options *last = &user->last;
    const uint32_t percent = options_of(user)->linger_percent;
    if (percent > 0 && last->size != 0 && sim_chance(random, 80)) {
        acquire->ttl_ms = last->ttl_ms;
        acquire->min_validity_ms = last->min_validity_ms;
        acquire->auto_extend = last->auto_extend;
        acquire->renew_ms = last->renew_ms;
        acquire->max_hold_ms = last->max_hold_ms;
        acquire->max_silence_ms = last->max_silence_ms;
        acquire->linger_ms = last->linger_ms;
    } else if (percent > 0 && sim_chance(random, percent)) {
        acquire->max_hold_ms = REDLOCK_NO_LIMIT;
        acquire->linger_ms = (int64_t)sim_between(random, 1, (uint64_t)acquire->ttl_ms);
    }
    acquire->fencing = acquire->linger_ms > 0 ? 0 : acquire->fencing;
    *last = *acquire;
}

static redlock_acquire_options random_acquire(struct sim_user *user) {
    struct sim_random *random = dice(user);
    const struct sim_options *options = options_of(user);
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
    acquire.ttl_ms = random_ttl(user);
    acquire.min_validity_ms = 0;
    acquire.tries = REDLOCK_NO_LIMIT;
    acquire.wait_ms = (int64_t)sim_skewed(random, 1, 10000);
    acquire.delay_ms = (int64_t)sim_skewed(random, 0, 100);
    acquire.jitter_ms = (int64_t)sim_skewed(random, 0, 200);
    if (sim_chance(random, 40)) {
        acquire.tries = (int64_t)sim_between(random, 1, 4);
        acquire.wait_ms = sim_chance(random, 50) ? REDLOCK_NO_LIMIT : acquire.wait_ms;
    }
    if (options->patient_percent > 0 && sim_chance(random, options->patient_percent)) {
        acquire.tries = acquire.wait_ms = REDLOCK_NO_LIMIT;
    }
    if (sim_chance(random, 30)) {
        acquire.min_validity_ms = (int64_t)sim_between(random, 0, (uint64_t)acquire.ttl_ms / 2);
    }
    if (acquire.tries == REDLOCK_NO_LIMIT && acquire.delay_ms + acquire.jitter_ms < 5) {
        acquire.delay_ms = 5; /* a client that never pauses is a load, not a test */
    }
    watch(user, &acquire);
    if (options->patient_percent > 0) {
        acquire.min_validity_ms = 0; /* with a limit of holding there may be no such grant */
    }
    fence(user, &acquire);
    if (options->owner_percent > 0 && sim_chance(random, options->owner_percent)) {
        acquire.owner = sim_between(random, 1, options->owners);
    }
    linger(user, &acquire);
    return acquire;
}

static void acquire(struct sim_user *user) {
    redlock_acquire_options options = random_acquire(user);
    struct sim_handover *handover = NULL;
    if (options_of(user)->adopt_percent > 0 && !sim_user_holds(user)) {
        handover = user->take > 0 ? sim_permits_handover(user)
                                  : sim_user_handover(world_of(user), user->resources);
    }
    if (sim_user_holds(user)) {
        options.owner = user->owner; /* once more */
    }
    bool goes_on = handover != NULL ? sim_user_take_over(user, handover, &options)
                                    : sim_user_acquire(user, &options);
    if (!goes_on) {
        sim_user_act_in(user, sim_user_think_ns(user));
    } else if (sim_chance(dice(user), options_of(user)->cancel_percent)) {
        sim_user_act_in(user, sim_skewed(dice(user), 0, 2000 * RL_NS_PER_MS)); /* to cancel */
    }
}

static void extend(struct sim_user *user) {
    bool other = !options_of(user)->same_ttl && sim_chance(dice(user), 50);
    if (!sim_user_extend(user, other ? random_ttl(user) : 0)) {
        sim_user_act_in(user, sim_user_think_ns(user));
    } else if (sim_chance(dice(user), 10)) {
        /* to cancel or release */
        sim_user_act_in(user, sim_skewed(dice(user), 0, 100 * RL_NS_PER_MS));
    }
}

/* What a holder does next, now or later. */
static void hold(struct sim_user *user) {
    uint64_t now_ns = sim_client_now(user->client);
    uint64_t until_ns = redlock_lock_valid_until_ns(user->lock);
    if (sim_chance(dice(user), 5)) {
        return; /* lets it expire */
    }
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    uint64_t part = sim_between(dice(user), 0, options_of(user)->hold_percent);
    sim_user_act_in(user, left_ns / 100 * part);
}

static void release(struct sim_user *user) {
    if (!sim_user_release(user)) {
        sim_user_act_in(user, sim_user_think_ns(user));
    } else if (options_of(user)->exit_percent > 0 &&
               sim_chance(dice(user), options_of(user)->exit_percent)) {
        user->client->exits = true;
    }
}

static void act_holding(struct sim_user *user) {
    const struct sim_options *options = options_of(user);
    if (user->silence_ms > 0 && sim_chance(&world_of(user)->life_random, 50)) {
        give_sign(user);
        sim_user_act_in(user, sim_user_think_ns(user));
        return;
    }
    uint32_t what = sim_pick(dice(user), 100);
    if (options->adopt_percent > 0 && sim_chance(dice(user), options->adopt_percent) &&
        sim_user_disown(user)) {
        sim_user_act_in(user, sim_user_think_ns(user));
    } else if (options->change_percent > 0 && sim_chance(dice(user), options->change_percent) &&
               sim_user_change_mode(user)) {
        /* its callback is what comes next */
    } else if (user->owner != 0 && user->depth < 3 && sim_chance(dice(user), 20)) {
        acquire(user);
    } else if (what < options->extend_percent) {
        extend(user);
    } else if (what < 97) {
        release(user);
    } else {
        sim_user_renew_lock(user);
        sim_user_act_in(user, sim_user_think_ns(user));
    }
}

/* -- The liveness phase -- */

static void act_probe(struct sim_user *user) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = sim_world_max_ttl_ms(world_of(user), user->client->index);
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = 20;
    options.jitter_ms = 80;
    fence(user, &options);
    if (user->probe_left > 0 && !sim_user_acquire(user, &options)) {
        sim_user_act_in(user, 10 * RL_NS_PER_MS); /* something earlier is still ending */
    }
}

static void probe_acquired(struct sim_user *user, int status) {
    if (status == 0 && user->probe_left > 0) {
        user->probe_left--;
        world_of(user)->probing--;
        sim_user_release(user);
    } else if (status == 0) {
        sim_user_renew_lock(user);
    } else if (user->probe_left > 0) {
        sim_user_act_in(user, 10 * RL_NS_PER_MS);
    }
}

void sim_user_probe(struct sim_client *client) {
    for (uint32_t i = 0; i < client->sim->options.locks; i++) {
        sim_user_renew_lock(&client->users[i]);
        client->users[i].generation++;
    }
    uint32_t probes = sim_options_has_lines(&client->sim->options) ? client->sim->options.locks : 1;
    for (uint32_t i = 0; i < probes; i++) {
        struct sim_user *probe = &client->users[i];
        probe->probe_left = 1;
        client->sim->probing++;
        sim_user_act_in(probe, sim_between(dice(probe), 0, 50 * RL_NS_PER_MS));
    }
    for (uint32_t i = 0; i < client->sim->options.elections; i++) {
        sim_elect_probe(&client->users[SIM_LOCKS_MAX + i]);
    }
}

/* -- What a user does -- */

static void acts(struct sim_user *user) {
    const struct sim_options *options = options_of(user);
    if (world_of(user)->phase != SIM_SAFETY) {
        act_probe(user);
    } else if (user->ops[SIM_OP_ACQUIRE] != NULL) {
        sim_user_cancel(user);
    } else if (user->ops[SIM_OP_EXTEND] != NULL) {
        if (sim_chance(dice(user), 50)) {
            sim_user_cancel(user);
        } else {
            release(user);
        }
    } else if (sim_user_holds(user)) {
        act_holding(user);
    } else if (user->is_lost && sim_chance(dice(user), 30)) {
        release(user);
    } else if (options->query_percent > 0 && sim_chance(dice(user), options->query_percent)) {
        sim_user_look(user);
        sim_user_act_in(user, sim_user_think_ns(user));
    } else if (options->resize_percent > 0 && sim_chance(dice(user), options->resize_percent)) {
        sim_permits_resize(user, 0);
        sim_user_act_in(user, sim_user_think_ns(user));
    } else {
        if (sim_permits_is_odd(user) && sim_chance(dice(user), 70)) {
            sim_user_renew_lock(user);
        }
        acquire(user);
    }
}

/* After a callback. */
void sim_act_after(struct sim_user *user, enum sim_op op, int status) {
    if (world_of(user)->phase != SIM_SAFETY) {
        if (op == SIM_OP_ACQUIRE && user->client->state == SIM_CLIENT_OPEN) {
            probe_acquired(user, status);
        }
        return;
    }
    sim_user_maybe_block(user);
    if (!sim_user_is_free(user)) {
        return;
    }
    bool holds = sim_user_holds(user);
    if (op == SIM_OP_EXTEND && !holds) {
        return; /* it is being released, or was lost */
    }
    if (op == SIM_OP_EXTEND && (status == REDLOCK_ERR_UNKNOWN || sim_chance(dice(user), 20))) {
        extend(user); /* at once, in the callback */
    } else if (holds) {
        hold(user);
    } else if (op == SIM_OP_RELEASE && sim_chance(dice(user), 20)) {
        acquire(user);
    } else {
        sim_user_act_in(user, sim_user_think_ns(user));
    }
}

bool sim_user_event(struct sim_world *world, const struct sim_event *event) {
    struct sim_client *client = &world->clients[event->client];
    struct sim_user *user = &client->users[event->node];
    if (event->arg != user->generation || client->state != SIM_CLIENT_OPEN) {
        return false;
    }
    if (sim_client_waits(world, event)) {
        return false;
    }
    sim_client_enter(client);
    if (user->index < SIM_LOCKS_MAX) {
        acts(user);
    } else {
        sim_elect_acts(user);
    }
    sim_client_leave(client);
    sim_client_schedule_turn(client);
    if (client->exits) { /* right after the release that it has just requested */
        client->exits = false;
        if (client->busy_until_ns <= world->now_ns) {
            sim_process_close(client, true);
        }
    }
    return true;
}

void sim_user_start(struct sim_user *user) {
    if (user->index >= SIM_LOCKS_MAX) {
        sim_elect_start(user);
        return;
    }
    sim_user_make_lock(user);
    if (sim_user_is_free(user)) {
        sim_user_act_in(user, sim_user_think_ns(user));
    }
}

void sim_user_gone(struct sim_user *user) {
    user->lock = NULL;
    user->election = NULL;
    user->depth = 0;
    user->until_ns = 0;
    user->token = 0;
    user->is_lost = user->adopts = false;
    user->generation++;
    memset(user->ops, 0, sizeof user->ops);
}
