/* What is promised of a single call or hold: see user.h. */
#include "redis/node.h"
#include "sim/user.h"
#include "sim/world.h"

#define LATE_NS (20 * RL_NS_PER_MS)

void sim_calls_told(const struct sim_submitted *submitted) {
    struct sim_client *client = submitted->user->client;
    const struct sim_options *options = &client->sim->options;
    const uint64_t now_ns = sim_client_now(client);
    const uint64_t slack_ns = LATE_NS + options->timer_lag_ns + options->loop_lag_ns;
    const uint64_t busy_ns = client->sim->check.busy_until_ns[client->index] + slack_ns;
    if (submitted->ends_ns < now_ns - slack_ns && busy_ns < client->at_ns) {
        sim_check_fail(client->sim, SIM_STUCK,
                       "c%u: an operation ends %.3f ms after wait_ms or a cancel",
                       client->index + 1u, (double)(now_ns - submitted->ends_ns) / 1e6);
    }
}

void sim_calls_extended(const struct sim_submitted *submitted) {
    const struct sim_user *user = submitted->user;
    const uint64_t until_ns = redlock_lock_valid_until_ns(user->lock);
    const bool is_short = until_ns != 0 && until_ns < submitted->until_ns;
    if (is_short && user->owner == 0 && user->max_hold_ms == 0) {
        sim_check_fail(user->client->sim, SIM_SUCCESS,
                       "c%u was told of an extension that lacks %.3f ms", user->client->index + 1u,
                       (double)(submitted->until_ns - until_ns) / 1e6);
    }
}

void sim_calls_attempt(struct sim_user *user) {
    if (user->ops[SIM_OP_ACQUIRE] != NULL && user->tries == 0) {
        sim_check_fail(user->client->sim, SIM_SPIN, "c%u asks for votes more often than `tries`",
                       user->client->index + 1u);
    }
    user->tries -= user->tries > 0;
}

/* Nothing but time can end a hold, and a third of it is enough for an extension. */
static bool keeps(const struct sim_options *options) {
    return sim_options_within_promise(options) && options->guard == RL_GUARD_OFF &&
           options->requests_max >= RL_NODE_REQUESTS_MAX && options->drip_ns == 0 &&
           options->change_percent + options->resize_percent + options->odd_percent == 0 &&
           options->ttl_min_ms * RL_NS_PER_MS > 15 * options->delay_max_ns + 100 * RL_NS_PER_MS;
}

/* A watchdog keeps a hold while it can reach a quorum that has its keys. */
static void check_watched(const struct sim_user *user) {
    struct sim_world *world = user->client->sim;
    const uint32_t c = user->client->index;
    const uint64_t for_ns = world->options.ttl_max_ms * RL_NS_PER_MS * 21 / 20;
    const uint64_t since_ns = world->now_ns > for_ns ? world->now_ns - for_ns : 0;
    uint32_t calm = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        calm += sim_check_is_calm(world, c, n, since_ns) && sim_check_has(world, n, user->token);
    }
    if (keeps(&world->options) && calm > world->options.nodes / 2 &&
        world->check.busy_until_ns[c] < since_ns) {
        sim_check_fail(world, SIM_STALL, "c%u has lost what its watchdog could have kept", c + 1u);
    }
}

void sim_calls_lost(struct sim_user *user, int status) {
    struct sim_client *client = user->client;
    const bool is_silent = status == REDLOCK_ERR_SILENT;
    const uint64_t silence_ns = user->silence_ms * RL_NS_PER_MS;
    client->sim->stats.silent += is_silent;
    if (is_silent && user->owner == 0 &&
        (silence_ns == 0 || sim_client_now(client) < user->sign_ns + silence_ns)) {
        sim_check_fail(client->sim, SIM_STATE, "c%u was lost for a silence that it may keep",
                       client->index + 1u);
    }
    if ((status == REDLOCK_ERR_EXPIRED || status == REDLOCK_ERR_LOST) && user->watches &&
        user->owner == 0) {
        check_watched(user);
    }
}
