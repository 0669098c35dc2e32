/* The checker's view of a node's keys: see node.h. */
#include <stdio.h>
#include <string.h>

#include "sim/key.h"
#include "sim/node.h"
#include "sim/world.h"

/* SIM_RESOURCES_MAX: of none. */
static uint32_t resource_of(const struct server_key *key) {
    return key->db == 0 ? sim_key_number(key->name.data, key->name.length) : SIM_RESOURCES_MAX;
}

static struct sim_seen *seen_of(struct sim_node *me, const struct server_key *key) {
    uint32_t r = resource_of(key);
    return r < SIM_RESOURCES_MAX ? &me->world->check.seen[me->index][r] : NULL;
}

static void see_end(struct sim_node *me, struct sim_seen *seen, uint64_t expires_ms) {
    seen->expires_ms = expires_ms;
    seen->expires_ns = expires_ms == SERVER_NEVER_MS
                           ? UINT64_MAX
                           : sim_clock_when(&me->clock, expires_ms * RL_NS_PER_MS);
}

/* A token that its client has not asked with yet is its turn: the key is reserved for it. */
static void see_token(struct sim_world *world, struct sim_seen *seen, const char *text) {
    uint32_t number = sim_check_token(world, text), client;
    const struct sim_token *token = &world->check.tokens[number];
    if (number != 0 && !token->has_asked &&
        sim_check_line_whose(world, text, &client, &seen->place)) {
        seen->reserved = (uint8_t)(SIM_RESERVED_FOR + client);
    } else {
        seen->token = number;
    }
}

/* A client's id was learnt: the keys that it has just got are its own. */
void sim_node_learnt(struct sim_node *me) {
    char name[SIM_KEY_SIZE];
    for (uint32_t r = 0; r < me->world->options.resources; r++) {
        struct sim_seen *seen = &me->world->check.seen[me->index][r];
        size_t length = sim_key_name(&me->world->options, r, name);
        const struct server_key *key = server_keys_find(&me->server->keys, 0, name, length);
        if (seen->token != 0 && key != NULL && key->value.length >= SIM_PLACE_LENGTH) {
            seen->token = 0;
            see_token(me->world, seen, key->value.data);
        }
    }
}

/* A client asks with a token: the keys reserved for it have that token now. */
void sim_node_asked(struct sim_world *world, uint32_t client, uint32_t number) {
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            struct sim_seen *seen = &world->check.seen[n][r];
            const struct sim_seen before = *seen;
            if (seen->reserved == SIM_RESERVED_FOR + client &&
                seen->place == world->check.tokens[number].place) {
                seen->token = number;
                seen->reserved = 0;
                sim_check_line_key(world, n, r, &before, seen);
            }
        }
    }
}

static void see_key(struct sim_node *me, struct sim_seen *seen, const struct server_key *key) {
    struct sim_world *world = me->world;
    *seen = (struct sim_seen){.ran_ns = world->now_ns};
    if (key->value.length >= 8 && memcmp(key->value.data, "reserved", 8) == 0) {
        seen->reserved = SIM_RESERVED_FOR_NOBODY;
    } else if (key->value.length == 14 && memcmp(key->value.data, "redlock:shared", 14) == 0) {
        seen->is_shared = true;
    } else if (key->value.length >= 40) {
        see_token(world, seen, key->value.data);
    }
    see_end(me, seen, key->expires_ms);
}

static bool is_of_another(const struct sim_world *world, const struct sim_seen *seen,
                          uint32_t client) {
    return seen->reserved >= SIM_RESERVED_FOR ||
           (seen->token != 0 && world->check.tokens[seen->token].client != client);
}

void sim_node_changed(void *owner, const struct server_key *key, enum server_change change,
                      const struct server_connection *by) {
    struct sim_node *me = owner;
    struct sim_world *world = me->world;
    struct sim_seen *seen = seen_of(me, key);
    if (seen == NULL) {
        return;
    }
    const struct sim_seen before = *seen;
    if (change == SERVER_SET) {
        see_key(me, seen, key);
        const struct sim_conn *conn = by != NULL ? by->owner : NULL;
        seen->is_fresh = true;
        seen->conn = conn != NULL ? conn->id : 0;
        seen->is_passed = conn != NULL && is_of_another(world, seen, conn->client);
        world->stats.late_sets +=
            seen->token != 0 && world->check.tokens[seen->token].released[me->index] != 0;
    } else if (change == SERVER_EXPIRY) {
        const struct sim_conn *conn = by != NULL ? by->owner : NULL;
        see_end(me, seen, key->expires_ms);
        seen->is_passed = conn != NULL && is_of_another(world, seen, conn->client);
    } else {
        world->stats.evicted += change == SERVER_EVICTED;
        world->check.line.deleted |= change == SERVER_DELETED ? 1u << resource_of(key) : 0;
        if (change == SERVER_EXPIRED && seen->token != 0) {
            sim_trace(world, (struct sim_note){.kind = SIM_NOTE_EXPIRED,
                                               .client = SIM_NOBODY,
                                               .node = me->index,
                                               .token = seen->token});
        }
        seen->token = 0;
        seen->reserved = 0;
        seen->is_shared = false;
    }
    if (change != SERVER_EXPIRY) {
        sim_check_line_key(world, me->index, resource_of(key), &before, seen);
    }
}

void sim_node_planted(struct sim_world *world, uint32_t node, uint32_t resource) {
    struct sim_node *me = &world->nodes[node];
    struct sim_seen *seen = &world->check.seen[node][resource];
    const struct sim_seen before = *seen;
    char name[SIM_KEY_SIZE];
    size_t length = sim_key_name(&world->options, resource, name);
    const struct server_key *key = server_keys_find(&me->server->keys, 0, name, length);
    *seen = (struct sim_seen){.token = 0};
    if (key != NULL) {
        see_key(me, seen, key);
    }
    sim_check_line_key(world, node, resource, &before, seen);
}

/* All of them anew. */
void sim_node_see_all(struct sim_node *me, bool is_stale) {
    struct sim_seen *seen = me->world->check.seen[me->index];
    char name[SIM_KEY_SIZE];
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        size_t length = sim_key_name(&me->world->options, r, name);
        const struct server_key *key = server_keys_find(&me->server->keys, 0, name, length);
        uint32_t conn = seen[r].conn;
        seen[r] = (struct sim_seen){.token = 0};
        if (key != NULL) {
            see_key(me, &seen[r], key);
            seen[r].conn = conn;
            seen[r].is_stale = is_stale;
        }
    }
    sim_check_readers_look(me->world, me->index, 0, is_stale);
    sim_check_firsts(me, NULL);
}

void sim_node_clock_changed(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        struct sim_seen *seen = &world->check.seen[node][r];
        if (seen->token != 0 || seen->is_shared) {
            see_end(me, seen, seen->expires_ms);
        }
    }
    sim_check_readers_clock(world, node);
}

bool sim_node_place(const struct sim_world *world, uint32_t node, uint32_t resource, bool reads,
                    uint32_t *at, char place[40]) {
    char name[40];
    struct server_member member;
    const char *of = world->options.permits > 0 ? "permits:" : reads ? "shared:" : "";
    int length = snprintf(name, sizeof name, "libredlock:line:%s{r%u}", of, (unsigned)resource + 1);
    const struct server_key *key =
        server_keys_find(&world->nodes[node].server->keys, 0, name, (size_t)length);
    if (!server_line_at(key, (*at)++, &member) || member.name.length < SIM_PLACE_LENGTH) {
        return false;
    }
    memcpy(place, member.name.data, SIM_PLACE_LENGTH);
    return true;
}
