/* See holder.h. */
#include "holder.h"

#include "keys.h"

static void on_looked(struct rl_look *look, int status, void *data) {
    (void)look;
    rl_session_done(data, status);
}

int rl_holder_look(struct rl_look *look, struct rl_session *session, redlock_bytes key) {
    int status = rl_look_at(look, session->client, session->args->nodes.n, key, on_looked, session);
    look->reads = session->args->shared;
    return status == 0 ? rl_session_wait(session) : status;
}

bool rl_holder_find(struct rl_session *session, const char *keys_text, char out[RL_LOOK_TEXT_MAX]) {
    struct rl_keys keys;
    static struct rl_look look;
    bool found = false;
    if (rl_keys_parse(&keys, keys_text) == NULL) {
        for (size_t i = 0; i < keys.count && !found; i++) {
            found = rl_holder_look(&look, session, keys.items[i]) == 0 && rl_look_say(&look, out);
        }
    }
    rl_keys_free(&keys);
    return found;
}
