/* Candidates and observers, see user.h. A slot's election campaigns, leads for a while, resigns, is
 * freed and made again; every second one only observes. */
#include <string.h>

#include "sim/user.h"
#include "sim/world.h"

static struct sim_world *world_of(const struct sim_user *user) {
    return user->client->sim;
}

static struct sim_random *dice(const struct sim_user *user) {
    return &world_of(user)->user_random;
}

static bool wants_fence(const struct sim_user *user) {
    return world_of(user)->options.fence_percent >= 50;
}

/* Callbacks know their object by its record. */
static bool is_past(const struct sim_submitted *what) {
    const struct sim_user *user = what->user;
    if (what->is_freed || what->generation != user->client->generation || !user->client->may_call) {
        sim_check_fail(world_of(user), SIM_ONCE,
                       "c%u: a callback of an election that is over, or inside a call",
                       user->client->index + 1u);
        return true;
    }
    return false;
}

/* In milliseconds, rounded down, as the getter returns it. */
uint64_t sim_elect_until_ns(const struct sim_user *user) {
    const uint64_t left_ms = (uint64_t)redlock_election_remaining_ms(user->election);
    const uint64_t now_ns = sim_client_now(user->client);
    return left_ms > 0 ? now_ns + left_ms * RL_NS_PER_MS : now_ns - SIM_ROUNDING_NS;
}

static void let_go(struct sim_user *user) {
    if (user->depth > 0) {
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_LET_GO});
    }
    user->depth = 0;
    user->until_ns = 0;
}

/* -- Callbacks -- */

static void on_elected(redlock_election *election, int status, void *data) {
    struct sim_submitted *what = data;
    struct sim_user *user = what->user;
    if (is_past(what)) {
        return;
    }
    if (user->depth > 0 || status != 0) {
        sim_check_fail(world_of(user), SIM_ONCE, "c%u was elected twice", user->client->index + 1u);
        return;
    }
    user->depth = 1;
    user->may_lose = false;
    user->until_ns = sim_elect_until_ns(user);
    user->token = sim_check_token(world_of(user), redlock_election_token(election));
    world_of(user)->stats.elected++;
    if ((redlock_election_fence(election) != 0) != wants_fence(user)) {
        sim_check_fail(world_of(user), SIM_FENCE, "c%u leads, and %s a fence",
                       user->client->index + 1u, wants_fence(user) ? "lacks" : "has");
    }
    if (user->token != 0) { /* it is not over already */
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_HOLD,
                                              .token = user->token,
                                              .until_ns = user->until_ns,
                                              .fence = redlock_election_fence(election),
                                              .resources = 1});
    }
    if (world_of(user)->phase != SIM_SAFETY) {
        world_of(user)->probing -= user->probe_left;
        user->probe_left = 0;
        return;
    }
    sim_user_maybe_block(user);
    if (sim_user_is_free(user)) {
        sim_user_act_in(
            user, sim_skewed(dice(user), 0, 4 * world_of(user)->options.ttl_max_ms * RL_NS_PER_MS));
    }
}

static void on_lost(redlock_election *election, int status, void *data) {
    struct sim_submitted *what = data;
    struct sim_user *user = what->user;
    if (is_past(what)) {
        return;
    }
    bool due = user->depth > 0 || user->may_lose;
    if (user->depth > 0 && user->client->state == SIM_CLIENT_OPEN &&
        redlock_election_state(election) != REDLOCK_ELECTION_CAMPAIGNING) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u does not campaign again after a loss",
                       user->client->index + 1u);
    }
    user->may_lose = false;
    if (!due && status != REDLOCK_ERR_SYSTEM) {
        sim_check_fail(world_of(user), SIM_ONCE, "c%u lost what it did not lead",
                       user->client->index + 1u);
    }
    if (user->depth > 0) {
        sim_user_tell(user, (struct sim_fact){.kind = SIM_FACT_LOST});
        world_of(user)->stats.losses++;
        sim_calls_lost(user, status);
    }
    user->depth = 0;
    user->until_ns = 0;
    sim_user_maybe_block(user);
    if (sim_user_is_free(user)) {
        sim_user_act_in(user, sim_user_think_ns(user));
    } else if (status == REDLOCK_ERR_SYSTEM && user->probe_left > 0) {
        sim_user_act_in(user, RL_NS_PER_MS);
    }
}

static void on_leader(redlock_election *election, const char *leader, void *data) {
    struct sim_submitted *what = data;
    struct sim_user *user = what->user;
    (void)election;
    if (is_past(what)) {
        return;
    }
    uint8_t told = leader != NULL ? (uint8_t)(leader[1] - '0') : 0;
    world_of(user)->stats.leaders_told++;
    if (leader != NULL &&
        (leader[0] != 'c' || told == 0 || told > world_of(user)->options.clients)) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u was told that %.20s leads",
                       user->client->index + 1u, leader);
    }
    user->leader = told;
}

static void on_resigned(redlock_election *election, int status, void *data) {
    struct sim_submitted *what = data;
    struct sim_user *user = what->user;
    (void)election;
    bool goes_on = sim_user_told(what, status);
    if (goes_on && sim_user_is_free(user)) {
        sim_user_maybe_block(user);
        sim_user_act_in(user, sim_user_think_ns(user));
    }
}

/* -- Acting -- */

static void make(struct sim_user *user) {
    redlock_election_options o = REDLOCK_ELECTION_OPTIONS_INIT;
    char error[REDLOCK_MESSAGE_MAX], name[3] = {'c', (char)('1' + user->client->index), '\0'};
    struct sim_submitted *what = sim_user_submit(user, SIM_OP_ACQUIRE);
    sim_user_unsubmit(what); /* its callbacks come any number of times */
    user->object = what;
    o.name = "r1";
    o.name_length = 2;
    o.candidate = name;
    o.ttl_ms = sim_world_max_ttl_ms(world_of(user), user->client->index);
    o.poll_ms = 100 + 50 * user->index;
    o.on_elected = on_elected;
    o.on_lost = on_lost;
    o.on_leader = on_leader;
    o.data = what;
    o.fencing = wants_fence(user);
    user->client->may_call = false;
    int status =
        redlock_election_new(user->client->redlock, &o, &user->election, error, sizeof error);
    user->client->may_call = true;
    if (status != 0) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u cannot make an election: %s",
                       user->client->index + 1u, error);
    }
    user->resources = 1;
    user->watches = true;
    user->leader = 0;
}

static void free_and_make(struct sim_user *user) {
    let_go(user);
    user->object->is_freed = true;
    if (user->ops[SIM_OP_RELEASE] != NULL) {
        user->ops[SIM_OP_RELEASE]->is_freed = true;
        user->ops[SIM_OP_RELEASE] = NULL;
    }
    user->client->may_call = false;
    redlock_election_free(user->election);
    user->client->may_call = true;
    make(user);
}

static void resign(struct sim_user *user) {
    int64_t margin_ms = world_of(user)->options.lost_margin_ms + 2;
    user->may_lose = redlock_election_remaining_ms(user->election) <= margin_ms;
    struct sim_submitted *what = sim_user_submit(user, SIM_OP_RELEASE);
    user->client->may_call = false;
    int status = redlock_election_resign(user->election, on_resigned, what);
    user->client->may_call = true;
    if (status != 0) {
        sim_user_unsubmit(what);
        sim_user_act_in(user, sim_user_think_ns(user));
        return;
    }
    user->ops[SIM_OP_RELEASE] = what;
    if (redlock_election_is_leader(user->election)) {
        sim_check_fail(world_of(user), SIM_STATE, "c%u leads although it resigns",
                       user->client->index + 1u);
    }
    let_go(user);
}

static void campaign(struct sim_user *user) {
    user->client->may_call = false;
    redlock_election_campaign(user->election);
    user->client->may_call = true;
}

void sim_elect_acts(struct sim_user *user) {
    bool observes = user->index % 2 == 1;
    uint32_t what = sim_pick(dice(user), 100);
    if (world_of(user)->phase != SIM_SAFETY) {
        if (user->probe_left > 0) {
            campaign(user);
            sim_user_act_in(user, 50 * RL_NS_PER_MS); /* if there were no random bytes */
        }
        return;
    }
    if (what < 10) {
        free_and_make(user);
    } else if (observes || redlock_election_state(user->election) == REDLOCK_ELECTION_IDLE) {
        if (!observes) {
            campaign(user);
        }
    } else if (what < 70) {
        resign(user);
        return;
    }
    sim_user_act_in(user, sim_user_think_ns(user) + 10 * RL_NS_PER_MS);
}

void sim_elect_start(struct sim_user *user) {
    make(user);
    if (sim_user_is_free(user)) {
        sim_user_act_in(user, sim_user_think_ns(user));
    }
}

/* The first process's first election leads; all the others observe. */
void sim_elect_probe(struct sim_user *user) {
    free_and_make(user);
    user->generation++;
    if (user->client->index == 0 && user->index == SIM_LOCKS_MAX) {
        user->probe_left = 1;
        world_of(user)->probing++;
        sim_user_act_in(user, RL_NS_PER_MS);
    }
}

void sim_elect_end(struct sim_user *user) {
    if (redlock_election_state(user->election) != REDLOCK_ELECTION_IDLE) {
        free_and_make(user);
    }
}
