/* See readers.h. */
#include "readers.h"

#include <assert.h>
#include <string.h>

#include "tool/utf8.h"

struct asking {
    struct rl_readers *readers;
    struct rl_session *session;
};

static void take_reader(struct rl_readers *readers, const redlock_reader *reader, size_t quorum) {
    struct rl_reader *taken = &readers->readers[readers->n++];
    tool_utf8_clean(reader->holder, strlen(reader->holder), taken->who, sizeof taken->who);
    if (reader->token[0] != '\0') {
        rl_token_show(reader->token, reader->holder, taken->token);
    }
    taken->votes = reader->votes;
    taken->remaining_ms = reader->remaining_ms;
    readers->holding += reader->votes >= quorum;
}

static void on_listed(redlock_query *query, int status, void *data) {
    const struct asking *asking = data;
    struct rl_readers *readers = asking->readers;
    const size_t n_nodes = asking->session->args->nodes.n;
    redlock_reader reader = REDLOCK_READER_INIT;
    while (readers->n < RL_READERS_MAX && redlock_query_reader(query, readers->n, &reader) == 0) {
        take_reader(readers, &reader, n_nodes / 2 + 1);
    }
    readers->reading = redlock_query_reading(query);
    assert(readers->reading >= readers->n);
    for (size_t i = 0; i < n_nodes && readers->refused == 0; i++) {
        redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
        redlock_query_node(query, i, &node_holder);
        readers->refused = node_holder.status;
    }
    readers->is_known = status == 0;
    rl_session_done(asking->session, status);
}

int rl_readers_look(struct rl_readers *readers, struct rl_session *session, redlock_bytes key) {
    struct asking asking = {readers, session};
    memset(readers, 0, sizeof *readers);
    int status = redlock_query_readers(session->client, key.data, key.length, RL_READERS_MAX,
                                       on_listed, &asking);
    return status == 0 ? rl_session_wait(session) : status;
}
