/* Checks and settings that run and elect share, before they begin. */
#include "run/room.h"

#include <stdlib.h>
#include <string.h>

#include "redis/url.h"
#include "say.h"
#include "tool/list.h"

/* Removes user and password from a URL. Returns its new length; 0: it is not a URL, so a password
 * could be anywhere in it. */
static size_t hide_password(char *text) {
    char error[REDLOCK_MESSAGE_MAX];
    struct rl_url url;
    const bool is_url = rl_url_parse(text, &url, error, sizeof error) == 0;
    explicit_bzero(&url, sizeof url);
    if (!is_url) {
        return 0;
    }
    char *begin = strstr(text, "://") + 3, *end = begin + strcspn(begin, "/?#");
    while (end > begin && end[-1] != '@') {
        end--;
    }
    memmove(begin, end, strlen(end) + 1);
    return strlen(text);
}

/* Removes users and passwords from REDLOCK_NODES in redlock's environment, which the command
 * inherits; if the variable cannot be parsed, removes it, since a password could be anywhere in
 * it. */
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
            out = list; /* drops the whole list */
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

int rl_plan_begin(const struct rl_args *args) {
    static const char *const of_another_lock[] = {
        "REDLOCK_KEY", "REDLOCK_TOKEN", "REDLOCK_VALID_MS", "REDLOCK_FENCE", "REDLOCK_SLOT"};
    for (size_t i = 0; i < sizeof of_another_lock / sizeof of_another_lock[0]; i++) {
        unsetenv(of_another_lock[i]);
    }
    return args->keeps_passwords ? 0 : hide_passwords();
}

/* A renewal begins after a third of the ttl. It may hang for node_timeout_ms, and there must be
 * time for another before the command is terminated; that begins no earlier than at half of the
 * validity. */
static bool is_long_enough(const struct rl_args *args, int64_t ttl_ms, int64_t grace_ms) {
    int64_t validity_ms = ttl_ms - rl_args_drift_ms(ttl_ms);
    int64_t margin_ms = RL_WORK_DUE_MS(grace_ms);
    return margin_ms <= validity_ms / 2 &&
           ttl_ms / 3 + args->client.node_timeout_ms <= validity_ms - margin_ms;
}

/* The longest grace that the ttl allows, in steps of 100 ms; 0: none. */
static int64_t longest_grace_ms(const struct rl_args *args) {
    int64_t grace_ms = args->ttl_ms / 2 / 100 * 100;
    while (grace_ms > 0 && !is_long_enough(args, args->ttl_ms, grace_ms)) {
        grace_ms -= 100;
    }
    return grace_ms;
}

int rl_plan_check_ttl(const struct rl_args *args) {
    struct rl_args other = *args;
    if (is_long_enough(args, args->ttl_ms, rl_args_grace_ms(args))) {
        return 0;
    }
    const char *option = "--ttl", *bound = "more";
    int64_t ttl_ms_max =
        args->guard == REDLOCK_GUARD_OFF ? REDLOCK_TTL_MS_MAX : args->client.max_ttl_ms;
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
    return rl_usage(
        "--ttl %s is too short to renew the lock (a node may take --node-timeout %s to answer) and "
        "to end the command in time (--grace %s); give %s %s or %s",
        rl_say_exact(args->ttl_ms), rl_say_exact(args->client.node_timeout_ms),
        rl_say_exact(rl_args_grace_ms(args)), option, rl_say_exact(enough_ms), bound);
}
