/* See nodes.h. */
#include "nodes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exits.h"
#include "say.h"
#include "tool/list.h"

#define DIGITS "0123456789"
#define NAME DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._"
#define PORT_DIGITS_MAX 5

/* host[:port][/db], with TLS also [?query], and nothing that could be a part of a password */
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

/* Takes user and password out of a URL. Returns its new length; 0: it is not what redlock(1) calls
 * a URL, so it is unknown what is a password in it. */
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

int rl_nodes_hide_passwords(void) {
    const char *from = getenv("REDLOCK_NODES");
    char *list = from != NULL ? strdup(from) : NULL;
    char *out = list, *at = list;
    if (from == NULL) {
        return 0;
    }
    while (at != NULL && *at != '\0') {
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
    int failed = -1;
    if (list != NULL) {
        *out = '\0';
        failed = out > list ? setenv("REDLOCK_NODES", list, 1) : unsetenv("REDLOCK_NODES");
        explicit_bzero(list, strlen(from));
    }
    free(list);
    return failed == 0 ? 0 : rl_fail(RL_EXIT_SYSTEM, "out of memory");
}
