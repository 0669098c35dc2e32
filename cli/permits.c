/* See permits.h. */
#include "permits.h"

#include <assert.h>
#include <string.h>

#include "tool/utf8.h"

static void take_slot(struct rl_permits *permits, const redlock_slot *slot, size_t quorum) {
    assert(permits->n < REDLOCK_PERMITS_MAX);
    struct rl_permit *taken = &permits->slots[permits->n++];
    tool_utf8_clean(slot->holder, strlen(slot->holder), taken->who, sizeof taken->who);
    if (slot->token[0] != '\0') {
        rl_token_show_permits(&slot->number, 1, slot->token, slot->holder, taken->token);
    }
    taken->number = slot->number;
    taken->votes = slot->votes;
    taken->remaining_ms = slot->remaining_ms;
    taken->fence = slot->fence;
    taken->is_reserved = slot->is_reserved != 0;
    taken->is_held = !taken->is_reserved && slot->votes >= quorum;
    permits->held += taken->is_held;
    permits->reserved += taken->is_reserved;
}

/* What most nodes say; of two numbers that as many say, the larger. */
static int32_t agreed(const struct rl_permits *permits, size_t n) {
    int32_t best = 0;
    size_t best_count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < n; j++) {
            count += permits->kept[j] == permits->kept[i];
        }
        bool is_better = count > best_count || (count == best_count && permits->kept[i] > best);
        if (permits->kept[i] > 0 && is_better) {
            best = permits->kept[i];
            best_count = count;
        }
    }
    assert(best >= 0 && best <= REDLOCK_PERMITS_MAX);
    return best;
}

static void on_listed(redlock_query *query, int status, void *data) {
    struct rl_permits *permits = data;
    const size_t n_nodes = permits->n_nodes;
    redlock_slot slot = REDLOCK_SLOT_INIT;
    while (redlock_query_slot(query, permits->n, &slot) == 0) {
        take_slot(permits, &slot, n_nodes / 2 + 1);
    }
    for (size_t i = 0; i < n_nodes; i++) {
        redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
        redlock_query_node(query, i, &node_holder);
        permits->answered += node_holder.status == 0;
        permits->refused = permits->refused == 0 ? node_holder.status : permits->refused;
        permits->kept[i] = redlock_query_permits(query, i);
    }
    permits->permits = agreed(permits, n_nodes);
    permits->free = (size_t)permits->permits;
    for (size_t i = 0; i < permits->n; i++) {
        permits->free -= permits->slots[i].number < permits->permits;
    }
    permits->is_known = status == 0;
    permits->on_done(permits, permits->data);
}

int rl_permits_ask(struct rl_permits *permits, redlock_client *client, size_t n_nodes,
                   redlock_bytes key, rl_permits_cb on_done, void *data) {
    memset(permits, 0, sizeof *permits);
    permits->on_done = on_done;
    permits->data = data;
    permits->n_nodes = n_nodes;
    permits->refused =
        redlock_query_slots(client, key.data, key.length, REDLOCK_PERMITS_MAX, on_listed, permits);
    return permits->refused;
}

bool rl_permits_any(const struct rl_permits *permits) {
    bool is_kept = permits->n > 0;
    for (size_t i = 0; i < permits->n_nodes; i++) {
        is_kept = is_kept || permits->kept[i] > 0;
    }
    return is_kept;
}
