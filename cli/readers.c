/* See readers.h. */
#include "readers.h"

#include <assert.h>
#include <string.h>

#include "tool/utf8.h"

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
    struct rl_readers *readers = data;
    const size_t n_nodes = readers->n_nodes;
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
    readers->on_done(readers, readers->data);
}

int rl_readers_ask(struct rl_readers *readers, redlock_client *client, size_t n_nodes,
                   redlock_bytes key, rl_readers_cb on_done, void *data) {
    memset(readers, 0, sizeof *readers);
    readers->on_done = on_done;
    readers->data = data;
    readers->n_nodes = n_nodes;
    readers->refused =
        redlock_query_readers(client, key.data, key.length, RL_READERS_MAX, on_listed, readers);
    return readers->refused;
}
