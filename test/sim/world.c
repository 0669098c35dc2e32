/* See world.h. */
#include "sim/world.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/fault.h"
#include "sim/user.h"

#define SECOND_NS (UINT64_C(1000) * RL_NS_PER_MS)

/* -- Dispatch -- */

/* What happens at a client waits while the client is busy; what interrupts itself does not. */
static bool client_waits(struct sim_world *world, const struct sim_event *event) {
    const struct sim_client *client = &world->clients[event->client];
    bool is_continuation = event->kind == SIM_EV_TURN && client->in_turn;
    if (client->busy_until_ns <= world->now_ns && (!client->in_turn || is_continuation)) {
        return false;
    }
    struct sim_event later = *event;
    later.at_ns = client->busy_until_ns;
    assert(later.at_ns > world->now_ns);
    sim_queue_add(&world->queue, &later);
    return true;
}

static bool deliver(struct sim_world *world, const struct sim_event *event) {
    struct sim_message *message = event->what;
    const struct sim_conn *conn = message->conn;
    if (!sim_net_arrives(world, event)) {
        return false;
    }
    if (conn->is_closed && !conn->is_drained) {
        sim_message_free(world, message);
    } else {
        sim_node_receive(world, event->node, message);
    }
    return true;
}

static bool reply(struct sim_world *world, const struct sim_event *event) {
    struct sim_message *message = event->what;
    struct sim_link *link = &world->clients[event->client].links[event->node];
    if (!sim_net_arrives(world, event) || client_waits(world, event)) {
        return false;
    }
    if (link->conn == message->conn && !message->conn->is_swallowing) {
        sim_link_reply(link, message);
    }
    sim_message_free(world, message);
    return true;
}

static bool broken(struct sim_world *world, const struct sim_event *event) {
    struct sim_conn *conn = event->what;
    struct sim_link *link = &world->clients[event->client].links[event->node];
    if (client_waits(world, event)) {
        return false;
    }
    if (link->conn == conn) {
        sim_link_broken(link);
    }
    sim_conn_release(world, conn);
    return true;
}

static bool wake(struct sim_world *world, const struct sim_event *event) {
    struct sim_client *client = &world->clients[event->client];
    if (event->arg != client->wake_generation || client_waits(world, event)) {
        return false;
    }
    client->armed_ns = RL_NEVER;
    sim_loop_schedule(client);
    return true;
}

static bool turn(struct sim_world *world, const struct sim_event *event) {
    if (client_waits(world, event)) {
        return false;
    }
    sim_loop_turn(&world->clients[event->client]);
    return true;
}

static bool user(struct sim_world *world, const struct sim_event *event) {
    struct sim_lock *lock = &world->clients[event->client].locks[event->node];
    if (event->arg != lock->user_generation || client_waits(world, event)) {
        return false;
    }
    sim_user_acts(lock);
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

static bool story(struct sim_world *world, const struct sim_event *event) {
    world->story(world, event->arg);
    return true;
}

static bool (*const handlers[])(struct sim_world *, const struct sim_event *) = {
    [SIM_EV_DELIVER] = deliver, [SIM_EV_REPLY] = reply, [SIM_EV_BREAK] = broken,
    [SIM_EV_WAKE] = wake,       [SIM_EV_TURN] = turn,   [SIM_EV_USER] = user,
    [SIM_EV_NODE] = node,       [SIM_EV_FAULT] = fault, [SIM_EV_STORY] = story,
};

/* -- Phases -- */

uint64_t sim_world_bound_ns(const struct sim_world *world) {
    const struct sim_options *options = &world->options;
    uint64_t others_ns = options->ttl_max_ms * RL_NS_PER_MS / 50 * 51; /* their keys, clock slow */
    uint64_t late_ns = options->fault_ns + options->clog_ns;
    uint64_t notice_ns = 4 * options->node_timeout_ms * RL_NS_PER_MS;
    uint64_t connect_ns =
        (options->connect_timeout_ms + 2 * options->reconnect_max_ms) * RL_NS_PER_MS;
    uint64_t attempt_ns = (options->node_timeout_ms + 100) * RL_NS_PER_MS;
    uint64_t quarantine_ns = options->guard == RL_GUARD_OFF ? 0 : others_ns + late_ns;
    return others_ns + late_ns + notice_ns + connect_ns + quarantine_ns +
           20 * options->clients * attempt_ns;
}

static void begin_liveness(struct sim_world *world) {
    world->phase = SIM_LIVENESS;
    sim_trace(world,
              (struct sim_note){.kind = SIM_NOTE_HEAL, .client = SIM_NOBODY, .node = SIM_NOBODY});
    sim_faults_heal(world);
    world->until_ns = world->now_ns + sim_world_bound_ns(world);
    sim_user_probe(world);
}

static void begin_drain(struct sim_world *world) {
    const struct sim_options *options = &world->options;
    world->phase = SIM_DRAIN;
    world->until_ns =
        world->now_ns + sim_world_bound_ns(world) + SECOND_NS + options->ttl_max_ms * RL_NS_PER_MS;
}

/* Whether the history goes on. */
static bool phase_step(struct sim_world *world) {
    if (world->check.found != SIM_FINE) {
        world->phase = SIM_OVER;
    } else if (world->phase == SIM_SAFETY && world->stats.steps >= world->options.steps) {
        begin_liveness(world);
    } else if (world->phase == SIM_LIVENESS && world->now_ns > world->until_ns) {
        sim_check_fail(world, SIM_STUCK, "%u clients wait since %.3f ms", (unsigned)world->probing,
                       (double)sim_world_bound_ns(world) / 1e6);
        world->phase = SIM_OVER;
    } else if (world->phase == SIM_LIVENESS && world->probing == 0) {
        begin_drain(world);
    } else if (world->phase == SIM_DRAIN && world->now_ns > world->until_ns) {
        sim_check_over(world);
        world->phase = SIM_OVER;
    }
    return world->phase != SIM_OVER;
}

bool sim_world_step(struct sim_world *world) {
    struct sim_event event;
    bool happened = false;
    while (!happened) {
        if (!sim_queue_take(&world->queue, &event)) {
            return false;
        }
        assert(event.at_ns >= world->now_ns);
        if (world->phase == SIM_DRAIN && event.at_ns > world->until_ns) {
            world->now_ns = world->until_ns + 1;
            sim_queue_add(&world->queue, &event);
            break;
        }
        world->now_ns = event.at_ns;
        happened = handlers[event.kind](world, &event);
    }
    world->stats.steps++;
    world->stats.time_ns = world->now_ns;
    sim_check_step(world);
    return phase_step(world);
}

/* -- Life -- */

/* Half of the allowance for each side: a fast node loses the key early, a slow client goes on long.
 * */
static void start_clock(struct sim_world *world, struct sim_clock *clock, int64_t slower) {
    const struct sim_options *options = &world->options;
    struct sim_random *random = &world->clock_random;
    uint64_t half_ppm = (uint64_t)options->clock_drift_ppm / 2;
    *clock = (struct sim_clock){.base_local_ns =
                                    sim_between(random, 1000000 * SECOND_NS, 10000000 * SECOND_NS)};
    if (options->preset == SIM_STORY) {
        clock->base_local_ns = 1000000 * SECOND_NS;
    }
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
    world->reachable = rl_all_nodes(options->nodes);
    for (uint32_t i = 0; i < options->nodes; i++) {
        start_clock(world, &world->nodes[i].clock, -1);
        sim_node_start(world, i);
    }
    for (uint32_t i = 0; i < options->clients; i++) {
        start_clock(world, &world->clients[i].clock, 1);
        sim_client_start(world, i);
        for (uint32_t j = 0; j < options->locks; j++) {
            sim_user_start(&world->clients[i].locks[j]);
        }
    }
    sim_faults_start(world);
    return world;
}

static void free_event(struct sim_world *world, const struct sim_event *event) {
    if (event->kind == SIM_EV_DELIVER || event->kind == SIM_EV_REPLY) {
        sim_message_free(world, event->what);
    } else if (event->kind == SIM_EV_BREAK) {
        sim_conn_release(world, event->what);
    }
}

void sim_world_free(struct sim_world *world) {
    struct sim_event event;
    while (sim_queue_take(&world->queue, &event)) {
        free_event(world, &event);
    }
    for (uint32_t i = 0; i < world->options.nodes; i++) {
        sim_node_free(world, i);
    }
    for (uint32_t i = 0; i < world->options.clients; i++) {
        sim_votes_free(&world->clients[i]);
        for (uint32_t j = 0; j < world->options.nodes; j++) {
            if (world->clients[i].links[j].conn != NULL) {
                sim_conn_release(world, world->clients[i].links[j].conn);
            }
        }
    }
    sim_net_free(world);
    free(world->queue.events);
    sim_check_fences_free(world);
    free(world->check.tokens);
    free(world);
}
