/* See check_line.h. */
#include "sim/check_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "redis/node.h"
#include "sim/plain.h"
#include "sim/world.h"

#define NEVER UINT64_MAX
#define LATELY_NS (40 * RL_NS_PER_MS) /* what ended before may still be taken in the open */
#define SPIN_NS (250 * RL_NS_PER_MS)
#define SPIN_MOST 75
#define LOOK_NS (5 * RL_NS_PER_MS) /* how often it is looked for stalls */

static struct sim_check_line *line_of(struct sim_world *world) {
    return &world->check.line;
}

static struct sim_standing *standing_at(struct sim_world *world, uint32_t node, uint32_t resource,
                                        uint32_t client) {
    return &world->check.line.standing[node][resource][client];
}

/* -- Whose a place is -- */

static uint64_t hex(const char *text) {
    uint64_t value = 0;
    for (size_t i = 0; i < SIM_PLACE_LENGTH / 2; i++) {
        unsigned digit = (unsigned char)text[i];
        value = value << 4 | (digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

bool sim_check_line_whose(const struct sim_world *world, const char *place, uint32_t *client,
                          uint64_t *number) {
    uint64_t id = hex(place);
    *number = hex(place + SIM_PLACE_LENGTH / 2);
    for (uint32_t c = 0; c < world->options.clients; c++) {
        if (world->check.line.ids[c] == id) {
            *client = c;
            return true;
        }
    }
    return false;
}

void sim_check_line_place(struct sim_world *world, uint32_t client, const char *place) {
    line_of(world)->ids[client] = hex(place);
}

void sim_check_line_listens(struct sim_world *world, uint32_t node, uint32_t client) {
    line_of(world)->listened[node][client] = true;
}

void sim_check_line_joins(struct sim_world *world, uint32_t node, uint32_t client) {
    if (!line_of(world)->listened[node][client]) {
        sim_check_fail(world, SIM_ORDER, "c%u joins at n%u, where it has never listened",
                       client + 1u, node + 1u);
    }
}

/* Nobody holds it, and it is nobody's turn but this client's: whoever asks may be granted it. */
static bool is_open(const struct sim_world *world, uint32_t resource, uint32_t client) {
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        const struct sim_seen *key = &world->check.seen[n][resource];
        const struct sim_token *token = &world->check.tokens[key->token];
        const bool is_there = world->now_ns < key->expires_ns;
        const bool is_held = key->token != 0 && token->is_granted;
        if (is_there && ((is_held && !(token->opened >> resource & 1)) ||
                         (key->reserved != 0 && key->reserved != SIM_RESERVED_FOR + client))) {
            return false;
        }
    }
    return true;
}

static void stand(struct sim_world *world, uint32_t node, uint32_t resource, uint32_t client,
                  uint64_t number) {
    const struct sim_check_line *line = line_of(world);
    struct sim_standing *it = standing_at(world, node, resource, client);
    if (it->since_ns == NEVER || it->number != number) {
        *it = (struct sim_standing){.since_ns = world->now_ns,
                                    .number = number,
                                    .missed_before = line->missed[node][resource]};
        memcpy(it->opened_before, line->opened[resource], sizeof it->opened_before);
        bool just_now = line->opened_ns[resource] + LATELY_NS > world->now_ns;
        just_now = just_now && line->opened_ns[resource] > 0;
        it->opened_before[SIM_CLIENTS_MAX] -= just_now || is_open(world, resource, client);
    }
    it->is_seen = true;
}

/* What it did, somebody has done who is no more. */
static void forget_holds(struct sim_world *world, uint32_t resource, uint32_t client) {
    struct sim_check_line *line = line_of(world);
    line->opened[resource][SIM_CLIENTS_MAX] += line->opened[resource][client];
    line->opened[resource][client] = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t c = 0; c < world->options.clients; c++) {
            uint32_t *before = standing_at(world, n, resource, c)->opened_before;
            before[SIM_CLIENTS_MAX] += before[client];
            before[client] = 0;
        }
    }
}

void sim_check_line_gone(struct sim_world *world, uint32_t client) {
    line_of(world)->ids[client] = 0;
    for (uint32_t r = 0; r < world->options.resources; r++) {
        forget_holds(world, r, client);
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        line_of(world)->listened[n][client] = false;
        for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
            standing_at(world, n, r, client)->since_ns = NEVER;
        }
    }
}

/* -- What nodes have -- */

/* Whether the key is there for a client: reserved for its place, or with a token of it. */
static bool is_for(const struct sim_world *world, const struct sim_seen *key, uint32_t client,
                   uint64_t number) {
    if (world->now_ns >= key->expires_ns) {
        return false;
    }
    if (key->token != 0) {
        return world->check.tokens[key->token].client == client;
    }
    return key->reserved == SIM_RESERVED_FOR + client && key->place == number;
}

static void look_at(struct sim_world *world, uint32_t node, uint32_t resource) {
    const struct sim_seen *key = &world->check.seen[node][resource];
    char place[SIM_PLACE_LENGTH];
    uint64_t number;
    uint32_t at = 0, client;
    for (uint32_t c = 0; c < world->options.clients; c++) {
        standing_at(world, node, resource, c)->is_seen = false;
    }
    while (sim_node_place(world, node, resource, &at, place)) {
        if (sim_check_line_whose(world, place, &client, &number)) {
            stand(world, node, resource, client, number);
        }
    }
    if (key->reserved >= SIM_RESERVED_FOR && world->now_ns < key->expires_ns) {
        stand(world, node, resource, key->reserved - SIM_RESERVED_FOR, key->place);
    }
    for (uint32_t c = 0; c < world->options.clients; c++) {
        struct sim_standing *it = standing_at(world, node, resource, c);
        if (!it->is_seen && it->since_ns != NEVER && !is_for(world, key, c, it->number)) {
            it->since_ns = NEVER;
        }
    }
}

void sim_check_line_look(struct sim_world *world, uint32_t node) {
    for (uint32_t r = 0; r < world->options.resources; r++) {
        look_at(world, node, r);
    }
}

/* A hold that ended where it left the key to anybody, once for all nodes. */
static void opened(struct sim_world *world, uint32_t resource, uint32_t number) {
    struct sim_token *token = &world->check.tokens[number];
    bool held = token->is_granted || token->client >= SIM_CLIENTS_MAX; /* it may have been */
    bool counts = held && !(token->opened >> resource & 1);
    if (counts) {
        token->opened |= (uint8_t)(1u << resource);
        uint32_t by = token->client < SIM_CLIENTS_MAX ? token->client : SIM_CLIENTS_MAX;
        line_of(world)->opened[resource][by]++;
        line_of(world)->opened_ns[resource] = world->now_ns;
    }
}

void sim_check_line_key(struct sim_world *world, uint32_t node, uint32_t resource,
                        const struct sim_seen *before, const struct sim_seen *now) {
    bool is_over = world->now_ns >= before->expires_ns;
    if (before->token != 0 && before->token != now->token && now->reserved == 0) {
        opened(world, resource, before->token);
    }
    if (before->reserved < SIM_RESERVED_FOR) {
        return;
    }
    uint32_t client = before->reserved - SIM_RESERVED_FOR;
    if (is_over) {
        line_of(world)->missed[node][resource]++;
        world->stats.turns_missed++;
    } else if (now->token != 0 && world->check.tokens[now->token].client == client) {
        world->check.tokens[now->token].turn_at |= (uint8_t)(1u << node);
        world->stats.turns_taken++;
    }
}

/* -- Overtaking -- */

static bool is_sound(const struct sim_world *world, uint32_t client, uint32_t node) {
    bool listens = false;
    for (const struct sim_conn *conn = world->clients[client].conns; conn != NULL;
         conn = conn->next_open) {
        if (conn->node == node && !sim_conn_is_sound(conn)) {
            return false;
        }
        listens |= conn->node == node && conn->peer != NULL && conn->peer->n_channels > 0;
    }
    return listens;
}

static bool answers(const struct sim_world *world, uint32_t client, uint32_t node,
                    uint64_t since_ns) {
    const struct sim_check *check = &world->check;
    return world->clients[client].state == SIM_CLIENT_OPEN &&
           check->busy_until_ns[client] < since_ns && check->trouble_ns[client][node] < since_ns &&
           check->up_since_ns[client][node] <= since_ns && is_sound(world, client, node);
}

/* A user of this process has waited for just this resource since then. */
static bool wants(const struct sim_client *client, uint32_t resource, uint64_t since_ns) {
    for (uint32_t i = 0; i < client->sim->options.locks; i++) {
        const struct sim_user *user = &client->users[i];
        if (user->ops[SIM_OP_ACQUIRE] != NULL && user->resources == 1u << resource &&
            user->asked_ns <= since_ns) {
            return true;
        }
    }
    return false;
}

/* Somebody else stands at another node, and is there. */
static bool has_other_line(struct sim_world *world, uint32_t node, uint32_t resource) {
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t c = 0; c < world->options.clients && n != node; c++) {
            if (standing_at(world, n, resource, c)->since_ns != NEVER) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t paid(struct sim_world *world, const struct sim_standing *it, uint32_t node,
                     uint32_t resource, uint32_t by) {
    const struct sim_check_line *line = line_of(world);
    uint32_t sum = line->missed[node][resource] - it->missed_before;
    for (uint32_t c = 0; c <= SIM_CLIENTS_MAX; c++) {
        uint32_t since = line->opened[resource][c] - it->opened_before[c];
        bool own = c == by && by < SIM_CLIENTS_MAX;
        sum += own && since > 1 ? 1 : since;
    }
    return sum;
}

/* Faults excuse more than can be told from here: it is counted. So do clients with room for a few
 * requests: to whom home is too busy, that one does not use it. */
static bool is_promised(const struct sim_world *world) {
    enum sim_trouble trouble = world->options.trouble;
    return (trouble == SIM_TROUBLE_NONE || trouble == SIM_TROUBLE_PLAIN) &&
           world->options.requests_max >= RL_NODE_REQUESTS_MAX;
}

static void overtake(struct sim_world *world, struct sim_standing *it, uint32_t node,
                     uint32_t resource, uint32_t by, uint32_t of, unsigned turn_at) {
    uint32_t most = paid(world, it, node, resource, by);
    it->overtaken++;
    world->stats.overtaken++;
    world->stats.unpaid += it->overtaken > most;
    if (it->overtaken > most && is_promised(world)) {
        sim_check_fail(
            world, SIM_ORDER,
            "c%u has r%u (its turn was at %x); c%u stands for it at n%u for %.3f ms, was "
            "overtaken %u times, and %u were paid for",
            (unsigned)by + 1, (unsigned)resource + 1, turn_at, (unsigned)of + 1, (unsigned)node + 1,
            (double)(world->now_ns - it->since_ns) / 1e6, (unsigned)it->overtaken, (unsigned)most);
    }
}

static void granted(struct sim_world *world, uint32_t client, uint32_t resource,
                    const struct sim_hold *hold, uint64_t asked_ns) {
    uint32_t turn_at = world->check.tokens[hold->token].turn_at;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        bool is_home = turn_at != 0 ? turn_at >> n & 1 : !has_other_line(world, n, resource);
        for (uint32_t c = 0; c < world->options.clients; c++) {
            struct sim_standing *it = standing_at(world, n, resource, c);
            bool is_later = it->since_ns != NEVER && asked_ns > it->since_ns && c != client;
            if (!is_later || !wants(&world->clients[c], resource, it->since_ns)) {
                continue;
            }
            world->stats.passed++;
            if (is_home && answers(world, c, n, it->since_ns)) {
                overtake(world, it, n, resource, client, c, turn_at);
            }
        }
    }
    for (uint32_t n = 0; n < world->options.nodes && client < world->options.clients; n++) {
        standing_at(world, n, resource, client)->since_ns = NEVER;
    }
}

void sim_check_line_grant(struct sim_world *world, uint32_t client, const struct sim_hold *hold,
                          uint64_t asked_ns) {
    if (client < SIM_CLIENTS_MAX && world->options.preset == SIM_LINES &&
        (hold->resources & (hold->resources - 1)) == 0) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            if (hold->resources >> r & 1) {
                granted(world, client, r, hold, asked_ns);
            }
        }
    }
}

/* -- Stalls -- */

static bool could_ask(struct sim_world *world, const struct sim_client *client, uint32_t n) {
    const struct sim_node *node = &world->nodes[n];
    const struct sim_wire *wire = &world->net.wires[client->index][n];
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    uint64_t now_ns = world->now_ns;
    bool errs = node->error_until_ns > now_ns;
    if (node->is_down || node->is_paused || errs ||
        redlock_client_node(client->redlock, n, &info) != 0 || !info.voting) {
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

/* A quorum has nothing in its way. */
static bool could_have(struct sim_world *world, const struct sim_user *user, uint32_t nodes) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        bool is_free = nodes >> n & 1;
        for (uint32_t r = 0; r < world->options.resources && is_free; r++) {
            const struct sim_seen *key = &world->check.seen[n][r];
            is_free =
                !(user->resources >> r & 1) || key->token == 0 || world->now_ns >= key->expires_ns;
        }
        count += is_free;
    }
    return count >= world->options.nodes / 2 + 1;
}

static void look_for_stall(struct sim_world *world, struct sim_user *user, uint32_t nodes) {
    struct sim_check_line *line = line_of(world);
    uint64_t *since_ns = &line->could_since_ns[user->client->index][user->index];
    if (user->ops[SIM_OP_ACQUIRE] == NULL || !could_have(world, user, nodes)) {
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
    if (world->options.preset != SIM_LINES || world->now_ns < line->look_ns ||
        world->phase > SIM_LIVENESS || waits_for_own) {
        return;
    }
    line->look_ns = world->now_ns + LOOK_NS;
    for (uint32_t c = 0; c < world->options.clients; c++) {
        struct sim_client *client = &world->clients[c];
        bool runs = client->state == SIM_CLIENT_OPEN && !client->is_between &&
                    client->busy_until_ns <= world->now_ns;
        uint32_t nodes = 0;
        for (uint32_t n = 0; n < world->options.nodes && runs; n++) {
            nodes |= (uint32_t)could_ask(world, client, n) << n;
        }
        for (uint32_t i = 0; i < world->options.locks; i++) {
            look_for_stall(world, &client->users[i], nodes);
        }
    }
}

void sim_check_line_attempt(struct sim_world *world, const struct sim_user *user) {
    struct sim_check_line *line = line_of(world);
    uint32_t c = user->client->index, i = user->index;
    uint64_t at_ns = user->client->at_ns;
    if (world->options.preset != SIM_LINES || i >= SIM_LOCKS_MAX) {
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

/* -- What nodes have, for who reads of a failure -- */

static void print_places(const struct sim_world *world, uint32_t node, uint32_t resource) {
    char place[SIM_PLACE_LENGTH];
    uint32_t at = 0, client;
    uint64_t number;
    while (sim_node_place(world, node, resource, &at, place)) {
        if (sim_check_line_whose(world, place, &client, &number)) {
            printf(" c%u's %" PRIu64, (unsigned)client + 1, number);
        } else {
            printf(" of one who is gone");
        }
    }
    printf("%s\n", at == 1 ? " nobody" : "");
}

void sim_check_line_print(const struct sim_world *world) {
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            const struct sim_seen *key = &world->check.seen[n][r];
            printf("n%u%s r%u: ", (unsigned)n + 1, world->nodes[n].is_down ? " (down)" : "",
                   (unsigned)r + 1);
            if (world->now_ns >= key->expires_ns || (key->token == 0 && key->reserved == 0)) {
                printf("free");
            } else if (key->token != 0) {
                printf("token %u", (unsigned)key->token);
            } else if (key->reserved == SIM_RESERVED_FOR_NOBODY) {
                printf("reserved");
            } else {
                printf("reserved for c%u's %" PRIu64, key->reserved - SIM_RESERVED_FOR + 1u,
                       key->place);
            }
            printf("; in line:");
            print_places(world, n, r);
        }
    }
}

/* -- When everything is over -- */

void sim_check_line_over(struct sim_world *world) {
    const uint32_t quiet =
        1u << SIM_TROUBLE_NONE | 1u << SIM_TROUBLE_PLAIN | 1u << SIM_TROUBLE_CLOCKS;
    char place[SIM_PLACE_LENGTH];
    if (world->options.preset != SIM_LINES || !(quiet >> world->options.trouble & 1)) {
        return; /* a LEAVE may be lost: the place is dropped when its turn comes */
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        if (world->nodes[n].is_slow || !(world->reachable >> n & 1)) {
            continue; /* it is not to be told */
        }
        for (uint32_t r = 0; r < world->options.resources; r++) {
            uint32_t at = 0;
            if (sim_node_place(world, n, r, &at, place)) {
                sim_check_fail(world, SIM_LEFTOVER, "n%u still has a place %.32s in r%u's line",
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

void sim_check_line_start(struct sim_world *world) {
    struct sim_check_line *line = line_of(world);
    memset(line->could_since_ns, 0xff, sizeof line->could_since_ns);
    for (uint32_t c = 0; c < SIM_CLIENTS_MAX; c++) {
        sim_check_line_gone(world, c);
    }
}
