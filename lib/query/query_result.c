/* See query_result.h. */
#include "query/query_result.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/sized.h"
#include "mode/mode.h"
#include "redis/reply.h"
#include "redlock/semaphore.h"

/* -- Votes -- */

uint32_t rl_query_node(const redlock_query *query, uint32_t i) {
    assert(i < query->n_nodes);
    return rl_bits_nth(rl_sides_all(&query->sides), i);
}

static const char *name_of(const redlock_query *query, const struct rl_query_look *look) {
    return query->client->nodes[rl_query_node(query, look->node)]->node.url.name;
}

/* How long a key lives from the start of the callback, according to its node's earlier answer. */
static int64_t remaining_ms(const redlock_query *query, const struct rl_query_look *look) {
    if (look->seen.remaining_ms <= 0) {
        return look->seen.remaining_ms; /* unlimited, or not held */
    }
    uint64_t since_ms = (query->told_ns - look->answered_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS;
    uint64_t left_ms = (uint64_t)look->seen.remaining_ms;
    return left_ms > since_ms ? (int64_t)(left_ms - since_ms) : 0;
}

/* How long a node has a key. */
struct life {
    int64_t ms;
    uint32_t node;
};

/* Inserts a life into the array, sorted longest first; a key that never expires comes before all
 * others. */
static void insert_life(struct life lives[], uint32_t count, struct life life) {
    uint32_t at = count;
    while (at > 0 && (uint64_t)lives[at - 1].ms < (uint64_t)life.ms) { /* -1 is the largest */
        lives[at] = lives[at - 1];
        at--;
    }
    lives[at] = life;
}

/* Whether two nodes have the key of one holder. Reservations are all equal, since only home knows
 * for which place they are. */
static bool is_same(const struct rl_holder_reply *a, const struct rl_holder_reply *b) {
    if (a->token[0] != '\0') {
        return strcmp(a->token, b->token) == 0;
    }
    return b->token[0] == '\0' && a->is_foreign == b->is_foreign &&
           a->is_reserved == b->is_reserved && strcmp(a->holder, b->holder) == 0;
}

/* Whether a key is a holder's: it has a token of ours, or a foreign string with an expiry, as every
 * Redlock library sets. */
static bool is_of_holder(const struct rl_holder_reply *seen) {
    return seen->token[0] != '\0' || (seen->is_foreign && seen->remaining_ms >= 0);
}

/* The node's look at the slot; NULL: nothing there, or no answer. */
static const struct rl_query_look *slot_at(const redlock_query *query, uint32_t node,
                                           uint32_t slot) {
    const struct rl_query_look *all = &query->looks[node];
    assert(node < query->n_nodes && all->request.index == RL_NO_SLOT);
    if (slot >= all->count || all->rest + slot >= query->n_looks) {
        return NULL;
    }
    const struct rl_query_look *look = &query->looks[all->rest + slot];
    assert(look->node == node && look->request.index == slot);
    return look->is_one ? look : NULL;
}

/* A look at this node that saw the same reader, or NULL. */
static const struct rl_query_look *reader_at(const redlock_query *query,
                                             const struct rl_query_look *look, uint32_t node) {
    for (uint32_t i = 0; i < query->n_looks; i++) {
        const struct rl_query_look *other = &query->looks[i];
        if (other->node == node && other->is_one && is_same(&look->seen, &other->seen)) {
            return other;
        }
    }
    return NULL;
}

/* A look at this node that saw the same holder as `look`, or NULL. */
static const struct rl_query_look *same_at(const redlock_query *query,
                                           const struct rl_query_look *look, uint32_t node) {
    const bool is_slot = query->kind == RL_COMMAND_SLOT;
    if (query->kind == RL_COMMAND_READER) {
        return reader_at(query, look, node);
    }
    const struct rl_query_look *other =
        is_slot ? slot_at(query, node, look->request.index) : &query->looks[node];
    const bool has_holder = other != NULL && (is_slot || is_of_holder(&other->seen));
    return has_holder && is_same(&look->seen, &other->seen) ? other : NULL;
}

/* The nodes that have what a look saw. */
struct votes {
    uint32_t count; /* servers */
    bool is_quorum;
    int64_t remaining_ms; /* how long they will be a quorum */
};

/* Counts the servers that have what the look saw. A reservation needs no quorum, and lives as long
 * as its longest key. */
static struct votes count_votes(const redlock_query *query, const struct rl_query_look *look) {
    struct life lives[RL_NODES_MAX];
    struct votes votes = {.count = 0};
    rl_mask counted = 0, living = 0;
    for (uint32_t i = 0; i < query->n_nodes; i++) {
        const struct rl_query_look *other = same_at(query, look, i);
        const uint32_t node = rl_query_node(query, i);
        /* Nodes that are one server count once. */
        if (other != NULL && ((query->client->duplicates[node] | rl_bit(node)) & counted) == 0) {
            counted |= rl_bit(node);
            insert_life(lives, votes.count++, (struct life){remaining_ms(query, other), node});
        }
    }
    for (uint32_t i = 0; i < votes.count && !votes.is_quorum; i++) {
        living |= rl_bit(lives[i].node);
        votes.is_quorum = rl_sides_quorum(&query->sides, living);
        votes.remaining_ms = votes.is_quorum ? lives[i].ms : 0;
    }
    if (look->seen.is_reserved && votes.count > 0) {
        votes.remaining_ms = lives[0].ms;
    }
    return votes;
}

/* -- Holders -- */

int redlock_query_node(const redlock_query *query, size_t index, redlock_node_holder *node_holder) {
    if (query == NULL || node_holder == NULL || index >= query->n_nodes) {
        return REDLOCK_ERR_INVALID;
    }
    static const struct rl_holder_reply nothing; /* the query was not for the holder */
    const struct rl_query_look *look = &query->looks[index];
    const struct rl_holder_reply *seen = query->kind == RL_COMMAND_READ ? &look->seen : &nothing;
    redlock_node_holder full = {
        .node = name_of(query, look),
        .status = rl_query_node_status(query, look->node),
        .is_held = look->is_held,
        .token = seen->token,
        .holder = seen->holder,
        .remaining_ms = seen->remaining_ms != 0 ? remaining_ms(query, look) : 0,
        .latency_us = look->latency_us,
        .is_reserved = seen->is_reserved,
        .is_shared = seen->is_shared,
    };
    return rl_sized_give(node_holder, node_holder->size, &full, sizeof full);
}

int redlock_query_quorum(const redlock_query *query, const char **token, const char **holder,
                         int64_t *remaining) {
    if (query == NULL || query->kind != RL_COMMAND_READ) {
        return 0;
    }
    const uint32_t n = query->n_nodes;
    for (uint32_t i = 0; i < n; i++) {
        const struct rl_query_look *look = &query->looks[i];
        const struct votes votes = count_votes(query, look);
        if (!votes.is_quorum) {
            continue;
        }
        if (token != NULL) {
            *token = look->seen.token;
        }
        if (holder != NULL) {
            *holder = look->seen.holder;
        }
        if (remaining != NULL) {
            *remaining = votes.remaining_ms;
        }
        return 1;
    }
    return 0;
}

uint32_t redlock_query_lacks(const redlock_query *query, uint32_t nodes) {
    if (query == NULL) {
        return 0;
    }
    rl_mask there = 0;
    for (uint32_t i = 0; i < query->n_nodes && i < 32; i++) {
        there |= nodes >> i & 1 ? rl_bit(rl_query_node(query, i)) : 0;
    }
    return rl_sides_lack(&query->sides, there);
}

/* -- Lists -- */

/* Whether two answers are about one waiter or reader. A client has one place in a line. */
static bool is_one_item(const redlock_query *query, const struct rl_query_look *a,
                        const struct rl_query_look *b) {
    assert(a->is_one && b->is_one);
    if (query->kind == RL_COMMAND_READER) {
        return is_same(&a->seen, &b->seen);
    }
    return a->request.lock_mode == b->request.lock_mode && strcmp(a->client, b->client) == 0 &&
           (a->client[0] != '\0' || strcmp(a->holder, b->holder) == 0);
}

static bool is_listed(const redlock_query *query, const struct rl_query_look *look) {
    for (uint32_t i = 0; i < query->n_listed; i++) {
        if (is_one_item(query, &query->looks[query->listed[i]], look)) {
            return true;
        }
    }
    return false;
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

/* -- Waiters -- */

/* The first looks of a mode: one for each node. */
static const struct rl_query_look *first_look(const redlock_query *query, uint8_t mode,
                                              uint32_t node) {
    const uint32_t i = (uint32_t)mode - query->first_mode;
    assert(i < query->n_modes && node < query->n_nodes);
    return &query->looks[i * query->n_nodes + node];
}

/* The node with the longest line among those not yet done; the number of nodes if there is none. */
static uint32_t longest_line(const redlock_query *query, uint8_t mode, rl_mask done) {
    uint32_t n = query->n_nodes, longest = n;
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
    uint32_t n = query->n_nodes, before = query->n_listed;
    rl_mask done = 0;
    uint32_t node = longest_line(query, mode, 0);
    for (; node < n; node = longest_line(query, mode, done)) {
        done |= rl_bit(node);
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
        uint32_t n = query->n_nodes, node = longest_line(query, mode, 0);
        size_t longest = node < n ? first_look(query, mode, node)->count : 0, listed = 0;
        for (uint32_t j = 0; j < query->n_listed; j++) {
            listed += query->looks[query->listed[j]].request.lock_mode == mode;
        }
        sum += listed > longest ? listed : longest;
    }
    return sum;
}

int redlock_query_waiter(const redlock_query *query, size_t index, redlock_waiter *waiter) {
    const struct rl_query_look *look = listed_at(query, RL_COMMAND_WAITER, index);
    if (look == NULL || waiter == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    uint64_t since_ms = (query->told_ns - look->answered_ns) / RL_NS_PER_MS;
    redlock_waiter full = {
        .node = name_of(query, look),
        .client = look->client,
        .holder = look->holder,
        .waited_ms = (int64_t)(look->waited_ms + since_ms),
        .mode = rl_mode_reported(look->request.lock_mode),
        .take = look->take,
    };
    return rl_sized_give(waiter, waiter->size, &full, sizeof full);
}

/* -- Readers -- */

static void list_readers(redlock_query *query) {
    for (int with_quorum = 1; with_quorum >= 0; with_quorum--) {
        for (uint32_t i = 0; i < query->n_looks; i++) {
            const struct rl_query_look *look = &query->looks[i];
            if (look->is_one && !is_listed(query, look) &&
                count_votes(query, look).is_quorum == with_quorum) {
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
    uint32_t node = longest_line(query, query->first_mode, 0);
    size_t most = node < query->n_nodes ? query->looks[node].count : 0;
    return query->n_listed > most ? query->n_listed : most;
}

int redlock_query_reader(const redlock_query *query, size_t index, redlock_reader *reader) {
    const struct rl_query_look *look = listed_at(query, RL_COMMAND_READER, index);
    if (look == NULL || reader == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    redlock_reader full = {.token = look->seen.token, .holder = look->seen.holder};
    const struct votes votes = count_votes(query, look);
    full.votes = votes.count;
    full.remaining_ms = votes.remaining_ms;
    return rl_sized_give(reader, reader->size, &full, sizeof full);
}

/* -- Slots -- */

static void list_slots(redlock_query *query) {
    assert(query->kind == RL_COMMAND_SLOT);
    for (uint32_t slot = 0; slot < query->max; slot++) {
        bool is_in_use = false;
        for (uint32_t node = 0; node < query->n_nodes; node++) {
            is_in_use = is_in_use || slot_at(query, node, slot) != NULL;
        }
        if (is_in_use) {
            query->listed[query->n_listed++] = (uint16_t)slot;
        }
    }
    assert(query->n_listed <= query->room);
}

static redlock_slot slot_of(const redlock_query *query, uint32_t number) {
    redlock_slot slot = {.number = (int32_t)number, .token = "", .holder = ""};
    for (uint32_t node = 0; node < query->n_nodes; node++) {
        const struct rl_query_look *look = slot_at(query, node, number);
        if (look == NULL) {
            continue;
        }
        slot.fence = look->fence > slot.fence ? look->fence : slot.fence;
        const bool is_first = slot.votes == 0, is_reserved = look->seen.is_reserved;
        const struct votes votes = count_votes(query, look);
        /* A holder takes precedence over a reservation for the next client. */
        const bool is_better =
            slot.is_reserved == is_reserved ? votes.count > slot.votes : slot.is_reserved;
        if (is_first || is_better) {
            slot.token = look->seen.token;
            slot.holder = look->seen.holder;
            slot.votes = votes.count;
            slot.remaining_ms = votes.remaining_ms;
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
    if (query == NULL || query->kind != RL_COMMAND_SLOT || index >= query->n_nodes) {
        return 0;
    }
    const struct rl_query_look *all = &query->looks[index];
    assert(all->permits <= RL_PERMITS_MAX);
    return all->permits;
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
    } else if (query->kind == RL_COMMAND_SLOT) {
        list_slots(query);
    }
}

int16_t rl_query_node_status(const redlock_query *query, uint32_t node) {
    const bool needs_all = query->kind == RL_COMMAND_SLOT;
    const uint32_t n = needs_all ? query->n_looks : query->n_nodes * query->n_modes;
    int16_t status = 0;
    for (uint32_t i = 0; status == 0 && i < n; i++) {
        status = query->looks[i].node == node ? query->looks[i].status : 0;
    }
    return status;
}
