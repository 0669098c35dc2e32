/* See world.h. */
#include "sim/world.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/fault.h"
#include "sim/user.h"

#define SECOND_NS (UINT64_C(1000) * RL_NS_PER_MS)

/* -- Dispatch -- */

static bool dial(struct sim_world *world, const struct sim_event *event) {
    struct sim_conn *conn = event->what;
    if (!sim_net_arrives(world, event, SIM_TO_NODE)) {
        return false;
    }
    if (conn->state == SIM_CONN_DIALING) {
        sim_node_accept(conn);
    }
    return true;
}

static bool deliver(struct sim_world *world, const struct sim_event *event) {
    struct sim_piece *piece = event->what;
    const struct sim_conn *conn = piece->conn;
    if (!sim_net_arrives(world, event, SIM_TO_NODE)) {
        return false;
    }
    bool is_end = piece->length == 0; /* no step: nothing checks it */
    if (conn->state == SIM_CONN_CLOSED && !conn->is_drained && !is_end) {
        sim_piece_free(world, piece);
    } else {
        sim_node_receive(world, event->node, piece);
    }
    return !is_end;
}

static bool open_again(struct sim_world *world, const struct sim_event *event) {
    struct sim_client *client = &world->clients[event->client];
    if (event->arg != client->generation || sim_client_waits(world, event)) {
        return false;
    }
    sim_process_start(client);
    return true;
}

static bool fact(struct sim_world *world, const struct sim_event *event) {
    sim_check_fact(world, event->what);
    return true;
}

static bool node(struct sim_world *world, const struct sim_event *event) {
    if (event->arg != world->nodes[event->node].generation) {
        return false;
    }
    sim_node_resume(world, event->node);
    return true;
}

static bool fault(struct sim_world *world, const struct sim_event *event) {
    (void)event;
    if (world->phase != SIM_SAFETY) {
        return false;
    }
    sim_faults_strike(world);
    return true;
}

static bool (*const handlers[])(struct sim_world *, const struct sim_event *) = {
    [SIM_EV_DIAL] = dial,
    [SIM_EV_UP] = sim_client_up,
    [SIM_EV_DELIVER] = deliver,
    [SIM_EV_REPLY] = sim_client_bytes,
    [SIM_EV_BREAK] = sim_client_break,
    [SIM_EV_ROOM] = sim_client_room,
    [SIM_EV_RESOLVED] = sim_client_resolved,
    [SIM_EV_WAKE] = sim_client_wake,
    [SIM_EV_TURN] = sim_client_turn,
    [SIM_EV_CLOSED] = sim_client_closed,
    [SIM_EV_OPEN] = open_again,
    [SIM_EV_FACT] = fact,
    [SIM_EV_USER] = sim_user_event,
    [SIM_EV_NODE] = node,
    [SIM_EV_FAULT] = fault,
    [SIM_EV_PLAIN] = sim_plain_event,
    [SIM_EV_MEMBERS] = sim_members_event,
};

/* -- Phases -- */

uint32_t sim_world_max_ttl_ms(const struct sim_world *world, uint32_t client) {
    const struct sim_options *options = &world->options;
    bool is_odd_one_out = options->broken == SIM_BREAK_LONG_TTL && client % 2 == 1;
    return is_odd_one_out ? options->ttl_min_ms : options->max_ttl_ms;
}

uint64_t sim_world_bound_ns(const struct sim_world *world) {
    const struct sim_options *options = &world->options;
    uint64_t others_ns = options->ttl_max_ms * RL_NS_PER_MS / 50 * 51; /* their keys, clock slow */
    uint64_t late_ns = options->fault_ns + options->clog_ns;
    uint64_t notice_ns = 4 * options->node_timeout_ms * RL_NS_PER_MS;
    uint64_t connect_ns =
        (options->connect_timeout_ms + 2 * options->reconnect_max_ms) * RL_NS_PER_MS +
        2 * options->resolve_ns;
    uint64_t attempt_ns = (options->node_timeout_ms + 100) * RL_NS_PER_MS;
    uint64_t quarantine_ns = options->guard == RL_GUARD_OFF ? 0 : others_ns + late_ns;
    uint32_t waiters = options->clients * (sim_options_has_lines(options) ? options->locks : 1);
    uint64_t drip_ns = 40 * options->drip_ns;
    return others_ns + late_ns + notice_ns + connect_ns + quarantine_ns + drip_ns + SECOND_NS +
           20 * waiters * attempt_ns;
}

/* Only processes that are open have something to do. */
static bool all_are(const struct sim_world *world, enum sim_client_state state) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        const struct sim_client *client = &world->clients[c];
        if (client->state != state || client->is_between) {
            return false;
        }
    }
    return true;
}

static void begin_liveness(struct sim_world *world) {
    world->phase = SIM_LIVENESS;
    sim_trace(world,
              (struct sim_note){.kind = SIM_NOTE_HEAL, .client = SIM_NOBODY, .node = SIM_NOBODY});
    sim_faults_heal(world);
    sim_members_heal(world);
    world->until_ns = world->now_ns + sim_world_bound_ns(world);
    for (uint32_t c = 0; c < world->options.clients; c++) {
        world->clients[c].must_probe = true;
    }
}

/* Begins each probe as soon as its process is open and not stalled. Returns whether any are
 * left. */
static bool begin_probes(struct sim_world *world) {
    bool any = false;
    for (uint32_t c = 0; c < world->options.clients; c++) {
        struct sim_client *client = &world->clients[c];
        bool ready = client->state == SIM_CLIENT_OPEN && !client->is_between &&
                     client->busy_until_ns < world->now_ns;
        if (client->must_probe && ready) {
            client->must_probe = false;
            sim_client_enter(client);
            sim_user_probe(client);
            sim_client_leave(client);
            sim_client_schedule_turn(client);
        }
        any = any || client->must_probe;
    }
    return any;
}

static void begin_drain(struct sim_world *world) {
    const struct sim_options *options = &world->options;
    for (uint32_t c = 0; c < options->clients; c++) {
        sim_client_enter(&world->clients[c]);
        for (uint32_t i = 0; i < options->elections; i++) {
            sim_elect_end(&world->clients[c].users[SIM_LOCKS_MAX + i]);
        }
        sim_client_leave(&world->clients[c]);
        sim_client_schedule_turn(&world->clients[c]);
    }
    world->phase = SIM_DRAIN;
    world->until_ns =
        world->now_ns + sim_world_bound_ns(world) + SECOND_NS + options->ttl_max_ms * RL_NS_PER_MS;
}

static void begin_close(struct sim_world *world) {
    const struct sim_options *options = &world->options;
    world->phase = SIM_CLOSE;
    world->until_ns = world->now_ns + SECOND_NS + options->resolve_ns +
                      2 * options->node_timeout_ms * RL_NS_PER_MS;
    for (uint32_t c = 0; c < world->options.clients; c++) {
        sim_process_close(&world->clients[c], false);
    }
}

static bool observers_know(const struct sim_world *world) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        for (uint32_t i = 0; i < world->options.elections; i++) {
            if (world->clients[c].users[SIM_LOCKS_MAX + i].leader != 1) {
                return false;
            }
        }
    }
    return true;
}

/* Only home decides that no permit is free, even if its clock is frozen and a key never expires. */
static bool may_be_kept_out(const struct sim_world *world) {
    bool may_be = false;
    for (uint32_t n = 0; n < world->options.nodes && world->options.permits > 0; n++) {
        for (uint32_t i = 0; i < world->options.resources; i++) {
            const struct sim_seen *key = &world->check.seen[n][i];
            const bool is_there = key->token != 0 && world->now_ns < key->expires_ns;
            may_be = may_be || (world->nodes[n].is_slow && is_there);
        }
    }
    return may_be;
}

static void give_up_probes(struct sim_world *world) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        sim_client_enter(&world->clients[c]);
        for (uint32_t i = 0; i < world->options.locks; i++) {
            struct sim_user *user = &world->clients[c].users[i];
            if (user->probe_left > 0) {
                user->probe_left = 0;
                sim_user_cancel(user);
            }
        }
        sim_client_leave(&world->clients[c]);
        sim_client_schedule_turn(&world->clients[c]);
    }
    world->probing = 0;
}

static void liveness_step(struct sim_world *world) {
    bool waits = begin_probes(world) || world->probing > 0 || !observers_know(world);
    if (world->now_ns > world->until_ns && may_be_kept_out(world)) {
        give_up_probes(world);
        waits = false;
    }
    if (!waits) {
        begin_drain(world);
    } else if (world->now_ns > world->until_ns) {
        sim_check_fail(world, SIM_STUCK, "%u clients wait since %.3f ms%s",
                       (unsigned)world->probing, (double)sim_world_bound_ns(world) / 1e6,
                       world->probing == 0 ? ", for a word of who leads" : "");
        world->phase = SIM_OVER;
    }
}

static void close_step(struct sim_world *world) {
    if (all_are(world, SIM_CLIENT_GONE)) {
        world->phase = SIM_OVER;
    } else if (world->now_ns > world->until_ns) {
        sim_check_fail(world, SIM_STUCK, "not all clients have closed");
        world->phase = SIM_OVER;
    }
}

/* Whether the history goes on. */
static bool phase_step(struct sim_world *world) {
    if (world->check.found != SIM_FINE) {
        world->phase = SIM_OVER;
    } else if (world->phase == SIM_SAFETY && world->stats.steps >= world->options.steps) {
        begin_liveness(world);
    } else if (world->phase == SIM_LIVENESS) {
        liveness_step(world);
    } else if (world->phase == SIM_DRAIN && world->now_ns > world->until_ns) {
        sim_check_over(world);
        begin_close(world);
    } else if (world->phase == SIM_CLOSE) {
        close_step(world);
    }
    return world->phase != SIM_OVER;
}

/* Until when nothing happens: the end of the phase, or of the time for which a process is stopped
 * that has yet to probe. */
static uint64_t quiet_until_ns(const struct sim_world *world) {
    uint64_t until_ns = world->until_ns;
    for (uint32_t c = 0; c < world->options.clients; c++) {
        const struct sim_client *client = &world->clients[c];
        const bool is_next = client->must_probe && client->busy_until_ns >= world->now_ns;
        until_ns = is_next && client->busy_until_ns < until_ns ? client->busy_until_ns : until_ns;
    }
    return until_ns;
}

bool sim_world_step(struct sim_world *world) {
    struct sim_event event;
    bool happened = false;
    while (!happened) {
        bool any = sim_queue_take(&world->queue, &event);
        assert(any || world->phase != SIM_SAFETY); /* something is always to come */
        bool ends = world->phase == SIM_DRAIN && any && event.at_ns > world->until_ns;
        if (!any || ends) {
            world->now_ns = quiet_until_ns(world) + 1;
            if (any) {
                sim_queue_add(&world->queue, &event);
            }
            break;
        }
        assert(event.at_ns >= world->now_ns);
        world->now_ns = event.at_ns;
        happened = handlers[event.kind](world, &event);
    }
    world->stats.steps++;
    world->stats.time_ns = world->now_ns;
    sim_check_step(world);
    return phase_step(world);
}

/* -- Life -- */

/* Half of the allowance for each side: a fast node loses the key early, a slow client goes on for
 * long. */
static void start_clock(struct sim_world *world, struct sim_clock *clock, int64_t slower) {
    const struct sim_options *options = &world->options;
    struct sim_random *random = &world->clock_random;
    uint64_t half_ppm = (uint64_t)options->clock_drift_ppm / 2;
    *clock = (struct sim_clock){.base_local_ns =
                                    sim_between(random, 1000000 * SECOND_NS, 10000000 * SECOND_NS)};
    if (half_ppm > 0) {
        int64_t worst = (int64_t)half_ppm * -slower;
        int64_t any = (int64_t)sim_between(random, 0, 2 * half_ppm) - (int64_t)half_ppm;
        clock->drift_ppm = sim_chance(random, 50) ? worst : any;
    }
    if (options->clock_wave_ns > 0) {
        clock->wave_ns = sim_between(random, 0, options->clock_wave_ns);
        clock->wave_period_ns = 2 * sim_between(random, 100 * RL_NS_PER_MS, 5 * SECOND_NS);
    }
}

struct sim_world *sim_world_new(const struct sim_options *options) {
    struct sim_world *world = calloc(1, sizeof *world);
    if (world == NULL) {
        abort();
    }
    world->options = *options;
    world->net_random = sim_random_stream(options->seed, 1);
    world->fault_random = sim_random_stream(options->seed, 2);
    world->user_random = sim_random_stream(options->seed, 3);
    world->core_random = sim_random_stream(options->seed, 4);
    world->clock_random = sim_random_stream(options->seed, 5);
    world->past_random = sim_random_stream(options->seed, 7);
    world->fence_random = sim_random_stream(options->seed, 8);
    world->plain_random = sim_random_stream(options->seed, 15);
    world->permits = options->permits;
    world->kind_random = sim_random_stream(options->seed, 17);
    world->life_random = sim_random_stream(options->seed, 21);
    world->reachable = (1u << options->nodes) - 1;
    sim_check_start(world);
    for (uint32_t i = 0; i < options->nodes; i++) {
        start_clock(world, &world->nodes[i].clock, -1);
        sim_node_start(world, i);
    }
    sim_members_start(world);
    for (uint32_t i = 0; i < options->clients; i++) {
        start_clock(world, &world->clients[i].clock, 1);
        sim_machine_init(world, i);
        sim_process_start(&world->clients[i]);
    }
    sim_plain_start(world);
    sim_faults_start(world);
    return world;
}

static void free_event(struct sim_world *world, const struct sim_event *event) {
    if (event->kind == SIM_EV_DELIVER || event->kind == SIM_EV_REPLY) {
        sim_piece_free(world, event->what);
    } else if (event->kind == SIM_EV_FACT) {
        free(event->what);
    }
}

static void free_submitted(struct sim_world *world) {
    while (world->submitted != NULL) {
        struct sim_submitted *submitted = world->submitted;
        world->submitted = submitted->next;
        free(submitted);
    }
}

void sim_world_free(struct sim_world *world) {
    struct sim_event event;
    for (uint32_t i = 0; i < world->options.clients; i++) {
        sim_process_end(&world->clients[i]);
        sim_machine_free(&world->clients[i]);
    }
    while (sim_queue_take(&world->queue, &event)) {
        free_event(world, &event);
    }
    for (uint32_t i = 0; i < world->options.nodes; i++) {
        sim_node_free(world, i);
    }
    free_submitted(world);
    sim_net_free(world);
    free(world->queue.events);
    sim_check_free(world);
    free(world);
}
