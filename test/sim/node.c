/* See node.h. A key's end is kept in the node's own milliseconds, as Redis keeps it, and once more
 * in true time for the checker. It ends when the node's clock, cut to milliseconds, has reached
 * that end: the most hostile reading of Redis's granularity, up to 1 ms early. */
#include "sim/node.h"

#include <assert.h>
#include <stddef.h>

#include "core/quorum.h"
#include "sim/world.h"

static uint64_t node_ms(const struct sim_world *world, uint32_t node) {
    return sim_clock_read(&world->nodes[node].clock, world->now_ns) / RL_NS_PER_MS;
}

static void schedule(struct sim_world *world, uint32_t node, uint64_t at_ns) {
    struct sim_event event = {.at_ns = at_ns,
                              .kind = SIM_EV_NODE,
                              .node = (uint8_t)node,
                              .arg = ++world->nodes[node].generation};
    sim_queue_add(&world->queue, &event);
}

/* -- Commands -- */

static void key_set_end(struct sim_world *world, uint32_t node, struct sim_key *key,
                        uint32_t ttl_ms) {
    uint64_t expires_ms = node_ms(world, node) + ttl_ms;
    bool shortens = world->options.broken == SIM_BREAK_EXTEND_SHORTENS;
    if (!shortens && expires_ms < key->expires_ms) {
        return;
    }
    key->expires_ms = expires_ms;
    key->expires_ns = sim_clock_when(&world->nodes[node].clock, expires_ms * RL_NS_PER_MS);
}

static enum sim_verdict run_set(struct sim_world *world, uint32_t node, struct sim_key *key,
                                const struct sim_message *message) {
    if (key->token != 0) {
        return SIM_NO;
    }
    const struct sim_token *token = &world->check.tokens[message->token];
    *key = (struct sim_key){
        .token = message->token, .conn = message->conn->id, .ran_ns = world->now_ns};
    key_set_end(world, node, key, message->ttl_ms);
    world->stats.late_sets += token->released[node] != 0;
    return SIM_YES;
}

static enum sim_verdict run_release(struct sim_world *world, uint32_t node, struct sim_key *key,
                                    const struct sim_message *message) {
    sim_check_released(world, node, message->token, message->conn->id);
    bool match = key->token == message->token;
    if (match || (world->options.broken == SIM_BREAK_BLIND_RELEASE && key->token != 0)) {
        key->token = 0;
        return SIM_YES;
    }
    return SIM_NO;
}

static enum sim_verdict run(struct sim_world *world, uint32_t node,
                            const struct sim_message *message) {
    struct sim_node *me = &world->nodes[node];
    struct sim_key *key = &me->keys[message->resource];
    if (key->token != 0 && node_ms(world, node) >= key->expires_ms) {
        sim_trace(world, (struct sim_note){.kind = SIM_NOTE_EXPIRED,
                                           .client = SIM_NOBODY,
                                           .node = (uint8_t)node,
                                           .token = key->token,
                                           .resource = message->resource});
        key->token = 0;
    }
    if (world->now_ns < me->error_until_ns && (me->errors & 1u << message->command)) {
        return SIM_ERROR;
    }
    switch ((enum sim_command)message->command) {
        case SIM_SET:
            return run_set(world, node, key, message);
        case SIM_EXTEND:
            if (key->token != message->token) {
                return SIM_NO;
            }
            key_set_end(world, node, key, message->ttl_ms);
            return SIM_YES;
        case SIM_RELEASE:
            return run_release(world, node, key, message);
        case SIM_HELLO:
            break;
    }
    return SIM_YES;
}

/* Runs a command and sends the reply. */
static void serve(struct sim_world *world, uint32_t node, struct sim_message *message) {
    message->verdict = (uint8_t)run(world, node, message);
    if (message->command != SIM_HELLO) {
        sim_trace(world, (struct sim_note){.kind = SIM_NOTE_RAN,
                                           .client = message->conn->client,
                                           .node = (uint8_t)node,
                                           .token = message->token,
                                           .resource = message->resource,
                                           .a = message->command,
                                           .b = message->verdict,
                                           .c = message->ttl_ms});
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

void sim_node_go_down(struct sim_world *world, uint32_t node, uint64_t until_ns, bool forget) {
    struct sim_node *me = &world->nodes[node];
    me->is_down = true;
    me->is_paused = false;
    me->paused_until_ns = 0;
    me->down_until_ns = until_ns;
    sim_node_free(world, node);
    for (uint32_t i = 0; forget && i < SIM_RESOURCES_MAX; i++) {
        me->keys[i].token = 0;
    }
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
    }
    me->is_paused = false;
    me->paused_until_ns = 0;
    while (me->waiting_count > 0) {
        serve(world, node, take_waiting(world, me));
    }
}

void sim_node_clock_changed(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    for (uint32_t i = 0; i < SIM_RESOURCES_MAX; i++) {
        struct sim_key *key = &me->keys[i];
        if (key->token != 0) {
            key->expires_ns = sim_clock_when(&me->clock, key->expires_ms * RL_NS_PER_MS);
        }
    }
}

/* -- Life -- */

void sim_node_start(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    me->life = 1;
    me->waiting_tail = &me->waiting;
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

const struct sim_key *sim_node_key(const struct sim_world *world, uint32_t node,
                                   uint32_t resource) {
    const struct sim_key *key = &world->nodes[node].keys[resource];
    return key->token != 0 && world->now_ns < key->expires_ns ? key : NULL;
}
