/* See credentials.h. */
#include "redis/credentials.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "base/memory.h"
#include "redis/handshake.h"
#include "redis/node_state.h"
#include "redis/reply.h"
#include "redlock/status.h"

bool rl_credentials_set(struct rl_credentials *credentials, const char *user,
                        const char *password) {
    memset(credentials, 0, sizeof *credentials);
    size_t user_length = user != NULL ? strnlen(user, sizeof credentials->user) : 0;
    size_t length = password != NULL ? strnlen(password, sizeof credentials->password) : 0;
    if (length == 0 || length > RL_URL_PASSWORD_MAX || user_length > RL_URL_USER_MAX) {
        return false;
    }
    if (user_length > 0) {
        memcpy(credentials->user, user, user_length);
    }
    memcpy(credentials->password, password, length);
    credentials->has_password = true;
    assert(credentials->password[length] == '\0');
    return true;
}

void rl_credentials_wipe(struct rl_credentials *credentials) {
    rl_wipe(credentials, sizeof *credentials);
    assert(!credentials->has_password);
}

/* Puts them into the URL, and wipes the old ones. */
static void use(const struct rl_credentials *credentials, struct rl_url *url) {
    static_assert(sizeof url->user == sizeof credentials->user &&
                      sizeof url->password == sizeof credentials->password,
                  "all of those before is overwritten");
    assert(credentials->has_password);
    memcpy(url->user, credentials->user, sizeof url->user);
    memcpy(url->password, credentials->password, sizeof url->password);
    url->has_password = true;
}

/* -- Newer credentials -- */

static void auth_move(struct rl_auth *auth, enum rl_auth_state to) {
    assert(to < RL_AUTH_STATES);
    auth->state = (uint8_t)to;
    assert((auth->state == RL_AUTH_SETTLED) == !auth->offered.has_password);
    assert(!auth->later.has_password || auth->state == RL_AUTH_SENT);
}

/* The latest offer replaces earlier ones. */
static void auth_replace(struct rl_auth *auth, const struct rl_credentials *from) {
    assert(from->has_password);
    auth->offered = *from;
    auth->reason = 0;
    auth->words[0] = '\0';
    auth->is_skipped = auth->is_cut_live = false;
}

/* AUTH is no longer outstanding. */
static bool auth_next(struct rl_auth *auth) {
    if (!auth->later.has_password) {
        return false;
    }
    RL_MARK(CREDENTIALS_LATER);
    auth_replace(auth, &auth->later);
    rl_credentials_wipe(&auth->later);
    auth_move(auth, RL_AUTH_OFFERED);
    return true;
}

void rl_auth_offer(struct rl_auth *auth, const struct rl_credentials *credentials) {
    assert(credentials->has_password);
    if (auth->state == RL_AUTH_SENT) {
        auth->later = *credentials;
        return;
    }
    auth_replace(auth, credentials);
    auth_move(auth, RL_AUTH_OFFERED);
}

void rl_auth_offer_same(struct rl_auth *auth, const struct rl_auth *as) {
    const struct rl_credentials *newest = as->later.has_password ? &as->later : &as->offered;
    if (newest->has_password) {
        rl_auth_offer(auth, newest);
    }
}

void rl_auth_sent(struct rl_auth *auth) {
    assert(auth->offered.has_password);
    assert(auth->state != RL_AUTH_SENT); /* one at a time */
    auth_move(auth, RL_AUTH_SENT);
}

void rl_auth_accepted(struct rl_auth *auth, struct rl_url *url) {
    assert(auth->state == RL_AUTH_SENT);
    use(&auth->offered, url);
    rl_credentials_wipe(&auth->offered);
    auth->reason = 0;
    auth->words[0] = '\0';
    auth->is_skipped = auth->is_cut_live = false;
    if (!auth_next(auth)) {
        auth_move(auth, RL_AUTH_SETTLED);
    }
}

void rl_auth_refused(struct rl_auth *auth, int16_t reason, const char *words) {
    assert(auth->state == RL_AUTH_SENT);
    assert(reason != 0);
    if (!auth_next(auth)) {
        auth->reason = reason;
        snprintf(auth->words, sizeof auth->words, "%s", words);
        auth_move(auth, RL_AUTH_REFUSED);
    }
}

void rl_auth_ended(struct rl_auth *auth, enum rl_auth_end how) {
    bool is_out = auth->state == RL_AUTH_SENT;
    bool was_said = is_out || auth->state == RL_AUTH_REFUSED;
    if ((is_out && auth_next(auth)) || auth->state == RL_AUTH_SETTLED) {
        return;
    }
    auth->is_skipped = how == RL_AUTH_CUT_HANDSHAKE && was_said;
    auth->is_cut_live = auth->is_cut_live || (how == RL_AUTH_CUT_LIVE && is_out);
    auth_move(auth, RL_AUTH_OFFERED);
}

bool rl_auth_is_due(const struct rl_auth *auth) {
    bool is_known_to_fail = auth->reason != 0 || auth->is_cut_live;
    assert(auth->state < RL_AUTH_STATES);
    return auth->state == RL_AUTH_OFFERED && !(auth->is_skipped && is_known_to_fail);
}

/* -- What may be shown -- */

#define SHOWN_MAX 4 /* characters of a password, by chance, in a row */

void rl_auth_hide(char *text, const char *password) {
    char sought[RL_REPLY_TEXT_MAX];
    size_t length = strlen(text);
    assert(length < RL_REPLY_TEXT_MAX);
    assert(password[0] != '\0');
    rl_reply_keep(sought, password, strlen(password)); /* as it would appear in text */
    size_t most = strlen(sought) < SHOWN_MAX ? strlen(sought) : SHOWN_MAX;
    bool is_cut = length + 1 == RL_REPLY_TEXT_MAX;
    for (size_t at = 0; at < length; at++) {
        size_t left = length - at;
        bool is_whole = left >= most && memcmp(text + at, sought, most) == 0;
        bool is_begun = is_cut && left < most && memcmp(text + at, sought, left) == 0;
        if (is_whole || is_begun) {
            RL_MARK(PASSWORD_REPEATED);
            size_t word = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
            size_t left_in = text[word] == ' ' && word <= at ? word : 0;
            rl_wipe(text + left_in, length - left_in);
            break;
        }
    }
    rl_wipe(sought, sizeof sought);
}

/* -- Of a node: sending -- */

/* False: no memory, and nothing has changed. */
static bool node_auth_send(struct rl_node *node, bool is_live) {
    char wire[RL_COMMAND_WIRE_MAX];
    struct rl_auth *auth = &node->auth;
    assert(auth->state == RL_AUTH_OFFERED || auth->state == RL_AUTH_REFUSED);
    size_t length = rl_handshake_auth(auth->offered.user, auth->offered.password, wire);
    rl_node_write_batch(node);
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
        use(credentials, &node->url);
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

/* -- Of a node: answers -- */

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
