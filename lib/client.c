/* A client: opening, the nodes coming and going, closing.
 *
 * Opening: options and URLs are checked and all memory is taken before the first handle exists, so
 * a failure leaves nothing behind. Then every node is started; a node that fails is tried again for
 * as long as the client lives.
 *
 * Closing: every lock is abandoned (operations end as cancelled, what is held is released) and
 * every query cancelled, then the answers that locks need are waited for until all are in or
 * node_timeout has passed, then the nodes are closed, then the handles, and when libuv has let go
 * of the last one on_close runs and the memory goes.
 */
#include "client.h"
#include "election.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/first.h"
#include "query.h"
#include "share.h"
#include "voters.h"

#define JOIN_NS (UINT64_C(50) * 1000000) /* on_open waits so long for more than a quorum */

uint64_t redlock_now_ns(void) {
    struct timespec now;
#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* -- Nodes -- */

uint32_t rl_client_count(uint32_t nodes) {
    uint32_t count = 0;
    for (uint32_t mask = nodes; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
}

static struct rl_client_node *place_of(struct rl_node *node) {
    return RL_CONTAINER(node, struct rl_client_node, node);
}

void rl_client_node_deadline(struct rl_client_node *place) {
    uint64_t at_ns = rl_node_deadline_ns(&place->node);
    if (rl_node_is_up(&place->node) && place->owed.retry_ns < at_ns) {
        at_ns = place->owed.retry_ns;
    }
    if (rl_voters_deadline_ns(place) < at_ns) {
        at_ns = rl_voters_deadline_ns(place);
    }
    rl_deadlines_set(&place->client->deadlines, &place->deadline, at_ns);
}

static void node_deadline(struct rl_node *node) {
    rl_client_node_deadline(place_of(node));
}

static void node_dirty(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    redlock_client *client = place->client;
    if (client->dirty == 0) {
        client->dirty_ns = redlock_now_ns();
    }
    client->dirty |= UINT32_C(1) << place->index;
}

static int16_t node_judge(struct rl_node *node, const struct rl_info *info,
                          char detail[RL_DETAIL_MAX]) {
    return rl_voters_judge(place_of(node), info, detail);
}

static void node_up(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    redlock_client *client = place->client;
    client->up |= UINT32_C(1) << place->index;
    place->is_settled = true;
    rl_trace(client, REDLOCK_EVENT_NODE_UP, NULL, node, 0, 0);
    rl_voters_up(place);
    rl_topic_node_up(client, place->index);
    rl_votes_repay(place);
}

static void node_down(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    redlock_client *client = place->client;
    client->up &= ~(UINT32_C(1) << place->index);
    client->reasons[place->index] = node->reason;
    rl_voters_down(place);
    rl_trace(client, REDLOCK_EVENT_NODE_DOWN, NULL, node, node->reason, 0);
    rl_topic_node_down(client, place->index);
}

static void node_failed(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    place->is_settled = true;
    place->client->reasons[place->index] = node->reason;
}

/* An answer goes to whoever sent the command. */
static void node_answer(struct rl_node *node, struct rl_request *request,
                        const struct rl_answer *answer) {
    if (request->kind == RL_COMMAND_READ) {
        rl_query_answer(node, request, answer);
    } else {
        rl_votes_answer(node, request, answer);
    }
}

static const struct rl_node_events node_events = {
    .judge = node_judge,
    .answer = node_answer,
    .again = rl_votes_again,
    .up = node_up,
    .down = node_down,
    .failed = node_failed,
    .deadline = node_deadline,
    .dirty = node_dirty,
};

/* -- Room, taken before it is needed -- */

static bool reserve(redlock_client *client, struct rl_deadlines *heap, uint32_t needed) {
    if (needed <= heap->capacity) {
        return true;
    }
    uint32_t capacity = 2 * needed;
    struct rl_deadline **items = rl_alloc(&client->memory, capacity, sizeof(struct rl_deadline *));
    if (items == NULL) {
        return false;
    }
    rl_free(&client->memory, rl_deadlines_reserve(heap, items, capacity));
    return true;
}

bool rl_client_reserve_deadline(redlock_client *client) {
    uint32_t users = client->lock_count + client->query_count + client->election_count;
    uint32_t needed = users + 1 + client->n_nodes + RL_CLIENT_DEADLINES;
    return reserve(client, &client->deadlines, needed) &&
           reserve(client, &client->ends, client->lock_count + 1);
}

bool rl_client_reserve_wire(redlock_client *client, const struct rl_target *target) {
    size_t room = rl_command_room(target);
    if (room <= client->io.wire_room) {
        return true;
    }
    char *wire = rl_alloc(&client->memory, 1, room);
    if (wire == NULL) {
        return false;
    }
    rl_free(&client->memory, client->io.wire);
    client->io.wire = wire;
    client->io.wire_room = room;
    return true;
}

/* -- Opening -- */

static void end_opening(redlock_client *client, int status) {
    redlock_client_cb callback = client->on_open;
    client->is_opening = false;
    client->on_open = NULL;
    if (callback != NULL) {
        callback(client, status, client->open_data);
    }
}

void rl_client_check_open(redlock_client *client, uint64_t now_ns) {
    if (!client->is_opening || client->phase != RL_CLIENT_OPEN) {
        return;
    }
    bool quorum = rl_voters_are_quorum(client);
    bool settled = true;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        settled = settled && client->nodes[i].is_settled;
    }
    if (quorum && client->quorum_ns == RL_NEVER) {
        client->quorum_ns = now_ns;
        if (now_ns + JOIN_NS < client->open_until_ns) {
            client->open_until_ns = now_ns + JOIN_NS;
            rl_deadlines_set(&client->deadlines, &client->deadline, client->open_until_ns);
        }
    }
    if (settled || client->heard_ns >= client->open_until_ns) {
        rl_deadlines_set(&client->deadlines, &client->deadline, RL_NEVER);
        bool is_twice = rl_client_count(client->voters) >= rl_quorum(client->n_nodes);
        int missing = is_twice ? REDLOCK_ERR_DUPLICATE : REDLOCK_ERR_NO_QUORUM;
        end_opening(client, quorum ? 0 : missing);
    }
}

static int fail_open(char *error, size_t size, int status, const char *text) {
    if (error != NULL && size > 0 && text != NULL) {
        snprintf(error, size, "%s", text);
    }
    return status;
}

static int parse_node(redlock_client *client, const redlock_client_options *o, uint32_t i,
                      uint64_t seed) {
    struct rl_url url;
    struct rl_client_node *place = &client->nodes[i];
    int status = rl_url_parse(o->nodes[i], &url, o->error, o->error_size);
    for (uint32_t j = 0; status == 0 && j < i; j++) {
        if (rl_url_same_server(&client->nodes[j].node.url, &url)) {
            char text[REDLOCK_MESSAGE_MAX];
            snprintf(text, sizeof text,
                     "nodes %u and %u are both %.300s: one server would have two votes; "
                     "name each node once",
                     (unsigned)j, (unsigned)i, url.name);
            status = fail_open(o->error, o->error_size, REDLOCK_ERR_DUPLICATE, text);
        }
    }
    if (status == 0) {
        rl_node_init(&place->node, &client->io, &url, &client->node_options, &node_events,
                     redlock_now_ns, seed + i * UINT64_C(0x9e3779b97f4a7c15));
        rl_owed_init(&place->owed, RL_OWED_MAX);
        rl_guard_init(&place->guard);
        rl_deadline_init(&place->deadline, RL_TAG_NODE);
        client->node_hashes[i] = rl_first_hash(url.name, (uint32_t)strlen(url.name));
        place->client = client;
        place->index = (uint8_t)i;
        client->reasons[i] = REDLOCK_ERR_NODE_DOWN;
    }
    rl_wipe(&url, sizeof url);
    return status;
}

static void free_client(redlock_client *client) {
    redlock_allocator memory = client->memory;
    rl_fork_end(&client->io.fork);
    rl_votes_free_calls(client);
    if (client->nodes != NULL) { /* with the passwords */
        rl_wipe(client->nodes, client->n_nodes * sizeof client->nodes[0]);
    }
    rl_free(&memory, client->nodes);
    rl_resources_free(&client->resources);
    rl_free(&memory, client->io.wire);
    rl_free(&memory, client->deadlines.items);
    rl_free(&memory, client->ends.items);
    rl_free(&memory, client);
}

static void all_closed(struct rl_io *io);

/* Everything that can fail. */
static int prepare_client(redlock_client *client, struct uv_loop_s *loop,
                          const redlock_client_options *o) {
    rl_memory_init(&client->memory, o->allocator);
    client->resources.memory = &client->memory;
    client->io = (struct rl_io){.loop = loop, .memory = &client->memory, .all_closed = all_closed};
    rl_fork_begin(&client->io.fork);
    int status = rl_options_apply(client, o, o->error, o->error_size);
    if (status != 0) {
        return status;
    }
    int error = uv_random(NULL, NULL, &client->random, sizeof client->random, 0, NULL);
    if (error != 0) {
        return fail_open(o->error, o->error_size, REDLOCK_ERR_SYSTEM, uv_strerror(error));
    }
    client->random |= 1;
    client->resources.seed = client->random;
    client->n_nodes = client->rules.n;
    client->rules.node_hashes = client->node_hashes;
    client->nodes = rl_alloc(&client->memory, client->n_nodes, sizeof client->nodes[0]);
    uint32_t capacity = client->n_nodes + RL_CLIENT_DEADLINES;
    struct rl_deadline **items = rl_alloc(&client->memory, capacity, sizeof(struct rl_deadline *));
    if (items != NULL) {
        rl_deadlines_reserve(&client->deadlines, items, capacity);
    }
    if (client->nodes == NULL || items == NULL) {
        return fail_open(o->error, o->error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    rl_deadline_init(&client->deadline, RL_TAG_CLIENT);
    rl_notice_init(client);
    for (uint32_t i = 0; i < client->n_nodes && status == 0; i++) {
        status = parse_node(client, o, i, client->random);
    }
    return status;
}

static void start_client(redlock_client *client, redlock_client_cb on_open, void *data) {
    client->phase = RL_CLIENT_OPEN;
    client->is_opening = true;
    client->on_open = on_open;
    client->open_data = data;
    client->quorum_ns = RL_NEVER;
    client->heard_ns = client->poll_ns = client->flushed_ns = redlock_now_ns();
    client->open_until_ns = client->heard_ns + client->node_options.connect_timeout_ns;
    rl_loop_init(client);
    rl_deadlines_set(&client->deadlines, &client->deadline, client->open_until_ns);
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_start(&client->nodes[i].node);
    }
}

int redlock_client_open(redlock_client **out, struct uv_loop_s *loop,
                        const redlock_client_options *options, redlock_client_cb on_open,
                        void *data) {
    redlock_client_options o = REDLOCK_CLIENT_OPTIONS_INIT;
    if (out == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    *out = NULL;
    if (options == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    if (!rl_options_copy(&o, sizeof o, options, options->size)) {
        return rl_options_refuse_size(options, sizeof *options,
                                      offsetof(redlock_client_options, error),
                                      "REDLOCK_CLIENT_OPTIONS_INIT");
    }
    if (o.error == NULL) {
        o.error_size = 0;
    }
    fail_open(o.error, o.error_size, 0, "");
    if (loop == NULL) {
        return fail_open(o.error, o.error_size, REDLOCK_ERR_INVALID, "loop is NULL");
    }
    if (o.allocator != NULL && (o.allocator->malloc == NULL || o.allocator->free == NULL)) {
        return fail_open(o.error, o.error_size, REDLOCK_ERR_INVALID,
                         "allocator: malloc and free must both be set");
    }
    redlock_allocator memory;
    rl_memory_init(&memory, o.allocator);
    redlock_client *client = rl_alloc(&memory, 1, sizeof *client);
    if (client == NULL) {
        return fail_open(o.error, o.error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    int status = prepare_client(client, loop, &o);
    if (status != 0) {
        free_client(client);
        return status;
    }
    start_client(client, on_open, data);
    *out = client;
    return 0;
}

/* -- Late -- */

void rl_client_put_off(redlock_client *client, uint64_t now_ns) {
    const uint64_t since_ns = client->flushed_ns;
    const uint64_t connect_ns = client->node_options.connect_timeout_ns;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_put_off(&client->nodes[i].node, since_ns, now_ns);
    }
    for (redlock_lock *lock = client->locks; lock != NULL; lock = lock->next) {
        rl_lock_put_off(&lock->core, since_ns, now_ns);
        rl_deadlines_set(&client->deadlines, &lock->deadline, rl_lock_wake_ns(&lock->core));
    }
    rl_query_put_off(client, since_ns, now_ns);
    if (client->phase == RL_CLIENT_CLOSING &&
        client->close_until_ns >= since_ns + client->rules.node_timeout_ns) {
        client->close_until_ns = now_ns + client->rules.node_timeout_ns;
        rl_deadlines_set(&client->deadlines, &client->deadline, client->close_until_ns);
    } else if (client->is_opening && client->quorum_ns == RL_NEVER &&
               client->open_until_ns >= since_ns + connect_ns) {
        client->open_until_ns = now_ns + connect_ns;
        rl_deadlines_set(&client->deadlines, &client->deadline, client->open_until_ns);
    }
}

/* -- Closing -- */

static void all_closed(struct rl_io *io) {
    redlock_client *client = RL_CONTAINER(io, redlock_client, io);
    assert(client->queries == NULL);
    client->phase = RL_CLIENT_GONE;
    if (client->on_close != NULL) {
        client->on_close(client, 0, client->close_data);
    }
    rl_election_end_all(client);
    while (client->locks != NULL) {
        rl_lock_destroy(client->locks);
    }
    free_client(client);
}

void rl_client_check_close(redlock_client *client) {
    if (client->phase != RL_CLIENT_CLOSING) {
        return;
    }
    if (client->is_opening) {
        end_opening(client, REDLOCK_ERR_CANCELED);
    }
    bool told =
        client->done.head == NULL && client->lost.head == NULL && client->asked.head == NULL;
    bool answered = client->calls_out == 0 && client->owed == 0;
    if (!told || (!answered && client->heard_ns < client->close_until_ns)) {
        return;
    }
    client->phase = RL_CLIENT_TEARDOWN;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_close(&client->nodes[i].node);
        rl_votes_forgive(&client->nodes[i]);
    }
    client->up = client->voters = 0;
    rl_notice_close(client);
    rl_loop_close(client);
}

void rl_client_tick(redlock_client *client, uint64_t now_ns) {
    /* rl_client_check_open() and rl_client_check_close() run in every turn and look at the clock.
     * */
    (void)now_ns;
    rl_deadlines_set(&client->deadlines, &client->deadline, RL_NEVER);
}

static int close_forked(redlock_client *client) {
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_forget(&client->nodes[i].node);
    }
    rl_notice_forget(client);
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
    client->on_close = on_close;
    client->close_data = data;
    client->close_until_ns = redlock_now_ns() + client->rules.node_timeout_ns;
    redlock_lock *next;
    for (redlock_lock *lock = client->locks; lock != NULL; lock = next) {
        rl_lock_ref(lock);
        rl_share_abandon(lock);
        next = lock->next;
        rl_lock_unref(lock);
    }
    rl_query_cancel_all(client);
    rl_deadlines_set(&client->deadlines, &client->deadline, client->close_until_ns);
    rl_loop_wake(client);
    return 0;
}
