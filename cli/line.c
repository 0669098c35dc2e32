/* See line.h. */
#include "line.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redlock/semaphore.h"
#include "tool/utf8.h"

struct asking {
    struct rl_line *line;
    struct rl_session *session;
};

static void take_place(struct rl_line_place *place, const redlock_waiter *waiter) {
    tool_utf8_clean(waiter->holder, strlen(waiter->holder), place->who, sizeof place->who);
    snprintf(place->client, sizeof place->client, "%s", waiter->client);
    place->node = waiter->node;
    place->waited_ms = waiter->waited_ms;
    place->take = waiter->take;
}

static void on_listed(redlock_query *query, int status, void *data) {
    const struct asking *asking = data;
    struct rl_line *line = asking->line;
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    while (line->n < 2 * RL_LINE_MAX && redlock_query_waiter(query, line->n, &waiter) == 0) {
        take_place(&line->places[line->n++], &waiter);
        line->writing += waiter.mode == REDLOCK_EXCLUSIVE;
    }
    line->waiting = redlock_query_waiting(query);
    assert(line->waiting >= line->n);
    for (size_t i = 0; i < asking->session->args->nodes.n && line->refused == 0; i++) {
        redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
        redlock_query_node(query, i, &node_holder);
        line->refused = node_holder.status;
    }
    line->is_known = status == 0 || line->n > 0;
    rl_session_done(asking->session, status);
}

int rl_line_look(struct rl_line *line, struct rl_session *session, redlock_bytes key) {
    struct asking asking = {line, session};
    memset(line, 0, sizeof *line);
    int status = redlock_query_waiters(session->client, key.data, key.length, RL_LINE_MAX,
                                       on_listed, &asking);
    return status == 0 ? rl_session_wait(session) : status;
}

int rl_line_look_permits(struct rl_line *line, struct rl_session *session, redlock_bytes key) {
    struct asking asking = {line, session};
    memset(line, 0, sizeof *line);
    int status = redlock_query_permit_waiters(session->client, key.data, key.length, RL_LINE_MAX,
                                              on_listed, &asking);
    return status == 0 ? rl_session_wait(session) : status;
}

const char *rl_line_who(const struct rl_line_place *place, char out[RL_LINE_WHO_MAX]) {
    if (place->who[0] != '\0') {
        snprintf(out, RL_LINE_WHO_MAX, "%s", place->who);
    } else {
        snprintf(out, RL_LINE_WHO_MAX, "no name (client %s)", place->client);
    }
    return out;
}
