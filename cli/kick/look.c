/* See look.h. */
#include "kick/look.h"

#include <string.h>

#include "kick/note.h"

static void on_looked(redlock_query *query, int status, void *data) {
    struct rl_kick_look *look = data;
    (void)status; /* what any node has will do */
    for (size_t i = 0; i < look->n_nodes; i++) {
        redlock_node_holder seen = REDLOCK_NODE_HOLDER_INIT;
        redlock_query_node(query, i, &seen);
        const bool is_there =
            seen.status == 0 && seen.is_held && strcmp(seen.holder, "(zset)") == 0;
        if (is_there && seen.remaining_ms > look->left_ms) {
            look->left_ms = seen.remaining_ms;
        }
    }
    look->on_done(look, look->data);
}

int rl_kick_look_ask(struct rl_kick_look *look, redlock_client *client, size_t n_nodes,
                     redlock_bytes name, rl_kick_look_cb on_done, void *data) {
    char key[RL_KICK_KEY_MAX];
    const size_t length = rl_kick_key(name, key);
    *look = (struct rl_kick_look){.on_done = on_done, .data = data, .n_nodes = n_nodes};
    return redlock_query_holder(client, key, length, on_looked, look);
}
