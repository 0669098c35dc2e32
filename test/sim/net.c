/* See net.h. A connection is freed when neither its client, nor a message, nor an event refers to
 * it. */
#include "sim/net.h"

#include <assert.h>
#include <stdlib.h>

#include "core/quorum.h"
#include "sim/world.h"

/* -- Connections -- */

struct sim_conn *sim_conn_open(struct sim_world *world, uint32_t client, uint32_t node) {
    struct sim_conn *conn = world->net.free_conns;
    if (conn != NULL) {
        world->net.free_conns = conn->next_free;
    } else {
        conn = malloc(sizeof *conn);
        if (conn == NULL) {
            abort();
        }
    }
    *conn = (struct sim_conn){.id = ++world->net.conns,
                              .references = 1,
                              .client = (uint8_t)client,
                              .node = (uint8_t)node};
    return conn;
}

void sim_conn_release(struct sim_world *world, struct sim_conn *conn) {
    assert(conn->references > 0);
    if (--conn->references == 0) {
        conn->next_free = world->net.free_conns;
        world->net.free_conns = conn;
    }
}

void sim_conn_close(struct sim_world *world, struct sim_conn *conn) {
    assert(!conn->is_closed);
    conn->is_closed = true;
    conn->is_drained = conn->is_stray || sim_chance(&world->net_random, 70);
    sim_conn_release(world, conn);
}

void sim_conn_break(struct sim_world *world, struct sim_conn *conn, uint64_t after_ns) {
    if (conn->is_breaking || conn->is_closed) {
        return;
    }
    struct sim_event event = {.at_ns = world->now_ns + after_ns,
                              .kind = SIM_EV_BREAK,
                              .client = conn->client,
                              .node = conn->node,
                              .what = conn};
    conn->is_breaking = true;
    conn->references++;
    sim_queue_add(&world->queue, &event);
}

bool sim_conn_is_sound(const struct sim_world *world, const struct sim_conn *conn) {
    return !conn->is_swallowing && !conn->is_breaking &&
           conn->held_until_ns[SIM_TO_NODE] <= world->now_ns;
}

/* -- Messages -- */

struct sim_message *sim_message_new(struct sim_world *world, struct sim_conn *conn) {
    struct sim_message *message = world->net.free_messages;
    if (message != NULL) {
        world->net.free_messages = message->next;
    } else {
        message = malloc(sizeof *message);
        if (message == NULL) {
            abort();
        }
    }
    *message = (struct sim_message){.conn = conn};
    conn->references++;
    return message;
}

void sim_message_free(struct sim_world *world, struct sim_message *message) {
    sim_conn_release(world, message->conn);
    message->conn = NULL;
    message->next = world->net.free_messages;
    world->net.free_messages = message;
}

/* What is lost is not sent again: the connection is dead from here on, and the client may be told,
 * or has to find out. */
static bool is_lost(struct sim_world *world, struct sim_conn *conn) {
    uint32_t ppm = world->phase == SIM_SAFETY ? world->options.loss_ppm : 0;
    if (ppm == 0 || sim_pick(&world->net_random, 1000000) >= ppm) {
        return false;
    }
    world->stats.faults[SIM_FAULT_LOSS]++;
    conn->is_swallowing = true;
    if (sim_chance(&world->net_random, 70)) {
        sim_conn_break(world, conn, sim_skewed(&world->net_random, 0, world->options.fault_ns / 2));
    }
    return true;
}

static uint64_t delay(struct sim_world *world, const struct sim_wire *wire,
                      enum sim_direction way) {
    const struct sim_options *options = &world->options;
    uint64_t delay_ns =
        options->delay_min_ns == options->delay_max_ns
            ? options->delay_min_ns
            : sim_skewed(&world->net_random, options->delay_min_ns, options->delay_max_ns);
    if (world->now_ns < wire->clogged_until_ns[way]) {
        delay_ns += sim_between(&world->net_random, 0, options->clog_ns);
    }
    return delay_ns + wire->extra_ns[way];
}

void sim_net_send(struct sim_world *world, struct sim_message *message, enum sim_direction way) {
    struct sim_conn *conn = message->conn;
    bool in_vain = conn->is_swallowing || (way == SIM_TO_CLIENT && conn->is_closed);
    if (in_vain || is_lost(world, conn)) {
        sim_message_free(world, message);
        return;
    }
    const struct sim_wire *wire = &world->net.wires[conn->client][conn->node];
    uint64_t at_ns = world->now_ns + delay(world, wire, way);
    if (at_ns < conn->last_ns[way]) {
        at_ns = conn->last_ns[way];
    }
    conn->last_ns[way] = at_ns;
    struct sim_event event = {.at_ns = at_ns,
                              .kind = way == SIM_TO_NODE ? SIM_EV_DELIVER : SIM_EV_REPLY,
                              .client = conn->client,
                              .node = conn->node,
                              .what = message};
    sim_queue_add(&world->queue, &event);
}

/* A message that a cut holds up holds up what follows on its connection, also if the cut is healed.
 * */
bool sim_net_arrives(struct sim_world *world, const struct sim_event *event) {
    enum sim_direction way = event->kind == SIM_EV_DELIVER ? SIM_TO_NODE : SIM_TO_CLIENT;
    const struct sim_wire *wire = &world->net.wires[event->client][event->node];
    const struct sim_message *message = event->what;
    uint64_t *held_ns = &message->conn->held_until_ns[way];
    if (*held_ns < wire->cut_until_ns[way]) {
        *held_ns = wire->cut_until_ns[way];
    }
    if (world->now_ns >= *held_ns) {
        return true;
    }
    struct sim_event later = *event;
    later.at_ns = *held_ns;
    sim_queue_add(&world->queue, &later);
    return false;
}

/* -- All of it -- */

void sim_net_heal(struct sim_world *world) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        for (uint32_t n = 0; n < world->options.nodes; n++) {
            world->net.wires[c][n] = (struct sim_wire){.cut_until_ns = {0, 0}};
        }
    }
}

void sim_net_free(struct sim_world *world) {
    while (world->net.free_messages != NULL) {
        struct sim_message *message = world->net.free_messages;
        world->net.free_messages = message->next;
        free(message);
    }
    while (world->net.free_conns != NULL) {
        struct sim_conn *conn = world->net.free_conns;
        world->net.free_conns = conn->next_free;
        free(conn);
    }
}
