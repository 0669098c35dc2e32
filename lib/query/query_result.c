/* See query_result.h. */
#include "query/query_result.h"

#include <assert.h>
#include <string.h>

#include "base/sized.h"
#include "query/query_data.h"
#include "redis/reply.h"
#include "redlock/semaphore.h"

/* -- Holders -- */

/* How long a key lives from the start of the callback, by its node's earlier answer. */
int64_t rl_query_remaining_ms(const redlock_query *query, const struct rl_query_look *look) {
    if (look->seen.remaining_ms <= 0) {
        return look->seen.remaining_ms; /* unlimited, or not held */
    }
    uint64_t since_ms = (query->told_ns - look->answered_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS;
    uint64_t left_ms = (uint64_t)look->seen.remaining_ms;
    return left_ms > since_ms ? (int64_t)(left_ms - since_ms) : 0;
}

int redlock_query_node(const redlock_query *query, size_t index, redlock_node_holder *node_holder) {
    if (query == NULL || node_holder == NULL || index >= query->client->n_nodes) {
        return REDLOCK_ERR_INVALID;
    }
    static const struct rl_holder_reply nothing; /* the holder was not queried */
    const struct rl_query_look *look = &query->looks[index];
    const struct rl_holder_reply *seen = query->kind == RL_COMMAND_READ ? &look->seen : &nothing;
    redlock_node_holder full = {
        .node = query->client->nodes[index].node.url.name,
        .status = rl_query_node_status(query, (uint32_t)index),
        .is_held = look->is_held,
        .token = seen->token,
        .holder = seen->holder,
        .remaining_ms = seen->remaining_ms != 0 ? rl_query_remaining_ms(query, look) : 0,
        .latency_us = look->latency_us,
        .is_reserved = seen->is_reserved,
        .is_shared = seen->is_shared,
    };
    return rl_sized_give(node_holder, node_holder->size, &full, sizeof full);
}

/* Sorted longest first; a key that never expires comes before all others. */
void rl_query_insert_life(int64_t lives[], uint32_t count, int64_t life) {
    uint32_t at = count;
    while (at > 0 && (uint64_t)lives[at - 1] < (uint64_t)life) { /* -1 is the largest then */
        lives[at] = lives[at - 1];
        at--;
    }
    lives[at] = life;
}

/* Whether two nodes have the key of one holder: the same token of ours, or the same foreign string
 * with an expiry, as every Redlock library sets it. */
static bool is_one_holder(const struct rl_holder_reply *a, const struct rl_holder_reply *b) {
    if (a->token[0] != '\0') {
        return strcmp(a->token, b->token) == 0;
    }
    return a->is_foreign && b->is_foreign && a->remaining_ms >= 0 && b->remaining_ms >= 0 &&
           strcmp(a->holder, b->holder) == 0;
}

int redlock_query_quorum(const redlock_query *query, const char **token, const char **holder,
                         int64_t *remaining) {
    if (query == NULL || query->kind != RL_COMMAND_READ) {
        return 0;
    }
    uint32_t n = query->client->n_nodes;
    uint32_t quorum = rl_quorum(n);
    for (uint32_t i = 0; i < n; i++) {
        const struct rl_holder_reply *seen = &query->looks[i].seen;
        int64_t lives[RL_NODES_MAX];
        uint32_t count = 0, counted = 0;
        for (uint32_t j = 0; j < n; j++) {
            bool is_duplicate =
                (query->client->duplicates[j] & counted) != 0; /* one server, one vote */
            if (!is_duplicate && is_one_holder(seen, &query->looks[j].seen)) {
                counted |= UINT32_C(1) << j;
                rl_query_insert_life(lives, count++,
                                     rl_query_remaining_ms(query, &query->looks[j]));
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

/* -- Waiters -- */

static bool is_listed(const redlock_query *query, const struct rl_query_look *look) {
    for (uint32_t i = 0; i < query->n_listed; i++) {
        const struct rl_query_look *other = &query->looks[query->listed[i]];
        assert(other->is_one);
        if (other->request.lock_mode == look->request.lock_mode &&
            strcmp(other->client, look->client) == 0 &&
            (look->client[0] != '\0' || strcmp(other->holder, look->holder) == 0)) {
            return true;
        }
    }
    return false;
}

/* The first looks of a mode: one for each node. */
static const struct rl_query_look *first_look(const redlock_query *query, uint8_t mode,
                                              uint32_t node) {
    const uint32_t i = (uint32_t)mode - query->first_mode;
    assert(i < query->n_modes && node < query->client->n_nodes);
    return &query->looks[i * query->client->n_nodes + node];
}

/* The node with the longest line among those not yet done; the number of nodes if there is none. */
static uint32_t longest_line(const redlock_query *query, uint8_t mode, uint32_t done) {
    uint32_t n = query->client->n_nodes, longest = n;
    assert(n * query->n_modes <= query->n_looks);
    for (uint32_t i = 0; i < n; i++) {
        const struct rl_query_look *look = first_look(query, mode, i);
        if (look->is_one && (done >> i & 1) == 0 &&
            (longest == n || look->count > first_look(query, mode, longest)->count)) {
            longest = i;
        }
    }
    return longest;
}

/* A client has one place in a line. If it appears in the lines of two nodes, it has moved from one
 * to the other, or both nodes are one server. */
static void list_waiters(redlock_query *query, uint8_t mode) {
    uint32_t n = query->client->n_nodes, done = 0, before = query->n_listed;
    uint32_t node = longest_line(query, mode, 0);
    for (; node < n; node = longest_line(query, mode, done)) {
        done |= UINT32_C(1) << node;
        for (uint32_t i = 0; i < query->n_looks; i++) {
            const struct rl_query_look *look = &query->looks[i];
            if (look->node == node && look->request.lock_mode == mode && look->is_one &&
                query->n_listed - before < query->max && !is_listed(query, look)) {
                query->listed[query->n_listed++] = (uint16_t)i;
            }
        }
    }
    assert(query->n_listed <= query->room);
}

size_t redlock_query_waiting(const redlock_query *query) {
    size_t sum = 0;
    const bool is_of_waiters = query != NULL && query->kind == RL_COMMAND_WAITER;
    for (uint8_t i = 0; is_of_waiters && i < query->n_modes; i++) {
        const uint8_t mode = query->first_mode + i;
        uint32_t n = query->client->n_nodes, node = longest_line(query, mode, 0);
        size_t longest = node < n ? first_look(query, mode, node)->count : 0, listed = 0;
        for (uint32_t j = 0; j < query->n_listed; j++) {
            listed += query->looks[query->listed[j]].request.lock_mode == mode;
        }
        sum += listed > longest ? listed : longest;
    }
    return sum;
}

/* The item at an index of the list, or NULL. */
static const struct rl_query_look *listed_at(const redlock_query *query, enum rl_command_kind kind,
                                             size_t index) {
    if (query == NULL || query->kind != kind || index >= query->n_listed) {
        return NULL;
    }
    const struct rl_query_look *look = &query->looks[query->listed[index]];
    assert(look->is_one && query->told_ns >= look->answered_ns);
    return look;
}

int redlock_query_waiter(const redlock_query *query, size_t index, redlock_waiter *waiter) {
    const struct rl_query_look *look = listed_at(query, RL_COMMAND_WAITER, index);
    if (look == NULL || waiter == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    uint64_t since_ms = (query->told_ns - look->answered_ns) / RL_NS_PER_MS;
    redlock_waiter full = {
        .node = query->client->nodes[look->node].node.url.name,
        .client = look->client,
        .holder = look->holder,
        .waited_ms = (int64_t)(look->waited_ms + since_ms),
        .mode = look->request.lock_mode == RL_SHARED ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE,
        .take = look->take,
    };
    return rl_sized_give(waiter, waiter->size, &full, sizeof full);
}

/* -- Readers -- */

static bool is_one_reader(const struct rl_query_look *a, const struct rl_query_look *b) {
    assert(a->is_one && b->is_one);
    return strcmp(a->seen.token, b->seen.token) == 0 &&
           (a->seen.token[0] != '\0' || strcmp(a->seen.holder, b->seen.holder) == 0);
}

/* The number of servers that have the reader of this look, and how long a quorum of them will have
 * it. */
static uint32_t count_votes(const redlock_query *query, const struct rl_query_look *look,
                            int64_t *remaining) {
    const uint32_t quorum = rl_quorum(query->client->n_nodes);
    int64_t lives[RL_NODES_MAX];
    uint32_t count = 0, counted = 0;
    for (uint32_t i = 0; i < query->n_looks; i++) {
        const struct rl_query_look *other = &query->looks[i];
        uint32_t bit = UINT32_C(1) << other->node;
        bool is_new = ((query->client->duplicates[other->node] | bit) & counted) == 0;
        if (other->is_one && is_new && is_one_reader(look, other)) {
            counted |= bit;
            rl_query_insert_life(lives, count++, rl_query_remaining_ms(query, other));
        }
    }
    assert(count > 0);
    *remaining = count >= quorum ? lives[quorum - 1] : 0;
    return count;
}

static bool is_read(const redlock_query *query, const struct rl_query_look *look) {
    for (uint32_t i = 0; i < query->n_listed; i++) {
        if (is_one_reader(&query->looks[query->listed[i]], look)) {
            return true;
        }
    }
    return false;
}

static void list_readers(redlock_query *query) {
    const uint32_t quorum = rl_quorum(query->client->n_nodes);
    for (int with_quorum = 1; with_quorum >= 0; with_quorum--) {
        for (uint32_t i = 0; i < query->n_looks; i++) {
            const struct rl_query_look *look = &query->looks[i];
            int64_t remaining;
            if (look->is_one && !is_read(query, look) &&
                (count_votes(query, look, &remaining) >= quorum) == with_quorum) {
                query->listed[query->n_listed++] = (uint16_t)i;
            }
        }
    }
    assert(query->n_listed <= query->n_looks);
}

size_t redlock_query_reading(const redlock_query *query) {
    if (query == NULL || query->kind != RL_COMMAND_READER) {
        return 0;
    }
    uint32_t node = longest_line(query, RL_EXCLUSIVE, 0);
    size_t most = node < query->client->n_nodes ? query->looks[node].count : 0;
    return query->n_listed > most ? query->n_listed : most;
}

int redlock_query_reader(const redlock_query *query, size_t index, redlock_reader *reader) {
    const struct rl_query_look *look = listed_at(query, RL_COMMAND_READER, index);
    if (look == NULL || reader == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    redlock_reader full = {.token = look->seen.token, .holder = look->seen.holder};
    full.votes = count_votes(query, look, &full.remaining_ms);
    return rl_sized_give(reader, reader->size, &full, sizeof full);
}

/* -- The end of a query -- */

void rl_query_list(redlock_query *query) {
    assert(query->n_listed == 0);
    if (query->kind == RL_COMMAND_READER) {
        list_readers(query);
    } else if (query->kind == RL_COMMAND_WAITER) {
        for (uint8_t i = 0; i < query->n_modes; i++) {
            list_waiters(query, query->first_mode + i);
        }
    }
}

int16_t rl_query_node_status(const redlock_query *query, uint32_t node) {
    int16_t status = 0;
    for (uint8_t i = 0; status == 0 && i < query->n_modes; i++) {
        status = first_look(query, query->first_mode + i, node)->status;
    }
    return status;
}

int redlock_reader_init(redlock_reader *reader, size_t size) {
    static const redlock_reader fresh = REDLOCK_READER_INIT;
    return rl_sized_fresh(reader, size, &fresh, sizeof fresh);
}

int redlock_waiter_init(redlock_waiter *waiter, size_t size) {
    static const redlock_waiter fresh = REDLOCK_WAITER_INIT;
    return rl_sized_fresh(waiter, size, &fresh, sizeof fresh);
}

int redlock_node_holder_init(redlock_node_holder *node_holder, size_t size) {
    static const redlock_node_holder fresh = REDLOCK_NODE_HOLDER_INIT;
    return rl_sized_fresh(node_holder, size, &fresh, sizeof fresh);
}

void rl_query_take_span(struct rl_query_look *look, const struct rl_answer *answer) {
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

void rl_query_take_slot(struct rl_query_look *look, const struct rl_answer *answer) {
    assert(look->request.index < RL_PERMITS_MAX);
    rl_holder_value_parse(answer->text, &look->seen);
    const uint32_t left_ms = answer->line.waiting;
    look->seen.remaining_ms = left_ms > 0 ? (int64_t)left_ms : -1;
    look->fence = answer->line.first_waited_ms;
    look->is_one = true;
}

#define TIMEOUTS_MAX 16

bool rl_query_slots_go_on(const redlock_query *query, const struct rl_query_look *look) {
    assert(look->answered_ns >= query->sent_ns);
    return look->answered_ns - query->sent_ns < TIMEOUTS_MAX * query->client->rules.node_timeout_ns;
}

void rl_query_judge_slots(redlock_query *query) {
    const uint32_t n = query->client->n_nodes;
    assert(query->kind == RL_COMMAND_SLOT && query->n_looks >= n);
    for (uint32_t i = n; i < query->n_looks; i++) {
        struct rl_query_look *all = &query->looks[query->looks[i].node];
        all->status = all->status == 0 ? query->looks[i].status : all->status;
    }
}

/* What the node has in the slot; NULL: nothing, or it has not answered. */
static const struct rl_query_look *slot_at(const redlock_query *query, uint32_t node,
                                           uint32_t slot) {
    const struct rl_query_look *all = &query->looks[node];
    assert(node < query->client->n_nodes && all->request.index == RL_NO_SLOT);
    if (slot >= all->count || all->rest + slot >= query->n_looks) {
        return NULL;
    }
    const struct rl_query_look *look = &query->looks[all->rest + slot];
    assert(look->node == node && look->request.index == slot);
    return look->is_one ? look : NULL;
}

void rl_query_list_slots(redlock_query *query) {
    assert(query->kind == RL_COMMAND_SLOT);
    for (uint32_t slot = 0; slot < query->max; slot++) {
        bool is_in_use = false;
        for (uint32_t node = 0; node < query->client->n_nodes; node++) {
            is_in_use = is_in_use || slot_at(query, node, slot) != NULL;
        }
        if (is_in_use) {
            query->listed[query->n_listed++] = (uint16_t)slot;
        }
    }
    assert(query->n_listed <= query->room);
}

/* Whether two nodes have the key of one holder; or both a reservation, since only home knows for
 * which place. */
static bool is_same(const struct rl_holder_reply *a, const struct rl_holder_reply *b) {
    return a->is_reserved == b->is_reserved &&
           (a->is_reserved ||
            (strcmp(a->token, b->token) == 0 && strcmp(a->holder, b->holder) == 0));
}

/* The number of servers that have what this look saw, and for how long a quorum of them will. */
static uint32_t count_slot_votes(const redlock_query *query, const struct rl_query_look *look,
                                 int64_t *remaining) {
    const uint32_t n = query->client->n_nodes, quorum = rl_quorum(n);
    int64_t lives[RL_NODES_MAX];
    uint32_t count = 0, counted = 0;
    for (uint32_t node = 0; node < n; node++) {
        const struct rl_query_look *other = slot_at(query, node, look->request.index);
        const uint32_t bit = UINT32_C(1) << node;
        bool is_new = ((query->client->duplicates[node] | bit) & counted) == 0;
        if (other != NULL && is_new && is_same(&look->seen, &other->seen)) {
            counted |= bit;
            rl_query_insert_life(lives, count++, rl_query_remaining_ms(query, other));
        }
    }
    assert(count > 0);
    /* A reservation needs no quorum: it lasts as long as the longest of its keys. */
    const bool is_reserved = look->seen.is_reserved;
    *remaining = is_reserved ? lives[0] : count >= quorum ? lives[quorum - 1] : 0;
    return count;
}

static redlock_slot slot_of(const redlock_query *query, uint32_t number) {
    redlock_slot slot = {.number = (int32_t)number, .token = "", .holder = ""};
    for (uint32_t node = 0; node < query->client->n_nodes; node++) {
        const struct rl_query_look *look = slot_at(query, node, number);
        int64_t remaining = 0;
        if (look == NULL) {
            continue;
        }
        slot.fence = look->fence > slot.fence ? look->fence : slot.fence;
        const bool is_first = slot.votes == 0, is_reserved = look->seen.is_reserved;
        const uint32_t votes = count_slot_votes(query, look, &remaining);
        /* A holder takes precedence over a reservation for the next client. */
        const bool is_better =
            slot.is_reserved == is_reserved ? votes > slot.votes : slot.is_reserved;
        if (is_first || is_better) {
            slot.token = look->seen.token;
            slot.holder = look->seen.holder;
            slot.votes = votes;
            slot.remaining_ms = remaining;
            slot.is_reserved = is_reserved;
        }
    }
    assert(slot.votes > 0); /* listed slots have votes */
    return slot;
}

int redlock_query_slot(const redlock_query *query, size_t index, redlock_slot *slot) {
    if (query == NULL || slot == NULL || query->kind != RL_COMMAND_SLOT ||
        index >= query->n_listed) {
        return REDLOCK_ERR_INVALID;
    }
    redlock_slot full = slot_of(query, query->listed[index]);
    return rl_sized_give(slot, slot->size, &full, sizeof full);
}

int32_t redlock_query_permits(const redlock_query *query, size_t index) {
    if (query == NULL || query->kind != RL_COMMAND_SLOT || index >= query->client->n_nodes) {
        return 0;
    }
    const struct rl_query_look *all = &query->looks[index];
    assert(all->permits <= RL_PERMITS_MAX);
    return all->permits;
}

int redlock_slot_init(redlock_slot *slot, size_t size) {
    static const redlock_slot fresh = REDLOCK_SLOT_INIT;
    return rl_sized_fresh(slot, size, &fresh, sizeof fresh);
}
