/* Users that query the holder of a lock: see user.h. */
#include "redlock/token.h"
#include "sim/key.h"
#include "sim/user.h"
#include "sim/world.h"

static void on_seen(redlock_query *query, int status, void *data) {
    const struct sim_user *user = ((struct sim_submitted *)data)->user;
    struct sim_world *world = user->client->sim;
    const char *token, *holder;
    int64_t remaining_ms;
    if (sim_user_told(data, status) &&
        redlock_query_quorum(query, &token, &holder, &remaining_ms) && token[0] == '\0' &&
        !sim_options_reads(&world->options)) { /* readers have no single token */
        sim_check_fail(world, SIM_STATE, "a quorum has a value that nobody set");
    }
}

void sim_user_look(struct sim_user *user) {
    struct sim_world *world = user->client->sim;
    struct sim_submitted *what = sim_user_submit(user, SIM_OP_ACQUIRE);
    char name[SIM_KEY_SIZE];
    uint32_t number = sim_pick(&world->user_random, world->options.resources);
    size_t length = sim_key_name(&world->options, number, name);
    user->client->may_call = false;
    if (redlock_query_holder(user->client->redlock, name, length, on_seen, what) != 0) {
        sim_user_unsubmit(what);
    }
    user->client->may_call = true;
    world->stats.queries++;
}
