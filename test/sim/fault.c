/* See fault.h. */
#include "sim/fault.h"

#include <errno.h>
#include <stddef.h>

#include "sim/kind.h"
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

/* One of the open connections between them: the listener's is another one. */
static struct sim_conn *conn_of(struct sim_world *world, const struct strike *strike) {
    struct sim_conn *found = NULL;
    for (struct sim_conn *conn = world->clients[strike->client].conns; conn != NULL;
         conn = conn->next_open) {
        if (conn->node == strike->node && (found == NULL || sim_chance(dice(world), 50))) {
            found = conn;
        }
    }
    return found;
}

static void reset(struct sim_world *world, const struct strike *strike) {
    struct sim_conn *conn = conn_of(world, strike);
    if (conn != NULL) {
        if (strike->part != 0) {
            conn->is_swallowing = true; /* data in transit to the client is lost */
        }
        sim_conn_break(conn, sim_skewed(dice(world), 0, 10 * RL_NS_PER_MS),
                       strike->part == 1 ? 0 : ECONNRESET);
    }
}

/* Data sent before the client notices arrives after data on its next connection. */
static void stray(struct sim_world *world, const struct strike *strike) {
    struct sim_conn *conn = conn_of(world, strike);
    if (conn != NULL && !conn->is_stray) {
        conn->is_stray = true;
        conn->held_until_ns[SIM_TO_NODE] = strike->until_ns;
        sim_conn_break(conn, sim_skewed(dice(world), 0, strike->until_ns - world->now_ns),
                       ECONNRESET);
    }
}

static void half_open(struct sim_world *world, const struct strike *strike) {
    struct sim_conn *conn = conn_of(world, strike);
    if (conn != NULL) {
        sim_check_trouble(world, conn->client, conn->node, world->now_ns);
        conn->is_swallowing = true;
    }
}

static void drip(struct sim_world *world, const struct strike *strike) {
    struct sim_wire *wire = &world->net.wires[strike->client][strike->node];
    for (uint32_t way = 0; way < 2; way++) {
        if (strike->part == 2 || strike->part == way) {
            wire->drips_until_ns[way] = strike->until_ns;
        }
    }
    sim_check_trouble(world, strike->client, strike->node,
                      strike->until_ns + 100 * world->options.drip_ns);
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
    uint32_t kind =
        strike->part == 0 ? SIM_ERRORS_FULL : 1 + sim_pick(dice(world), SIM_ERRORS_KINDS - 1);
    sim_node_errors(world, strike->node, (enum sim_errors)kind, strike->until_ns);
    sim_kind_may_forbid(world, strike->node);
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
    sim_node_clock_changed(world, node);
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
    sim_client_busy(&world->clients[strike->client], strike->until_ns);
}

/* A clock that stops in suspend is behind by that time when the client reads it again. */
static void client_suspend(struct sim_world *world, const struct strike *strike) {
    struct sim_client *client = &world->clients[strike->client];
    if (world->options.broken == SIM_BREAK_STOPPED_CLOCK) {
        sim_clock_step(&client->clock, world->now_ns, -(int64_t)(strike->until_ns - world->now_ns));
        sim_check_clock(client);
    }
    sim_client_busy(client, strike->until_ns);
}

/* A process closes its client, whatever is pending, and exits. Another one takes its place, and has
 * seen no node. */
static void client_anew(struct sim_world *world, const struct strike *strike) {
    struct sim_client *client = &world->clients[strike->client];
    if (client->busy_until_ns < world->now_ns && client->state == SIM_CLIENT_OPEN &&
        !client->is_between) {
        sim_process_close(client, true);
    }
}

/* It dies: its machine closes the connections, and nothing that it sends later arrives. */
static void client_kill(struct sim_world *world, const struct strike *strike) {
    struct sim_client *client = &world->clients[strike->client];
    if (client->busy_until_ns >= world->now_ns || client->state != SIM_CLIENT_OPEN ||
        client->is_between) {
        return;
    }
    uint64_t dies_ns = world->now_ns + (2 * world->options.node_timeout_ms + 1000) * RL_NS_PER_MS;
    for (struct sim_conn *conn = client->conns; conn != NULL; conn = conn->next_open) {
        sim_conn_cut(conn);
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        sim_check_trouble(world, strike->client, n, dies_ns);
    }
    sim_process_close(client, true);
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
    struct sim_world *world = client->sim;
    if (sim_chance(&world->fence_random, world->options.wall_percent) ||
        (client->wall.base_us == 0 && !client->wall.stands)) {
        client->wall = any_wall(&world->fence_random, &world->options);
    }
    /* A process that is stopped inside the library continues later than the world. */
    return sim_wall_read(&client->wall, client->is_inside ? client->at_ns : world->now_ns);
}

/* -- Outside of the assumptions without a guard -- */

/* Every client has seen the node; if it evicts, each sees that now. */
static bool have_seen(const struct sim_world *world, uint32_t node, bool evicts) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        const struct sim_client *client = &world->clients[c];
        if (client->state != SIM_CLIENT_OPEN || client->is_between ||
            !sim_process_node(client, node, &info) || info.connects == 0 ||
            (evicts && info.reason != REDLOCK_ERR_NODE_EVICTS)) {
            return false;
        }
    }
    return true;
}

/* A client cannot detect that a node forgot its keys before the client first saw it, if the new
 * server has been up for long, or the client does not ask for the uptime. */
static bool may_forget(const struct sim_world *world, uint32_t node, enum sim_fault fault) {
    enum rl_guard_mode mode = world->options.guard;
    return mode == RL_GUARD_OFF || (mode == RL_GUARD_STRICT && fault == SIM_FAULT_AMNESIA) ||
           have_seen(world, node, false);
}

static void amnesia(struct sim_world *world, const struct strike *strike) {
    uint64_t for_ns = sim_between(dice(world), RL_NS_PER_MS, 50 * RL_NS_PER_MS);
    if (world->options.broken == SIM_BREAK_FLUSHALL) {
        sim_node_flush(world, strike->node);
    } else if (may_forget(world, strike->node, SIM_FAULT_AMNESIA)) {
        sim_node_go_down(world, strike->node, world->now_ns + for_ns);
        sim_node_forget(world, strike->node);
    }
}

static void stale(struct sim_world *world, const struct strike *strike) {
    uint64_t for_ns = sim_between(dice(world), RL_NS_PER_MS, 50 * RL_NS_PER_MS);
    if (may_forget(world, strike->node, SIM_FAULT_STALE)) {
        sim_node_go_down(world, strike->node, world->now_ns + for_ns);
        sim_node_fail_over(world, strike->node, strike->part == 0);
    }
}

/* A node gets another eviction policy, and remains the same server: an evicting one, or this one.
 * The guard must detect both: no server is new. */
static bool change_policy(struct sim_world *world, uint32_t node) {
    const uint32_t anew = 1u << SIM_FAULT_CLIENT_ANEW | 1u << SIM_FAULT_CLIENT_KILL;
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        node = sim_node_is_evicting(world, n) && have_seen(world, n, true) ? n : node;
    }
    const bool evicted = sim_node_is_evicting(world, node);
    if (world->options.guard == RL_GUARD_OFF || (world->options.faults & anew) != 0 ||
        world->nodes[node].is_down || !have_seen(world, node, evicted)) {
        return false;
    }
    sim_node_change_policy(world, node);
    return true;
}

/* It is restarted with or without an evicting policy; or its policy is changed while it runs. */
static void evict(struct sim_world *world, const struct strike *strike) {
    uint64_t for_ns = sim_between(dice(world), RL_NS_PER_MS, 50 * RL_NS_PER_MS);
    const bool evicts = !sim_node_is_evicting(world, strike->node);
    if (strike->part != 1 && change_policy(world, strike->node)) {
        return;
    }
    if (!may_forget(world, strike->node, SIM_FAULT_AMNESIA)) {
        return;
    }
    sim_node_go_down(world, strike->node, world->now_ns + for_ns);
    sim_node_evicts(world, strike->node, evicts);
}

/* -- Outside of the assumptions -- */

static void step_forward(struct sim_world *world, const struct strike *strike) {
    uint64_t by_ns = sim_between(dice(world), 1, 2) * world->options.ttl_max_ms * RL_NS_PER_MS;
    sim_clock_step(&world->nodes[strike->node].clock, world->now_ns, (int64_t)by_ns);
    sim_node_clock_changed(world, strike->node);
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
    [SIM_FAULT_CLIENT_KILL] = client_kill,
    [SIM_FAULT_AMNESIA] = amnesia,
    [SIM_FAULT_STALE] = stale,
    [SIM_FAULT_DRIP] = drip,
    [SIM_FAULT_EVICT] = evict,
    [SIM_FAULT_STEP] = step_forward,
};

/* -- Striking -- */

static void apply(struct sim_world *world, enum sim_fault fault, const struct strike *strike) {
    bool of_client = fault >= SIM_FAULT_CLIENT_PAUSE && fault <= SIM_FAULT_CLIENT_KILL;
    bool of_node = fault >= SIM_FAULT_NODE_PAUSE && !of_client && fault != SIM_FAULT_DRIP;
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

static void stop_inside(struct sim_client *client, enum sim_fault kind) {
    struct sim_world *world = client->sim;
    world->stats.faults[kind]++;
    client->stopped_ns = client->stopped_ns != 0 ? client->stopped_ns : sim_client_now(client);
    sim_client_block(client, sim_skewed(dice(world), 0, world->options.fault_ns));
}

void sim_fault_at_grant(struct sim_client *client) {
    struct sim_world *world = client->sim;
    if (world->phase == SIM_SAFETY && world->options.grant_percent > 0 &&
        sim_chance(dice(world), world->options.grant_percent)) {
        stop_inside(client, SIM_FAULT_GRANT_PAUSE);
    }
}

void sim_fault_looks(struct sim_client *client) {
    struct sim_world *world = client->sim;
    const uint32_t looks = world->options.preempt_looks;
    const bool may_stop = world->phase == SIM_SAFETY && looks > 0 && client->stopped_ns == 0;
    if (may_stop && sim_pick(dice(world), looks) == 0) {
        stop_inside(client, SIM_FAULT_PREEMPT);
    }
}

/* In histories that stop processes at grants, the system is short of other things, too. */
static bool is_short(struct sim_world *world, enum sim_fault kind, uint32_t of) {
    bool fails = world->phase == SIM_SAFETY && world->options.grant_percent > 0 &&
                 sim_pick(dice(world), of) == 0;
    world->stats.faults[kind] += fails;
    return fails;
}

bool sim_fault_no_random(struct sim_client *client) {
    return is_short(client->sim, SIM_FAULT_NO_TOKEN, 500);
}

bool sim_fault_no_dial(struct sim_client *client) {
    return is_short(client->sim, SIM_FAULT_NO_DIAL, 50);
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
        schedule(world); /* or soon no node would be left */
        return;
    }
    apply(world, fault, &strike);
    bool wide = fault >= SIM_FAULT_PARTITION &&
                (fault <= SIM_FAULT_CLOG || fault == SIM_FAULT_DRIP) && sim_chance(dice(world), 40);
    for (uint32_t c = 0; wide && c < world->options.clients; c++) {
        strike.client = c; /* the node's own link is faulty */
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

/* A minority may stay down; nodes with slow clocks count towards it. */
static void lose_minority(struct sim_world *world) {
    uint32_t left = !sim_options_changes(&world->options) ? minority(world) : 0;
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
        sim_node_heal(world, n);
        if (node->is_paused || node->is_down) {
            sim_node_resume(world, n);
        }
        for (uint32_t c = 0; c < options->clients; c++) {
            /* A process that is blocked or stopped stays so. */
            const uint64_t busy_ns = world->check.busy_until_ns[c];
            world->check.trouble_ns[c][n] = busy_ns > quiet_ns ? busy_ns : quiet_ns;
        }
    }
    lose_minority(world);
}
