/* Places: their owners, who stands, who listens, and the state of the nodes: see check_line.h. */
#include "sim/check_line.h"

#include <string.h>

#include "core/place.h"
#include "sim/world.h"

#define NEVER UINT64_MAX
#define LATELY_NS (40 * RL_NS_PER_MS) /* what ended before may still be taken in the open */

static struct sim_check_line *line_of(struct sim_world *world) {
    return &world->check.line;
}

struct sim_standing *sim_check_line_standing(struct sim_world *world, uint32_t node,
                                             uint32_t resource, uint32_t client, uint32_t kind) {
    return &world->check.line.standing[node][resource][client][kind];
}

/* All slots have one line, the first's. */
static uint32_t line_for(const struct sim_world *world, uint32_t resource) {
    return world->options.permits > 0 ? 0 : resource;
}

static uint64_t hex(const char *text) {
    uint64_t value = 0;
    for (size_t i = 0; i < 16; i++) {
        unsigned digit = (unsigned char)text[i];
        value = value << 4 | (digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

bool sim_check_line_whose(const struct sim_world *world, const char *place, uint32_t *client,
                          uint64_t *number) {
    uint64_t id = hex(place);
    *number = hex(place + 16);
    for (uint32_t c = 0; c < world->options.clients; c++) {
        if (world->check.line.ids[c] == id) {
            *client = c;
            return true;
        }
    }
    return false;
}

unsigned sim_check_line_token(const struct sim_world *world, uint64_t number) {
    uint32_t token = world->check.token_count;
    while (token > 0 && world->check.tokens[token].place != number) {
        token--;
    }
    return token;
}

bool sim_check_line_place(struct sim_world *world, uint32_t client, const char *place) {
    uint64_t *id = &world->check.line.ids[client], now = hex(place);
    bool is_new = *id != now;
    *id = now;
    return is_new;
}

void sim_check_line_listens(struct sim_world *world, uint32_t node, uint32_t client) {
    world->check.line.listened[node][client] = true;
}

void sim_check_line_joins(struct sim_world *world, uint32_t node, uint32_t client) {
    if (!world->check.line.listened[node][client]) {
        sim_check_fail(world, SIM_ORDER, "c%u joins at n%u, where it has never listened",
                       client + 1u, node + 1u);
    }
}

/* -- Standing -- */

/* A quorum has no holder's key, nor another client's turn: a request may be granted. (A JOIN
 * reserves a free key only at home.) */
static bool is_open(const struct sim_world *world, uint32_t resource, uint32_t client) {
    uint32_t free_at = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        const struct sim_seen *key = &world->check.seen[n][resource];
        const struct sim_token *token = &world->check.tokens[key->token];
        const bool is_there = world->now_ns < key->expires_ns;
        const bool is_held = key->token != 0 && token->is_granted;
        free_at +=
            !(is_there && (key->is_shared || (is_held && !(token->opened >> resource & 1)) ||
                           (key->reserved != 0 && key->reserved != SIM_RESERVED_FOR + client)));
    }
    return free_at >= world->options.nodes / 2 + 1;
}

/* So many of what it could be granted. */
static uint32_t count_open(const struct sim_world *world, uint32_t resource, uint32_t client) {
    uint32_t count = 0;
    for (uint32_t r = 0; r < world->options.resources && world->options.permits > 0; r++) {
        count += is_open(world, r, client);
    }
    return world->options.permits > 0 ? count : is_open(world, resource, client);
}

static void stand(struct sim_world *world, uint32_t node, uint32_t resource, uint32_t client,
                  uint32_t kind, uint64_t number) {
    const struct sim_check_line *line = line_of(world);
    struct sim_standing *it = sim_check_line_standing(world, node, resource, client, kind);
    if (it->since_ns == NEVER || it->number != number) {
        *it = (struct sim_standing){.since_ns = world->now_ns,
                                    .number = number,
                                    .missed_before = line->missed[node][resource],
                                    .writers_before = line->writers[resource],
                                    .phases_before = line->phases[resource].count};
        memcpy(it->opened_before, line->opened[resource], sizeof it->opened_before);
        bool just_now = line->opened_ns[resource] + LATELY_NS > world->now_ns;
        just_now = just_now && line->opened_ns[resource] > 0;
        uint32_t open = count_open(world, resource, client);
        it->opened_before[SIM_CLIENTS_MAX] -= open > 0 ? open : just_now;
    }
    it->is_seen = true;
}

/* From now on its holds count as those of a process that is gone. */
static void forget_holds(struct sim_world *world, uint32_t resource, uint32_t client) {
    struct sim_check_line *line = line_of(world);
    line->opened[resource][SIM_CLIENTS_MAX] += line->opened[resource][client];
    line->opened[resource][client] = 0;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t c = 0; c < world->options.clients; c++) {
            for (uint32_t kind = 0; kind < SIM_KINDS; kind++) {
                uint32_t *before =
                    sim_check_line_standing(world, n, resource, c, kind)->opened_before;
                before[SIM_CLIENTS_MAX] += before[client];
                before[client] = 0;
            }
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
            for (uint32_t kind = 0; kind < SIM_KINDS; kind++) {
                line_of(world)->left_ns[r][client][kind] = NEVER;
                sim_check_line_standing(world, n, r, client, kind)->since_ns = NEVER;
            }
        }
    }
}

/* -- What nodes have -- */

/* Whether the key belongs to a client: reserved for its place, or with a token of it. */
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

static void look_at(struct sim_world *world, uint32_t node, uint32_t resource, bool reads) {
    const struct sim_seen *key = &world->check.seen[node][resource];
    char place[SIM_PLACE_LENGTH];
    uint64_t number;
    uint32_t at = 0, client;
    for (uint32_t c = 0; c < world->options.clients; c++) {
        sim_check_line_standing(world, node, resource, c, reads)->is_seen = false;
    }
    while (sim_node_place(world, node, resource, reads, &at, place)) {
        if (sim_check_line_whose(world, place, &client, &number)) {
            stand(world, node, resource, client, reads, number);
        }
    }
    if (!reads && key->reserved >= SIM_RESERVED_FOR && world->now_ns < key->expires_ns) {
        stand(world, node, resource, key->reserved - SIM_RESERVED_FOR, false, key->place);
    }
    for (uint32_t c = 0; c < world->options.clients; c++) {
        struct sim_standing *it = sim_check_line_standing(world, node, resource, c, reads);
        bool is_its = !reads && is_for(world, key, c, it->number);
        if (!it->is_seen && it->since_ns != NEVER && !is_its) {
            it->since_ns = NEVER;
        }
    }
}

/* In the line of the semaphore. */
static void look_for_permits(struct sim_world *world, uint32_t node) {
    struct sim_standing(*standing)[SIM_KINDS] = line_of(world)->standing[node][0];
    char place[SIM_PLACE_LENGTH];
    uint64_t number;
    uint32_t at = 0, client;
    for (uint32_t i = 0; i < world->options.clients * SIM_KINDS; i++) {
        standing[i / SIM_KINDS][i % SIM_KINDS].is_seen = false;
    }
    while (sim_node_place(world, node, 0, false, &at, place)) {
        if (sim_check_line_whose(world, place, &client, &number) && number >> 56 >= 1 &&
            number >> 56 <= SIM_KINDS) {
            stand(world, node, 0, client, (uint32_t)(number >> 56) - 1, number);
        }
    }
    for (uint32_t i = 0; i < world->options.clients * SIM_KINDS; i++) {
        struct sim_standing *it = &standing[i / SIM_KINDS][i % SIM_KINDS];
        it->since_ns = it->is_seen ? it->since_ns : NEVER;
    }
}

void sim_check_line_look(struct sim_world *world, uint32_t node) {
    if (world->options.permits > 0) {
        look_for_permits(world, node);
        return;
    }
    for (uint32_t r = 0; r < world->options.resources; r++) {
        look_at(world, node, r, false);
        look_at(world, node, r, true);
    }
}

/* A hold that ended and left the key free, counted once for all nodes. */
static void opened(struct sim_world *world, uint32_t resource, uint32_t number) {
    struct sim_token *token = &world->check.tokens[number];
    bool held = token->is_granted || token->client >= SIM_CLIENTS_MAX; /* it may have been */
    bool counts = held && !(token->opened >> resource & 1);
    if (counts) {
        token->opened |= (uint8_t)(1u << resource);
        uint32_t by = token->client < SIM_CLIENTS_MAX ? token->client : SIM_CLIENTS_MAX;
        line_of(world)->opened[line_for(world, resource)][by]++;
        line_of(world)->opened_ns[line_for(world, resource)] = world->now_ns;
    }
}

/* A client that had a turn and gives up before the grant is reported has missed it: its release
 * serves the next client at home, and leaves the other nodes free. */
static void miss(struct sim_world *world, uint32_t node, uint32_t resource, uint32_t number) {
    const struct sim_token *token = &world->check.tokens[number];
    if (token->turn_at >> node & 1 && !token->is_granted) {
        line_of(world)->missed[node][line_for(world, resource)]++;
    }
}

void sim_check_line_takes(struct sim_world *world, uint32_t node, uint32_t number,
                          const struct sim_ran *ran) {
    struct sim_token *token = &world->check.tokens[number];
    if (number == 0 || token->client >= SIM_CLIENTS_MAX) {
        return; /* of a process that is gone */
    }
    if (ran->others_wait) {
        token->told_ns = world->now_ns;
        token->told_at = (uint8_t)node;
    }
}

/* Home says who is next: "next V NEXT", or "next V" if nobody does; or behind the numbers of a
 * pass, "pass V TIME LEASE COUNTER MAC NEXT". */
void sim_check_line_told(struct sim_world *world, uint32_t node, const char *bytes, size_t length) {
    const char *pass = sim_check_last(bytes, length, "\npass ", 6);
    const char *at = pass != NULL ? pass : sim_check_last(bytes, length, "\nnext ", 6);
    if (at == NULL || at + 6 + SIM_PLACE_LENGTH >= bytes + length) {
        return;
    }
    const uint32_t number = sim_check_token(world, at + 6); /* first: the array may grow */
    struct sim_token *token = &world->check.tokens[number];
    uint32_t words = 0;
    for (const char *byte = at; byte < bytes + length; byte++) {
        words += *byte == ' ';
    }
    const bool is_named = words > (pass != NULL ? 5 : 1);
    token->told_ns = is_named ? world->now_ns : pass != NULL ? token->told_ns : 0;
    token->told_at = (uint8_t)node;
    if (pass != NULL) {
        token->said_ns[node] = world->now_ns;
        token->passed_ns = token->passed_ns == 0 ? world->now_ns : token->passed_ns;
    }
}

/* A node passes its key to a client in its line that has already asked: that is a turn, too. */
static void pass(struct sim_world *world, uint32_t node, uint32_t resource, uint32_t number) {
    struct sim_token *token = &world->check.tokens[number];
    if (token->client < world->options.clients) {
        const struct sim_standing *it =
            sim_check_line_standing(world, node, resource, token->client, false);
        const bool stands = it->since_ns != NEVER && it->number == token->place;
        token->turn_at |= (uint8_t)(stands ? 1u << node : 0);
    }
}

/* Its client releases the key, and knows that others wait: for so long a sign of it is good. (A
 * client that did not wait itself ignores who is next.) */
static bool reserves(const struct sim_world *world, uint32_t node, const struct sim_seen *key) {
    const struct sim_token *token = &world->check.tokens[key->token];
    const uint64_t read_ns =
        token->told_ns + 2 * (world->options.delay_max_ns + world->options.loop_lag_ns);
    return token->told_ns != 0 && token->turn_at != 0 && node != token->told_at &&
           world->now_ns < key->expires_ns && token->given_up_ns > read_ns &&
           token->given_up_ns < token->told_ns + RL_LINE_BUSY_NS;
}

void sim_check_line_key(struct sim_world *world, uint32_t node, uint32_t resource,
                        const struct sim_seen *before, const struct sim_seen *now) {
    bool is_over = world->now_ns >= before->expires_ns;
    if (before->token != 0 && now->token == 0 && now->reserved == 0 &&
        !reserves(world, node, before)) {
        opened(world, resource, before->token);
    }
    if (before->token != 0 && before->token != now->token) {
        miss(world, node, resource, before->token);
    }
    if (before->is_shared && !now->is_shared && now->token == 0 && now->reserved == 0) {
        for (uint32_t i = 0; i < world->check.leases[node][resource].count; i++) {
            opened(world, resource, world->check.leases[node][resource].items[i].token);
        }
    }
    if (now->token != 0 && before->token != now->token) {
        pass(world, node, resource, now->token);
    }
    if (before->reserved < SIM_RESERVED_FOR) {
        return;
    }
    uint32_t client = before->reserved - SIM_RESERVED_FOR;
    if (is_over) {
        line_of(world)->missed[node][line_for(world, resource)]++;
        world->stats.turns_missed++;
    } else if (now->token != 0 && world->check.tokens[now->token].client == client) {
        world->check.tokens[now->token].turn_at |= (uint8_t)(1u << node);
        world->stats.turns_taken++;
    }
}

void sim_check_line_start(struct sim_world *world) {
    struct sim_check_line *line = line_of(world);
    memset(line->could_since_ns, 0xff, sizeof line->could_since_ns);
    for (uint32_t c = 0; c < SIM_CLIENTS_MAX; c++) {
        sim_check_line_gone(world, c);
    }
}
