/* See found.h. */
#include "found.h"

#include <assert.h>
#include <string.h>

static void part_done(struct rl_found *found) {
    assert(found->out > 0);
    found->out--;
    if (found->out == 0) {
        found->on_done(found, found->data);
    }
}

static void on_line(struct rl_line *line, void *data) {
    (void)line;
    part_done(data);
}

static void on_permits(struct rl_permits *permits, void *data) {
    (void)permits;
    part_done(data);
}

static void on_kicks(struct rl_kick_look *look, void *data) {
    (void)look;
    part_done(data);
}

/* Readers of whom none has a quorum are left-overs, as keys are. */
static void on_readers(struct rl_readers *readers, void *data) {
    struct rl_found *found = data;
    struct rl_look *look = &found->look;
    look->is_held &= !look->is_shared || !readers->is_known || readers->holding > 0;
    part_done(found);
}

static void on_looked(struct rl_look *look, int status, void *data) {
    struct rl_found *found = data;
    bool is_read = false;
    found->status = status;
    for (size_t i = 0; i < look->n; i++) {
        is_read |= look->node_holders[i].s.is_shared != 0;
    }
    if (is_read && rl_readers_ask(&found->readers, found->client, look->n, look->key, on_readers,
                                  found) == 0) {
        found->out++;
    }
    part_done(found);
}

int rl_found_ask(struct rl_found *found, redlock_client *client, size_t n_nodes, redlock_bytes key,
                 struct rl_found_parts parts, rl_found_cb on_done, void *data) {
    memset(found, 0, sizeof *found);
    found->client = client;
    found->on_done = on_done;
    found->data = data;
    int status = rl_look_at(&found->look, client, n_nodes, key, on_looked, found);
    if (status != 0) {
        return status;
    }
    found->out = 1;
    found->out +=
        parts.line && rl_line_ask(&found->line, client, n_nodes, key, false, on_line, found) == 0;
    found->out += parts.permits &&
                  rl_permits_ask(&found->permits, client, n_nodes, key, on_permits, found) == 0;
    found->out += parts.permits && rl_line_ask(&found->permits_line, client, n_nodes, key, true,
                                               on_line, found) == 0;
    found->out +=
        parts.kicks && rl_kick_look_ask(&found->kicks, client, n_nodes, key, on_kicks, found) == 0;
    return 0;
}

bool rl_found_has_lock(const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    bool has_key = found->line.n > 0;
    for (size_t i = 0; i < look->n; i++) {
        const redlock_node_holder *seen = &look->node_holders[i].s;
        has_key |= seen->status == 0 && (seen->is_held || seen->is_reserved);
    }
    return has_key;
}

bool rl_found_has_permits(const struct rl_found *found) {
    return rl_permits_any(&found->permits) || found->permits_line.n > 0;
}
