/* See query.h. */
#include "query.h"

#include <assert.h>
#include <string.h>

#include "redis/sighting.h"

/* What one node said, or why it did not. */
struct look {
    struct rl_request request;
    redlock_query *query;
    uint64_t answered_ns;
    uint32_t latency_us;
    int16_t status;
    bool is_held;
    struct rl_sighting seen;
};

struct redlock_query {
    redlock_client *client;
    redlock_query *next; /* all queries of the client */
    redlock_query *previous;
    redlock_query *next_done; /* the queue of callbacks */
    redlock_query_cb callback;
    void *data;
    struct rl_deadline deadline;
    struct rl_target target;
    struct rl_bytes name;
    uint64_t sent_ns;
    uint64_t told_ns;
    int status;
    uint32_t out; /* requests without an answer */
    bool is_finished;
    bool is_told;
    struct look looks[]; /* one for each node; the resource's bytes behind them */
};

/* -- Life -- */

static redlock_query *query_new(redlock_client *client, const void *resource, size_t length) {
    size_t looks = client->n_nodes * sizeof(struct look);
    redlock_query *query = rl_alloc(&client->memory, 1, sizeof *query + looks + length);
    if (query == NULL) {
        return NULL;
    }
    char *bytes = (char *)query->looks + looks;
    memcpy(bytes, resource, length);
    query->client = client;
    query->name = (struct rl_bytes){bytes, length};
    query->target = (struct rl_target){.resources = &query->name, .n = 1, .holder = ""};
    rl_deadline_init(&query->deadline, RL_TAG_QUERY);
    return query;
}

static void query_enlist(redlock_query *query) {
    redlock_client *client = query->client;
    query->next = client->queries;
    if (query->next != NULL) {
        query->next->previous = query;
    }
    client->queries = query;
    client->query_count++;
}

static void query_free_unused(redlock_query *query) {
    redlock_client *client = query->client;
    if (!query->is_told || query->out > 0) {
        return;
    }
    assert(query->is_finished && query->deadline.slot == RL_DEADLINE_UNSET);
    if (query->previous != NULL) {
        query->previous->next = query->next;
    } else {
        client->queries = query->next;
    }
    if (query->next != NULL) {
        query->next->previous = query->previous;
    }
    client->query_count--;
    rl_free(&client->memory, query);
}

/* -- The end of a query -- */

static void query_finish(redlock_query *query, int status) {
    struct rl_query_queue *queue = &query->client->asked;
    assert(!query->is_finished);
    query->is_finished = true;
    query->status = status;
    rl_deadlines_set(&query->client->deadlines, &query->deadline, RL_NEVER);
    if (queue->tail != NULL) {
        queue->tail->next_done = query;
    } else {
        queue->head = query;
    }
    queue->tail = query;
}

static void query_count(redlock_query *query) {
    uint32_t n = query->client->n_nodes;
    uint32_t answered = 0;
    for (uint32_t i = 0; i < n; i++) {
        answered += query->looks[i].status == 0;
    }
    query_finish(query, answered >= rl_quorum(n) ? 0 : REDLOCK_ERR_NO_QUORUM);
}

redlock_query *rl_query_take(redlock_client *client) {
    redlock_query *query = client->asked.head;
    if (query != NULL) {
        assert(query->is_finished && !query->is_told);
        client->asked.head = query->next_done;
        if (client->asked.head == NULL) {
            client->asked.tail = NULL;
        }
    }
    return query;
}

void rl_query_tell(redlock_query *query) {
    assert(query->is_finished && !query->is_told);
    query->told_ns = redlock_now_ns();
    query->callback(query, query->status, query->data);
    query->is_told = true;
    query_free_unused(query);
}

/* Those that are out are given up: their answers come too late. */
void rl_query_tick(struct rl_deadline *item) {
    redlock_query *query = RL_CONTAINER(item, redlock_query, deadline);
    assert(!query->is_finished && query->out > 0);
    for (uint32_t i = 0; i < query->client->n_nodes; i++) {
        if (query->looks[i].status == REDLOCK_ERR_CANCELED) {
            query->looks[i].status = REDLOCK_ERR_NODE_TIMEOUT;
        }
    }
    query_count(query);
}

void rl_query_put_off(redlock_client *client, uint64_t since_ns, uint64_t now_ns) {
    for (redlock_query *query = client->queries; query != NULL; query = query->next) {
        if (!query->is_finished && query->sent_ns >= since_ns) {
            rl_deadlines_set(&client->deadlines, &query->deadline,
                             now_ns + client->rules.node_timeout_ns);
        }
    }
}

void rl_query_cancel_all(redlock_client *client) {
    for (redlock_query *query = client->queries; query != NULL; query = query->next) {
        if (!query->is_finished) {
            query_finish(query, REDLOCK_ERR_CANCELED);
        }
    }
}

/* -- Asking and being answered -- */

static void look_take(struct look *look, const struct rl_answer *answer) {
    look->answered_ns = redlock_now_ns();
    if (answer->verdict != RL_UNANSWERED) {
        look->latency_us = (uint32_t)((look->answered_ns - look->query->sent_ns) / 1000);
    }
    look->status = answer->reason;
    look->is_held = answer->verdict == RL_YES;
    if (look->is_held) {
        bool parsed = rl_sighting_parse(answer->text, &look->seen);
        assert(parsed); /* the judge has looked at it */
        (void)parsed;
    }
    assert((look->status == 0) == (look->is_held || answer->verdict == RL_NO));
}

void rl_query_answer(struct rl_node *node, struct rl_request *request,
                     const struct rl_answer *answer) {
    struct look *look = RL_CONTAINER(request, struct look, request);
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
    redlock_client *client = query->client;
    struct rl_command command = {.kind = RL_COMMAND_READ, .target = &query->target};
    size_t length = rl_command_format(client->io.wire, &command);
    query->sent_ns = redlock_now_ns();
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        struct look *look = &query->looks[i];
        look->query = query;
        look->request = (struct rl_request){.target = &query->target, .kind = RL_COMMAND_READ};
        look->status = rl_node_send(&client->nodes[i].node, &look->request, client->io.wire, length,
                                    query->sent_ns);
        if (look->status == 0) {
            query->out++;
            look->status = REDLOCK_ERR_CANCELED; /* until something else is known */
        }
    }
    if (query->out == 0) {
        query_count(query);
    } else {
        rl_deadlines_set(&client->deadlines, &query->deadline,
                         query->sent_ns + client->rules.node_timeout_ns);
    }
}

int redlock_query_holder(redlock_client *client, const void *resource, size_t length,
                         redlock_query_cb on_done, void *data) {
    if (client == NULL || resource == NULL || on_done == NULL || length < 1 ||
        length > REDLOCK_RESOURCE_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    if (rl_io_is_forked(&client->io)) {
        return REDLOCK_ERR_FORKED;
    }
    if (client->phase != RL_CLIENT_OPEN) {
        return REDLOCK_ERR_CLOSED;
    }
    redlock_query *query = NULL;
    if (rl_client_reserve_deadline(client)) {
        query = query_new(client, resource, length);
    }
    if (query != NULL && !rl_client_reserve_wire(client, &query->target)) {
        rl_free(&client->memory, query);
        query = NULL;
    }
    if (query == NULL) {
        return REDLOCK_ERR_NOMEM;
    }
    query->callback = on_done;
    query->data = data;
    query_enlist(query);
    query_ask(query);
    rl_loop_wake(client);
    return 0;
}

/* -- Reading -- */

/* How long a key lives on after the callback began, by what its node said before that. */
static int64_t remaining_ms(const redlock_query *query, const struct look *look) {
    if (look->seen.remaining_ms <= 0) {
        return look->seen.remaining_ms; /* for ever, or not held */
    }
    uint64_t since_ms = (query->told_ns - look->answered_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS;
    uint64_t left_ms = (uint64_t)look->seen.remaining_ms;
    return left_ms > since_ms ? (int64_t)(left_ms - since_ms) : 0;
}

int redlock_query_sight(const redlock_query *query, size_t index, redlock_sight *sight) {
    if (query == NULL || sight == NULL || index >= query->client->n_nodes) {
        return REDLOCK_ERR_INVALID;
    }
    const struct look *look = &query->looks[index];
    redlock_sight full = {
        .node = query->client->nodes[index].node.url.name,
        .status = look->status,
        .is_held = look->is_held,
        .token = look->seen.token,
        .holder = look->seen.holder,
        .remaining_ms = remaining_ms(query, look),
        .latency_us = look->latency_us,
    };
    return rl_options_hand_out(sight, sight->size, &full, sizeof full);
}

/* Longest first; one that never ends before all others. */
static void insert_sorted(int64_t lives[], uint32_t count, int64_t life) {
    uint32_t at = count;
    while (at > 0 && (uint64_t)lives[at - 1] < (uint64_t)life) { /* -1 is the largest then */
        lives[at] = lives[at - 1];
        at--;
    }
    lives[at] = life;
}

/* Whether two nodes have the key of one holder: our token, or one string that is not ours and ends,
 * as every Redlock library sets it. */
static bool is_one_holder(const struct rl_sighting *a, const struct rl_sighting *b) {
    if (a->token[0] != '\0') {
        return strcmp(a->token, b->token) == 0;
    }
    return a->is_foreign && b->is_foreign && a->remaining_ms >= 0 && b->remaining_ms >= 0 &&
           strcmp(a->holder, b->holder) == 0;
}

int redlock_query_quorum(const redlock_query *query, const char **token, const char **holder,
                         int64_t *remaining) {
    if (query == NULL) {
        return 0;
    }
    uint32_t n = query->client->n_nodes;
    uint32_t quorum = rl_quorum(n);
    for (uint32_t i = 0; i < n; i++) {
        const struct rl_sighting *seen = &query->looks[i].seen;
        int64_t lives[RL_NODES_MAX];
        uint32_t count = 0, counted = 0;
        for (uint32_t j = 0; j < n; j++) {
            bool is_twin = (query->client->twins[j] & counted) != 0; /* one server, one vote */
            if (!is_twin && is_one_holder(seen, &query->looks[j].seen)) {
                counted |= UINT32_C(1) << j;
                insert_sorted(lives, count++, remaining_ms(query, &query->looks[j]));
            }
        }
        if (count >= quorum) {
            if (token != NULL) {
                *token = seen->token;
            }
            if (holder != NULL) {
                *holder = seen->holder;
            }
            if (remaining != NULL) {
                *remaining = lives[quorum - 1];
            }
            return 1;
        }
    }
    return 0;
}
