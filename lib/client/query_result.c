/* See query_result.h. */
#include "client/query_result.h"

#include <assert.h>
#include <string.h>

#include "base/sized.h"
#include "client/query_data.h"

/* -- Who holds it -- */

/* How long a key lives on after the callback began, by what its node said before that. */
static int64_t remaining_ms(const redlock_query *query, const struct rl_query_look *look) {
    if (look->seen.remaining_ms <= 0) {
        return look->seen.remaining_ms; /* for ever, or not held */
    }
    uint64_t since_ms = (query->told_ns - look->answered_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS;
    uint64_t left_ms = (uint64_t)look->seen.remaining_ms;
    return left_ms > since_ms ? (int64_t)(left_ms - since_ms) : 0;
}

int redlock_query_node(const redlock_query *query, size_t index, redlock_node_holder *node_holder) {
    if (query == NULL || node_holder == NULL || index >= query->client->n_nodes) {
        return REDLOCK_ERR_INVALID;
    }
    const struct rl_query_look *look = &query->looks[index];
    redlock_node_holder full = {
        .node = query->client->nodes[index].node.url.name,
        .status = look->status,
        .is_held = look->is_held,
        .token = look->seen.token,
        .holder = look->seen.holder,
        .remaining_ms = remaining_ms(query, look),
        .latency_us = look->latency_us,
        .is_reserved = look->seen.is_reserved,
    };
    return rl_sized_give(node_holder, node_holder->size, &full, sizeof full);
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
static bool is_one_holder(const struct rl_holder_reply *a, const struct rl_holder_reply *b) {
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
        const struct rl_holder_reply *seen = &query->looks[i].seen;
        int64_t lives[RL_NODES_MAX];
        uint32_t count = 0, counted = 0;
        for (uint32_t j = 0; j < n; j++) {
            bool is_duplicate =
                (query->client->duplicates[j] & counted) != 0; /* one server, one vote */
            if (!is_duplicate && is_one_holder(seen, &query->looks[j].seen)) {
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

/* -- Who waits -- */

static bool is_listed(const redlock_query *query, const struct rl_query_look *look) {
    for (uint32_t i = 0; i < query->n_waiters; i++) {
        const struct rl_query_look *other = &query->looks[query->waiters[i]];
        assert(other->is_waiter);
        if (strcmp(other->client, look->client) == 0 &&
            (look->client[0] != '\0' || strcmp(other->holder, look->holder) == 0)) {
            return true;
        }
    }
    return false;
}

/* The node with the longest line among those that are left, or the number of nodes. */
static uint32_t longest_line(const redlock_query *query, uint32_t done) {
    uint32_t n = query->client->n_nodes, longest = n;
    assert(n <= query->n_looks); /* each node's first look has its number */
    for (uint32_t i = 0; i < n; i++) {
        const struct rl_query_look *look = &query->looks[i];
        if (look->is_waiter && (done >> i & 1) == 0 &&
            (longest == n || look->waiting > query->looks[longest].waiting)) {
            longest = i;
        }
    }
    return longest;
}

/* A client has one place in a line. Where it is in those of two nodes, it has moved from one to the
 * other, or both nodes are one server. */
void rl_query_list_waiters(redlock_query *query) {
    uint32_t n = query->client->n_nodes, done = 0;
    assert(query->n_waiters == 0 && query->n_looks >= n);
    for (uint32_t node = longest_line(query, 0); node < n; node = longest_line(query, done)) {
        done |= UINT32_C(1) << node;
        for (uint32_t i = 0; i < query->n_looks; i++) {
            const struct rl_query_look *look = &query->looks[i];
            if (look->node == node && look->is_waiter && !is_listed(query, look)) {
                query->waiters[query->n_waiters++] = (uint16_t)i;
            }
        }
    }
    assert(query->n_waiters <= query->room);
}

size_t redlock_query_waiting(const redlock_query *query) {
    size_t longest = 0;
    for (uint32_t i = 0; query != NULL && i < query->client->n_nodes; i++) {
        size_t waiting = query->looks[i].waiting;
        longest = waiting > longest ? waiting : longest;
    }
    return query != NULL && query->n_waiters > longest ? query->n_waiters : longest;
}

int redlock_query_waiter(const redlock_query *query, size_t index, redlock_waiter *waiter) {
    if (query == NULL || waiter == NULL || index >= query->n_waiters || index >= query->max) {
        return REDLOCK_ERR_INVALID;
    }
    const struct rl_query_look *look = &query->looks[query->waiters[index]];
    assert(look->is_waiter && query->told_ns >= look->answered_ns);
    uint64_t since_ms = (query->told_ns - look->answered_ns) / RL_NS_PER_MS;
    redlock_waiter full = {
        .node = query->client->nodes[look->node].node.url.name,
        .client = look->client,
        .holder = look->holder,
        .waited_ms = (int64_t)(look->waited_ms + since_ms),
    };
    return rl_sized_give(waiter, waiter->size, &full, sizeof full);
}

int redlock_waiter_init(redlock_waiter *waiter, size_t size) {
    static const redlock_waiter fresh = REDLOCK_WAITER_INIT;
    return rl_sized_fresh(waiter, size, &fresh, sizeof fresh);
}

int redlock_node_holder_init(redlock_node_holder *node_holder, size_t size) {
    static const redlock_node_holder fresh = REDLOCK_NODE_HOLDER_INIT;
    return rl_sized_fresh(node_holder, size, &fresh, sizeof fresh);
}
