/* EVAL, EVALSHA and SCRIPT: the known scripts, and which of them a server has.
 *
 * Happy path: a script is found by its text or its hash, compiled once in this process, and run as
 * one step (server_lua.c). The library's own are there from the beginning and have names; those of
 * other clients are added as they arrive.
 *
 * Failure modes: a script that the server was not sent (NOSCRIPT), and one that cannot be
 * compiled. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/sha1.h"
#include "redis/scripts/scripts.h"
#include "server/server_parts.h"

#define SHA1_LENGTH RL_SHA1_LEN

void server_sha1(const void *script, size_t length, char hex[41]) {
    rl_sha1_hex(script, length, hex);
}
#define COMPILED_MAX 64 /* other clients' scripts, at a time */
#define NONE SIZE_MAX

static const struct {
    const char *name, *sha1, *text;
} library[] = {
#define ROW(name, sha1, text) {name, sha1, text},
    RL_SCRIPTS(ROW)
#undef ROW
};
#define N_LIBRARY (sizeof library / sizeof library[0])

/* All scripts that any server of this process has got, the library's first. */
static struct script *scripts;
static size_t n_scripts, n_compiled; /* n_compiled: other clients' */

static struct script *add(const char *text, size_t length, const char *sha1) {
    scripts = realloc(scripts, (n_scripts + 1) * sizeof *scripts);
    if (scripts == NULL) {
        abort();
    }
    struct script *script = &scripts[n_scripts++];
    *script = (struct script){.name = NULL};
    bytes_set(&script->text, text, length);
    memcpy(script->sha1, sha1, RL_SHA1_LEN + 1);
    return script;
}

static void learn(void) {
    for (size_t i = n_scripts; i < N_LIBRARY; i++) {
        add(library[i].text, strlen(library[i].text), library[i].sha1)->name = library[i].name;
    }
}

void server_forget_compiled(void) {
    for (size_t i = 0; i < n_scripts; i++) {
        bytes_free(&scripts[i].text);
    }
    free(scripts);
    scripts = NULL;
    n_scripts = n_compiled = 0;
    lua_end();
}

static size_t find_text(const struct resp_arg *text) {
    learn();
    for (size_t i = 0; i < n_scripts; i++) {
        if (scripts[i].text.length == text->length &&
            memcmp(scripts[i].text.data, text->data, text->length) == 0) {
            return i;
        }
    }
    return NONE;
}

static size_t find_sha1(const struct resp_arg *sha1) {
    learn();
    for (size_t i = 0; i < n_scripts && sha1->length == SHA1_LENGTH; i++) {
        if (strncasecmp(scripts[i].sha1, sha1->data, SHA1_LENGTH) == 0) {
            return i;
        }
    }
    return NONE;
}

static size_t find_or_add(const struct resp_arg *text) {
    char sha1[RL_SHA1_LEN + 1];
    size_t found = find_text(text);
    if (found == NONE) {
        found = n_scripts;
        rl_sha1_hex(text->data, text->length, sha1);
        add(text->data, text->length, sha1);
    }
    return found;
}

static bool is_loaded(const struct server *server, size_t script) {
    return script != NONE &&
           ((script < server->loaded.length && server->loaded.data[script] != 0) ||
            (script < N_LIBRARY && is_set(server, SERVER_BREAK_LOADED_SCRIPTS)));
}

static void load(struct server *server, size_t script) {
    while (server->loaded.length <= script) {
        bytes_append(&server->loaded, "", 1);
    }
    server->loaded.data[script] = 1;
}

/* -- Compiling -- */

static void forget_others(void) {
    for (size_t i = N_LIBRARY; i < n_scripts; i++) {
        lua_forget(&scripts[i]);
    }
    n_compiled = 0;
}

/* Compiles it with this server's broken rules, unless it is. False: the error is the reply. */
static bool compile(struct call *call, struct script *script) {
    const struct server *server = call->server;
    if (script->function != 0 && script->broken == server->broken) {
        return true;
    }
    if (script->name == NULL && n_compiled++ == COMPILED_MAX) {
        forget_others();
    }
    lua_forget(script);
    script->broken = server->broken;
    struct bytes text = {NULL, 0, 0};
    bytes_set(&text, script->text.data, script->text.length);
    if (script->name != NULL && script->broken != 0) {
        break_script(script->name, script->broken, &text);
    }
    const bool is_good = lua_compile(call, script, &text);
    bytes_free(&text);
    return is_good;
}

/* -- The commands -- */

static void run_script(struct call *call, size_t which) {
    struct script *script = &scripts[which];
    long long n = 0;
    (void)resp_number(&call->args[2], &n); /* counts_keys() has checked */
    if (call->server->is_stale && call->server->is_replica) {
        reply_error(call, MASTERDOWN_TEXT);
        return;
    }
    if (!compile(call, script)) {
        return;
    }
    load(call->server, which);
    call->script = script->name;
    call->server->is_in_script = true;
    lua_run(call, script, (size_t)n);
    call->server->is_in_script = false;
}

/* Whether the number of keys is valid; if not, the error is the reply. */
static bool counts_keys(struct call *call) {
    long long n = 0;
    if (!resp_number(&call->args[2], &n)) {
        reply_error(call, NO_INTEGER_TEXT);
        return false;
    }
    if (n > (long long)call->count - 3) {
        reply_error(call, "ERR Number of keys can't be greater than number of args");
        return false;
    }
    if (n < 0) {
        reply_error(call, "ERR Number of keys can't be negative");
    }
    return n >= 0;
}

const char *server_script_of(const struct resp_command *command) {
    const bool is_whole = resp_is(&command->args[0], "EVAL");
    if (command->count < 2 || (!is_whole && !resp_is(&command->args[0], "EVALSHA"))) {
        return NULL;
    }
    const size_t found = is_whole ? find_text(&command->args[1]) : find_sha1(&command->args[1]);
    return found != NONE ? scripts[found].name : NULL;
}

void do_eval(struct call *call) {
    if (counts_keys(call)) {
        run_script(call, find_or_add(&call->args[1]));
    }
}

void do_evalsha(struct call *call) {
    const bool can_be = call->args[1].length == SHA1_LENGTH;
    if (can_be && !counts_keys(call)) {
        return;
    }
    const size_t script = find_sha1(&call->args[1]);
    if (is_loaded(call->server, script)) {
        run_script(call, script);
    } else {
        reply_error(call, call->server->words == SERVER_VALKEY
                              ? "NOSCRIPT No matching script."
                              : "NOSCRIPT No matching script. Please use EVAL.");
    }
}

void do_script_load(struct call *call) {
    const size_t script = find_or_add(&call->args[2]);
    if (compile(call, &scripts[script])) {
        load(call->server, script);
        reply_bulk(call, scripts[script].sha1, SHA1_LENGTH);
    }
}

void do_script_exists(struct call *call) {
    reply_array(call, call->count - 2);
    for (size_t i = 2; i < call->count; i++) {
        reply_number(call, is_loaded(call->server, find_sha1(&call->args[i])));
    }
}

void do_script_flush(struct call *call) {
    bool fits =
        call->count == 2 ||
        (call->count == 3 && (resp_is(&call->args[2], "SYNC") || resp_is(&call->args[2], "ASYNC")));
    if (!fits) {
        reply_error(call, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    server_forget_scripts(call->server);
    reply_status(call, "OK");
}
