/* See line.h. */
#include "line.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redlock/semaphore.h"
#include "tool/utf8.h"

static void take_place(struct rl_line_place *place, const redlock_waiter *waiter) {
    tool_utf8_clean(waiter->holder, strlen(waiter->holder), place->who, sizeof place->who);
    snprintf(place->client, sizeof place->client, "%s", waiter->client);
    place->node = waiter->node;
    place->waited_ms = waiter->waited_ms;
    place->take = waiter->take;
}

static void on_listed(redlock_query *query, int status, void *data) {
    struct rl_line *line = data;
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    while (line->n < 2 * RL_LINE_MAX && redlock_query_waiter(query, line->n, &waiter) == 0) {
        take_place(&line->places[line->n++], &waiter);
        line->writing += waiter.mode == REDLOCK_EXCLUSIVE;
    }
    line->waiting = redlock_query_waiting(query);
    assert(line->waiting >= line->n);
    for (size_t i = 0; i < line->n_nodes; i++) {
        redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
        redlock_query_node(query, i, &node_holder);
        line->refused = line->refused == 0 ? node_holder.status : line->refused;
        line->unanswered |= node_holder.status != 0 ? UINT32_C(1) << i : 0;
    }
    line->is_known = status == 0 || line->n > 0;
    line->on_done(line, line->data);
}

int rl_line_ask(struct rl_line *line, redlock_client *client, size_t n_nodes, redlock_bytes key,
                bool of_permits, rl_line_cb on_done, void *data) {
    memset(line, 0, sizeof *line);
    line->on_done = on_done;
    line->data = data;
    line->n_nodes = n_nodes;
    line->refused = (of_permits ? redlock_query_permit_waiters : redlock_query_waiters)(
        client, key.data, key.length, RL_LINE_MAX, on_listed, line);
    return line->refused;
}

/* More than are listed are of the kind that has as many as are. */
void rl_line_count(const struct rl_line *line, size_t *writing, size_t *reading) {
    const size_t more = line->waiting - line->n, listed = line->n - line->writing;
    const bool are_writers = line->writing == RL_LINE_MAX && listed < RL_LINE_MAX;
    *writing = line->writing + (are_writers ? more : 0);
    *reading = listed + (are_writers ? 0 : more);
}

const char *rl_line_who(const struct rl_line_place *place, char out[RL_LINE_WHO_MAX]) {
    if (place->who[0] != '\0') {
        snprintf(out, RL_LINE_WHO_MAX, "%s", place->who);
    } else {
        snprintf(out, RL_LINE_WHO_MAX, "no name (client %s)", place->client);
    }
    return out;
}
