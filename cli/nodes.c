/* The list of node URLs, however it was given: "URL,URL URL". See args.h.
 *
 * Failure modes: too many, none at all, an empty place in the list (a variable that is not
 * set). The URLs themselves are checked by the library when the client opens. A list that cannot be
 * read is not handed on to a command, since nobody can tell where a password in it begins. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "exits.h"
#include "redis/url.h"
#include "say.h"

#define SEPARATORS ", \t\n"

const char *rl_nodes_add(struct rl_args *args, const char *list) {
    size_t old = args->nodes_text != NULL ? strlen(args->nodes_text) : 0;
    size_t length = strlen(list);
    if (length == 0 || strspn(list, SEPARATORS) == length) {
        return "it is empty (a variable that is not set?); give URL,URL,...";
    }
    if (list[0] == ',' || list[length - 1] == ',' || strstr(list, ",,") != NULL) {
        return "a URL is missing before or after a comma; give URL,URL,...";
    }
    char *text = realloc(args->nodes_text, old + 1 + length + 1);
    if (text == NULL) {
        return "out of memory";
    }
    if (old > 0) {
        text[old++] = ',';
    }
    memcpy(text + old, list, length + 1);
    args->nodes_text = text;
    return NULL;
}

static int no_nodes(void) {
    return rl_fail(RL_EXIT_USAGE,
                   "no nodes are named. Give --nodes redis://host:port,..., or set REDLOCK_NODES, "
                   "or write\n"
                   "         nodes = redis://host:port ...\n"
                   "         into ~/.config/redlock/redlock.conf or /etc/redlock.conf");
}

int rl_nodes_split(struct rl_args *args) {
    if (args->nodes_text == NULL) {
        return no_nodes();
    }
    for (char *at = args->nodes_text; *at != '\0';) {
        at += strspn(at, SEPARATORS);
        size_t length = strcspn(at, SEPARATORS);
        if (length == 0) {
            break;
        }
        if (args->n_nodes == REDLOCK_NODES_MAX) {
            return rl_fail(RL_EXIT_USAGE, "%s: too many nodes; at most %d", args->nodes_from,
                           REDLOCK_NODES_MAX);
        }
        args->nodes[args->n_nodes++] = at;
        at += length;
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    assert(args->n_nodes > 0);
    return 0;
}

/* -- For the command -- */

/* Takes user and password out of the URL. In one that could be parsed, the first @ in front of host
 * or path ends them. Returns its new length, 0 if it cannot be parsed. */
static size_t hide_password(char *text) {
    struct rl_url url;
    int status = rl_url_parse(text, &url, NULL, 0);
    bool has_password = url.has_password;
    explicit_bzero(&url, sizeof url);
    if (status != 0) {
        return 0;
    }
    if (has_password) {
        char *begin = strstr(text, "://") + 3, *end = strchr(begin, '@') + 1;
        memmove(begin, end, strlen(end) + 1);
    }
    return strlen(text);
}

int rl_nodes_hide_passwords(void) {
    const char *from = getenv("REDLOCK_NODES");
    char *list = from != NULL ? strdup(from) : NULL;
    char *out = list, *at = list;
    if (from == NULL) {
        return 0;
    }
    while (at != NULL && *at != '\0') {
        size_t separators = strspn(at, SEPARATORS);
        memmove(out, at, separators);
        out += separators;
        at += separators;
        size_t length = strcspn(at, SEPARATORS), kept = 0;
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
