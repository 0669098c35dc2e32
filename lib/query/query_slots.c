/* See query_slots.h. */
#include "query/query_slots.h"

#include <assert.h>
#include <string.h>

#include "base/sized.h"
#include "query/query_result.h"
#include "redis/holder_reply.h"
#include "redlock/semaphore.h"

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

/* What the node has in the slot; NULL: nothing, or it has not said. */
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

/* Two nodes of one holder; or with any two reservations: which place it is for only home knows. */
static bool is_same(const struct rl_holder_reply *a, const struct rl_holder_reply *b) {
    return a->is_reserved == b->is_reserved &&
           (a->is_reserved ||
            (strcmp(a->token, b->token) == 0 && strcmp(a->holder, b->holder) == 0));
}

/* On how many servers is what this look saw, and for how long on a quorum of them. */
static uint32_t count_votes(const redlock_query *query, const struct rl_query_look *look,
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
    /* A reservation needs no quorum: it lasts as long as the one that is there longest. */
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
        const uint32_t votes = count_votes(query, look, &remaining);
        /* What is held says more than what is kept for who is next. */
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
    assert(slot.votes > 0); /* it is listed */
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
