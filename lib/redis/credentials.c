/* See credentials.h. */
#include "redis/credentials.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "base/memory.h"
#include "redis/command.h"
#include "redis/reply.h"

static_assert(RL_URL_USER_MAX + RL_URL_PASSWORD_MAX + 64 < RL_COMMAND_WIRE_MAX, "AUTH fits");

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

void rl_credentials_use(const struct rl_credentials *credentials, struct rl_url *url) {
    static_assert(sizeof url->user == sizeof credentials->user &&
                      sizeof url->password == sizeof credentials->password,
                  "all of those before is overwritten");
    assert(credentials->has_password);
    memcpy(url->user, credentials->user, sizeof url->user);
    memcpy(url->password, credentials->password, sizeof url->password);
    url->has_password = true;
}

size_t rl_credentials_format(const char *user, const char *password, char *wire) {
    const char *const with_user[] = {"AUTH", user, password};
    const char *const without[] = {"AUTH", password};
    assert(password[0] != '\0');
    size_t length = user[0] != '\0'
                        ? rl_command_format_args(wire, RL_COMMAND_WIRE_MAX, with_user, 3)
                        : rl_command_format_args(wire, RL_COMMAND_WIRE_MAX, without, 2);
    assert(length > 0);
    return length;
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

void rl_auth_sent(struct rl_auth *auth) {
    assert(auth->offered.has_password);
    assert(auth->state != RL_AUTH_SENT); /* one at a time */
    auth_move(auth, RL_AUTH_SENT);
}

void rl_auth_accepted(struct rl_auth *auth, struct rl_url *url) {
    assert(auth->state == RL_AUTH_SENT);
    rl_credentials_use(&auth->offered, url);
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
