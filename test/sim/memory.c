/* See node.h. A key's end is kept in the node's own milliseconds, as Redis keeps it, and once more
 * in true time for the checker. It ends when the node's clock, cut to milliseconds, has reached
 * that end: the most hostile reading of Redis's granularity, up to 1 ms early.
 *
 * A stale replica: now and then, after a command, all that the node knows is noted down. When a
 * replica takes its place, this is what it has.
 */
#include <assert.h>
#include <stddef.h>

#include "core/quorum.h"
#include "sim/node.h"
#include "sim/world.h"

#define NOTED_PERCENT 5

static uint64_t node_ms(const struct sim_world *world, uint32_t node) {
    return sim_clock_read(&world->nodes[node].clock, world->now_ns) / RL_NS_PER_MS;
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

static void counter_set(struct sim_world *world, uint32_t node, const struct sim_message *message,
                        uint64_t value) {
    struct sim_counter *counter = &world->nodes[node].memory.counters[message->resource];
    bool like_key = world->options.broken == SIM_BREAK_COUNTER_TTL && message->ttl_ms != 0;
    uint64_t life_ms = like_key ? message->ttl_ms : world->options.retention_ms;
    *counter = (struct sim_counter){.value = value, .expires_ms = node_ms(world, node) + life_ms};
}

static uint64_t counter_value(const struct sim_world *world, uint32_t node, uint32_t resource) {
    const struct sim_counter *counter = &world->nodes[node].memory.counters[resource];
    return node_ms(world, node) < counter->expires_ms ? counter->value : 0;
}

static enum sim_verdict run_set(struct sim_world *world, uint32_t node, struct sim_key *key,
                                struct sim_message *message) {
    if (key->token != 0) {
        return SIM_NO;
    }
    const struct sim_token *token = &world->check.tokens[message->token];
    *key = (struct sim_key){
        .token = message->token, .conn = message->conn->id, .ran_ns = world->now_ns};
    key_set_end(world, node, key, message->ttl_ms);
    if (message->fence != 0) {
        uint64_t next = counter_value(world, node, message->resource) + 1;
        message->fence = next > message->fence ? next : message->fence;
        counter_set(world, node, message, message->fence);
    }
    world->stats.late_sets += token->released[node] != 0;
    return SIM_YES;
}

static enum sim_verdict run_raise(struct sim_world *world, uint32_t node, const struct sim_key *key,
                                  const struct sim_message *message) {
    enum sim_break broken = world->options.broken;
    uint64_t value = counter_value(world, node, message->resource);
    bool match = key->token == message->token || broken == SIM_BREAK_RAISE_BLIND ||
                 broken == SIM_BREAK_RAISE_ANYWHERE;
    if (!match) {
        return SIM_NO;
    }
    if (value > message->fence && broken != SIM_BREAK_RAISE_BLIND) {
        return broken == SIM_BREAK_RAISE_LARGER ? SIM_YES : SIM_NO;
    }
    counter_set(world, node, message, message->fence);
    return SIM_YES;
}

static enum sim_verdict run_extend(struct sim_world *world, uint32_t node, struct sim_key *key,
                                   const struct sim_message *message) {
    if (key->token != message->token) {
        return SIM_NO;
    }
    key_set_end(world, node, key, message->ttl_ms);
    if (message->fence != 0 && world->options.broken != SIM_BREAK_COUNTER_LEFT) {
        uint64_t value = counter_value(world, node, message->resource);
        counter_set(world, node, message, value > message->fence ? value : message->fence);
    }
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

static enum sim_verdict run(struct sim_world *world, uint32_t node, struct sim_key *key,
                            struct sim_message *message) {
    switch ((enum sim_command)message->command) {
        case SIM_SET:
            return run_set(world, node, key, message);
        case SIM_RAISE:
            return run_raise(world, node, key, message);
        case SIM_EXTEND:
            return run_extend(world, node, key, message);
        case SIM_RELEASE:
            return run_release(world, node, key, message);
        case SIM_HELLO:
            break;
    }
    return SIM_YES;
}

enum sim_verdict sim_memory_run(struct sim_world *world, uint32_t node,
                                struct sim_message *message) {
    struct sim_node *me = &world->nodes[node];
    struct sim_key *key = &me->memory.keys[message->resource];
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
    enum sim_verdict verdict = run(world, node, key, message);
    if (sim_chance(&world->past_random, NOTED_PERCENT)) {
        me->past = me->memory;
    }
    return verdict;
}

const struct sim_key *sim_node_key(const struct sim_world *world, uint32_t node,
                                   uint32_t resource) {
    const struct sim_key *key = &world->nodes[node].memory.keys[resource];
    return key->token != 0 && world->now_ns < key->expires_ns ? key : NULL;
}

/* -- What a node is, and how it forgets -- */

static uint64_t node_s(const struct sim_world *world, uint32_t node) {
    return node_ms(world, node) / 1000;
}

void sim_memory_start(struct sim_world *world, uint32_t node, uint64_t age_s) {
    struct sim_node *me = &world->nodes[node];
    me->run_id = ++world->servers;
    me->replid = me->replid == 0 ? me->run_id : me->replid;
    me->started_s = node_s(world, node) - age_s;
}

void sim_memory_forget(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    me->memory = (struct sim_memory){.keys = {{.token = 0}}};
    me->past = me->memory;
    me->replid = ++world->servers;
}

void sim_memory_fail_over(struct sim_world *world, uint32_t node, bool same_server) {
    struct sim_node *me = &world->nodes[node];
    me->memory = me->past;
    for (uint32_t i = 0; i < SIM_RESOURCES_MAX; i++) {
        me->memory.keys[i].is_stale = true;
    }
    sim_memory_clock_changed(world, node);
    me->replid = ++world->servers;
    if (!same_server) {
        uint64_t age_s = sim_between(&world->past_random, 0, SIM_OLD_S);
        sim_memory_start(world, node, age_s);
    }
    me->is_promoted = true;
}

void sim_memory_clock_changed(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    for (uint32_t i = 0; i < SIM_RESOURCES_MAX; i++) {
        struct sim_key *key = &me->memory.keys[i];
        if (key->token != 0) {
            key->expires_ns = sim_clock_when(&me->clock, key->expires_ms * RL_NS_PER_MS);
        }
    }
}

struct sim_identity sim_memory_identity(const struct sim_world *world, uint32_t node) {
    const struct sim_node *me = &world->nodes[node];
    uint64_t now_s = node_s(world, node);
    bool is_off = world->now_ns < me->error_until_ns && (me->errors & 1u << SIM_RELEASE);
    bool is_odd = me->run_id % 2 == 1;
    return (struct sim_identity){.uptime_s = now_s > me->started_s ? now_s - me->started_s : 0,
                                 .run_id = me->run_id,
                                 .replid = me->replid,
                                 .is_replica = is_off && is_odd,
                                 .is_loading = is_off && !is_odd};
}
