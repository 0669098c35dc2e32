/* Checks that waiting clients are served at all, and that none asks too often: see check_line.h. */
#include <stdio.h>

#include "redis/node.h"
#include "sim/check_line.h"
#include "sim/world.h"

#define NEVER UINT64_MAX
#define SPIN_NS (250 * RL_NS_PER_MS)
#define SPIN_MOST 120 /* the shortest pauses that are drawn, 2.5 ms on average, make 80 */
#define LOOK_NS (5 * RL_NS_PER_MS) /* how often to check for stalls */

static struct sim_check_line *line_of(struct sim_world *world) {
    return &world->check.line;
}

/* Turns, places and attempts may be refused because a node has enough to answer. */
static bool is_crowded(const struct sim_world *world) {
    return world->options.requests_max < RL_NODE_REQUESTS_MAX;
}

static bool could_ask(struct sim_world *world, const struct sim_client *client, uint32_t n) {
    const struct sim_node *node = &world->nodes[n];
    const struct sim_wire *wire = &world->net.wires[client->index][n];
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    uint64_t now_ns = world->now_ns;
    bool errs = node->error_until_ns > now_ns;
    if (node->is_down || node->is_paused || errs || !sim_process_node(client, n, &info) ||
        !info.voting) {
        return false;
    }
    for (uint32_t way = 0; way < 2; way++) {
        if (wire->cut_until_ns[way] > now_ns || wire->clogged_until_ns[way] > now_ns) {
            return false;
        }
    }
    for (const struct sim_conn *conn = client->conns; conn != NULL; conn = conn->next_open) {
        bool listens = conn->peer != NULL && conn->peer->n_channels > 0;
        if (conn->node == n && !listens && sim_conn_is_sound(conn)) {
            return true;
        }
    }
    return false;
}

/* A quorum without obstacles. A waiting reader does not count on other readers: a writer may be
 * next. */
static bool could_have(struct sim_world *world, const struct sim_user *user, uint32_t nodes) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        bool is_free = nodes >> n & 1;
        for (uint32_t r = 0; r < world->options.resources && is_free; r++) {
            const struct sim_seen *key = &world->check.seen[n][r];
            is_free = !(user->resources >> r & 1) || (key->token == 0 && !key->is_shared) ||
                      world->now_ns >= key->expires_ns;
        }
        count += is_free;
    }
    return count >= world->options.nodes / 2 + 1;
}

/* The same for permits: as many slots are free as any waiting client wants, whichever is first. Not
 * checked where their number changes, or is not agreed on. */
static bool could_have_permits(struct sim_world *world, uint32_t most, uint32_t nodes) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->options.permits; i++) {
        uint32_t free_at = 0;
        for (uint32_t n = 0; n < world->options.nodes; n++) {
            const struct sim_seen *key = &world->check.seen[n][i];
            free_at += nodes >> n & 1 && (key->token == 0 || world->now_ns >= key->expires_ns);
        }
        count += free_at >= world->options.nodes / 2 + 1;
    }
    return count >= most && world->options.resize_percent == 0 && world->options.odd_percent == 0;
}

/* The most permits that a waiting client wants. */
static uint32_t most_wanted(const struct sim_world *world) {
    uint32_t most = 0;
    for (uint32_t c = 0; c < world->options.clients && world->options.permits > 0; c++) {
        for (uint32_t i = 0; i < world->options.locks; i++) {
            const struct sim_user *user = &world->clients[c].users[i];
            bool waits = user->ops[SIM_OP_ACQUIRE] != NULL;
            most = waits && user->take > most ? user->take : most;
        }
    }
    return most;
}

static void look_for_stall(struct sim_world *world, struct sim_user *user, uint32_t nodes,
                           uint32_t most) {
    struct sim_check_line *line = line_of(world);
    uint64_t *since_ns = &line->could_since_ns[user->client->index][user->index];
    bool could =
        user->ops[SIM_OP_ACQUIRE] != NULL &&
        (user->take > 0 ? could_have_permits(world, most, nodes) : could_have(world, user, nodes));
    if (!could) {
        *since_ns = NEVER;
        return;
    }
    *since_ns = *since_ns == NEVER ? world->now_ns : *since_ns;
    uint64_t for_ns = world->now_ns - *since_ns;
    world->longest_stall_ns = for_ns > world->longest_stall_ns ? for_ns : world->longest_stall_ns;
    if (for_ns > sim_options_stall_ns(&world->options)) {
        sim_check_fail(world, SIM_STALL,
                       "c%u%c could have had r%x (a mask) for %.3f ms, and was not granted it",
                       user->client->index + 1u, "abcdef"[user->index], (unsigned)user -> resources,
                       (double)for_ns / 1e6);
    }
}

void sim_check_line_step(struct sim_world *world) {
    struct sim_check_line *line = line_of(world);
    bool waits_for_own = world->options.several_percent > 0 && world->options.locks > 1;
    if (!sim_options_has_lines(&world->options) || world->now_ns < line->look_ns ||
        world->phase > SIM_LIVENESS || waits_for_own || is_crowded(world)) {
        return;
    }
    line->look_ns = world->now_ns + LOOK_NS;
    const uint32_t most = most_wanted(world);
    for (uint32_t c = 0; c < world->options.clients; c++) {
        struct sim_client *client = &world->clients[c];
        bool runs = client->state == SIM_CLIENT_OPEN && !client->is_between &&
                    client->busy_until_ns <= world->now_ns;
        uint32_t nodes = 0;
        for (uint32_t n = 0; n < world->options.nodes && runs; n++) {
            nodes |= (uint32_t)could_ask(world, client, n) << n;
        }
        for (uint32_t i = 0; i < world->options.locks; i++) {
            look_for_stall(world, &client->users[i], nodes, most);
        }
    }
}

void sim_check_line_served(struct sim_world *world, uint32_t resources) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        for (uint32_t i = 0; i < world->options.locks; i++) {
            if (world->clients[c].users[i].resources & resources || world->options.permits > 0) {
                line_of(world)->could_since_ns[c][i] = NEVER;
            }
        }
    }
}

void sim_check_line_attempt(struct sim_world *world, struct sim_user *user) {
    struct sim_check_line *line = line_of(world);
    uint32_t c = user->client->index, i = user->index;
    uint64_t at_ns = user->client->at_ns;
    user->attempt_ns = at_ns;
    if (!sim_options_has_lines(&world->options) || i >= SIM_LOCKS_MAX || is_crowded(world)) {
        return;
    }
    if (at_ns >= line->spin_since_ns[c][i] + SPIN_NS ||
        user->asked_ns > line->spin_since_ns[c][i]) {
        line->spin_since_ns[c][i] = at_ns;
        line->spins[c][i] = 0;
    }
    if (++line->spins[c][i] > SPIN_MOST) {
        sim_check_fail(world, SIM_SPIN, "c%u%c asks for votes %u times in %.3f ms", (unsigned)c + 1,
                       "abcdef"[i], (unsigned)line -> spins[c][i],
                       (double)(at_ns - line->spin_since_ns[c][i]) / 1e6);
    }
}

/* -- When everything is over -- */

void sim_check_line_over(struct sim_world *world) {
    const uint32_t quiet =
        1u << SIM_TROUBLE_NONE | 1u << SIM_TROUBLE_PLAIN | 1u << SIM_TROUBLE_CLOCKS;
    char place[SIM_PLACE_LENGTH];
    if (!sim_options_has_lines(&world->options) || !(quiet >> world->options.trouble & 1) ||
        is_crowded(world)) {
        return; /* a LEAVE may be lost: the place is dropped when its turn comes */
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        if (world->nodes[n].is_slow || !(world->reachable >> n & 1)) {
            continue; /* it must not be notified */
        }
        for (uint32_t r = 0; r < (world->options.permits > 0 ? 1 : world->options.resources); r++) {
            uint32_t at = 0, at_readers = 0;
            if (sim_node_place(world, n, r, false, &at, place) ||
                sim_node_place(world, n, r, true, &at_readers, place)) {
                sim_check_fail(world, SIM_LEFTOVER, "n%u still has a place %.40s in r%u's line",
                               (unsigned)n + 1, place, (unsigned)r + 1);
            }
        }
        const struct server_connection *peer = world->nodes[n].server->first;
        for (; peer != NULL && world->options.elections == 0; peer = peer->next) {
            const struct sim_conn *conn = peer->owner;
            if (peer->n_channels > 0 && sim_conn_is_sound(conn)) {
                sim_check_fail(world, SIM_LEFTOVER, "c%u still listens to n%u", conn->client + 1u,
                               (unsigned)n + 1);
            }
        }
    }
}
