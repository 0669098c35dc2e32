/* What the checker is told of a node's keys: see node.h. */
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

/* "reserved", or "reserved:" and a place. */
static void see_reservation(const struct sim_world *world, struct sim_seen *seen,
                            const struct server_key *key) {
    uint32_t client;
    seen->reserved = SIM_RESERVED_FOR_NOBODY;
    if (key->value.length == 9 + SIM_PLACE_LENGTH &&
        sim_check_line_whose(world, key->value.data + 9, &client, &seen->place)) {
        seen->reserved = (uint8_t)(SIM_RESERVED_FOR + client);
    }
}

/* A client's id was learnt: what it has just been given is its. */
void sim_node_learnt(struct sim_node *me) {
    char name[SIM_KEY_SIZE];
    for (uint32_t r = 0; r < me->world->options.resources; r++) {
        struct sim_seen *seen = &me->world->check.seen[me->index][r];
        size_t length = sim_key_name(&me->world->options, r, name);
        const struct server_key *key = server_keys_find(&me->server->keys, 0, name, length);
        if (seen->reserved == SIM_RESERVED_FOR_NOBODY && key != NULL) {
            see_reservation(me->world, seen, key);
        }
    }
}

static void see_key(struct sim_node *me, struct sim_seen *seen, const struct server_key *key) {
    struct sim_world *world = me->world;
    *seen = (struct sim_seen){.ran_ns = world->now_ns};
    if (key->value.length >= 8 && memcmp(key->value.data, "reserved", 8) == 0) {
        see_reservation(world, seen, key);
    } else if (key->value.length == 14 && memcmp(key->value.data, "redlock:shared", 14) == 0) {
        seen->is_shared = true;
    } else if (key->value.length >= 40) {
        seen->token = sim_check_token(world, key->value.data);
    }
    see_end(me, seen, key->expires_ms);
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
        world->stats.late_sets +=
            seen->token != 0 && world->check.tokens[seen->token].released[me->index] != 0;
    } else if (change == SERVER_EXPIRY) {
        see_end(me, seen, key->expires_ms);
    } else {
        world->stats.evicted += change == SERVER_EVICTED;
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
                    uint32_t *at, char place[32]) {
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
