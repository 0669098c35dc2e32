/* See client.h: the world of base/world.h, with a seed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/fault.h"
#include "sim/world.h"

static struct sim_client *client_of(const struct rl_world *world) {
    return (struct sim_client *)(void *)(uintptr_t)world;
}

/* -- Time -- */

uint64_t sim_client_now(struct sim_client *client) {
    uint64_t at_ns = client->is_inside ? client->at_ns : client->sim->now_ns;
    uint64_t now_ns = sim_clock_read(&client->clock, at_ns);
    if (now_ns > client->last_now_ns) {
        client->last_now_ns = now_ns;
    }
    return client->last_now_ns;
}

static uint64_t now_ns(struct rl_world *world) {
    struct sim_client *client = client_of(world);
    if (client->is_inside) {
        sim_fault_looks(client);
    }
    return sim_client_now(client);
}

static uint64_t wall_us(struct rl_world *world) {
    uint64_t us = sim_fault_wall_us(client_of(world));
    return us > 0 ? us : 1;
}

static uint64_t heard_ns(struct rl_world *world) {
    return client_of(world)->heard_ns;
}

static bool random_bytes(struct rl_world *world, void *bytes, size_t length) {
    struct sim_client *client = client_of(world);
    unsigned char *out = bytes;
    if (sim_fault_no_random(client)) {
        return false;
    }
    for (size_t i = 0; i < length; i += 8) {
        uint64_t number = sim_random(&client->sim->core_random);
        memcpy(out + i, &number, length - i < 8 ? length - i : 8);
    }
    return true;
}

/* -- Inside the library -- */

void sim_client_enter(struct sim_client *client) {
    assert(!client->is_inside);
    assert(client->busy_until_ns <= client->sim->now_ns);
    client->at_ns = client->sim->now_ns;
    client->is_inside = true;
}

void sim_client_leave(struct sim_client *client) {
    sim_process_look(client);
    client->stopped_ns = 0;
    client->is_inside = false;
    if (client->at_ns > client->sim->now_ns) {
        client->busy_until_ns = client->at_ns;
    }
}

void sim_client_block(struct sim_client *client, uint64_t for_ns) {
    assert(client->is_inside);
    sim_process_look(client);
    client->at_ns += for_ns;
    sim_check_busy(client, client->at_ns);
}

void sim_client_busy(struct sim_client *client, uint64_t until_ns) {
    if (until_ns > client->busy_until_ns) {
        client->busy_until_ns = until_ns;
        sim_check_busy(client, until_ns);
    }
}

/* When it is no longer busy, in order of arrival. */
bool sim_client_waits(struct sim_world *world, const struct sim_event *event) {
    const struct sim_client *client = &world->clients[event->client];
    if (client->busy_until_ns <= world->now_ns) {
        return false;
    }
    struct sim_event later = *event;
    later.at_ns = client->busy_until_ns;
    if (event->kind == SIM_EV_TURN) {
        later.at_ns++; /* after everything that has arrived by then */
        later.order = 0;
    }
    sim_queue_add(&world->queue, &later);
    return true;
}

/* -- The turn -- */

void sim_client_schedule_turn(struct sim_client *client) {
    struct sim_world *world = client->sim;
    if (client->is_turn_scheduled || client->in_turn || client->world_closed) {
        return;
    }
    uint64_t since_ns = client->is_inside ? client->at_ns : world->now_ns;
    uint64_t lag_ns = world->options.loop_lag_ns > 0
                          ? sim_between(&world->user_random, 0, world->options.loop_lag_ns)
                          : 0;
    struct sim_event event = {.at_ns = since_ns + lag_ns,
                              .kind = SIM_EV_TURN,
                              .client = client->index,
                              .arg = client->generation};
    client->is_turn_scheduled = true;
    sim_queue_add(&world->queue, &event);
}

/* A loop that was blocked in its turn first does what was submitted, and reports losses that are
 * due before it reads what has arrived meanwhile. */
static void before_poll(struct sim_client *client) {
    const struct rl_world_events *events = client->world.events;
    bool was_blocked = client->at_ns > client->sim->now_ns;
    if (client->is_woken && was_blocked) {
        client->is_woken = false;
        events->turn(client->world.owner);
    }
    if (!client->is_woken && !client->world_closed) {
        events->before_wait(client->world.owner);
    }
}

bool sim_client_turn(struct sim_world *world, const struct sim_event *event) {
    struct sim_client *client = &world->clients[event->client];
    if (event->arg != client->generation) {
        return false;
    }
    if (sim_client_waits(world, event)) {
        return false;
    }
    client->is_turn_scheduled = false;
    sim_client_enter(client);
    client->heard_ns = sim_client_now(client);
    client->in_turn = true;
    client->is_woken = false;
    client->world.events->turn(client->world.owner);
    if (!client->world_closed) {
        before_poll(client);
    }
    client->in_turn = false;
    if (client->is_woken) {
        sim_client_schedule_turn(client);
    }
    sim_client_leave(client);
    return true;
}

static void wake(struct rl_world *world) {
    struct sim_client *client = client_of(world);
    client->is_woken = true;
    sim_client_schedule_turn(client);
}

/* -- The timer: late by up to the timer's lag -- */

static void schedule_wake(struct sim_client *client) {
    struct sim_world *world = client->sim;
    uint64_t since_ns = client->is_inside ? client->at_ns : world->now_ns;
    uint64_t at_ns = sim_clock_when(&client->clock, client->armed_ns);
    at_ns = at_ns < since_ns ? since_ns : at_ns;
    if (at_ns == RL_NEVER || at_ns >= client->wake_ns) {
        return; /* it is checked again when the earlier one fires */
    }
    client->wake_ns = at_ns;
    uint64_t lag_ns = world->options.timer_lag_ns > 0
                          ? sim_between(&world->user_random, 0, world->options.timer_lag_ns)
                          : 0;
    struct sim_event event = {.at_ns = at_ns + lag_ns,
                              .kind = SIM_EV_WAKE,
                              .client = client->index,
                              .arg = ++client->wake_number};
    sim_queue_add(&world->queue, &event);
}

static void arm(struct rl_world *world, uint64_t at_ns) {
    struct sim_client *client = client_of(world);
    client->armed_ns = at_ns;
    if (at_ns != RL_NEVER) {
        schedule_wake(client);
    }
}

bool sim_client_wake(struct sim_world *world, const struct sim_event *event) {
    struct sim_client *client = &world->clients[event->client];
    if (event->arg != client->wake_number || sim_client_waits(world, event)) {
        return false;
    }
    client->wake_ns = RL_NEVER;
    if (client->armed_ns == RL_NEVER || client->world_closed) {
        return false;
    }
    if (sim_client_now(client) < client->armed_ns) {
        schedule_wake(client); /* it was put off */
        return false;
    }
    client->armed_ns = RL_NEVER;
    sim_client_schedule_turn(client);
    return true;
}

/* -- The end -- */

static bool is_forked(const struct rl_world *world) {
    (void)world;
    return false;
}

static void abandon(struct rl_world *world) {
    struct sim_client *client = client_of(world);
    sim_check_fail(client->sim, SIM_SEAM, "c%u abandons its world", client->index + 1u);
}

static void close_world(struct rl_world *table) {
    struct sim_client *client = client_of(table);
    struct sim_world *world = client->sim;
    if (client->conns != NULL || client->lookups_open > 0 || client->world_closed) {
        sim_check_fail(world, SIM_SEAM, "c%u closes its world while a stream or name is open",
                       client->index + 1u);
    }
    client->world_closed = true;
    client->armed_ns = RL_NEVER;
    struct sim_event event = {.at_ns = client->at_ns + sim_between(&world->net_random, 0, 100000),
                              .kind = SIM_EV_CLOSED,
                              .client = client->index};
    sim_queue_add(&world->queue, &event);
}

bool sim_client_closed(struct sim_world *world, const struct sim_event *event) {
    struct sim_client *client = &world->clients[event->client];
    if (sim_client_waits(world, event)) {
        return false;
    }
    sim_client_enter(client);
    client->world.events->closed(client->world.owner);
    sim_client_leave(client);
    client->generation++;
    client->is_turn_scheduled = false;
    sim_process_closed(client);
    return true;
}

void sim_client_open_in(struct sim_client *client, uint64_t after_ns) {
    struct sim_event event = {.at_ns = client->sim->now_ns + after_ns,
                              .kind = SIM_EV_OPEN,
                              .client = client->index,
                              .arg = client->generation};
    client->is_between = true;
    sim_queue_add(&client->sim->queue, &event);
}

static const struct rl_world_ops ops = {
    .now_ns = now_ns,
    .wall_us = wall_us,
    .heard_ns = heard_ns,
    .random = random_bytes,
    .arm = arm,
    .wake = wake,
    .dial = sim_machine_dial,
    .resolve = sim_machine_resolve,
    .forget = sim_machine_forget,
    .is_forked = is_forked,
    .abandon = abandon,
    .close = close_world,
};

void sim_machine_init(struct sim_world *world, uint32_t index) {
    struct sim_client *client = &world->clients[index];
    client->world.ops = &ops;
    client->sim = world;
    client->index = (uint8_t)index;
    client->wake_ns = client->armed_ns = RL_NEVER;
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        client->users[i].client = client;
        client->users[i].index = (uint8_t)i;
    }
}

void sim_machine_free(struct sim_client *client) {
    while (client->lookups != NULL) {
        struct sim_lookup *lookup = client->lookups;
        client->lookups = lookup->next;
        free(lookup);
    }
}
