/* See holder_reply.h. */
#include "redis/holder_reply.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "redlock/redlock.h"

static_assert(RL_HOLDER_TEXT_MAX == 1 + 105, "the script of READ cuts there");

#define CUT "..." /* at the end of a foreign value that is longer than what is shown of it */
#define EMPTY "(empty string)"
#define DIGITS_MAX 19

static_assert(RL_HOLDER_NAME_MAX == REDLOCK_HOLDER_MAX, "one length of a holder's name");

/* Parses "-1" or digits, and a space. Returns what follows, or NULL. */
static const char *parse_life(const char *text, int64_t *ms) {
    if (strncmp(text, "-1 ", 3) == 0) {
        *ms = -1;
        return text + 3;
    }
    size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > DIGITS_MAX || text[digits] != ' ') {
        return NULL;
    }
    uint64_t sum = 0; /* 19 digits fit */
    for (size_t i = 0; i < digits; i++) {
        sum = sum * 10 + (uint64_t)(text[i] - '0');
    }
    *ms = sum < INT64_MAX ? (int64_t)sum : INT64_MAX;
    return text + digits + 1;
}

/* Whether a token is followed by nothing, or by a colon and a valid holder's name. */
static bool is_tail(const char *tail) {
    size_t length = strlen(tail);
    if (length == 0) {
        return true;
    }
    for (size_t i = 1; i < length; i++) {
        if (tail[i] <= ' ' || tail[i] > '~') {
            return false;
        }
    }
    return tail[0] == ':' && length >= 2 && length <= 1 + RL_HOLDER_NAME_MAX;
}

static void take_value(const char *value, struct rl_holder_reply *out) {
    size_t length = strlen(value);
    assert(length <= RL_HOLDER_TEXT_MAX);
    if (length >= RL_COMMAND_TOKEN_LEN &&
        strspn(value, "0123456789abcdef") >= RL_COMMAND_TOKEN_LEN &&
        is_tail(value + RL_COMMAND_TOKEN_LEN)) {
        memcpy(out->token, value, RL_COMMAND_TOKEN_LEN);
        if (length > RL_COMMAND_TOKEN_LEN) {
            memcpy(out->holder, value + RL_COMMAND_TOKEN_LEN + 1, length - RL_COMMAND_TOKEN_LEN);
        }
        return;
    }
    out->is_shared = strcmp(value, RL_SHARED_VALUE) == 0;
    out->is_reserved = strcmp(value, RL_RESERVED) == 0 || strcmp(value, RL_RESERVED_SHARED) == 0;
    if (out->is_shared || out->is_reserved) {
        return;
    }
    out->is_foreign = true;
    if (length == 0) {
        memcpy(out->holder, EMPTY, sizeof EMPTY);
    } else {
        memcpy(out->holder, value, length + 1);
        if (length == RL_HOLDER_TEXT_MAX) {
            memcpy(out->holder + length - strlen(CUT), CUT, sizeof CUT);
        }
    }
}

void rl_holder_value_parse(const char *value, struct rl_holder_reply *out) {
    memset(out, 0, sizeof *out);
    take_value(value, out);
    assert(out->remaining_ms == 0);
}

bool rl_holder_reply_parse(const char *text, struct rl_holder_reply *out) {
    memset(out, 0, sizeof *out);
    const char *what = parse_life(text, &out->remaining_ms);
    if (what == NULL || strlen(what) > 1 + RL_HOLDER_TEXT_MAX) {
        return false;
    }
    if (what[0] == 's') {
        take_value(what + 1, out);
    } else if (what[0] == 't' && what[1] != '\0') {
        snprintf(out->holder, sizeof out->holder, "(%.32s)", what + 1);
    } else {
        return false;
    }
    assert(strlen(out->holder) <= RL_HOLDER_TEXT_MAX);
    assert(out->remaining_ms >= -1);
    assert(!out->is_foreign || out->token[0] == '\0');
    assert(!out->is_reserved || (out->token[0] == '\0' && !out->is_foreign));
    assert(!out->is_shared || (out->token[0] == '\0' && !out->is_foreign && !out->is_reserved));
    return true;
}
