/* See fault.h. */
#include "sim/fault.h"

#include <stddef.h>

#include "sim/user.h"
#include "sim/world.h"

#define FOREVER_NS (UINT64_C(1000000) * 1000 * RL_NS_PER_MS)
#define HOUR_NS (UINT64_C(3600000) * RL_NS_PER_MS)

struct strike {
    uint32_t client;
    uint32_t node;
    uint64_t until_ns;
    uint32_t part; /* direction for a link (0, 1, both), kind of errors */
};

static struct sim_random *dice(struct sim_world *world) {
    return &world->fault_random;
}

static void trouble_for_all(struct sim_world *world, uint32_t node, uint64_t until_ns) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        sim_check_trouble(world, c, node, until_ns);
    }
}

static uint32_t minority(const struct sim_world *world) {
    return (world->options.nodes - 1) / 2;
}

/* -- Connections and links -- */

static struct sim_conn *conn_of(struct sim_world *world, const struct strike *strike) {
    return world->clients[strike->client].links[strike->node].conn;
}

static void reset(struct sim_world *world, const struct strike *strike) {
    struct sim_conn *conn = conn_of(world, strike);
    if (conn != NULL) {
        if (strike->part != 0) {
            conn->is_swallowing = true; /* what is under way to the client is lost */
        }
        sim_conn_break(world, conn, sim_skewed(dice(world), 0, 10 * RL_NS_PER_MS));
    }
}

/* What is sent until the client notices comes after what it sends on the next connection. */
static void stray(struct sim_world *world, const struct strike *strike) {
    struct sim_conn *conn = conn_of(world, strike);
    if (conn != NULL && !conn->is_stray) {
        conn->is_stray = true;
        conn->held_until_ns[SIM_TO_NODE] = strike->until_ns;
        sim_conn_break(world, conn, sim_skewed(dice(world), 0, strike->until_ns - world->now_ns));
    }
}

static void half_open(struct sim_world *world, const struct strike *strike) {
    struct sim_conn *conn = conn_of(world, strike);
    if (conn != NULL) {
        conn->is_swallowing = true;
    }
}

static void cut(struct sim_world *world, const struct strike *strike) {
    struct sim_wire *wire = &world->net.wires[strike->client][strike->node];
    for (uint32_t way = 0; way < 2; way++) {
        bool hit = strike->part == 2 || strike->part == way;
        if (hit && strike->until_ns > wire->cut_until_ns[way]) {
            wire->cut_until_ns[way] = strike->until_ns;
        }
    }
    sim_check_trouble(world, strike->client, strike->node, strike->until_ns);
}

static void cut_forever(struct sim_world *world, const struct strike *strike) {
    struct strike longer = *strike;
    longer.until_ns = world->now_ns + FOREVER_NS;
    cut(world, &longer);
}

static void slow_down(struct sim_world *world, const struct strike *strike) {
    struct sim_wire *wire = &world->net.wires[strike->client][strike->node];
    for (uint32_t way = 0; way < 2; way++) {
        if (strike->part == 2 || strike->part == way) {
            wire->clogged_until_ns[way] = strike->until_ns;
        }
    }
    sim_check_trouble(world, strike->client, strike->node,
                      strike->until_ns + world->options.clog_ns);
}

/* -- Nodes -- */

static void node_pause(struct sim_world *world, const struct strike *strike) {
    sim_node_pause(world, strike->node, strike->until_ns);
    trouble_for_all(world, strike->node, strike->until_ns);
}

static void node_restart(struct sim_world *world, const struct strike *strike) {
    uint64_t for_ns = sim_between(dice(world), RL_NS_PER_MS, 100 * RL_NS_PER_MS);
    sim_node_go_down(world, strike->node, world->now_ns + for_ns);
}

static void node_refuse(struct sim_world *world, const struct strike *strike) {
    sim_node_go_down(world, strike->node, strike->until_ns);
}

static void node_error(struct sim_world *world, const struct strike *strike) {
    uint32_t all = 1u << SIM_SET | 1u << SIM_RAISE | 1u << SIM_EXTEND | 1u << SIM_RELEASE;
    uint32_t commands = strike->part == 0 ? 1u << SIM_SET : all;
    sim_node_errors(world, strike->node, commands, strike->until_ns);
    trouble_for_all(world, strike->node, strike->until_ns);
}

/* Only of a minority: keys may stay on such a node for as long as an hour. */
static void node_slow(struct sim_world *world, uint32_t node, int64_t by_ns, bool frozen) {
    struct sim_node *me = &world->nodes[node];
    me->is_slow = true;
    sim_clock_step(&me->clock, world->now_ns, by_ns);
    if (frozen) {
        sim_clock_drift(&me->clock, world->now_ns, SIM_FROZEN_PPM);
        me->clock.wave_ns = 0;
    }
    sim_memory_clock_changed(world, node);
}

static void node_back(struct sim_world *world, const struct strike *strike) {
    uint64_t by_ns = sim_skewed(dice(world), RL_NS_PER_MS, HOUR_NS);
    node_slow(world, strike->node, -(int64_t)by_ns, false);
}

static void node_frozen(struct sim_world *world, const struct strike *strike) {
    node_slow(world, strike->node, 0, true);
}

/* -- Clients -- */

static void client_pause(struct sim_world *world, const struct strike *strike) {
    sim_loop_busy(&world->clients[strike->client], strike->until_ns);
}

/* A clock that stops in suspend is behind by so much when the client looks at it again. */
static void client_suspend(struct sim_world *world, const struct strike *strike) {
    struct sim_client *client = &world->clients[strike->client];
    if (world->options.broken == SIM_BREAK_STOPPED_CLOCK) {
        sim_clock_step(&client->clock, world->now_ns, -(int64_t)(strike->until_ns - world->now_ns));
        sim_check_clock(client);
    }
    sim_loop_busy(client, strike->until_ns);
}

/* A process ends in order, and another takes its place and knows nothing of the nodes. */
static void client_anew(struct sim_world *world, const struct strike *strike) {
    struct sim_client *client = &world->clients[strike->client];
    if (client->in_turn || client->busy_until_ns > world->now_ns) {
        return;
    }
    for (uint32_t i = 0; i < world->options.locks; i++) {
        sim_lock_abandon(&client->locks[i]);
        sim_user_start(&client->locks[i]);
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        sim_link_forget(&client->links[n]);
    }
    sim_loop_schedule(client);
}

/* -- Wall clocks -- */

#define YEAR_US (UINT64_C(31557600) * 1000000)

static struct sim_wall any_wall(struct sim_random *random, const struct sim_options *options) {
    uint64_t about_us = 50 * YEAR_US;
    if (options->walls_agree) {
        uint64_t apart = options->broken == SIM_BREAK_WALLS_APART ? 5 : 1;
        uint64_t within_us = apart * options->max_ttl_ms * UINT64_C(1000);
        return (struct sim_wall){.base_us = about_us + sim_between(random, 0, within_us)};
    }
    switch (options->walls_stand ? 1 : sim_pick(random, 5)) {
        case 0:
            return (struct sim_wall){.base_us = 0, .stands = true};
        case 1:
            return (struct sim_wall){.base_us = about_us, .stands = true};
        case 2:
            return (struct sim_wall){.base_us = sim_between(random, 1, 300 * YEAR_US)};
        default:
            return (struct sim_wall){.base_us = about_us + sim_between(random, 0, 1000000)};
    }
}

uint64_t sim_fault_wall_us(struct sim_client *client) {
    struct sim_world *world = client->world;
    if (world->options.preset == SIM_STORY) {
        return sim_wall_read(&client->wall, world->now_ns);
    }
    bool steps = sim_chance(&world->fence_random, world->options.wall_percent);
    if (steps || (client->wall.base_us == 0 && !client->wall.stands)) {
        client->wall = any_wall(&world->fence_random, &world->options);
    }
    return sim_wall_read(&client->wall, world->now_ns);
}

/* -- Outside of the promise without a guard -- */

/* A client that never saw the node before it forgets cannot know that it did, if the server that
 * it finds has been up for long, or if it does not ask for that. */
static bool may_forget(const struct sim_world *world, uint32_t node, enum sim_fault fault) {
    enum rl_guard_mode mode = world->options.guard;
    if (mode == RL_GUARD_OFF || (mode == RL_GUARD_STRICT && fault == SIM_FAULT_AMNESIA)) {
        return true;
    }
    for (uint32_t c = 0; c < world->options.clients; c++) {
        if (world->clients[c].links[node].guard.run_id[0] == '\0') {
            return false;
        }
    }
    return true;
}

static void amnesia(struct sim_world *world, const struct strike *strike) {
    uint64_t for_ns = sim_between(dice(world), RL_NS_PER_MS, 50 * RL_NS_PER_MS);
    if (world->options.broken == SIM_BREAK_FLUSHALL) {
        uint32_t replid = world->nodes[strike->node].replid;
        sim_memory_forget(world, strike->node);
        world->nodes[strike->node].replid = replid;
    } else if (may_forget(world, strike->node, SIM_FAULT_AMNESIA)) {
        sim_node_go_down(world, strike->node, world->now_ns + for_ns);
        sim_memory_forget(world, strike->node);
    }
}

static void stale(struct sim_world *world, const struct strike *strike) {
    uint64_t for_ns = sim_between(dice(world), RL_NS_PER_MS, 50 * RL_NS_PER_MS);
    if (may_forget(world, strike->node, SIM_FAULT_STALE)) {
        sim_node_go_down(world, strike->node, world->now_ns + for_ns);
        sim_memory_fail_over(world, strike->node, strike->part == 0);
    }
}

/* -- Outside of the promise -- */

static void step_forward(struct sim_world *world, const struct strike *strike) {
    uint64_t by_ns = sim_between(dice(world), 1, 2) * world->options.ttl_max_ms * RL_NS_PER_MS;
    sim_clock_step(&world->nodes[strike->node].clock, world->now_ns, (int64_t)by_ns);
    sim_memory_clock_changed(world, strike->node);
}

static void (*const faults[SIM_FAULTS_STRIKING])(struct sim_world *, const struct strike *) = {
    [SIM_FAULT_RESET] = reset,
    [SIM_FAULT_STRAY] = stray,
    [SIM_FAULT_HALF_OPEN] = half_open,
    [SIM_FAULT_PARTITION] = cut,
    [SIM_FAULT_FOREVER] = cut_forever,
    [SIM_FAULT_CLOG] = slow_down,
    [SIM_FAULT_NODE_PAUSE] = node_pause,
    [SIM_FAULT_NODE_RESTART] = node_restart,
    [SIM_FAULT_NODE_REFUSE] = node_refuse,
    [SIM_FAULT_NODE_ERROR] = node_error,
    [SIM_FAULT_NODE_BACK] = node_back,
    [SIM_FAULT_NODE_FROZEN] = node_frozen,
    [SIM_FAULT_CLIENT_PAUSE] = client_pause,
    [SIM_FAULT_CLIENT_SUSPEND] = client_suspend,
    [SIM_FAULT_CLIENT_ANEW] = client_anew,
    [SIM_FAULT_AMNESIA] = amnesia,
    [SIM_FAULT_STALE] = stale,
    [SIM_FAULT_STEP] = step_forward,
};

/* -- Striking -- */

static void apply(struct sim_world *world, enum sim_fault fault, const struct strike *strike) {
    bool of_client = fault >= SIM_FAULT_CLIENT_PAUSE && fault <= SIM_FAULT_CLIENT_ANEW;
    bool of_node = fault >= SIM_FAULT_NODE_PAUSE && !of_client;
    world->stats.faults[fault]++;
    sim_trace(world, (struct sim_note){
                         .kind = SIM_NOTE_FAULT,
                         .client = of_node ? SIM_NOBODY : (uint8_t)strike->client,
                         .node = of_client ? SIM_NOBODY : (uint8_t)strike->node,
                         .a = fault,
                         .b = strike->part,
                         .c = (uint32_t)((strike->until_ns - world->now_ns) / RL_NS_PER_MS)});
    faults[fault](world, strike);
}

void sim_fault_apply(struct sim_world *world, enum sim_fault fault, uint32_t client, uint32_t node,
                     uint64_t duration_ns) {
    struct strike strike = {client, node, world->now_ns + duration_ns, 2};
    apply(world, fault, &strike);
}

void sim_fault_at_grant(struct sim_world *world, uint32_t client) {
    bool pauses = world->phase == SIM_SAFETY && world->options.grant_percent > 0 &&
                  sim_chance(dice(world), world->options.grant_percent);
    if (pauses) {
        world->stats.faults[SIM_FAULT_GRANT_PAUSE]++;
        sim_loop_busy(&world->clients[client],
                      world->now_ns + sim_skewed(dice(world), 0, world->options.fault_ns));
    }
}

bool sim_fault_no_token(struct sim_world *world) {
    bool fails = world->phase == SIM_SAFETY && world->options.grant_percent > 0 &&
                 sim_pick(dice(world), 500) == 0;
    world->stats.faults[SIM_FAULT_NO_TOKEN] += fails;
    return fails;
}

static void schedule(struct sim_world *world) {
    uint64_t gap_ns = sim_between(dice(world), 0, 2 * world->options.fault_gap_ns);
    struct sim_event event = {.at_ns = world->now_ns + gap_ns, .kind = SIM_EV_FAULT};
    sim_queue_add(&world->queue, &event);
}

/* One of the kinds that this history has. */
static enum sim_fault pick_fault(struct sim_world *world) {
    uint32_t kinds = world->options.faults;
    uint32_t forgetting =
        kinds & (1u << SIM_FAULT_AMNESIA | 1u << SIM_FAULT_STALE | 1u << SIM_FAULT_CLIENT_ANEW);
    if (world->options.forget_percent > 0 &&
        sim_chance(dice(world), world->options.forget_percent)) {
        kinds = forgetting;
    }
    uint32_t count = 0;
    for (uint32_t left = kinds; left != 0; left &= left - 1) {
        count++;
    }
    for (uint32_t skip = sim_pick(dice(world), count); skip > 0; skip--) {
        kinds &= kinds - 1;
    }
    uint32_t fault = 0;
    while (!(kinds & UINT32_C(1) << fault)) {
        fault++;
    }
    return (enum sim_fault)fault;
}

void sim_faults_strike(struct sim_world *world) {
    uint64_t for_ns = sim_skewed(dice(world), RL_NS_PER_MS, world->options.fault_ns);
    struct strike strike = {sim_pick(dice(world), world->options.clients),
                            sim_pick(dice(world), world->options.nodes), world->now_ns + for_ns,
                            sim_pick(dice(world), 3)};
    enum sim_fault fault = pick_fault(world);
    bool is_lasting = fault == SIM_FAULT_FOREVER || fault == SIM_FAULT_NODE_BACK ||
                      fault == SIM_FAULT_NODE_FROZEN;
    bool of_majority = strike.node >= minority(world) && fault != SIM_FAULT_FOREVER;
    if (is_lasting && (of_majority || !sim_chance(dice(world), 5))) {
        schedule(world); /* or soon nothing would be left */
        return;
    }
    apply(world, fault, &strike);
    bool wide =
        fault >= SIM_FAULT_PARTITION && fault <= SIM_FAULT_CLOG && sim_chance(dice(world), 40);
    for (uint32_t c = 0; wide && c < world->options.clients; c++) {
        strike.client = c; /* the node's own link is at fault */
        apply(world, fault, &strike);
    }
    schedule(world);
}

void sim_faults_start(struct sim_world *world) {
    if (world->options.faults != 0) {
        schedule(world);
    }
}

/* -- Healing -- */

/* A minority may stay away; nodes with slow clocks count among it. */
static void lose_minority(struct sim_world *world) {
    uint32_t left = minority(world);
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        if (world->nodes[n].is_slow) {
            left--;
            world->reachable &= ~(UINT32_C(1) << n);
        }
    }
    for (uint32_t n = 0; n < world->options.nodes && world->options.faults != 0; n++) {
        if (left > 0 && !world->nodes[n].is_slow && sim_chance(dice(world), 40)) {
            left--;
            world->reachable &= ~(UINT32_C(1) << n);
            sim_node_go_down(world, n, world->now_ns + FOREVER_NS);
        }
    }
}

void sim_faults_heal(struct sim_world *world) {
    const struct sim_options *options = &world->options;
    uint64_t quiet_ns = world->now_ns + options->fault_ns + options->clog_ns;
    sim_net_heal(world);
    for (uint32_t n = 0; n < options->nodes; n++) {
        struct sim_node *node = &world->nodes[n];
        node->error_until_ns = 0;
        if (node->is_paused || node->is_down) {
            sim_node_resume(world, n);
        }
        for (uint32_t c = 0; c < options->clients; c++) {
            world->check.trouble_ns[c][n] = quiet_ns;
        }
    }
    lose_minority(world);
}
