/* See node.h. What a node knows is in memory.c, here is what it receives and what strikes it. */
#include "sim/node.h"

#include <assert.h>
#include <stddef.h>

#include "core/quorum.h"
#include "sim/world.h"

static void schedule(struct sim_world *world, uint32_t node, uint64_t at_ns) {
    struct sim_event event = {.at_ns = at_ns,
                              .kind = SIM_EV_NODE,
                              .node = (uint8_t)node,
                              .arg = ++world->nodes[node].generation};
    sim_queue_add(&world->queue, &event);
}

/* -- Serving -- */

/* Runs a command and sends the reply. */
static void serve(struct sim_world *world, uint32_t node, struct sim_message *message) {
    message->verdict = (uint8_t)sim_memory_run(world, node, message);
    if (message->command == SIM_HELLO) {
        message->identity = sim_memory_identity(world, node);
    } else {
        sim_trace(world, (struct sim_note){.kind = SIM_NOTE_RAN,
                                           .client = message->conn->client,
                                           .node = (uint8_t)node,
                                           .token = message->token,
                                           .resource = message->resource,
                                           .a = message->command,
                                           .b = message->verdict,
                                           .c = message->ttl_ms,
                                           .fence = message->fence});
    }
    sim_net_send(world, message, SIM_TO_CLIENT);
}

/* -- Receiving -- */

static void refuse(struct sim_world *world, struct sim_message *message) {
    sim_conn_break(world, message->conn, sim_between(&world->net_random, 0, RL_NS_PER_MS));
    sim_message_free(world, message);
}

void sim_node_receive(struct sim_world *world, uint32_t node, struct sim_message *message) {
    struct sim_node *me = &world->nodes[node];
    struct sim_conn *conn = message->conn;
    if (me->is_down || (conn->life != 0 && conn->life != me->life)) {
        refuse(world, message);
        return;
    }
    conn->life = me->life;
    if (me->is_paused) {
        message->next = NULL;
        *me->waiting_tail = message;
        me->waiting_tail = &message->next;
        me->waiting_count++;
        return;
    }
    serve(world, node, message);
}

/* One connection's oldest command, whichever connection is read first. */
static struct sim_message *take_waiting(struct sim_world *world, struct sim_node *me) {
    uint32_t skip = sim_pick(&world->net_random, me->waiting_count);
    const struct sim_message *chosen = me->waiting;
    while (skip-- > 0) {
        chosen = chosen->next;
    }
    struct sim_message **at = &me->waiting;
    while ((*at)->conn != chosen->conn) {
        at = &(*at)->next;
    }
    struct sim_message *message = *at;
    *at = message->next;
    if (*at == NULL) {
        me->waiting_tail = at;
    }
    me->waiting_count--;
    return message;
}

/* -- Faults -- */

void sim_node_pause(struct sim_world *world, uint32_t node, uint64_t until_ns) {
    struct sim_node *me = &world->nodes[node];
    if (me->is_down || until_ns <= me->paused_until_ns) {
        return;
    }
    me->is_paused = true;
    me->paused_until_ns = until_ns;
    schedule(world, node, until_ns);
}

void sim_node_go_down(struct sim_world *world, uint32_t node, uint64_t until_ns) {
    struct sim_node *me = &world->nodes[node];
    me->is_down = true;
    me->is_paused = false;
    me->paused_until_ns = 0;
    me->down_until_ns = until_ns;
    sim_node_free(world, node);
    for (uint32_t i = 0; i < world->options.clients; i++) {
        struct sim_conn *conn = world->clients[i].links[node].conn;
        if (conn != NULL) {
            sim_conn_break(world, conn, sim_between(&world->net_random, 0, 5 * RL_NS_PER_MS));
        }
    }
    schedule(world, node, until_ns);
}

void sim_node_errors(struct sim_world *world, uint32_t node, uint32_t commands, uint64_t until_ns) {
    world->nodes[node].errors = commands;
    world->nodes[node].error_until_ns = until_ns;
}

void sim_node_resume(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    sim_trace(world, (struct sim_note){
                         .kind = SIM_NOTE_NODE_ON, .client = SIM_NOBODY, .node = (uint8_t)node});
    if (me->is_down) {
        me->is_down = false;
        me->down_until_ns = 0;
        me->life++;
        if (!me->is_promoted) {
            sim_memory_start(world, node, 0);
        }
        me->is_promoted = false;
    }
    me->is_paused = false;
    me->paused_until_ns = 0;
    while (me->waiting_count > 0) {
        serve(world, node, take_waiting(world, me));
    }
}

/* -- Life -- */

void sim_node_start(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    me->life = 1;
    me->waiting_tail = &me->waiting;
    bool young = world->options.preset != SIM_STORY && sim_chance(&world->past_random, 15);
    sim_memory_start(world, node, young ? 0 : SIM_OLD_S);
}

void sim_node_free(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    while (me->waiting != NULL) {
        struct sim_message *message = me->waiting;
        me->waiting = message->next;
        sim_message_free(world, message);
    }
    me->waiting_tail = &me->waiting;
    me->waiting_count = 0;
}
