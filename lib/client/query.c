/* See query.h. */
#include "client/query.h"

#include <assert.h>
#include <string.h>

#include "client/env.h"
#include "client/own.h"
#include "client/query_data.h"
#include "client/query_result.h"
#include "client/reserve.h"
#include "redis/holder_reply.h"

static void query_due(struct rl_deadline *item, uint64_t now_ns);

/* -- Life -- */

static redlock_query *query_new(redlock_client *client, const void *resource, size_t length,
                                uint8_t n_modes, size_t more) {
    size_t room = client->n_nodes * n_modes + more;
    size_t looks = room * sizeof(struct rl_query_look), order = room * sizeof(uint16_t);
    assert(room <= UINT16_MAX);
    redlock_query *query = rl_alloc(&client->memory, 1, sizeof *query + looks + order + length);
    if (query == NULL) {
        return NULL;
    }
    query->listed = (uint16_t *)(query->looks + room);
    char *bytes = (char *)(query->listed + room);
    memcpy(bytes, resource, length);
    query->client = client;
    query->n_modes = n_modes;
    query->room = (uint32_t)room;
    query->name = (struct rl_bytes){bytes, length};
    query->target = (struct rl_target){.resources = &query->name, .n = 1, .holder = ""};
    rl_deadline_init(&query->deadline, query_due);
    return query;
}

static void query_enlist(redlock_query *query) {
    redlock_client *client = query->client;
    rl_list_add(&client->queries, &query->link);
    client->user_count++;
}

static void query_free_unused(redlock_query *query) {
    redlock_client *client = query->client;
    if (!query->is_told || query->out > 0) {
        return;
    }
    assert(query->is_finished && query->deadline.slot == RL_DEADLINE_UNSET);
    rl_list_remove(&query->link);
    client->user_count--;
    rl_free(&client->memory, query);
}

/* -- The end of a query -- */

static void query_finish(redlock_query *query, int status) {
    assert(!query->is_finished);
    query->is_finished = true;
    rl_query_list(query);
    query->status = status;
    rl_deadlines_set(&query->client->deadlines, &query->deadline, RL_NEVER);
    rl_queue_add(&query->client->answered, &query->queued);
}

static void query_count(redlock_query *query) {
    uint32_t n = query->client->n_nodes;
    uint32_t answered = 0;
    for (uint32_t i = 0; i < n; i++) {
        answered += rl_query_node_status(query, i) == 0;
    }
    query_finish(query, answered >= rl_quorum(n) ? 0 : REDLOCK_ERR_NO_QUORUM);
}

redlock_query *rl_query_take(redlock_client *client, redlock_query_cb *callback, int *status,
                             void **data) {
    struct rl_queued *item = rl_queue_take(&client->answered);
    redlock_query *query = RL_CONTAINER_OR_NULL(item, redlock_query, queued);
    if (query != NULL) {
        assert(query->is_finished && !query->is_told);
        query->told_ns = rl_client_now_ns(client);
        *callback = query->callback;
        *status = query->status;
        *data = query->data;
    }
    return query;
}

void rl_query_told(redlock_query *query) {
    assert(query->is_finished && !query->is_told);
    query->is_told = true;
    query_free_unused(query);
}

/* Those that are out are given up: their answers come too late. */
static void query_due(struct rl_deadline *item, uint64_t now_ns) {
    (void)now_ns;
    redlock_query *query = RL_CONTAINER(item, redlock_query, deadline);
    assert(!query->is_finished && query->out > 0);
    for (uint32_t i = 0; i < query->n_looks; i++) {
        if (query->looks[i].status == REDLOCK_ERR_CANCELED) {
            query->looks[i].status = REDLOCK_ERR_NODE_TIMEOUT;
        }
    }
    query_count(query);
}

void rl_query_put_off(redlock_client *client, uint64_t since_ns, uint64_t now_ns) {
    RL_EACH(redlock_query, query, &client->queries, link) {
        if (!query->is_finished && query->asked_ns >= since_ns) {
            rl_deadlines_set(&client->deadlines, &query->deadline,
                             now_ns + client->rules.node_timeout_ns);
        }
    }
}

void rl_query_cancel_all(redlock_client *client) {
    RL_EACH(redlock_query, query, &client->queries, link) {
        if (!query->is_finished) {
            query_finish(query, REDLOCK_ERR_CANCELED);
        }
    }
}

/* -- Asking and being answered -- */

/* The next look: asks a node, for waiters which one in which line. */
static void look_ask(redlock_query *query, uint32_t node, uint8_t mode, uint32_t index,
                     size_t length) {
    redlock_client *client = query->client;
    assert(query->n_looks < query->room);
    struct rl_query_look *look = &query->looks[query->n_looks++];
    look->query = query;
    look->node = (uint8_t)node;
    look->request = (struct rl_request){.target = &query->target,
                                        .kind = query->kind,
                                        .lock_mode = mode,
                                        .grace_ms = RL_LINE_GRACE_MS,
                                        .index = index};
    look->status = rl_node_send(&client->nodes[node].node, &look->request, client->io.wire, length,
                                query->asked_ns);
    if (look->status == 0) {
        query->out++;
        look->status = REDLOCK_ERR_CANCELED; /* until something else is known */
    }
}

static size_t write_command(const redlock_query *query, uint8_t mode, uint32_t index) {
    assert(query->kind != RL_COMMAND_READ || index == 0);
    struct rl_command command = {.kind = query->kind,
                                 .target = &query->target,
                                 .lock_mode = mode,
                                 .grace_ms = RL_LINE_GRACE_MS,
                                 .index = index};
    return rl_command_format(query->client->io.wire, &command);
}

static void await_answers(redlock_query *query) {
    assert(query->out > 0 && !query->is_finished);
    rl_deadlines_set(&query->client->deadlines, &query->deadline,
                     query->asked_ns + query->client->rules.node_timeout_ns);
}

/* Those behind the first, as far as there is room. */
static void ask_rest(redlock_query *query, const struct rl_query_look *first) {
    uint64_t asked_ns = rl_client_now_ns(query->client);
    assert(first->request.index == 0 && !query->is_finished);
    const uint8_t mode = first->request.lock_mode;
    for (uint32_t i = 1; i < first->count && i < query->max && query->n_looks < query->room; i++) {
        query->asked_ns = asked_ns;
        look_ask(query, first->node, mode, i, write_command(query, mode, i));
    }
    if (query->asked_ns == asked_ns && query->out > 0) {
        await_answers(query);
    }
}

static bool is_hex(const char *text, size_t length) {
    return strspn(text, "0123456789abcdef") >= length;
}

/* A member of a line is a place, which begins with its client, and perhaps a colon and a holder.
 * What else is there is shown as it is: it was put there by hand. */
static void take_waiter(struct rl_query_look *look, const struct rl_answer *answer) {
    const char *member = answer->text;
    look->waited_ms = answer->line.first_waited_ms;
    if (is_hex(member, RL_PLACE_LEN) &&
        (member[RL_PLACE_LEN] == ':' || member[RL_PLACE_LEN] == '\0')) {
        memcpy(look->client, member, RL_CLIENT_ID_LEN);
        member += RL_PLACE_LEN + (member[RL_PLACE_LEN] == ':');
    }
    assert(strlen(member) < sizeof look->holder);
    memcpy(look->holder, member, strlen(member) + 1);
}

/* One of a list, and perhaps the first of it. */
static void take_one(struct rl_query_look *look, const struct rl_answer *answer) {
    look->is_one = true;
    look->count = answer->line.waiting;
    if (look->request.kind == RL_COMMAND_WAITER) {
        take_waiter(look, answer);
    } else {
        rl_holder_value_parse(answer->text, &look->seen);
        look->seen.remaining_ms = (int64_t)answer->line.first_waited_ms;
    }
    if (look->request.index == 0) {
        ask_rest(look->query, look);
    }
}

static void look_take(struct rl_query_look *look, const struct rl_answer *answer) {
    look->answered_ns = rl_client_now_ns(look->query->client);
    if (answer->verdict != RL_UNANSWERED) {
        look->latency_us = (uint32_t)((look->answered_ns - look->query->sent_ns) / 1000);
    }
    look->status = answer->reason;
    bool is_there = answer->verdict == RL_YES;
    assert((look->status == 0) == (is_there || answer->verdict == RL_NO));
    if (is_there && look->request.kind == RL_COMMAND_SET_PERMITS) {
        return;
    }
    if (is_there && look->request.kind != RL_COMMAND_READ) {
        take_one(look, answer);
    } else if (is_there) {
        bool parsed = rl_holder_reply_parse(answer->text, &look->seen);
        assert(parsed); /* the judge has looked at it */
        (void)parsed;
        look->is_held = !look->seen.is_reserved;
    }
}

void rl_query_answer(struct rl_node *node, struct rl_request *request,
                     const struct rl_answer *answer) {
    struct rl_query_look *look = RL_CONTAINER(request, struct rl_query_look, request);
    redlock_query *query = look->query;
    assert(query->out > 0);
    (void)node;
    query->out--;
    if (!query->is_finished) {
        look_take(look, answer);
        if (query->out == 0) {
            query_count(query);
        }
    }
    query_free_unused(query);
}

static void query_ask(redlock_query *query) {
    query->sent_ns = query->asked_ns = rl_client_now_ns(query->client);
    for (uint8_t i = 0; i < query->n_modes; i++) {
        const uint8_t mode = query->kind == RL_COMMAND_SET_PERMITS ? RL_PERMIT : i;
        size_t length = write_command(query, mode, 0);
        for (uint32_t node = 0; node < query->client->n_nodes; node++) {
            look_ask(query, node, mode, 0, length);
        }
    }
    if (query->out == 0) {
        query_count(query);
    } else {
        await_answers(query);
    }
}

/* max: as in the query's data. permits: how many there are to be, or 0. */
static int query_begin(redlock_client *client, enum rl_command_kind kind, redlock_bytes resource,
                       size_t max, int32_t permits, redlock_query_cb on_done, void *data) {
    const uint8_t n_modes = kind == RL_COMMAND_WAITER ? RL_SHARED + 1 : 1;
    if (rl_io_is_forked(&client->io)) {
        return REDLOCK_ERR_FORKED;
    }
    if (client->phase != RL_CLIENT_OPEN) {
        return REDLOCK_ERR_CLOSED;
    }
    redlock_query *query = NULL;
    if (rl_reserve_deadline(client, 0)) {
        /* Lines are at one node; a quorum has each of the readers. */
        size_t lists = kind == RL_COMMAND_READER ? client->n_nodes : n_modes;
        query = query_new(client, resource.data, resource.length, n_modes, lists * (max - 1));
    }
    if (query != NULL && permits > 0) {
        query->target.permits = (uint16_t)permits;
        query->target.take = 1;
    }
    if (query != NULL && !rl_reserve_wire(client, &query->target)) {
        rl_free(&client->memory, query);
        query = NULL;
    }
    if (query == NULL) {
        return REDLOCK_ERR_NOMEM;
    }
    query->kind = (uint8_t)kind;
    query->max = (uint32_t)max;
    query->callback = on_done;
    query->data = data;
    query_enlist(query);
    query_ask(query);
    rl_client_wake(client);
    return 0;
}

static bool is_question(const redlock_client *client, const void *resource, size_t length,
                        redlock_query_cb on_done) {
    return client != NULL && resource != NULL && on_done != NULL && length >= 1 &&
           length <= REDLOCK_RESOURCE_MAX;
}

int redlock_query_holder(redlock_client *client, const void *resource, size_t length,
                         redlock_query_cb on_done, void *data) {
    if (!is_question(client, resource, length, on_done)) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    return query_begin(client, RL_COMMAND_READ, (redlock_bytes){resource, length}, 1, 0, on_done,
                       data);
}

int redlock_query_waiters(redlock_client *client, const void *resource, size_t length, size_t max,
                          redlock_query_cb on_done, void *data) {
    if (!is_question(client, resource, length, on_done) || max < 1 || max > REDLOCK_WAITERS_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    return query_begin(client, RL_COMMAND_WAITER, (redlock_bytes){resource, length}, max, 0,
                       on_done, data);
}

int redlock_query_readers(redlock_client *client, const void *resource, size_t length, size_t max,
                          redlock_query_cb on_done, void *data) {
    if (!is_question(client, resource, length, on_done) || max < 1 || max > REDLOCK_READERS_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    return query_begin(client, RL_COMMAND_READER, (redlock_bytes){resource, length}, max, 0,
                       on_done, data);
}

int redlock_set_permits(redlock_client *client, const void *resource, size_t length,
                        int32_t permits, redlock_query_cb on_done, void *data) {
    if (!is_question(client, resource, length, on_done) || permits < 1 ||
        permits > REDLOCK_PERMITS_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    return query_begin(client, RL_COMMAND_SET_PERMITS, (redlock_bytes){resource, length}, 1,
                       permits, on_done, data);
}
