/* A process's client of the library: opened on the simulated world, closed with pending operations,
 * opened again. Events of its trace hook and values of its getters become facts for the checker. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/options.h"
#include "client/state.h"
#include "sim/client.h"
#include "sim/fault.h"
#include "sim/spans.h"
#include "sim/world.h"

/* -- Memory: counted -- */

static void *allocate(size_t size, void *data) {
    struct sim_client *client = data;
    void *memory = malloc(size);
    if (memory == NULL) {
        abort();
    }
    client->allocated++;
    return memory;
}

static void release(void *memory, void *data) {
    struct sim_client *client = data;
    client->allocated -= memory != NULL;
    free(memory);
}

/* -- The trace hook -- */

static struct sim_user *user_of(struct sim_client *client, const redlock_lock *lock) {
    for (uint32_t i = 0; lock != NULL && i < client->sim->options.locks; i++) {
        if (client->users[i].lock == lock) {
            return &client->users[i];
        }
    }
    return NULL;
}

/* "n3:6379", "10.0.0.3:6379" */
static uint8_t node_of(const char *name) {
    const char *colon = name != NULL ? strchr(name, ':') : NULL;
    return colon != NULL ? (uint8_t)(colon[-1] - '1') : SIM_NOBODY;
}

bool sim_process_node(const struct sim_client *client, uint32_t node, redlock_node_info *info) {
    for (size_t i = 0; redlock_client_node(client->redlock, i, info) == 0; i++) {
        if (node_of(info->node) == node) {
            return true;
        }
    }
    return false;
}

static void tell(struct sim_client *client, struct sim_fact fact) {
    sim_check_tell(client, &fact);
}

static void note(struct sim_client *client, const redlock_event *event, struct sim_note note) {
    const struct sim_user *user = user_of(client, event->lock);
    note.client = client->index;
    note.lock = user != NULL ? user->index : SIM_LOCKS_MAX;
    note.node = node_of(event->node);
    sim_trace(client->sim, note);
}

static void sends(struct sim_client *client, const redlock_event *event, uint32_t token) {
    static const uint8_t commands[] = {
        [REDLOCK_EVENT_ATTEMPT] = SIM_SET,     [REDLOCK_EVENT_EXTEND] = SIM_EXTEND,
        [REDLOCK_EVENT_RELEASE] = SIM_RELEASE, [REDLOCK_EVENT_REPAIR] = SIM_SET,
        [REDLOCK_EVENT_FENCE] = SIM_RAISE,     [REDLOCK_EVENT_TAKE] = SIM_TAKE,
        [REDLOCK_EVENT_UPGRADE] = SIM_UPGRADE};
    struct sim_user *user = user_of(client, event->lock);
    struct sim_stats *stats = &client->sim->stats;
    uint8_t kind = SIM_FACT_SENT;
    if (user != NULL && event->type != REDLOCK_EVENT_FENCE) { /* an extension converts back */
        user->upgrades = event->type == REDLOCK_EVENT_UPGRADE;
        user->late = event->type == REDLOCK_EVENT_EXTEND ? 0 : user->late;
    }
    if (event->type == REDLOCK_EVENT_ATTEMPT || event->type == REDLOCK_EVENT_TAKE) {
        kind = SIM_FACT_ATTEMPT;
        if (user != NULL) {
            sim_check_line_attempt(client->sim, user);
            sim_calls_attempt(user);
        }
        if (user != NULL && user->token != token) {
            if (user->token != 0 && user->depth == 0) { /* the attempt before */
                tell(client, (struct sim_fact){.kind = SIM_FACT_GIVEN_UP, .token = user->token});
            }
            user->token = token;
        }
        stats->attempts++;
    } else if (event->type == REDLOCK_EVENT_RELEASE) {
        kind = SIM_FACT_GIVEN_UP;
    } else {
        stats->repairs += event->type == REDLOCK_EVENT_REPAIR;
        stats->raised += event->type == REDLOCK_EVENT_FENCE;
    }
    tell(client, (struct sim_fact){.kind = kind,
                                   .token = token,
                                   .arg = event->type == REDLOCK_EVENT_EXTEND ||
                                          event->type == REDLOCK_EVENT_RELEASE});
    bool repairs = event->type == REDLOCK_EVENT_REPAIR;
    bool asks = event->type == REDLOCK_EVENT_ATTEMPT || event->type == REDLOCK_EVENT_TAKE;
    bool shares = asks && user != NULL && user->reads;
    note(client, event,
         (struct sim_note){.kind = repairs ? SIM_NOTE_REPAIR : SIM_NOTE_SEND,
                           .token = token,
                           .a = shares ? SIM_SHARE : commands[event->type]});
}

/* An extension that converts the hold to a reader's may run late if its connection broke: that
 * node's answer to an upgrade is no vote. (An extension sent while another was pending converts
 * nothing.) */
static void check_upgrade(struct sim_client *client, const redlock_event *event) {
    struct sim_user *user = user_of(client, event->lock);
    const uint8_t node = node_of(event->node);
    if (user == NULL || node >= SIM_NODES_MAX) {
        return;
    }
    if (event->type == REDLOCK_EVENT_LATE_VOTE) {
        user->late |= (uint8_t)(1u << node);
        return;
    }
    if (user->downgraded && event->status == REDLOCK_ERR_NODE_DISCONNECTED) {
        user->owes |= (uint8_t)(1u << node & ~(unsigned)user->late);
    }
    if (user->upgrades && event->status == 0 && user->owes >> node & 1) {
        sim_check_fail(client->sim, SIM_VALIDITY,
                       "c%u counts n%u, which may make it a reader later, to an upgrade",
                       client->index + 1u, node + 1u);
    }
}

static void votes(struct sim_client *client, const redlock_event *event, uint32_t token) {
    bool late = event->type == REDLOCK_EVENT_LATE_VOTE;
    check_upgrade(client, event);
    client->sim->stats.late_votes += late;
    note(client, event,
         (struct sim_note){
             .kind = SIM_NOTE_VOTE, .token = token, .a = late, .b = (uint32_t)-event->status});
    if (event->status == 0 && !late) {
        sim_fault_at_grant(client);
    }
}

static void knows_node(struct sim_client *client, const redlock_event *event, uint32_t token) {
    static const uint8_t facts[] = {[REDLOCK_EVENT_NODE_UP] = SIM_FACT_UP,
                                    [REDLOCK_EVENT_NODE_DOWN] = SIM_FACT_DOWN,
                                    [REDLOCK_EVENT_RELEASE_DROPPED] = SIM_FACT_DROPPED};
    static const uint8_t notes[] = {[REDLOCK_EVENT_NODE_UP] = SIM_NOTE_UP,
                                    [REDLOCK_EVENT_NODE_DOWN] = SIM_NOTE_DOWN,
                                    [REDLOCK_EVENT_RELEASE_DROPPED] = SIM_NOTE_DROPPED};
    if (event->type == REDLOCK_EVENT_RELEASE_DROPPED) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        client->sim->stats.dropped++;
        if (sim_process_node(client, node_of(event->node), &info) &&
            info.pending_releases < client->sim->options.owed_max) {
            return; /* since its key must be gone: the checker knows better */
        }
    }
    tell(client, (struct sim_fact){
                     .kind = facts[event->type], .node = node_of(event->node), .token = token});
    note(client, event, (struct sim_note){.kind = notes[event->type], .token = token});
}

static void traced(const redlock_event *event, void *data) {
    struct sim_client *client = data;
    struct sim_stats *stats = &client->sim->stats;
    uint32_t token = 0;
    if (event->token != NULL) {
        token = sim_check_token(client->sim, event->token);
    } else if (event->lock != NULL) {
        token = sim_check_token(client->sim, redlock_lock_token(event->lock));
    }
    sim_spans_traced(client, event);
    switch (event->type) {
        case REDLOCK_EVENT_NODE_UP:
        case REDLOCK_EVENT_NODE_DOWN:
        case REDLOCK_EVENT_RELEASE_DROPPED:
            knows_node(client, event, token);
            break;
        case REDLOCK_EVENT_ATTEMPT:
        case REDLOCK_EVENT_TAKE:
        case REDLOCK_EVENT_EXTEND:
        case REDLOCK_EVENT_RELEASE:
        case REDLOCK_EVENT_REPAIR:
        case REDLOCK_EVENT_FENCE:
        case REDLOCK_EVENT_UPGRADE:
            sends(client, event, token);
            break;
        case REDLOCK_EVENT_VOTE:
        case REDLOCK_EVENT_LATE_VOTE:
            votes(client, event, token);
            break;
        case REDLOCK_EVENT_RELEASE_PENDING:
            stats->owed++;
            note(client, event, (struct sim_note){.kind = SIM_NOTE_OWED, .token = token});
            break;
        case REDLOCK_EVENT_RELEASE_RETRIED:
            stats->repaid++;
            note(client, event, (struct sim_note){.kind = SIM_NOTE_REPAID, .token = token});
            break;
        case REDLOCK_EVENT_RELEASE_NOTIFIED:
            stats->notified++;
            break;
        case REDLOCK_EVENT_NODE_QUARANTINED:
            stats->quarantines++;
            note(client, event, (struct sim_note){.kind = SIM_NOTE_QUARANTINE});
            break;
        case REDLOCK_EVENT_NODE_VOTES:
            note(client, event, (struct sim_note){.kind = SIM_NOTE_VOTES_AGAIN});
            break;
        case REDLOCK_EVENT_ACQUIRED:
        case REDLOCK_EVENT_DONE:
        case REDLOCK_EVENT_LOST:
        case REDLOCK_EVENT_JOIN:
        case REDLOCK_EVENT_TURN:
        case REDLOCK_EVENT_LEAVE:
        case REDLOCK_EVENT_LISTEN_UP:
        case REDLOCK_EVENT_LISTEN_DOWN:
        case REDLOCK_EVENT_CREDENTIALS_ACCEPTED:
        case REDLOCK_EVENT_CREDENTIALS_REFUSED:
        case REDLOCK_EVENT_SUBMITTED: /* sim/spans.h */
        case REDLOCK_EVENT_WAITING:
        case REDLOCK_EVENT_PAUSE:
        case REDLOCK_EVENT_PLACE:
        case REDLOCK_EVENT_FAILED:
        case REDLOCK_EVENT_RELEASED:
            break;
    }
}

/* -- The getters -- */

/* A decision made before the process was stopped inside the library shows afterwards. */
void sim_process_look(struct sim_client *client) {
    uint64_t now_ns = client->stopped_ns != 0 ? client->stopped_ns : sim_client_now(client);
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        struct sim_user *user = &client->users[i];
        if (user->depth == 0) {
            continue;
        }
        uint64_t until_ns, rounding_ns = 0, fence;
        if (i < SIM_LOCKS_MAX) {
            until_ns = redlock_lock_valid_until_ns(user->lock);
            fence = redlock_lock_fence(user->lock);
        } else {
            until_ns =
                redlock_election_remaining_ms(user->election) > 0 ? sim_elect_until_ns(user) : 0;
            rounding_ns = RL_NS_PER_MS;
            fence = redlock_election_fence(user->election);
        }
        bool same =
            until_ns <= user->until_ns + rounding_ns && user->until_ns <= until_ns + rounding_ns;
        if (until_ns == 0 && user->until_ns != 0) {
            user->until_ns = 0;
            tell(client,
                 (struct sim_fact){.kind = SIM_FACT_OVER, .slot = (uint8_t)i, .now_ns = now_ns});
        } else if (until_ns != 0 && !same) {
            user->until_ns = until_ns;
            tell(client, (struct sim_fact){.kind = SIM_FACT_UNTIL,
                                           .slot = (uint8_t)i,
                                           .until_ns = until_ns,
                                           .now_ns = now_ns,
                                           .fence = fence});
        }
    }
}

/* -- Opening and closing -- */

/* Small limits make a node too busy for a request, or drop pending releases. These constants of the
 * library are all that the simulator changes behind its interface. */
static void set_limits(redlock_client *redlock, const struct sim_options *options) {
    redlock->node_options.requests_max = options->requests_max;
    redlock->node_options.unsent_max = options->unsent_max;
    for (uint32_t n = 0; n < redlock->n_nodes; n++) {
        redlock->nodes[n]->pending_releases.max = options->owed_max;
    }
}

static void on_open(redlock_client *redlock, int status, void *data) {
    struct sim_client *client = data;
    (void)redlock;
    if (client->opened || client->state == SIM_CLIENT_GONE ||
        (status == REDLOCK_ERR_CANCELED) != (client->state == SIM_CLIENT_CLOSING)) {
        sim_check_fail(client->sim, SIM_ONCE, "c%u: on_open came twice, or with %d",
                       client->index + 1u, status);
    }
    client->opened = true;
}

static void set_options(struct sim_client *client, redlock_client_options *o,
                        const char *urls[SIM_NODES_MAX], char texts[SIM_NODES_MAX][32]) {
    const struct sim_options *options = &client->sim->options;
    const uint32_t nodes = sim_members_begin(client->sim);
    for (uint32_t n = 0; n < options->nodes; n++) {
        snprintf(texts[n], sizeof texts[n],
                 client->knows_names ? "redis://n%u:6379" : "redis://10.0.0.%u:6379",
                 (unsigned)n + 1);
        if (nodes >> n & 1) {
            urls[o->n_nodes++] = texts[n];
        }
    }
    o->nodes = urls;
    o->connect_timeout_ms = options->connect_timeout_ms;
    o->node_timeout_ms = options->node_timeout_ms;
    o->reconnect_min_ms = options->reconnect_min_ms;
    o->reconnect_max_ms = options->reconnect_max_ms;
    o->drift_ratio = options->drift_ppm / 1e6;
    o->drift_ms = options->drift_ms;
    o->lost_margin_ms = options->lost_margin_ms;
    o->trace = traced;
    o->trace_data = client;
    o->metrics = 1;
    o->fence_retention_ms = options->retention_ms;
    o->guard = (enum redlock_guard)options->guard;
    o->max_ttl_ms = sim_world_max_ttl_ms(client->sim, client->index);
}

void sim_process_start(struct sim_client *client) {
    char texts[SIM_NODES_MAX][32], error[REDLOCK_MESSAGE_MAX] = "";
    const char *urls[SIM_NODES_MAX];
    redlock_allocator allocator = {allocate, release, client};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT, full;
    struct sim_world *world = client->sim;
    client->world_closed = client->opened = client->is_between = false;
    client->armed_ns = client->wake_ns = RL_NEVER;
    client->may_call = false;
    client->knows_names = world->options.names_percent > 0 &&
                          sim_chance(&world->past_random, world->options.names_percent);
    set_options(client, &options, urls, texts);
    options.allocator = &allocator;
    options.error = error;
    options.error_size = sizeof error;
    sim_client_enter(client);
    client->heard_ns = sim_client_now(client);
    int status = rl_options_client(&full, &options);
    if (status == 0) {
        status = rl_client_open(&client->redlock, &client->world, &full, on_open, client);
    }
    if (status == REDLOCK_ERR_SYSTEM) { /* no random bytes: later */
        client->is_inside = false;
        sim_client_open_in(client, RL_NS_PER_MS);
        return;
    }
    if (status != 0) {
        fprintf(stderr, "c%u cannot open: %s\n", client->index + 1u, error);
        abort();
    }
    set_limits(client->redlock, &world->options);
    client->may_call = true;
    client->state = SIM_CLIENT_OPEN;
    for (uint32_t i = 0; i < world->options.locks; i++) {
        sim_user_start(&client->users[i]);
    }
    for (uint32_t i = 0; i < world->options.elections; i++) {
        sim_user_start(&client->users[SIM_LOCKS_MAX + i]);
    }
    sim_client_leave(client);
    sim_client_schedule_turn(client);
}

static void on_close(redlock_client *redlock, int status, void *data) {
    struct sim_client *client = data;
    (void)redlock;
    if (client->state != SIM_CLIENT_CLOSING || client->pending > 0 || !client->opened ||
        status != 0) {
        sim_check_fail(client->sim, SIM_ONCE,
                       "c%u has closed, and %u operations were not told (or on_open: %d)",
                       client->index + 1u, (unsigned)client->pending, client->opened);
    }
    sim_spans_end(client);
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        sim_user_gone(&client->users[i]);
    }
    tell(client, (struct sim_fact){.kind = SIM_FACT_GONE});
    client->state = SIM_CLIENT_GONE;
}

void sim_process_close(struct sim_client *client, bool comes_again) {
    struct sim_world *world = client->sim;
    sim_check_closes(world, client->index);
    sim_client_enter(client);
    for (uint32_t i = 0; i < SIM_SLOTS_MAX; i++) {
        struct sim_user *user = &client->users[i];
        if (user->depth > 0) {
            tell(client, (struct sim_fact){.kind = SIM_FACT_LET_GO, .slot = (uint8_t)i});
        }
        user->depth = 0;
        user->generation++;
    }
    client->state = SIM_CLIENT_CLOSING;
    client->comes_again = comes_again;
    client->may_call = false;
    redlock_client_close(client->redlock, on_close, client);
    client->may_call = true;
    sim_client_leave(client);
    sim_client_schedule_turn(client);
}

void sim_process_closed(struct sim_client *client) {
    struct sim_world *world = client->sim;
    if (client->state != SIM_CLIENT_GONE || client->allocated > 0) {
        sim_check_fail(world, SIM_LEFTOVER, "c%u has closed and left %u blocks of memory",
                       client->index + 1u, (unsigned)client->allocated);
    }
    world->stats.closed++;
    if (client->comes_again) {
        sim_client_open_in(client, sim_skewed(&world->user_random, 0, 500 * RL_NS_PER_MS));
    }
}

/* Its turns run as long as necessary; the checker's verdict on that is ignored. */
void sim_process_end(struct sim_client *client) {
    struct sim_world *world = client->sim;
    world->check.only = SIM_VIOLATIONS;
    if (client->state == SIM_CLIENT_GONE || client->redlock == NULL) {
        return;
    }
    if (client->busy_until_ns > world->now_ns) {
        world->now_ns = client->busy_until_ns;
    }
    if (client->state == SIM_CLIENT_OPEN) {
        sim_process_close(client, false);
    }
    while (client->state != SIM_CLIENT_GONE) {
        world->now_ns = client->busy_until_ns > world->now_ns + RL_NS_PER_MS
                            ? client->busy_until_ns
                            : world->now_ns + RL_NS_PER_MS;
        sim_client_enter(client);
        client->heard_ns = sim_client_now(client);
        if (client->world_closed) {
            client->world.events->closed(client->world.owner);
        } else {
            client->in_turn = true;
            client->world.events->turn(client->world.owner);
            client->in_turn = false;
        }
        sim_client_leave(client);
    }
}

void sim_process_check_over(struct sim_client *client) {
    struct sim_world *world = client->sim;
    if (client->pending > 0) {
        sim_check_fail(world, SIM_ONCE, "c%u: %u operations never ended", client->index + 1u,
                       (unsigned)client->pending);
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        if (world->reachable >> n & 1 && sim_process_node(client, n, &info) &&
            info.pending_releases > 0) {
            sim_check_fail(world, SIM_LEFTOVER, "a release of c%u to n%u is still pending",
                           client->index + 1u, (unsigned)n + 1);
        }
    }
}
