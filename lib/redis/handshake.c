/* See handshake.h. */
#include "redis/handshake.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "redis/config.h"
#include "redis/guard.h"
#include "redlock/status.h"

static_assert(RL_URL_USER_MAX + RL_URL_PASSWORD_MAX + 64 < RL_COMMAND_WIRE_MAX, "AUTH fits");

static size_t format(char *wire, const char *a, const char *b, const char *c) {
    const char *args[] = {a, b, c};
    size_t count = c != NULL ? 3 : b != NULL ? 2 : 1;
    size_t length = rl_command_format_args(wire, RL_COMMAND_WIRE_MAX, args, count);
    assert(length > 0);
    return length;
}

size_t rl_handshake_auth(const char *user, const char *password, char *wire) {
    assert(password[0] != '\0');
    return user[0] != '\0' ? format(wire, "AUTH", user, password)
                           : format(wire, "AUTH", password, NULL);
}

static const char *const track[] = {"CLIENT", "TRACKING", "ON", "OPTIN"};

static bool hears_flushes(const struct rl_handshake_options *options) {
    return RL_HAS_RESP3 && options->wants_info;
}

size_t rl_handshake_format(enum rl_step step, const struct rl_url *url,
                           const struct rl_handshake_options *options, char *wire) {
    char db[16];
    switch (step) {
        case RL_STEP_AUTH:
            if (!url->has_password) {
                return 0;
            }
            return rl_handshake_auth(url->user, url->password, wire);
        case RL_STEP_SELECT:
            snprintf(db, sizeof db, "%u", (unsigned)url->db);
            return url->db != 0 ? format(wire, "SELECT", db, NULL) : 0;
        case RL_STEP_SETNAME:
            return options->client_name != NULL
                       ? format(wire, "CLIENT", "SETNAME", options->client_name)
                       : 0;
        case RL_STEP_RESP3:
            return hears_flushes(options) ? format(wire, "HELLO", "3", NULL) : 0;
        case RL_STEP_TRACK:
            return hears_flushes(options)
                       ? rl_command_format_args(wire, RL_COMMAND_WIRE_MAX, track, 4)
                       : 0;
        case RL_STEP_INFO:
            return options->wants_info ? format(wire, "INFO", NULL, NULL) : 0;
        case RL_STEP_STATS:
            return options->wants_info ? format(wire, "INFO", "commandstats", NULL) : 0;
        case RL_STEP_CONFIG:
            return format(wire, "GET", RL_CONFIG_KEY, NULL);
        case RL_STEP_PING:
            return format(wire, "PING", NULL, NULL);
        case RL_STEPS:
            break;
    }
    assert(false);
    return 0;
}

enum rl_command_kind rl_handshake_release(const struct rl_info *info) {
    assert(!rl_info_has_delifeq(info) || !rl_info_has_delex(info));
    return rl_info_has_delifeq(info) ? RL_COMMAND_DELIFEQ
           : rl_info_has_delex(info) ? RL_COMMAND_DELEX
                                     : RL_COMMAND_RELEASE;
}

/* Whether an error only means that this command is unavailable. */
static bool is_forbidden(int16_t reason) {
    return reason == REDLOCK_ERR_NODE_PERMISSION || reason == REDLOCK_ERR_NODE_ERROR;
}

int16_t rl_handshake_judge(enum rl_step step, const struct rl_answer *answer) {
    int16_t reason = answer->reason;
    if (answer->verdict == RL_YES) {
        bool pong = step != RL_STEP_PING || strcmp(answer->text, "PONG") == 0;
        return (int16_t)(pong ? 0 : REDLOCK_ERR_NODE_PROTOCOL);
    }
    if (answer->verdict == RL_NO && step == RL_STEP_CONFIG) {
        return 0; /* it has none */
    }
    if (answer->verdict != RL_ERROR) {
        return (int16_t)REDLOCK_ERR_NODE_PROTOCOL;
    }
    assert(reason != 0); /* or it would pass */
    switch (step) {
        case RL_STEP_AUTH:
            return (int16_t)(reason == REDLOCK_ERR_NODE_ERROR ? REDLOCK_ERR_NODE_AUTH : reason);
        case RL_STEP_SELECT:
            return (int16_t)(reason == REDLOCK_ERR_NODE_ERROR ? REDLOCK_ERR_NODE_DATABASE : reason);
        case RL_STEP_SETNAME:
        case RL_STEP_RESP3:
        case RL_STEP_TRACK:
        case RL_STEP_STATS:
            return is_forbidden(reason) ? 0 : reason;
        case RL_STEP_INFO:
        case RL_STEP_CONFIG:
            break;
        case RL_STEP_PING:
            return reason == REDLOCK_ERR_NODE_PERMISSION ? 0 : reason;
        case RL_STEPS:
            break;
    }
    return reason;
}

void rl_handshake_explain(int16_t reason, const struct rl_info *info, char *text, size_t size) {
    assert(reason != 0);
    if (reason == REDLOCK_ERR_NODE_PERMISSION) {
        snprintf(text, size, "the guard needs INFO: allow +info or set guard to off");
    } else if (reason == REDLOCK_ERR_NODE_ERROR) {
        snprintf(text, size, "the guard needs INFO: do not rename it, or set guard to off");
    } else {
        assert(info->problem != NULL);
        snprintf(text, size,
                 "in INFO, which the guard needs, %s %s; is it Redis? or set guard to off",
                 info->field, info->problem);
    }
}

void rl_handshake_explain_config(int16_t reason, const char *problem, const char *words, char *text,
                                 size_t size) {
    if (reason == REDLOCK_ERR_NODE_PERMISSION) {
        snprintf(text, size, "allow the user +get of ~" RL_CONFIG_KEY);
    } else if (reason == REDLOCK_ERR_NODE_WRONGTYPE) {
        snprintf(text, size, RL_CONFIG_KEY " is no string: delete it");
    } else if (reason == REDLOCK_ERR_NODE_CONFIG) {
        snprintf(text, size, "its " RL_CONFIG_KEY " %s: see \"redlock set show\"", problem);
    } else {
        snprintf(text, size, "%s", words);
    }
}
