/* See user.h. A user's planned action is void if its generation is no longer the user's. */
#include "sim/user.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "redlock/token.h"
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

/* Whether the user acts at random: it is not a probe. */
bool sim_user_is_free(const struct sim_user *user) {
    return world_of(user)->phase == SIM_SAFETY && user->client->state == SIM_CLIENT_OPEN;
}

void sim_user_act_in(struct sim_user *user, uint64_t after_ns) {
    struct sim_world *world = world_of(user);
    uint64_t now_ns = user->client->is_inside ? user->client->at_ns : world->now_ns;
    struct sim_event event = {.at_ns = now_ns + after_ns,
                              .kind = SIM_EV_USER,
                              .client = user->client->index,
                              .node = user->index,
                              .arg = ++user->generation};
    sim_queue_add(&world->queue, &event);
}

uint64_t sim_user_think_ns(struct sim_user *user) {
    return sim_skewed(dice(user), 0, options_of(user)->think_max_ms * RL_NS_PER_MS);
}

/* Blocks the loop for a while, in a callback. */
void sim_user_maybe_block(struct sim_user *user) {
    struct sim_world *world = world_of(user);
    if (world->phase == SIM_SAFETY && world->options.block_percent > 0 &&
        sim_chance(dice(user), world->options.block_percent)) {
        world->stats.faults[SIM_FAULT_BLOCK]++;
        sim_client_block(user->client, sim_skewed(dice(user), 0, world->options.fault_ns));
    }
}

void sim_user_tell(struct sim_user *user, struct sim_fact fact) {
    fact.slot = user->index;
    fact.now_ns = sim_client_now(user->client);
    sim_check_tell(user->client, &fact);
}

static void note(const struct sim_user *user, struct sim_note note) {
    note.client = user->client->index;
    note.lock = user->index;
    note.node = SIM_NOBODY;
    note.resource = (uint8_t)user->resources;
    note.take = user->take;
    note.permits = user->permits;
    sim_trace(world_of(user), note);
}

/* -- Submitted operations -- */

struct sim_submitted *sim_user_submit(struct sim_user *user, enum sim_op op) {
    struct sim_submitted *submitted = calloc(1, sizeof *submitted);
    if (submitted == NULL) {
        abort();
    }
    submitted->user = user;
    submitted->lock = user->lock;
    submitted->op = (uint8_t)op;
    submitted->ends_ns = UINT64_MAX;
    submitted->generation = user->client->generation;
    submitted->next = world_of(user)->submitted;
    world_of(user)->submitted = submitted;
    user->client->pending++;
    return submitted;
}

/* It was refused. */
void sim_user_unsubmit(struct sim_submitted *submitted) {
    submitted->is_told = true;
    submitted->user->client->pending--;
}

bool sim_user_told(struct sim_submitted *submitted, int status) {
    struct sim_user *user = submitted->user;
    struct sim_client *client = user->client;
    if (submitted->is_told || submitted->generation != client->generation || !client->is_inside ||
        !client->may_call) {
        sim_check_fail(world_of(user), SIM_ONCE,
                       "c%u: a callback came twice, or inside a call, "
                       "or after on_close",
                       client->index + 1u);
        return false;
    }
    sim_calls_told(submitted);
    submitted->is_told = true;
    client->pending--;
    if (user->ops[submitted->op] == submitted) {
        user->ops[submitted->op] = NULL;
    }
    if (submitted->is_freed && status == 0 && submitted->op == SIM_OP_ACQUIRE) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u: a lock that was freed was granted",
                       client->index + 1u);
    }
    return !submitted->is_freed;
}

/* -- Locks -- */

bool sim_user_holds(const struct sim_user *user) {
    return user->depth > 0;
}

static void let_go(struct sim_user *user) {
    if (sim_user_holds(user)) {
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_LET_GO});
    }
    user->depth = 0;
    user->until_ns = 0;
}

/* redlock_lock_free(), and another object in its place. */
void sim_user_renew_lock(struct sim_user *user) {
    note(user, (struct sim_note){.kind = SIM_NOTE_ABANDON});
    let_go(user);
    for (uint32_t op = 0; op < SIM_OPS; op++) {
        if (user->ops[op] != NULL) {
            user->ops[op]->is_freed = true;
            user->ops[op]->ends_ns = sim_client_now(user->client);
            user->ops[op] = NULL;
        }
    }
    user->is_lost = user->may_lose = false;
    user->adopts = false;
    user->token = 0;
    redlock_lock_free(user->lock);
    sim_user_make_lock(user);
}

/* -- Callbacks -- */

static void on_renew(redlock_lock *lock, int status, void *data) {
    struct sim_submitted *submitted = data;
    struct sim_user *user = submitted->user;
    (void)lock;
    if (submitted->is_freed) {
        return;
    }
    world_of(user)->stats.watched += status == 0;
    if (status == 0 && !user->renewed) {
        sim_life_note(user);
        user->renewed = true;
    }
    sim_life_check(user);
    if (status == 0) {
        sim_process_look(user->client);
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_RENEWED});
    }
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct sim_submitted *submitted = data;
    struct sim_user *user = submitted->user;
    (void)lock;
    note(user, (struct sim_note){.kind = SIM_NOTE_LOST, .b = (uint32_t)-status});
    sim_calls_lost(user, status);
    if (submitted->lost_told || submitted->is_freed || !(sim_user_holds(user) || user->may_lose) ||
        submitted->generation != user->client->generation) {
        sim_check_fail(world_of(user), SIM_ONCE, "c%u: on_lost came twice, or of what was not held",
                       user->client->index + 1u);
        return;
    }
    submitted->lost_told = true;
    user->may_lose = false;
    if (!sim_user_holds(user)) {
        return;
    }
    sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_LOST});
    user->depth = 0;
    user->until_ns = 0;
    user->is_lost = true;
    world_of(user)->stats.losses++;
    sim_user_maybe_block(user);
    if (sim_user_is_free(user)) {
        sim_user_act_in(user, sim_chance(dice(user), 30) ? 0 : sim_user_think_ns(user));
    }
}

/* The grant as the getters tell it. */
static void tell_hold(struct sim_user *user) {
    uint64_t fence = redlock_lock_fence(user->lock);
    bool wants = user->fences && !user->adopts;
    if (wants != (fence != 0) && user->owner == 0) {
        sim_check_fail(world_of(user), SIM_FENCE, "c%u %s a fence", user->client->index + 1u,
                       wants ? "was granted without" : "did not ask for");
    }
    user->downgraded = user->upgrades = false;
    user->sign_ns = 0;
    user->owes = user->late = 0;
    user->until_ns = redlock_lock_valid_until_ns(user->lock);
    sim_life_note(user);
    user->renewed = false;
    user->token = sim_check_token(world_of(user), redlock_lock_token(user->lock));
    sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_HOLD,
                                          .token = user->token,
                                          .until_ns = user->until_ns,
                                          .fence = fence,
                                          .owner = user->owner,
                                          .asked_ns = user->asked_ns,
                                          .resources = user->resources,
                                          .take = user->take,
                                          .permits = user->permits,
                                          .reads = user->reads,
                                          .max_hold_ms = user->max_hold_ms,
                                          .linger_ms = user->linger_ms,
                                          .was_stopped = user->client->stopped_ns != 0,
                                          .status = (int32_t)user->min_validity_ms});
}

static void told_acquired(struct sim_user *user, int status) {
    if (status == 0 && user->depth++ == 0) {
        tell_hold(user);
    }
    world_of(user)->stats.grants += status == 0;
    world_of(user)->stats.readers += status == 0 && user->reads;
    world_of(user)->stats.adopted += status == 0 && user->adopts;
    world_of(user)->stats.joined += status == 0 && user->depth > 1;
    user->adopts = false;
}

/* The mode of the hold is what the getter reports. */
static void check_mode(struct sim_user *user) {
    bool reads = redlock_lock_mode(user->lock) == REDLOCK_SHARED;
    if (reads != user->reads) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u holds to %s, and was told otherwise",
                       user->client->index + 1u, reads ? "read" : "write");
    }
}

static void told_extended(struct sim_user *user, int status,
                          const struct sim_submitted *submitted) {
    world_of(user)->stats.renewals += status == 0;
    if (status == 0) {
        sim_calls_extended(submitted);
    }
    if (status == 0 && submitted->upgrades) {
        user->reads = false;
        world_of(user)->stats.upgrades++;
        sim_user_tell(
            user, (struct sim_fact){
                      .kind = SIM_FACT_MODE, .arg = 0, .fence = redlock_lock_fence(user->lock)});
    }
    if (sim_user_holds(user)) {
        check_mode(user);
        sim_permits_look(user);
        sim_life_note(user);
    }
    if (status == 0) {
        sim_process_look(user->client);
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_RENEWED});
    }
}

static void on_done(redlock_lock *lock, int status, void *data) {
    struct sim_submitted *submitted = data;
    struct sim_user *user = submitted->user;
    (void)lock;
    bool goes_on = sim_user_told(submitted, status);
    if (submitted->is_freed || !goes_on) {
        return;
    }
    sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_END,
                                          .op = submitted->op,
                                          .status = status,
                                          .token = user->token,
                                          .owner = user->owner,
                                          .asked_ns = user->asked_ns,
                                          .resources = user->resources,
                                          .take = user->take,
                                          .reads = user->made_reads,
                                          .arg = user->adopts || sim_user_holds(user),
                                          .was_stopped = user->client->stopped_ns != 0});
    world_of(user)->stats.odd += status == REDLOCK_ERR_PERMITS;
    if (submitted->op == SIM_OP_ACQUIRE && status == 0 && user->take > 0) {
        user->resources = sim_permits_slots(user);
    }
    note(user, (struct sim_note){.kind = SIM_NOTE_DONE,
                                 .a = submitted->op,
                                 .b = (uint32_t)-status,
                                 .fence = submitted->op == SIM_OP_ACQUIRE && status == 0
                                              ? redlock_lock_fence(user->lock)
                                              : 0});
    if (submitted->op == SIM_OP_ACQUIRE) {
        told_acquired(user, status);
    } else if (submitted->op == SIM_OP_EXTEND) {
        told_extended(user, status, submitted);
    } else {
        world_of(user)->stats.releases += status == 0;
    }
    sim_act_after(user, submitted->op, status);
}

/* -- Calls of the library: false if it refuses -- */

/* Calls of the library do not call back. */
static bool submitted(struct sim_user *user, struct sim_submitted *what, int status) {
    user->client->may_call = true;
    if (status != 0) {
        sim_user_unsubmit(what);
        return false;
    }
    user->ops[what->op] = what;
    return true;
}

static struct sim_submitted *begin(struct sim_user *user, enum sim_op op) {
    user->client->may_call = false;
    return sim_user_submit(user, op);
}

static void note_watch(struct sim_user *user, const redlock_acquire_options *options) {
    const bool has_limit = options->max_hold_ms != REDLOCK_NO_LIMIT;
    user->max_hold_ms = has_limit ? (uint32_t)options->max_hold_ms : 0;
    user->watches = options->auto_extend != 0 && options->renew_ms <= options->ttl_ms / 3;
    user->ttl_ms = (uint32_t)options->ttl_ms;
    user->silence_ms = (uint32_t)options->max_silence_ms;
}

bool sim_user_acquire(struct sim_user *user, const redlock_acquire_options *wanted) {
    if (user->ops[SIM_OP_ACQUIRE] != NULL) {
        return false;
    }
    struct sim_submitted *what = begin(user, SIM_OP_ACQUIRE);
    redlock_acquire_options options = *wanted;
    options.on_lost = on_lost;
    options.on_renew = on_renew;
    options.lost_data = options.renew_data = what;
    user->owner = sim_user_holds(user) ? user->owner : options.owner;
    user->fences = options.fencing != 0;
    user->adopts = false;
    user->resources = user->take > 0 && !sim_user_holds(user) ? 0 : user->resources;
    user->min_validity_ms = (uint32_t)options.min_validity_ms;
    user->linger_ms = (uint32_t)options.linger_ms;
    note_watch(user, &options);
    note(user, (struct sim_note){
                   .kind = SIM_NOTE_ACQUIRE, .a = (uint32_t)options.ttl_ms, .b = user->made_reads});
    user->is_lost = user->may_lose = false;
    user->asked_ns = user->client->at_ns;
    user->tries = options.tries;
    user->reads = sim_user_holds(user) ? user->reads : user->made_reads;
    const int status = redlock_acquire(user->lock, &options, on_done, what);
    if (options.wait_ms != REDLOCK_NO_LIMIT) {
        what->ends_ns = sim_client_now(user->client) + (uint64_t)options.wait_ms * RL_NS_PER_MS;
    }
    return submitted(user, what, status);
}

bool sim_user_extend(struct sim_user *user, int64_t ttl_ms) {
    if (user->ops[SIM_OP_EXTEND] != NULL) {
        return false;
    }
    struct sim_submitted *what = begin(user, SIM_OP_EXTEND);
    note(user, (struct sim_note){.kind = SIM_NOTE_EXTEND, .a = (uint32_t)ttl_ms});
    sim_life_note(user); /* whatever comes of it */
    const uint64_t for_ns = (uint64_t)(ttl_ms > 0 ? ttl_ms : user->ttl_ms) * RL_NS_PER_MS;
    const struct sim_options *options = options_of(user);
    what->until_ns = sim_client_now(user->client) + for_ns - for_ns / 1000000 * options->drift_ppm -
                     (options->drift_ms + 1) * RL_NS_PER_MS;
    user->most_ns += ttl_ms > user->ttl_ms ? (uint64_t)(ttl_ms - user->ttl_ms) * RL_NS_PER_MS : 0;
    return submitted(user, what, redlock_extend(user->lock, ttl_ms, on_done, what));
}

static bool downgrade(struct sim_user *user, struct sim_submitted *what) {
    note(user, (struct sim_note){.kind = SIM_NOTE_DOWNGRADE});
    bool goes_on = submitted(user, what, redlock_downgrade(user->lock, on_done, what));
    if (goes_on) { /* from this call on */
        user->reads = true;
        world_of(user)->stats.downgrades++;
        user->downgraded = true;
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_MODE, .arg = 1});
    }
    return goes_on;
}

bool sim_user_change_mode(struct sim_user *user) {
    if (user->ops[SIM_OP_EXTEND] != NULL) {
        return false;
    }
    struct sim_submitted *what = begin(user, SIM_OP_EXTEND);
    sim_life_note(user);
    if (!user->reads) {
        return downgrade(user, what);
    }
    what->upgrades = true;
    user->downgraded = false;
    note(user, (struct sim_note){.kind = SIM_NOTE_UPGRADE});
    return submitted(user, what, redlock_try_upgrade(user->lock, on_done, what));
}

bool sim_user_release(struct sim_user *user) {
    if (user->ops[SIM_OP_RELEASE] != NULL) {
        return false;
    }
    struct sim_submitted *what = begin(user, SIM_OP_RELEASE);
    const uint64_t until_ns = redlock_lock_valid_until_ns(user->lock);
    const uint64_t margin_ns = (options_of(user)->lost_margin_ms + 1) * RL_NS_PER_MS;
    const bool is_last = user->depth == 1;
    note(user, (struct sim_note){.kind = SIM_NOTE_RELEASE});
    if (is_last) {
        let_go(user); /* from this call on */
    } else if (user->depth > 1) {
        user->depth--;
    }
    user->is_lost = false;
    const int status = redlock_release(user->lock, on_done, what);
    user->may_lose =
        is_last ? sim_client_now(user->client) + margin_ns >= until_ns : user->may_lose;
    return submitted(user, what, status);
}

bool sim_user_cancel(struct sim_user *user) {
    note(user, (struct sim_note){.kind = SIM_NOTE_CANCEL});
    user->client->may_call = false;
    int status = redlock_cancel(user->lock);
    user->client->may_call = true;
    struct sim_submitted *acquire = user->ops[SIM_OP_ACQUIRE];
    if (status == 0 && acquire != NULL && user->ops[SIM_OP_EXTEND] == NULL) {
        acquire->ends_ns = sim_client_now(user->client);
    }
    return status == 0;
}

/* -- Tokens that are handed over -- */

bool sim_user_disown(struct sim_user *user) {
    struct sim_handover *handover = sim_user_handover(world_of(user), 0);
    char token[REDLOCK_TOKEN_LENGTH + 1];
    if (handover == NULL) {
        return false;
    }
    memcpy(token, redlock_lock_token(user->lock), sizeof token);
    if (redlock_disown(user->lock) != 0) {
        return false;
    }
    memcpy(handover->token, token, sizeof token);
    handover->number = user->token;
    handover->resources = user->resources;
    handover->since_ns = user->client->at_ns;
    handover->is_there = true;
    sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_DISOWN});
    user->depth = 0;
    user->token = 0;
    user->until_ns = 0;
    return true;
}

/* Takes over what another user has disowned, or releases it by its token. */
bool sim_user_take_over(struct sim_user *user, struct sim_handover *handover,
                        const redlock_acquire_options *wanted) {
    redlock_acquire_options options = *wanted;
    bool adopts = sim_chance(dice(user), 70);
    if (user->ops[SIM_OP_ACQUIRE] != NULL || user->ops[SIM_OP_RELEASE] != NULL) {
        return false;
    }
    struct sim_submitted *what = begin(user, adopts ? SIM_OP_ACQUIRE : SIM_OP_RELEASE);
    options.fencing = 0;
    options.owner = 0;
    options.on_lost = on_lost;
    options.on_renew = on_renew;
    options.lost_data = options.renew_data = what;
    user->token = handover->number;
    user->adopts = adopts;
    user->owner = 0;
    user->fences = false;
    user->min_validity_ms = (uint32_t)options.min_validity_ms;
    user->linger_ms = 0;
    note_watch(user, &options);
    handover->is_there = false;
    sim_permits_name(user, handover->resources);
    if (adopts) {
        return submitted(user, what,
                         redlock_adopt(user->lock, handover->token, &options, on_done, what));
    }
    sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_OWN, .token = handover->number});
    const int status = redlock_release_token(user->lock, handover->token, on_done, what);
    if (status == 0) {
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_UNUSED, .token = handover->number});
    }
    return submitted(user, what, status);
}
