/* A client: opening and closing.
 *
 * Opening: options and URLs are checked and all memory is allocated before anything of the world is
 * used, so a failure leaves nothing behind. Then every node is started; a node that fails is
 * retried for as long as the client is open.
 *
 * Closing: every lock is abandoned (operations end as cancelled, holds are released) and every
 * query cancelled. The client waits for the answers that locks need until all are in or
 * node_timeout has passed. Then it closes the nodes, then the world, and at last on_close runs and
 * the memory is freed.
 */
#include "client/client.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/require.h"
#include "base/sized.h"
#include "client/check.h"
#include "client/env.h"
#include "client/nodes.h"
#include "client/options.h"
#include "client/recipe.h"
#include "client/turn.h"
#include "core/home.h"
#include "lock/calls.h"
#include "lock/life.h"
#include "lock/reentrancy.h"
#include "nodes/listening.h"
#include "nodes/notification.h"
#include "nodes/tls.h"
#include "query/query.h"
#include "wait/line_call.h"
#include "wait/line_event.h"
#include "watch/metrics.h"

/* -- Opening -- */

static int parse_node(redlock_client *client, const redlock_client_options *o, uint32_t i,
                      uint64_t seed) {
    struct rl_url url;
    struct rl_url_tls tls;
    struct rl_client_node *place = &client->nodes[i];
    int status = rl_url_parse_tls(o->nodes[i], &url, &tls, o->error, o->error_size);
    for (uint32_t j = 0; status == 0 && j < i; j++) {
        if (rl_url_same_server(&client->nodes[j].node.url, &url)) {
            status =
                rl_error_set(o->error, o->error_size, REDLOCK_ERR_DUPLICATE,
                             "nodes %u and %u are both %.300s: one server would have two votes; "
                             "name each node once",
                             (unsigned)j, (unsigned)i, url.name);
        }
    }
    if (status == 0) {
        rl_node_init(&place->node, &client->io, &url, &client->node_options, &rl_nodes_events,
                     seed + i * UINT64_C(0x9e3779b97f4a7c15));
        rl_pending_init(&place->pending_releases, RL_PENDING_MAX);
        rl_guard_init(&place->guard);
        rl_deadline_init(&place->deadline, rl_nodes_due);
        client->node_hashes[i] = rl_home_hash(url.name, (uint32_t)strlen(url.name));
        place->client = client;
        place->index = (uint8_t)i;
        client->reasons[i] = REDLOCK_ERR_NODE_DOWN;
        status = rl_client_tls_node(client, o, i, &tls);
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
    if (client->nodes != NULL) { /* and wipes the passwords */
        rl_wipe(client->nodes, client->n_nodes * sizeof client->nodes[0]);
    }
    rl_free(&memory, client->nodes);
    rl_resources_free(&client->resources);
    rl_free(&memory, client->io.wire);
    rl_free(&memory, client->deadlines.items);
    rl_free(&memory, client->ends.items);
    rl_free(&memory, client);
}

/* rl_opening_is_over() and rl_closing_check() run in every turn and look at the clock. */
static void client_due(struct rl_deadline *item, uint64_t now_ns) {
    redlock_client *client = RL_CONTAINER(item, redlock_client, deadline);
    assert(client->deadline.at_ns <= now_ns);
    (void)now_ns;
    rl_deadlines_set(&client->deadlines, item, RL_NEVER);
}

/* Does everything that can fail. */
static int prepare_client(redlock_client *client, struct rl_world *world,
                          const redlock_client_options *o) {
    rl_memory_init(&client->memory, o->allocator);
    client->resources.memory = &client->memory;
    client->io = (struct rl_io){.world = world, .memory = &client->memory};
    int status = rl_options_apply(client, o, o->error, o->error_size);
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
    client->n_nodes = client->rules.n;
    assert(client->n_nodes >= 1 && client->n_nodes <= RL_NODES_MAX); /* masks have room */
    client->nodes = rl_alloc(&client->memory, client->n_nodes, sizeof client->nodes[0]);
    uint32_t capacity = client->n_nodes + RL_CLIENT_DEADLINES;
    struct rl_deadline **items = rl_alloc(&client->memory, capacity, sizeof(struct rl_deadline *));
    if (items != NULL) {
        rl_deadlines_reserve(&client->deadlines, items, capacity);
    }
    if (client->nodes == NULL || items == NULL || !rl_metrics_init(client, o)) {
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    rl_deadline_init(&client->deadline, client_due);
    rl_listening_init(client, random[1]);
    rl_line_init(client);
    rl_notification_init(client);
    for (uint32_t i = 0; i < client->n_nodes && status == 0; i++) {
        status = parse_node(client, o, i, client->random);
    }
    return status != 0 ? status : rl_client_tls_check_nodes(client, o);
}

/* The world has closed: no more calls come. */
static void closed(void *owner) {
    redlock_client *client = owner;
    struct rl_link *first;
    RL_REQUIRE(client->phase == RL_CLIENT_TEARDOWN); /* once, or on_close would run again */
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
    assert(client->deadlines.count == 0); /* nothing after this can fail, nothing before it waits */
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
        rl_node_start(&client->nodes[i].node);
    }
}

int rl_client_options(redlock_client_options *full, const redlock_client_options *user) {
    *full = (redlock_client_options)REDLOCK_CLIENT_OPTIONS_INIT;
    if (user == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    if (!rl_sized_take(full, sizeof *full, user, user->size)) {
        return rl_sized_refuse(user, sizeof *user, offsetof(redlock_client_options, error),
                               "REDLOCK_CLIENT_OPTIONS_INIT");
    }
    if (full->error == NULL) {
        full->error_size = 0;
    }
    rl_error_set(full->error, full->error_size, 0, "%s", "");
    if (full->allocator != NULL &&
        (full->allocator->malloc == NULL || full->allocator->free == NULL)) {
        return rl_error_set(full->error, full->error_size, REDLOCK_ERR_INVALID,
                            "allocator: malloc and free must both be set");
    }
    return 0;
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
    assert(client->closing.until_ns > client->heard_ns); /* a turn is left for the answers */
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
