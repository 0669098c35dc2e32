/* See plain.h. */
#include "sim/plain.h"

#include <stdio.h>
#include <string.h>

#include "sim/world.h"

enum step { POLL, SET_ONE, COUNT, END, DELETE_ONE };

static struct sim_random *dice(struct sim_world *world) {
    return &world->plain_random;
}

/* arg: the attempt, and the action. */
static void later(struct sim_world *world, uint32_t index, uint32_t node, enum step step,
                  uint64_t after_ns) {
    struct sim_event event = {.at_ns = world->now_ns + after_ns,
                              .kind = SIM_EV_PLAIN,
                              .client = (uint8_t)index,
                              .node = (uint8_t)node,
                              .arg = world->plain[index].generation << 3 | step};
    sim_queue_add(&world->queue, &event);
}

static uint64_t wire_ns(struct sim_world *world) {
    return sim_skewed(dice(world), world->options.delay_min_ns, world->options.delay_max_ns);
}

static struct server *server_at(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    bool runs = !me->is_down && !me->is_paused && !me->server->is_replica &&
                !me->server->is_loading && !me->server->is_full;
    return runs ? me->server : NULL;
}

static uint64_t node_us(struct sim_world *world, uint32_t node) {
    return sim_clock_read(&world->nodes[node].clock, world->now_ns) / 1000;
}

static void name_of(const struct sim_plain *me, char name[3]) {
    name[0] = 'r';
    name[1] = (char)('1' + me->resource);
    name[2] = '\0';
}

/* -- One attempt -- */

static void poll(struct sim_world *world, uint32_t index) {
    struct sim_plain *me = &world->plain[index];
    if (world->phase != SIM_SAFETY) {
        return;
    }
    static const char digits[] = "0123456789abcdef";
    me->generation++;
    for (size_t i = 0; i < sizeof me->token; i++) {
        me->token[i] = digits[sim_pick(dice(world), 16)];
    }
    me->number = sim_check_token(world, me->token);
    me->granted = 0;
    me->sent_ns = world->now_ns;
    me->ttl_ns = sim_between(dice(world), world->options.ttl_min_ms, world->options.ttl_max_ms) *
                 RL_NS_PER_MS;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        later(world, index, n, SET_ONE, wire_ns(world));
    }
    later(world, index, 0, COUNT, 2 * world->options.delay_max_ns + 1);
}

static void set_one(struct sim_world *world, struct sim_plain *me, uint32_t node) {
    struct server *server = server_at(world, node);
    uint64_t now_us = node_us(world, node);
    char name[3];
    name_of(me, name);
    if (server != NULL && server_get(server, 0, name, 2, now_us) == NULL) {
        server_put(server, 0, name, 2, me->token, sizeof me->token,
                   now_us / 1000 + me->ttl_ns / RL_NS_PER_MS);
        sim_node_planted(world, node, me->resource);
        me->granted++;
    }
}

static void delete_one(struct sim_world *world, const struct sim_plain *me, uint32_t node) {
    struct server *server = server_at(world, node);
    char name[3];
    name_of(me, name);
    const struct server_key *key =
        server != NULL ? server_get(server, 0, name, 2, node_us(world, node)) : NULL;
    if (key != NULL && key->value.length == sizeof me->token &&
        memcmp(key->value.data, me->token, sizeof me->token) == 0) {
        server_remove(server, 0, name, 2);
        sim_node_planted(world, node, me->resource);
    }
}

static struct sim_hold *hold_of(struct sim_world *world, uint32_t index) {
    return &world->check.holds[SIM_CLIENTS_MAX + index][0];
}

/* Deletes its keys, and pauses. */
static void end(struct sim_world *world, uint32_t index) {
    uint64_t pause_ns = sim_skewed(dice(world), RL_NS_PER_MS, 300 * RL_NS_PER_MS);
    hold_of(world, index)->is_open = false;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        later(world, index, n, DELETE_ONE, wire_ns(world));
    }
    later(world, index, 0, POLL, 2 * world->options.delay_max_ns + pause_ns);
}

static void count(struct sim_world *world, uint32_t index) {
    struct sim_plain *me = &world->plain[index];
    const struct sim_options *options = &world->options;
    uint64_t drift_ns =
        me->ttl_ns / 1000000 * options->drift_ppm + options->drift_ms * RL_NS_PER_MS;
    uint64_t until_ns = me->sent_ns + me->ttl_ns - drift_ns;
    if (me->granted < options->nodes / 2 + 1 || until_ns <= world->now_ns + RL_NS_PER_MS) {
        end(world, index);
        return;
    }
    struct sim_hold *hold = hold_of(world, index);
    *hold = (struct sim_hold){.until_local_ns = until_ns,
                              .until_ns = until_ns,
                              .token = me->number,
                              .resources = 1u << me->resource,
                              .is_open = true};
    world->check.tokens[me->number].is_granted = true;
    world->stats.plain_grants++;
    uint64_t left_ns = until_ns - world->now_ns - RL_NS_PER_MS / 2;
    later(world, index, 0, END, sim_skewed(dice(world), 0, left_ns));
}

bool sim_plain_event(struct sim_world *world, const struct sim_event *event) {
    struct sim_plain *me = &world->plain[event->client];
    if (event->arg >> 3 != me->generation) {
        return false;
    }
    switch ((enum step)(event->arg & 7)) {
        case POLL:
            poll(world, event->client);
            break;
        case SET_ONE:
            set_one(world, me, event->node);
            break;
        case COUNT:
            count(world, event->client);
            break;
        case END:
            end(world, event->client);
            break;
        case DELETE_ONE:
            delete_one(world, me, event->node);
            break;
    }
    return true;
}

void sim_plain_start(struct sim_world *world) {
    for (uint32_t i = 0; i < world->options.plain; i++) {
        world->plain[i].resource = (uint8_t)(i % world->options.resources);
        later(world, i, 0, POLL, sim_between(dice(world), 0, 500 * RL_NS_PER_MS));
    }
}
