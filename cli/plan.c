/* See plan.h. */
#include "plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exits.h"
#include "say.h"
#include "tool/list.h"
#include "tool/number.h"
#include "work.h"

#define DIGITS "0123456789"
#define NAME DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._"
#define PORT_DIGITS_MAX 5

/* host[:port][/db], with TLS also [?query], and nothing that could be part of a password */
static bool is_address(const char *text, bool is_tls) {
    bool is_ipv6 = text[0] == '[';
    size_t host = strspn(text + is_ipv6, is_ipv6 ? DIGITS "abcdefABCDEF:." : NAME);
    if (host == 0 || (is_ipv6 && text[1 + host] != ']')) {
        return false;
    }
    text += host + 2 * (size_t)is_ipv6;
    if (*text == ':') {
        size_t port = strspn(++text, DIGITS);
        if (port == 0 || port > PORT_DIGITS_MAX) {
            return false;
        }
        text += port;
    }
    text += *text == '/' ? 1 + strspn(text + 1, DIGITS) : 0;
    return *text == '\0' || (is_tls && *text == '?' && strchr(text, '@') == NULL);
}

/* /path[?db=n] */
static bool is_path(const char *text) {
    const char *query = text + strcspn(text, "?#");
    if (strncmp(query, "?db=", 4) == 0) {
        query += 4 + strspn(query + 4, DIGITS);
    }
    return text[0] == '/' && *query == '\0';
}

/* Takes user and password out of a URL. Returns its new length; 0: it is no URL that redlock(1)
 * knows, so there is no telling where a password is. */
static size_t hide_password(char *text) {
    bool is_unix = strncasecmp(text, "unix://", 7) == 0;
    bool is_tls = strncasecmp(text, "rediss://", 9) == 0;
    if (!is_unix && !is_tls && strncasecmp(text, "redis://", 8) != 0) {
        return 0;
    }
    char *begin = text + (is_unix ? 7 : is_tls ? 9 : 8), *end = begin + strcspn(begin, "/?#");
    while (end > begin && end[-1] != '@') {
        end--;
    }
    memmove(begin, end, strlen(end) + 1);
    bool is_known = is_unix ? is_path(begin) : is_address(begin, is_tls);
    return is_known ? strlen(text) : 0;
}

/* Takes users and passwords out of REDLOCK_NODES in our own environment, which is what the command
 * inherits; the whole variable if it cannot be parsed: there is no telling where a password
 * begins. */
static int hide_passwords(void) {
    const char *from = getenv("REDLOCK_NODES");
    if (from == NULL) {
        return 0;
    }
    char *list = rl_must_print("%s", from);
    char *out = list, *at = list;
    while (*at != '\0') {
        size_t separators = strspn(at, TOOL_LIST_SEPARATORS);
        memmove(out, at, separators);
        out += separators;
        at += separators;
        size_t length = strcspn(at, TOOL_LIST_SEPARATORS), kept = 0;
        char behind = at[length];
        at[length] = '\0';
        if (length > 0 && (kept = hide_password(at)) == 0) {
            out = list; /* none of it */
            break;
        }
        memmove(out, at, kept);
        out += kept;
        at += length;
        *at = behind;
    }
    *out = '\0';
    int failed = out > list ? setenv("REDLOCK_NODES", list, 1) : unsetenv("REDLOCK_NODES");
    explicit_bzero(list, strlen(from));
    free(list);
    return failed == 0 ? 0 : rl_fail(RL_EXIT_SYSTEM, "out of memory");
}

int rl_plan_begin(const struct rl_args *args, struct rl_orphan *orphan, bool is_name) {
    unsetenv("REDLOCK_FENCE"); /* these belong to a lock around this one */
    unsetenv("REDLOCK_SLOT");
    rl_orphan_init(orphan, args, is_name);
    return args->keeps_passwords ? 0 : hide_passwords();
}

static int64_t validity_of(int64_t ttl_ms) {
    return ttl_ms - rl_args_drift_ms(ttl_ms);
}

/* A renewal begins when a third of the ttl is used up. One may hang for node_timeout_ms, and there
 * has to be time for another before the command is terminated; that begins no earlier than at half
 * of the validity. */
static bool is_long_enough(const struct rl_args *args, int64_t ttl_ms, int64_t grace_ms) {
    int64_t validity_ms = validity_of(ttl_ms);
    int64_t margin_ms = RL_WORK_DUE_MS(grace_ms);
    return margin_ms <= validity_ms / 2 &&
           ttl_ms / 3 + args->node_timeout_ms <= validity_ms - margin_ms;
}

/* The longest grace that the ttl leaves room for, in steps of 100 ms; 0: none. */
static int64_t longest_grace_ms(const struct rl_args *args) {
    int64_t grace_ms = args->ttl_ms / 2 / 100 * 100;
    while (grace_ms > 0 && !is_long_enough(args, args->ttl_ms, grace_ms)) {
        grace_ms -= 100;
    }
    return grace_ms;
}

int rl_plan_check_ttl(const struct rl_args *args) {
    char ttl[TOOL_DURATION_TEXT_MAX], grace[TOOL_DURATION_TEXT_MAX],
        timeout[TOOL_DURATION_TEXT_MAX];
    char enough[TOOL_DURATION_TEXT_MAX];
    struct rl_args other = *args;
    if (is_long_enough(args, args->ttl_ms, rl_args_grace_ms(args))) {
        return 0;
    }
    const char *option = "--ttl", *bound = "more";
    int64_t ttl_ms_max = args->guard == REDLOCK_GUARD_OFF ? REDLOCK_TTL_MS_MAX : args->max_ttl_ms;
    while (!is_long_enough(&other, other.ttl_ms, rl_args_grace_ms(&other)) &&
           other.ttl_ms < REDLOCK_TTL_MS_MAX) {
        other.ttl_ms += 100 - other.ttl_ms % 100;
    }
    int64_t enough_ms = other.ttl_ms;
    if (enough_ms > ttl_ms_max && longest_grace_ms(args) > 0) { /* --max-ttl would refuse it */
        option = "--grace";
        bound = "less";
        enough_ms = longest_grace_ms(args);
    }
    return rl_fail(RL_EXIT_USAGE,
                   "--ttl %s is too short to renew the lock (a node may take --node-timeout %s to "
                   "answer) and to end the command in time (--grace %s); give %s %s or %s",
                   tool_duration_show(args->ttl_ms, ttl, sizeof ttl),
                   tool_duration_show(args->node_timeout_ms, timeout, sizeof timeout),
                   tool_duration_show(rl_args_grace_ms(args), grace, sizeof grace), option,
                   tool_duration_show(enough_ms, enough, sizeof enough), bound);
}

void rl_plan_variables(struct rl_variables *variables, const char *keys, const char *token,
                       int64_t valid_ms, uint64_t fence, const char *slots) {
    size_t used = 0;
    memset(variables, 0, sizeof *variables);
    variables->list[used++] = rl_must_print("REDLOCK_KEY=%s", keys);
    if (token != NULL) {
        variables->list[used++] = rl_must_print("REDLOCK_TOKEN=%s", token);
    }
    variables->list[used++] = rl_must_print("REDLOCK_VALID_MS=%" PRId64, valid_ms);
    if (fence != 0) {
        variables->list[used++] = rl_must_print("REDLOCK_FENCE=%" PRIu64, fence);
    }
    if (slots != NULL) {
        variables->list[used++] = rl_must_print("REDLOCK_SLOT=%s", slots);
    }
    assert(used < RL_PLAN_VARIABLES);
}

void rl_plan_variables_free(struct rl_variables *variables) {
    for (size_t i = 0; i < RL_PLAN_VARIABLES; i++) {
        free(variables->list[i]);
        variables->list[i] = NULL;
    }
}
