/* See query.h. */
#include "query/query.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "client/env.h"
#include "core/home.h"
#include "mode/mode.h"
#include "nodes/sets.h"
#include "query/query_result.h"
#include "redis/reply.h"

#define TIMEOUTS_MAX 16

/* -- Life -- */

static redlock_query *query_new(redlock_client *client, const struct rl_sides *sides,
                                redlock_bytes resource, uint8_t n_modes, size_t more) {
    const uint32_t n_nodes = rl_bits_count(rl_sides_all(sides));
    const size_t length = resource.length;
    size_t room = n_nodes * n_modes + more;
    size_t looks = room * sizeof(struct rl_query_look), order = room * sizeof(uint16_t);
    assert(room <= UINT16_MAX);
    redlock_query *query =
        rl_alloc_uncleared(&client->memory, sizeof *query + looks + order + length);
    if (query == NULL) {
        return NULL;
    }
    *query = (redlock_query){.client = client, .sides = *sides, .n_nodes = n_nodes};
    query->listed = (uint16_t *)(query->looks + room);
    char *bytes = (char *)(query->listed + room);
    memcpy(bytes, resource.data, length);
    query->n_modes = n_modes;
    query->room = (uint32_t)room;
    query->name = (struct rl_bytes){bytes, length};
    query->target = (struct rl_target){.resources = &query->name, .n = 1, .holder = ""};
    rl_deadline_init(&query->deadline, RL_WAITS_QUERY);
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
    rl_mask answered = 0;
    for (uint32_t i = 0; i < query->n_nodes; i++) {
        answered |= rl_query_node_status(query, i) == 0 ? rl_bit(rl_query_node(query, i)) : 0;
    }
    query_finish(query, rl_sides_quorum(&query->sides, answered) ? 0 : REDLOCK_ERR_NO_QUORUM);
}

redlock_query *rl_query_take(redlock_client *client) {
    struct rl_queued *item = rl_queue_take(&client->answered);
    redlock_query *query = RL_CONTAINER_OR_NULL(item, redlock_query, queued);
    if (query != NULL) {
        assert(query->is_finished && !query->is_told);
        query->told_ns = rl_client_now_ns(client);
    }
    return query;
}

void rl_query_told(redlock_query *query) {
    assert(query->is_finished && !query->is_told);
    query->is_told = true;
    query_free_unused(query);
}

/* Gives up on outstanding requests. */
void rl_query_due(struct rl_deadline *item, uint64_t now_ns) {
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

/* -- Requests and answers -- */

static struct rl_request request_of(redlock_query *query, uint8_t mode, uint32_t index) {
    assert(query->kind != RL_COMMAND_READ || index == 0);
    return (struct rl_request){.target = &query->target,
                               .kind = query->kind,
                               .lock_mode = mode,
                               .grace_ms = RL_LINE_GRACE_MS,
                               .index = index};
}

/* Starts the next look: asks a node; `mode` and `index`: for waiters, the line and the number in
 * it. */
static void look_ask(redlock_query *query, uint32_t node, uint8_t mode, uint32_t index,
                     size_t length) {
    redlock_client *client = query->client;
    struct rl_node *asked = &client->nodes[rl_query_node(query, node)]->node;
    assert(query->n_looks < query->room);
    struct rl_query_look *look = &query->looks[query->n_looks++];
    *look = (struct rl_query_look){
        .request = request_of(query, mode, index), .query = query, .node = (uint8_t)node};
    look->status = rl_node_send(asked, &look->request, client->io.wire, length, query->asked_ns);
    if (look->status == 0) {
        query->out++;
        look->status = REDLOCK_ERR_CANCELED; /* until it is answered */
    }
}

static size_t write_command(redlock_query *query, uint8_t mode, uint32_t index) {
    const struct rl_request request = request_of(query, mode, index);
    return rl_command_format(query->client->io.wire, &request);
}

static void await_answers(redlock_query *query) {
    assert(query->out > 0 && !query->is_finished);
    rl_deadlines_set(&query->client->deadlines, &query->deadline,
                     query->asked_ns + query->client->rules.node_timeout_ns);
}

/* Asks for the rest after the first, from number `from` on, as far as there is room. */
static void ask_rest(redlock_query *query, const struct rl_query_look *first, uint32_t from) {
    uint64_t asked_ns = rl_client_now_ns(query->client);
    assert(from <= 1 && !query->is_finished);
    const uint8_t mode = first->request.lock_mode;
    for (uint32_t i = from; i < first->count && i < query->max && query->n_looks < query->room;
         i++) {
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

/* The number of permits that a place wants: the first two digits of its number. */
static uint8_t take_of(const char *place) {
    static const char digits[] = "0123456789abcdef";
    const char *high = memchr(digits, place[RL_CLIENT_ID_LEN], sizeof digits - 1);
    const char *low = memchr(digits, place[RL_CLIENT_ID_LEN + 1], sizeof digits - 1);
    assert(high != NULL && low != NULL);
    uint8_t take = (uint8_t)((high - digits) << 4 | (low - digits));
    return take > 0 ? take : 1; /* as the scripts count */
}

/* A member of a line is a place, which begins with its client's id, and perhaps a colon and a
 * holder. Anything else was inserted by hand, and is shown unchanged. */
static void take_waiter(struct rl_query_look *look, const struct rl_answer *answer) {
    const char *member = answer->text;
    look->waited_ms = answer->line.first_waited_ms;
    look->take = 0;
    if (is_hex(member, RL_TOKEN_LEN) &&
        (member[RL_TOKEN_LEN] == ':' || member[RL_TOKEN_LEN] == '\0')) {
        memcpy(look->client, member, RL_CLIENT_ID_LEN);
        look->take = look->query->target.take > 0 ? take_of(member) : 0;
        member += RL_TOKEN_LEN + (member[RL_TOKEN_LEN] == ':');
    }
    assert(strlen(member) < sizeof look->holder);
    memcpy(look->holder, member, strlen(member) + 1);
}

/* Takes how many permits the node keeps, and how many slots to look at. A node that reports an
 * impossible number counts as unanswered. */
static void take_span(struct rl_query_look *look, const struct rl_answer *answer) {
    const uint64_t permits = answer->line.waiting, span = answer->line.first_waited_ms;
    const uint32_t max = look->query->max;
    assert(look->request.index == RL_NO_SLOT && look->count == 0);
    if (permits > RL_PERMITS_MAX || span > RL_PERMITS_MAX) {
        look->status = REDLOCK_ERR_NODE_PROTOCOL;
        return;
    }
    look->permits = (uint16_t)permits;
    look->count = span < max ? (uint32_t)span : max;
}

/* Takes the answer about one slot; or about all slots, and then asks for each of them. */
static void take_slot(struct rl_query_look *look, const struct rl_answer *answer) {
    if (look->request.index == RL_NO_SLOT) {
        look->rest = look->query->n_looks;
        take_span(look, answer);
        ask_rest(look->query, look, 0);
        return;
    }
    assert(look->request.index < RL_PERMITS_MAX);
    rl_holder_value_parse(answer->text, &look->seen);
    const uint32_t left_ms = answer->line.waiting;
    look->seen.remaining_ms = left_ms > 0 ? (int64_t)left_ms : -1;
    look->fence = answer->line.first_waited_ms;
    look->is_one = true;
}

/* Takes one item of a list, perhaps the first. */
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
        ask_rest(look->query, look, 1);
    }
}

static void look_take(struct rl_query_look *look, const struct rl_answer *answer) {
    const struct rl_io *io = &look->query->client->io;
    look->answered_ns = rl_client_now_ns(look->query->client);
    if (answer->verdict != RL_UNANSWERED) {
        const uint64_t ns = rl_request_latency_ns(&look->request, rl_io_step_ns(io));
        look->latency_us = (uint32_t)(ns / 1000);
    }
    look->status = answer->reason;
    bool is_there = answer->verdict == RL_YES;
    assert((look->status == 0) == (is_there || answer->verdict == RL_NO));
    if (is_there && look->request.kind == RL_COMMAND_SET_PERMITS) {
        return;
    }
    if (is_there && look->request.kind == RL_COMMAND_SLOT) {
        take_slot(look, answer);
    } else if (is_there && look->request.kind != RL_COMMAND_READ) {
        take_one(look, answer);
    } else if (is_there) {
        bool parsed = rl_holder_reply_parse(answer->text, &look->seen);
        assert(parsed); /* the reply was checked */
        (void)parsed;
        look->is_held = !look->seen.is_reserved;
    }
}

/* Whether there is time for further answers after this one. There may be many, and the query goes
 * on while each node_timeout_ms brings one, but not for ever, however slowly a node answers. */
static bool may_go_on(const redlock_query *query, const struct rl_query_look *look) {
    assert(look->answered_ns >= query->sent_ns);
    return look->answered_ns - query->sent_ns < TIMEOUTS_MAX * query->client->rules.node_timeout_ns;
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
        } else if (query->kind == RL_COMMAND_SLOT && may_go_on(query, look)) {
            query->asked_ns = look->answered_ns;
            await_answers(query);
        }
    }
    query_free_unused(query);
}

static void query_ask(redlock_query *query) {
    query->sent_ns = query->asked_ns = rl_client_now_ns(query->client);
    for (uint8_t i = 0; i < query->n_modes; i++) {
        const uint8_t mode = query->first_mode + i;
        const uint32_t index = query->kind == RL_COMMAND_SLOT ? RL_NO_SLOT : 0;
        size_t length = write_command(query, mode, index);
        for (uint32_t node = 0; node < query->n_nodes; node++) {
            look_ask(query, node, mode, index, length);
        }
    }
    if (query->out == 0) {
        query_count(query);
    } else {
        await_answers(query);
    }
}

/* The question to the nodes. max: as in the query's data; permits: 0 for locks, else a semaphore's
 * new number. */
struct question {
    enum rl_command_kind kind;
    size_t max;
    int32_t permits;
};

/* How many looks a query may need after its first ones. */
static size_t count_more(const struct question *question, uint8_t n_modes, size_t n_nodes) {
    const size_t most = question->max;
    assert(most >= 1);
    if (question->kind == RL_COMMAND_SLOT) {
        return n_nodes * most;
    }
    /* A line is on one node; each reader is on a quorum of nodes. */
    return (question->kind == RL_COMMAND_READER ? n_nodes : n_modes) * (most - 1);
}

/* Implements the public functions; function: the name; most: the limit of max. */
static int ask(redlock_client *client, const char *function, const struct question *question,
               size_t most, redlock_bytes resource, redlock_query_cb on_done, void *data) {
    const enum rl_command_kind kind = question->kind;
    const bool is_of_locks = question->permits == 0;
    uint8_t first_mode;
    const uint8_t n_lines = rl_mode_lines(!is_of_locks, &first_mode);
    const uint8_t n_modes = kind == RL_COMMAND_WAITER ? n_lines : 1;
    if (client == NULL || resource.data == NULL || on_done == NULL || resource.length < 1 ||
        resource.length > REDLOCK_RESOURCE_MAX || question->max < 1 || question->max > most) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, function);
    if (rl_io_is_forked(&client->io)) {
        return REDLOCK_ERR_FORKED;
    }
    if (client->phase != RL_CLIENT_OPEN) {
        return REDLOCK_ERR_CLOSED;
    }
    const struct rl_sides sides = rl_sets_sides(client, resource.data, resource.length);
    const size_t n_nodes = rl_bits_count(rl_sides_all(&sides));
    redlock_query *query = NULL;
    if (rl_reserve_deadline(client)) {
        query =
            query_new(client, &sides, resource, n_modes, count_more(question, n_modes, n_nodes));
    }
    if (query != NULL && !is_of_locks) {
        query->target.permits = (uint16_t)question->permits;
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
    query->first_mode = first_mode;
    query->max = (uint32_t)question->max;
    query->callback = on_done;
    query->data = data;
    query_enlist(query);
    query_ask(query);
    rl_client_wake(client);
    return 0;
}

int redlock_query_holder(redlock_client *client, const void *resource, size_t length,
                         redlock_query_cb on_done, void *data) {
    const struct question question = {.kind = RL_COMMAND_READ, .max = 1};
    return ask(client, __func__, &question, 1, (redlock_bytes){resource, length}, on_done, data);
}

int redlock_query_waiters(redlock_client *client, const void *resource, size_t length, size_t max,
                          redlock_query_cb on_done, void *data) {
    const struct question question = {.kind = RL_COMMAND_WAITER, .max = max};
    return ask(client, __func__, &question, REDLOCK_WAITERS_MAX, (redlock_bytes){resource, length},
               on_done, data);
}

int redlock_client_home(const redlock_client *client, const void *resource, size_t length,
                        int usual) {
    if (client == NULL || resource == NULL || length < 1 || length > REDLOCK_RESOURCE_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    const rl_mask members = rl_sides_all(&client->membership.sides);
    const struct rl_sides sides = rl_sets_sides(client, resource, length);
    const rl_mask nodes = rl_sides_all(&sides) & (usual != 0 ? members : client->voters);
    if (nodes == 0) {
        return REDLOCK_ERR_NO_QUORUM;
    }
    const uint32_t home =
        rl_home_node(rl_home_hash(resource, (uint32_t)length), client->node_hashes, nodes);
    return (int)rl_bits_count(members & (rl_bit(home) - 1));
}

int redlock_query_permit_waiters(redlock_client *client, const void *resource, size_t length,
                                 size_t max, redlock_query_cb on_done, void *data) {
    const struct question question = {.kind = RL_COMMAND_WAITER, .max = max, .permits = 1};
    return ask(client, __func__, &question, REDLOCK_WAITERS_MAX, (redlock_bytes){resource, length},
               on_done, data);
}

int redlock_query_readers(redlock_client *client, const void *resource, size_t length, size_t max,
                          redlock_query_cb on_done, void *data) {
    const struct question question = {.kind = RL_COMMAND_READER, .max = max};
    return ask(client, __func__, &question, REDLOCK_READERS_MAX, (redlock_bytes){resource, length},
               on_done, data);
}

int redlock_query_slots(redlock_client *client, const void *resource, size_t length, size_t max,
                        redlock_query_cb on_done, void *data) {
    const struct question question = {.kind = RL_COMMAND_SLOT, .max = max, .permits = 1};
    return ask(client, __func__, &question, REDLOCK_PERMITS_MAX, (redlock_bytes){resource, length},
               on_done, data);
}

int redlock_set_permits(redlock_client *client, const void *resource, size_t length,
                        int32_t permits, redlock_query_cb on_done, void *data) {
    const struct question question = {.kind = RL_COMMAND_SET_PERMITS, .max = 1, .permits = permits};
    if (permits < 1 || permits > REDLOCK_PERMITS_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    return ask(client, __func__, &question, 1, (redlock_bytes){resource, length}, on_done, data);
}
