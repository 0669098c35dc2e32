/* See server_strangers.h. There are a handful of them: a list is enough. */
#include "server/server_strangers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/server_parts.h"
#include "server/sha1.h"

struct server_stranger {
    struct server_stranger *next;
    struct bytes text;
    char sha1[SHA1_HEX_SIZE];
};

static const struct server_stranger *find(const struct server *server,
                                          const struct resp_arg *sha1) {
    const struct server_stranger *known = server->strangers;
    while (known != NULL && (sha1->length != SHA1_HEX_SIZE - 1 ||
                             strncasecmp(known->sha1, sha1->data, sha1->length) != 0)) {
        known = known->next;
    }
    return known;
}

/* NULL: there is no interpreter, and that was answered. */
static const struct server_stranger *learn(struct call *call, const struct resp_arg *text) {
    char hex[SHA1_HEX_SIZE];
    struct resp_arg sha1 = {hex, SHA1_HEX_SIZE - 1};
    if (call->server->interpreter == NULL) {
        reply_error(call,
                    "ERR Error compiling script: this server knows libredlock's scripts only");
        return NULL;
    }
    sha1_hex(text->data, text->length, hex);
    const struct server_stranger *known = find(call->server, &sha1);
    if (known != NULL) {
        return known;
    }
    struct server_stranger *made = calloc(1, sizeof *made);
    if (made == NULL) {
        abort();
    }
    bytes_set(&made->text, text->data, text->length);
    memcpy(made->sha1, hex, sizeof hex);
    made->next = call->server->strangers;
    call->server->strangers = made;
    return made;
}

static void run(struct call *call, const struct server_stranger *script) {
    struct resp_command command = {.count = call->count};
    long long keys = 0;
    memcpy(command.args, call->args, call->count * sizeof call->args[0]);
    (void)resp_number(&call->args[2], &keys); /* the caller has looked */
    call->server->is_in_script = true;
    call->server->interpreter(call->connection, &script->text, &command, (size_t)keys,
                              call->now_us);
    call->server->is_in_script = false;
}

void strangers_eval(struct call *call) {
    const struct server_stranger *script = learn(call, &call->args[1]);
    if (script != NULL) {
        run(call, script);
    }
}

void strangers_load(struct call *call) {
    const struct server_stranger *script = learn(call, &call->args[2]);
    if (script != NULL) {
        reply_bulk(call, script->sha1, SHA1_HEX_SIZE - 1);
    }
}

bool strangers_evalsha(struct call *call) {
    const struct server_stranger *script = find(call->server, &call->args[1]);
    if (script != NULL) {
        run(call, script);
    }
    return script != NULL;
}

bool strangers_know(const struct server *server, const struct resp_arg *sha1) {
    return find(server, sha1) != NULL;
}

void strangers_forget(struct server *server) {
    while (server->strangers != NULL) {
        struct server_stranger *next = server->strangers->next;
        bytes_free(&server->strangers->text);
        free(server->strangers);
        server->strangers = next;
    }
}
