/* See node_auth.h. */
#include "redis/node_auth.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "base/memory.h"
#include "redis/handshake.h"
#include "redis/node_state.h"
#include "redlock/status.h"

/* -- Sending -- */

/* Returns false if there is no memory: nothing has changed. */
static bool node_auth_send(struct rl_node *node, bool is_live) {
    char wire[RL_COMMAND_WIRE_MAX];
    struct rl_auth *auth = &node->auth;
    assert(auth->state == RL_AUTH_OFFERED || auth->state == RL_AUTH_REFUSED);
    size_t length = rl_credentials_format(auth->offered.user, auth->offered.password, wire);
    bool is_sent = rl_conn_send_apart(node->conn, wire, length, node->head != NULL);
    rl_wipe(wire, sizeof wire);
    if (is_sent) {
        node->auth_request = (struct rl_request){.kind = RL_COMMAND_HANDSHAKE};
        if (is_live) {
            rl_node_push_live(node, &node->auth_request, rl_io_now_ns(node->io));
        } else {
            rl_node_push(node, &node->auth_request);
        }
        rl_auth_sent(auth);
    }
    return is_sent;
}

bool rl_node_auth_greet(struct rl_node *node) {
    assert(node->state == RL_NODE_HANDSHAKE && node->head == NULL);
    if (!node->auth.offered.has_password || node->auth.is_skipped) {
        return false;
    }
    return node_auth_send(node, false); /* without memory: the old ones */
}

void rl_node_auth_up(struct rl_node *node) {
    if (rl_auth_is_due(&node->auth)) {
        node_auth_send(node, true); /* without memory: on the next connection */
    }
}

bool rl_node_offer(struct rl_node *node, const struct rl_credentials *credentials, bool is_first) {
    if (is_first && node->connects == 0 && node->state != RL_NODE_HANDSHAKE &&
        node->auth.state == RL_AUTH_SETTLED) {
        rl_credentials_use(credentials, &node->url);
    } else {
        rl_auth_offer(&node->auth, credentials);
    }
    if (node->state == RL_NODE_UP && node->auth.state == RL_AUTH_OFFERED) {
        return node_auth_send(node, true);
    }
    bool was_refused =
        node->reason == REDLOCK_ERR_NODE_AUTH || node->reason == REDLOCK_ERR_NODE_PERMISSION;
    if (node->state == RL_NODE_BACKOFF && was_refused) {
        node->pause_ns = 0;
        rl_node_set_deadline(node, rl_io_now_ns(node->io));
    } else if (node->state == RL_NODE_HANDSHAKE) {
        node->pause_ns = 0; /* the old ones may be refused now: the next pause is the shortest */
    }
    return true;
}

void rl_node_offer_again(struct rl_node *node) {
    const uint64_t now_ns = rl_io_now_ns(node->io);
    if (node->state == RL_NODE_UP && node->auth.state == RL_AUTH_REFUSED &&
        now_ns >= node->auth_again_ns) {
        RL_MARK(CREDENTIALS_AGAIN);
        node->auth_again_ns = now_ns + node->options->backoff_max_ns;
        node_auth_send(node, true);
    }
}

void rl_node_auth_ended(struct rl_node *node, int16_t reason) {
    bool is_odd = reason == REDLOCK_ERR_NODE_DISCONNECTED || reason == REDLOCK_ERR_NODE_PROTOCOL;
    enum rl_auth_end how = RL_AUTH_ENDED;
    assert(node->conn == NULL && reason != 0);
    if (node->state == RL_NODE_HANDSHAKE && (is_odd || reason == REDLOCK_ERR_NODE_TIMEOUT)) {
        how = RL_AUTH_CUT_HANDSHAKE;
    } else if (node->state == RL_NODE_UP && is_odd) {
        how = RL_AUTH_CUT_LIVE;
    }
    rl_auth_ended(&node->auth, how);
}

/* -- Answers -- */

void rl_node_auth_break(struct rl_node *node, int16_t reason, const char *text) {
    const struct rl_auth *auth = &node->auth;
    bool is_refusal = reason == REDLOCK_ERR_NODE_AUTH && auth->state == RL_AUTH_REFUSED;
    assert(node->state == RL_NODE_HANDSHAKE && reason != 0);
    rl_conn_break(node->conn, is_refusal ? auth->reason : reason, is_refusal ? auth->words : text);
}

void rl_node_auth_former(struct rl_node *node, const struct rl_answer *answer) {
    char words[RL_REPLY_TEXT_MAX];
    int16_t reason = rl_handshake_judge(RL_STEP_AUTH, answer);
    assert(node->url.has_password); /* or it was not sent */
    if (reason != 0) {
        snprintf(words, sizeof words, "%s", answer->text);
        rl_auth_hide(words, node->url.password);
        rl_node_auth_break(node, reason, words);
    }
}

static void node_auth_refused(struct rl_node *node, int16_t reason, const char *text) {
    char words[RL_REPLY_TEXT_MAX];
    const int16_t before = node->auth.reason;
    snprintf(words, sizeof words, "%s", text);
    rl_auth_hide(words, node->auth.offered.password);
    rl_auth_refused(&node->auth, reason, words);
    if (node->state == RL_NODE_HANDSHAKE) {
        snprintf(node->hint, sizeof node->hint, "%.*s", RL_DETAIL_MAX - 1, words);
    }
    if (reason != before) {
        node->events->credentials(node, reason);
    }
}

int16_t rl_node_auth_answer(struct rl_node *node, const struct rl_answer *answer) {
    int16_t reason = rl_handshake_judge(RL_STEP_AUTH, answer);
    assert(node->auth.state == RL_AUTH_SENT);
    if (reason == 0 && strcmp(answer->text, "OK") != 0) {
        reason = REDLOCK_ERR_NODE_PROTOCOL;
    }
    if (reason == REDLOCK_ERR_NODE_PROTOCOL) {
        rl_conn_break(node->conn, reason, "unexpected reply to AUTH");
        return reason;
    }
    if (reason == 0) {
        rl_auth_accepted(&node->auth, &node->url);
        node->events->credentials(node, 0);
    } else {
        node_auth_refused(node, reason, answer->text);
    }
    if (node->state == RL_NODE_UP) {
        rl_node_auth_up(node); /* send even newer ones */
    }
    return reason;
}
