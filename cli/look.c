/* See look.h. */
#include "look.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "say.h"
#include "tool/utf8.h"

const char *rl_look_why(const redlock_node_info *info, char out[RL_LOOK_WHY_MAX]) {
    bool has_detail = info->detail != NULL && info->detail[0] != '\0';
    snprintf(out, RL_LOOK_WHY_MAX, "%s%s%s%s", redlock_strerror(info->reason),
             has_detail ? " (" : "", has_detail ? info->detail : "", has_detail ? ")" : "");
    return out;
}

/* A node that has not answered may be down since: then that is why. */
static void look_at_node(struct rl_look_sight *node_holder, const redlock_client *client,
                         size_t index) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    int known = redlock_client_node(client, index, &info);
    assert(known == 0);
    (void)known;
    node_holder->votes = info.voting != 0;
    node_holder->votes_in_ms = info.votes_in_ms;
    if (node_holder->s.status != 0 && info.up) {
        snprintf(node_holder->why, sizeof node_holder->why, "%s",
                 redlock_strerror(node_holder->s.status));
    } else if (node_holder->s.status != 0) {
        rl_look_why(&info, node_holder->why);
    }
}

bool rl_look_is_holding(const struct rl_look *look, const struct rl_look_sight *node_holder) {
    if (!look->is_held || node_holder->s.status != 0 || !node_holder->s.is_held) {
        return false;
    }
    if (look->is_shared || node_holder->s.is_shared) {
        return look->is_shared && node_holder->s.is_shared;
    }
    return look->is_foreign
               ? node_holder->token[0] == '\0' && strcmp(node_holder->holder, look->holder) == 0
               : strncmp(node_holder->token, look->token, REDLOCK_TOKEN_LENGTH) == 0;
}

/* Readers hold it if a quorum of nodes says so: until fewer do. */
static void look_for_readers(struct rl_look *look) {
    const size_t quorum = look->n / 2 + 1;
    int64_t lives[REDLOCK_NODES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < look->n; i++) {
        const redlock_node_holder *seen = &look->node_holders[i].s;
        if (seen->status == 0 && seen->is_shared) {
            size_t at = count++;
            for (; at > 0 && lives[at - 1] < seen->remaining_ms; at--) {
                lives[at] = lives[at - 1];
            }
            lives[at] = seen->remaining_ms;
        }
    }
    if (count >= quorum) {
        look->is_held = look->is_shared = true;
        look->remaining_ms = lives[quorum - 1];
    }
}

static void on_query(redlock_query *query, int status, void *data) {
    struct rl_look *look = data;
    const char *token = "", *holder = "";
    look->is_held = redlock_query_quorum(query, &token, &holder, &look->remaining_ms) == 1;
    look->is_foreign = look->is_held && token[0] == '\0';
    if (look->is_held) {
        if (!look->is_foreign) {
            rl_token_show(token, holder, look->token);
        }
        tool_utf8_clean(holder, strlen(holder), look->holder, sizeof look->holder);
    }
    for (size_t i = 0; i < look->n; i++) {
        struct rl_look_sight *node_holder = &look->node_holders[i];
        node_holder->s = (redlock_node_holder)REDLOCK_NODE_HOLDER_INIT;
        int known = redlock_query_node(query, i, &node_holder->s);
        assert(known == 0);
        (void)known;
        const char *text = node_holder->s.holder != NULL ? node_holder->s.holder : "";
        tool_utf8_clean(text, strlen(text), node_holder->holder, sizeof node_holder->holder);
        snprintf(node_holder->token, sizeof node_holder->token, "%s",
                 node_holder->s.token != NULL ? node_holder->s.token : "");
        look_at_node(node_holder, look->client, i);
        look->answered += node_holder->s.status == 0;
    }
    if (!look->is_held) {
        look_for_readers(look);
    }
    for (size_t i = 0; i < look->n; i++) {
        look->holding += rl_look_is_holding(look, &look->node_holders[i]);
    }
    look->on_done(look, status, look->data);
}

int rl_look_at(struct rl_look *look, redlock_client *client, size_t n_nodes, redlock_bytes key,
               rl_look_cb on_done, void *data) {
    memset(look, 0, sizeof *look);
    look->client = client;
    look->on_done = on_done;
    look->data = data;
    look->key = key;
    look->n = n_nodes;
    return redlock_query_holder(client, key.data, key.length, on_query, look);
}

const char *rl_look_name(const struct rl_look *look, char out[RL_LOOK_NAME_MAX]) {
    if (look->is_foreign) {
        snprintf(out, RL_LOOK_NAME_MAX, "another library's client (value \"%s\")", look->holder);
    } else if (look->is_shared) {
        snprintf(out, RL_LOOK_NAME_MAX, "readers");
    } else {
        snprintf(out, RL_LOOK_NAME_MAX, "%s",
                 look->holder[0] != '\0' ? look->holder : "a holder without a name");
    }
    return out;
}

const char *rl_look_next(const struct rl_look *look) {
    return look->is_shared && look->reads ? "; a writer is next" : "";
}

/* Keys that are no locks of ours, and keep a quorum from being had. False: too few for that. */
static bool name_hindrance(const struct rl_look *look, char out[RL_LOOK_TEXT_MAX]) {
    const struct rl_look_sight *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < look->n; i++) {
        const struct rl_look_sight *node_holder = &look->node_holders[i];
        bool hinders = node_holder->s.status == 0 && node_holder->s.is_held &&
                       !node_holder->s.is_shared && node_holder->token[0] == '\0';
        first = hinders && first == NULL ? node_holder : first;
        count += hinders;
    }
    if (look->n - count >= look->n / 2 + 1) {
        return false;
    }
    snprintf(out, RL_LOOK_TEXT_MAX,
             "the key holds something other than this library's lock on %zu of %zu nodes: %s",
             count, look->n, first->holder);
    return true;
}

bool rl_look_say(const struct rl_look *look, char out[RL_LOOK_TEXT_MAX]) {
    char left[32], name[RL_LOOK_NAME_MAX];
    if (!look->is_held) {
        return name_hindrance(look, out);
    }
    snprintf(out, RL_LOOK_TEXT_MAX, "held by %s for another %s%s", rl_look_name(look, name),
             rl_say_duration((double)look->remaining_ms, left, sizeof left), rl_look_next(look));
    return true;
}

bool rl_look_say_permits(int64_t permits, int64_t take, char out[RL_LOOK_TEXT_MAX]) {
    assert(take >= 1 && take <= permits);
    if (take == 1) {
        snprintf(out, RL_LOOK_TEXT_MAX,
                 "none of %" PRId64 " permits is free, or others wait for those that are", permits);
    } else {
        snprintf(out, RL_LOOK_TEXT_MAX,
                 "fewer than %" PRId64 " of %" PRId64
                 " permits are free, or others wait for those that are",
                 take, permits);
    }
    return true;
}
