/* One loop turn of a client, as lib/loop.c: deadlines, on_lost, callbacks, flush, timer. No time
 * passes in a turn, so losses need not go first.
 *
 * Before every callback the deadlines that have passed are stepped and on_lost callbacks run. A
 * callback that blocks the loop ends this call; the turn goes on in a SIM_EV_TURN of its own when
 * the block ends.
 */
#include <assert.h>

#include "core/first.h"
#include "sim/client.h"
#include "sim/world.h"

enum tag { TAG_LOCK, TAG_NODE };

uint64_t sim_client_now(struct sim_client *client) {
    uint64_t now_ns = sim_clock_read(&client->clock, client->world->now_ns);
    if (now_ns > client->last_now_ns) {
        client->last_now_ns = now_ns;
    }
    return client->last_now_ns;
}

/* -- The queues -- */

void sim_loop_queue_done(struct sim_lock *lock) {
    struct sim_queue_of_locks *queue = &lock->client->done;
    if (lock->is_done_queue) {
        return;
    }
    lock->is_done_queue = true;
    lock->next_done = NULL;
    if (queue->tail != NULL) {
        queue->tail->next_done = lock;
    } else {
        queue->head = lock;
    }
    queue->tail = lock;
}

void sim_loop_queue_lost(struct sim_lock *lock) {
    struct sim_queue_of_locks *queue = &lock->client->lost;
    if (lock->is_lost_queue) {
        return;
    }
    lock->is_lost_queue = true;
    lock->next_lost = NULL;
    if (queue->tail != NULL) {
        queue->tail->next_lost = lock;
    } else {
        queue->head = lock;
    }
    queue->tail = lock;
}

static struct sim_lock *take_done(struct sim_client *client) {
    struct sim_lock *lock = client->done.head;
    if (lock != NULL) {
        client->done.head = lock->next_done;
        client->done.tail = client->done.head == NULL ? NULL : client->done.tail;
        lock->is_done_queue = false;
    }
    return lock;
}

static struct sim_lock *take_lost(struct sim_client *client) {
    struct sim_lock *lock = client->lost.head;
    if (lock != NULL) {
        client->lost.head = lock->next_lost;
        client->lost.tail = client->lost.head == NULL ? NULL : client->lost.tail;
        lock->is_lost_queue = false;
    }
    return lock;
}

/* -- The parts of a turn -- */

static bool is_blocked(const struct sim_client *client) {
    return client->busy_until_ns > client->world->now_ns;
}

static void tick_item(struct rl_deadline *item) {
    if (item->tag == TAG_LOCK) {
        char *lock = (char *)item - offsetof(struct sim_lock, deadline);
        sim_votes_simple((struct sim_lock *)(void *)lock, RL_EV_TICK);
    } else {
        char *link = (char *)item - offsetof(struct sim_link, deadline);
        sim_link_tick((struct sim_link *)(void *)link);
    }
}

/* What is due by now, and each loss as soon as it is found. False if an on_lost blocked the loop:
 * no other callback takes time, so one pass does. */
static bool run_lost(struct sim_client *client) {
    uint64_t now_ns = sim_client_now(client);
    while (!is_blocked(client)) {
        struct sim_lock *lock = take_lost(client);
        struct rl_deadline *item = rl_deadlines_first(&client->deadlines);
        if (lock != NULL) {
            sim_lock_tell_lost(lock);
        } else if (item != NULL && item->at_ns <= now_ns) {
            tick_item(item);
            assert(item->slot == RL_DEADLINE_UNSET || item->at_ns > now_ns);
        } else {
            return true;
        }
    }
    return false;
}

/* Those that were queued when the turn began to tell. False if a callback blocked the loop. */
static bool run_done(struct sim_client *client) {
    if (!client->in_callbacks) {
        client->in_callbacks = true;
        client->turn_last = client->done.tail;
    }
    while (client->turn_last != NULL) {
        if (!run_lost(client)) {
            return false;
        }
        struct sim_lock *lock = take_done(client);
        if (lock == client->turn_last) {
            client->turn_last = NULL;
        }
        sim_lock_tell(lock);
        if (is_blocked(client)) {
            return false;
        }
    }
    return true;
}

static void flush(struct sim_client *client) {
    for (uint32_t i = 0; i < client->rules.n; i++) {
        if (client->dirty & UINT32_C(1) << i && client->links[i].conn != NULL) {
            sim_link_flush(&client->links[i]);
        }
    }
    client->dirty = 0;
}

/* libuv counts milliseconds: a timer is up to one late, or a little early. */
static void arm(struct sim_client *client) {
    struct sim_world *world = client->world;
    const struct rl_deadline *first = rl_deadlines_first(&client->deadlines);
    if (first == NULL || first->at_ns >= client->armed_ns) {
        return;
    }
    uint64_t at_ns = sim_clock_when(&client->clock, first->at_ns);
    at_ns = at_ns < world->now_ns ? world->now_ns : at_ns;
    uint64_t lag_ns = sim_between(&world->user_random, 0, world->options.timer_lag_ns);
    bool early = world->options.timer_lag_ns > 0 && sim_chance(&world->user_random, 10);
    if (early && at_ns > world->now_ns + lag_ns) {
        at_ns -= lag_ns;
    } else {
        at_ns += lag_ns;
    }
    struct sim_event event = {.at_ns = at_ns,
                              .kind = SIM_EV_WAKE,
                              .client = client->index,
                              .arg = ++client->wake_generation};
    client->armed_ns = first->at_ns;
    sim_queue_add(&world->queue, &event);
}

static void schedule_at(struct sim_client *client, uint64_t at_ns, bool first) {
    struct sim_event event = {.at_ns = at_ns, .kind = SIM_EV_TURN, .client = client->index};
    client->is_turn_scheduled = true;
    if (first) {
        sim_queue_add_first(&client->world->queue, &event);
    } else {
        sim_queue_add(&client->world->queue, &event);
    }
}

void sim_loop_schedule(struct sim_client *client) {
    struct sim_world *world = client->world;
    if (!client->is_turn_scheduled && !client->in_turn) {
        uint64_t lag_ns = sim_between(&world->user_random, 0, world->options.loop_lag_ns);
        schedule_at(client, world->now_ns + lag_ns, false);
    }
}

void sim_loop_turn(struct sim_client *client) {
    client->is_turn_scheduled = false;
    client->in_turn = true;
    if (!run_lost(client) || !run_done(client)) {
        schedule_at(client, client->busy_until_ns, true);
        return;
    }
    client->in_callbacks = false;
    flush(client);
    client->in_turn = false;
    if (client->done.head != NULL || client->lost.head != NULL) {
        sim_loop_schedule(client);
    }
    arm(client);
}

void sim_loop_busy(struct sim_client *client, uint64_t until_ns) {
    if (until_ns > client->busy_until_ns) {
        client->busy_until_ns = until_ns;
        sim_check_busy(client, until_ns);
    }
}

/* -- Life -- */

static void start_locks(struct sim_client *client) {
    struct sim_world *world = client->world;
    for (uint32_t i = 0; i < world->options.locks; i++) {
        struct sim_lock *lock = &client->locks[i];
        lock->client = client;
        lock->index = (uint8_t)i;
        lock->resource = (uint8_t)((client->index + i) % world->options.resources);
        rl_lock_init(&lock->core, &client->rules, lock->ballots, SIM_REASON_TIMEOUT,
                     rl_first_hash(&lock->resource, sizeof lock->resource));
        rl_deadline_init(&lock->deadline, TAG_LOCK);
    }
}

void sim_client_start(struct sim_world *world, uint32_t index) {
    struct sim_client *client = &world->clients[index];
    const struct sim_options *options = &world->options;
    client->world = world;
    client->index = (uint8_t)index;
    client->armed_ns = RL_NEVER;
    client->rules = (struct rl_rules){.n = options->nodes,
                                      .drift_ppm = options->drift_ppm,
                                      .drift_ns = options->drift_ms * RL_NS_PER_MS,
                                      .node_timeout_ns = options->node_timeout_ms * RL_NS_PER_MS,
                                      .lost_margin_ns = options->lost_margin_ms * RL_NS_PER_MS,
                                      .not_asked_reason = SIM_REASON_NOT_ASKED,
                                      .node_hashes = client->node_hashes};
    client->guard_rules =
        (struct rl_guard_rules){.mode = options->guard,
                                .quarantine_ns = options->max_ttl_ms * RL_NS_PER_MS +
                                                 rl_drift_ns(&client->rules, options->max_ttl_ms)};
    rl_deadlines_reserve(&client->deadlines, client->items, SIM_LOCKS_MAX + SIM_NODES_MAX);
    start_locks(client);
    for (uint32_t i = 0; i < options->nodes; i++) {
        struct sim_link *link = &client->links[i];
        link->client = client;
        link->node = (uint8_t)i;
        link->tail = &link->head;
        link->deadline_ns = RL_NEVER;
        client->reasons[i] = SIM_REASON_DOWN;
        client->node_hashes[i] = rl_first_hash(&link->node, sizeof link->node);
        rl_guard_init(&link->guard);
        rl_owed_init(&link->owed, options->owed_max);
        rl_deadline_init(&link->deadline, TAG_NODE);
        sim_link_start(link);
    }
    sim_loop_schedule(client);
}
