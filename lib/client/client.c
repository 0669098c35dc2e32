/* A client: opening, the events of its nodes, closing.
 *
 * Opening: checks options and URLs and allocates all memory before it uses the world, so a failure
 * leaves nothing behind. Then it starts every node; a node that fails is retried while the client
 * is open.
 *
 * Closing: every lock is abandoned (operations end as cancelled, holds are released) and every
 * query cancelled. The client waits for the answers that locks need until all are in or
 * node_timeout has passed. Then it closes the nodes and the world, runs on_close, and frees its
 * memory.
 */
#include "client/client.h"

#include <assert.h>

#include "base/error.h"
#include "base/require.h"
#include "client/adopt.h"
#include "client/check.h"
#include "client/env.h"
#include "client/options.h"
#include "client/recipe.h"
#include "client/turn.h"
#include "lock/answer.h"
#include "lock/calls.h"
#include "lock/life.h"
#include "lock/reentrancy.h"
#include "lock/step.h"
#include "nodes/eligibility.h"
#include "nodes/listening.h"
#include "nodes/membership.h"
#include "nodes/notification.h"
#include "nodes/sets.h"
#include "nodes/tls.h"
#include "query/query.h"
#include "redis/credentials.h"
#include "wait/line_call.h"
#include "wait/line_event.h"
#include "watch/metrics.h"

/* -- Events of nodes, passed to the parts that they concern -- */

static struct rl_client_node *member_of(struct rl_node *node) {
    struct rl_client_node *member = RL_CONTAINER(node, struct rl_client_node, node);
    assert(member == member->client->nodes[member->index]);
    return member;
}

static void node_deadline(struct rl_node *node) {
    rl_member_update(member_of(node));
}

static void node_dirty(struct rl_node *node) {
    struct rl_client_node *member = member_of(node);
    redlock_client *client = member->client;
    if (client->flushing.nodes == 0) {
        client->flushing.dirty_ns = rl_client_now_ns(client);
    }
    client->flushing.nodes |= rl_bit(member->index);
}

static void node_up(struct rl_node *node) {
    struct rl_client_node *member = member_of(node);
    redlock_client *client = member->client;
    assert(client->phase < RL_CLIENT_TEARDOWN);
    assert(!(client->up >> member->index & 1));
    client->up |= rl_bit(member->index);
    member->is_settled = true;
    rl_trace(client, REDLOCK_EVENT_NODE_UP, NULL, node, 0, 0);
    rl_eligibility_up(member);
    rl_member_update(member);
    rl_listening_node_up(client, member->index);
    rl_calls_retry(member);
    rl_line_calls_retry(client, member->index); /* before any JOIN is sent */
    rl_line_nodes_changed(client);
}

static void node_down(struct rl_node *node) {
    struct rl_client_node *member = member_of(node);
    redlock_client *client = member->client;
    assert(client->up >> member->index & 1); /* `down` comes once for each `up` */
    assert(node->reason != 0);
    client->up &= ~rl_bit(member->index);
    client->reasons[member->index] = node->reason;
    rl_eligibility_down(member);
    rl_trace(client, REDLOCK_EVENT_NODE_DOWN, NULL, node, node->reason, 0);
    member->calibration = (struct rl_calibration){0};
    member->secret = 0;
    rl_listening_node_down(client, member->index);
    rl_line_nodes_changed(client);
}

static void node_failed(struct rl_node *node) {
    struct rl_client_node *member = member_of(node);
    assert(!(member->client->up >> member->index & 1));
    assert(node->reason != 0);
    member->is_settled = true;
    member->client->reasons[member->index] = node->reason;
}

static void node_credentials(struct rl_node *node, int16_t reason) {
    struct rl_client_node *member = member_of(node);
    assert((reason == 0) == (node->auth.reason == 0) || node->auth.state == RL_AUTH_OFFERED);
    rl_trace(member->client,
             reason == 0 ? REDLOCK_EVENT_CREDENTIALS_ACCEPTED : REDLOCK_EVENT_CREDENTIALS_REFUSED,
             NULL, node, reason, 0);
    if (reason == 0) {
        rl_listening_authorized(member->client, member->index);
    }
}

/* Passes an answer to the sender of the command. (NOAUTH occurs on an authenticated connection if a
 * password was set on an old server, or behind a proxy that has switched connections.) */
static void node_answer(struct rl_node *node, struct rl_request *request,
                        const struct rl_answer *answer) {
    if (answer->verdict == RL_ERROR && answer->reason == REDLOCK_ERR_NODE_AUTH) {
        rl_node_offer_again(node);
    }
    if (member_of(node)->client->metrics != NULL && answer->verdict != RL_UNANSWERED) {
        rl_metrics_answered(member_of(node), request);
    }
    if (request->kind == RL_COMMAND_READ || request->kind == RL_COMMAND_READER ||
        request->kind == RL_COMMAND_WAITER || request->kind == RL_COMMAND_SET_PERMITS ||
        request->kind == RL_COMMAND_SLOT) {
        rl_query_answer(node, request, answer);
    } else if (request->kind == RL_COMMAND_JOIN || request->kind == RL_COMMAND_LEAVE) {
        rl_line_answer(node, request, answer);
    } else {
        rl_answer_take(node, request, answer);
    }
}

static const struct rl_node_events node_events = {
    .judge = rl_eligibility_judge,
    .flushed = rl_eligibility_flushed,
    .config = rl_membership_read,
    .answer = node_answer,
    .again = rl_calls_again,
    .up = node_up,
    .down = node_down,
    .failed = node_failed,
    .credentials = node_credentials,
    .deadline = node_deadline,
    .dirty = node_dirty,
};

static void node_due(struct rl_deadline *item, uint64_t now_ns) {
    struct rl_client_node *member = RL_CONTAINER(item, struct rl_client_node, deadline);
    redlock_client *client = member->client;
    const rl_mask voters = client->voters;
    assert(item->at_ns <= now_ns);
    rl_node_tick(&member->node, now_ns);
    if (now_ns >= member->pending_releases.retry_ns) {
        rl_calls_retry(member);
    }
    rl_eligibility_tick(member, now_ns);
    rl_adopt_tick(member, now_ns);
    rl_member_update(member);
    if (client->voters != voters) {
        rl_line_nodes_changed(client);
    }
}

/* -- Opening -- */

static int parse_node(redlock_client *client, const redlock_client_options *o, uint32_t i) {
    struct rl_url url;
    struct rl_url_tls tls;
    int status = rl_url_parse_tls(o->nodes[i], &url, &tls, o->error, o->error_size);
    for (uint32_t j = 0; status == 0 && j < i; j++) {
        if (rl_url_same_server(&client->nodes[j]->node.url, &url)) {
            status =
                rl_error_set(o->error, o->error_size, REDLOCK_ERR_DUPLICATE,
                             "nodes %u and %u are both %.300s: one server would have two votes; "
                             "name each node once",
                             (unsigned)j, (unsigned)i, url.name);
        }
    }
    if (status == 0) {
        status = rl_member_init(client, i, &url, &node_events)
                     ? rl_client_tls_node(client, o, i, &tls)
                     : rl_error_set(o->error, o->error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    rl_wipe(&url, sizeof url);
    return status;
}

static void free_client(redlock_client *client) {
    redlock_allocator memory = client->memory;
    rl_calls_free(client);
    rl_line_calls_free(client);
    rl_client_tls_free(client);
    rl_free(&memory, client->metrics);
    rl_sets_free(client);
    rl_free(&memory, client->membership.next);
    rl_free(&memory, client->io.config.config);
    for (uint32_t i = 0; i < RL_NODES_MAX && client->nodes[i] != NULL; i++) {
        rl_wipe(client->nodes[i], sizeof *client->nodes[i]); /* the passwords */
        rl_free(&memory, client->nodes[i]);
    }
    rl_resources_free(&client->resources);
    rl_free(&memory, client->io.wire);
    rl_free(&memory, client->deadlines.items);
    rl_free(&memory, client->ends.items);
    rl_free(&memory, client);
}

/* Nothing to do: opening_is_over() and close_when_done() (turn.c) check the clock in every turn. */
static void client_due(struct rl_deadline *item, uint64_t now_ns) {
    redlock_client *client = RL_CONTAINER(item, redlock_client, deadline);
    assert(client->deadline.at_ns <= now_ns);
    (void)now_ns;
    rl_deadlines_set(&client->deadlines, item, RL_NEVER);
}

static const rl_due_cb due[RL_WAITS] = {
    [RL_WAITS_LOCK] = rl_step_due,           [RL_WAITS_HOLDER] = rl_step_end_due,
    [RL_WAITS_LINE] = rl_line_due,           [RL_WAITS_NODE] = node_due,
    [RL_WAITS_LISTENING] = rl_listening_due, [RL_WAITS_NOTIFICATION] = rl_notification_due,
    [RL_WAITS_QUERY] = rl_query_due,         [RL_WAITS_RECIPE] = rl_recipe_due,
    [RL_WAITS_CLIENT] = client_due,
};

/* Does everything that can fail. */
static int prepare_client(redlock_client *client, struct rl_world *world,
                          const redlock_client_options *o) {
    rl_memory_init(&client->memory, o->allocator);
    client->resources.memory = &client->memory;
    client->io = (struct rl_io){.world = world, .memory = &client->memory};
    int status = rl_options_apply(client, o);
    if (status == 0) {
        status = rl_client_tls_check(o);
    }
    if (status != 0) {
        return status;
    }
    uint64_t random[2];
    if (!world->ops->random(world, random, sizeof random)) {
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_SYSTEM, "no random bytes");
    }
    client->random = random[0] | 1;
    client->resources.seed = client->random;
    client->n_nodes = (uint32_t)o->n_nodes;
    assert(client->n_nodes >= 1 && client->n_nodes <= RL_NODES_MAX); /* masks have a bit for each */
    const uint32_t capacity = RL_NODES_MAX + RL_CLIENT_DEADLINES;
    struct rl_deadline **items = rl_alloc(&client->memory, capacity, sizeof(struct rl_deadline *));
    if (items != NULL) {
        rl_deadlines_reserve(&client->deadlines, items, capacity);
    }
    if (items == NULL || !rl_metrics_init(client, o)) {
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    rl_deadline_init(&client->deadline, RL_WAITS_CLIENT);
    rl_listening_init(client, random[1]);
    rl_line_init(client);
    rl_notification_init(client);
    for (uint32_t i = 0; i < client->n_nodes && status == 0; i++) {
        status = parse_node(client, o, i);
    }
    return status != 0 ? status : rl_client_tls_check_nodes(client, o);
}

/* The world has closed: no more calls come. */
static void closed(void *owner) {
    redlock_client *client = owner;
    struct rl_link *first;
    RL_REQUIRE(client->phase == RL_CLIENT_TEARDOWN); /* once, or on_close would run twice */
    assert(client->queries.first == NULL);
    assert(!rl_ready_has_callbacks(client));
    client->phase = RL_CLIENT_GONE;
    rl_turn_closed(client);
    rl_recipe_end_all(client);
    while ((first = client->locks.first) != NULL) {
        rl_lock_destroy(RL_CONTAINER(first, redlock_lock, link));
    }
    rl_check_gone(client);
    free_client(client);
}

static const struct rl_world_events world_events = {
    .turn = rl_turn_run,
    .before_wait = rl_turn_before_wait,
    .closed = closed,
};

static void start_client(redlock_client *client, redlock_client_cb on_open, void *data) {
    assert(client->deadlines.count == 0); /* from here on nothing can fail */
    client->due = due;
    client->phase = RL_CLIENT_OPEN;
    client->opening.is_active = true;
    client->opening.callback = on_open;
    client->opening.data = data;
    client->opening.quorum_ns = RL_NEVER;
    client->io.world->events = &world_events;
    client->io.world->owner = client;
    client->heard_ns = client->flushing.flushed_ns = rl_client_now_ns(client);
    client->opening.until_ns = client->heard_ns + client->node_options.connect_timeout_ns;
    rl_client_wake(client);
    rl_deadlines_set(&client->deadlines, &client->deadline, client->opening.until_ns);
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_start(&client->nodes[i]->node);
    }
}

int rl_client_open(redlock_client **out, struct rl_world *world, const redlock_client_options *o,
                   redlock_client_cb on_open, void *data) {
    redlock_allocator memory;
    rl_memory_init(&memory, o->allocator);
    redlock_client *client = rl_alloc(&memory, 1, sizeof *client);
    if (client == NULL) {
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    int status = prepare_client(client, world, o);
    if (status != 0) {
        free_client(client);
        return status;
    }
    start_client(client, on_open, data);
    *out = client;
    return 0;
}

/* -- Closing -- */

static int close_forked(redlock_client *client) {
    client->io.world->ops->abandon(client->io.world);
    client->phase = RL_CLIENT_GONE;
    return REDLOCK_ERR_FORKED;
}

int redlock_client_close(redlock_client *client, redlock_client_cb on_close, void *data) {
    if (client == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    if (rl_io_is_forked(&client->io) && client->phase != RL_CLIENT_GONE) {
        return close_forked(client);
    }
    if (client->phase != RL_CLIENT_OPEN) {
        return REDLOCK_ERR_CLOSED;
    }
    client->phase = RL_CLIENT_CLOSING;
    client->closing.callback = on_close;
    client->closing.data = data;
    client->closing.until_ns = rl_client_now_ns(client) + client->rules.node_timeout_ns;
    assert(client->closing.until_ns > client->heard_ns); /* leaves a turn for the answers */
    struct rl_link *link = client->locks.first;
    while (link != NULL) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);
        rl_lock_ref(lock);
        rl_reentrancy_abandon(lock);
        link = link->next;
        rl_lock_unref(lock);
    }
    rl_query_cancel_all(client);
    rl_deadlines_set(&client->deadlines, &client->deadline, client->closing.until_ns);
    rl_client_wake(client);
    return 0;
}
