/* See seen.h. */
#include "live/seen.h"

static struct seen_words words(const char *token, const char *holder) {
    struct seen_words copy;
    snprintf(copy.token, sizeof(copy.token), "%s", token);
    snprintf(copy.holder, sizeof(copy.holder), "%s", holder);
    return copy;
}

static void see_nodes(struct seen *seen, redlock_query *query) {
    for (size_t i = 0; i < seen->live->n; i++) {
        redlock_node_holder node = REDLOCK_NODE_HOLDER_INIT;
        LIVE_STATUS(redlock_query_node(query, i, &node), 0);
        assert_true(!node.is_shared || (node.token[0] == '\0' && node.holder[0] == '\0'));
        seen->answered += node.status == 0;
        seen->shared += node.is_shared != 0;
        seen->held += node.is_held != 0;
        seen->of_node[i] = words(node.token, node.holder);
        seen->nodes[i] = node;
        seen->permits[i] = redlock_query_permits(query, i);
    }
    assert_int_equal(redlock_query_permits(query, seen->live->n), 0);
}

static void see_lists(struct seen *seen, redlock_query *query) {
    redlock_reader reader = REDLOCK_READER_INIT;
    redlock_slot slot = REDLOCK_SLOT_INIT;
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    size_t i;
    while ((i = seen->n_readers) < SEEN_MAX && redlock_query_reader(query, i, &reader) == 0) {
        seen->of_reader[i] = words(reader.token, reader.holder);
        seen->readers[seen->n_readers++] = reader;
    }
    while ((i = seen->n_slots) < SEEN_MAX && redlock_query_slot(query, i, &slot) == 0) {
        seen->of_slot[i] = words(slot.token, slot.holder);
        seen->slots[seen->n_slots++] = slot;
    }
    while ((i = seen->n_waiters) < SEEN_MAX && redlock_query_waiter(query, i, &waiter) == 0) {
        seen->of_waiter[i] = words("", waiter.holder);
        seen->waiters[seen->n_waiters++] = waiter;
    }
}

void seen_cb(redlock_query *query, int status, void *data) {
    struct seen *seen = data;
    const char *token = "", *holder = "";
    seen->count++;
    seen->status = status;
    see_nodes(seen, query);
    seen->has_quorum = redlock_query_quorum(query, &token, &holder, &seen->remaining_ms);
    snprintf(seen->token, sizeof(seen->token), "%s", token);
    snprintf(seen->holder, sizeof(seen->holder), "%s", holder);
    seen->reading = redlock_query_reading(query);
    seen->waiting = redlock_query_waiting(query);
    see_lists(seen, query);
    live_wake();
}

int seen_wait(struct seen *seen, int submitted) {
    LIVE_STATUS(submitted, 0);
    assert_int_equal(seen->count, 0); /* never inside the call */
    LIVE_UNTIL(seen->live, seen->count > 0);
    assert_int_equal(seen->count, 1);
    return seen->status;
}
