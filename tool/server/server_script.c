/* EVAL, EVALSHA and SCRIPT, for the library's own scripts, and what redis.call() is to them.
 *
 * Happy path: a script is known by its text or its hash, and its effect (server_effects.c) runs as
 * one step. Which text is which comes from the library itself: it is asked to write each kind of
 * command, and what it writes behind EVAL is the script.
 *
 * Failure modes: a script that is not loaded (NOSCRIPT); one that is none of ours (the server's
 * `strangers` run it, server_strangers.h, or answer with an error that no Redis gives); and in a
 * script whatever forbids a command in it: the user may not run it, the server may not write, is
 * full. An error that redis.call() raises ends the script, and what it has done stays done;
 * redis.pcall() hands it back. A server that is full lets a script go on that has written already:
 * so has Redis since 7.0. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/server_effects.h"
#include "server/server_parts.h"
#include "server/server_strangers.h"
#include "server/sha1.h"

#define SHA1_LENGTH (SHA1_HEX_SIZE - 1)

/* -- Which scripts there are -- */

static struct known {
    struct bytes text;
    char sha1[SHA1_HEX_SIZE];
} known[EFFECTS_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void learn(void) {
    char *wire = malloc(EFFECT_WIRE_MAX);
    struct resp_command command;
    if (wire == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < EFFECTS_MAX; i++) {
        size_t length = effect_format(i, wire);
        ssize_t used = resp_parse(wire, length, false, &command);
        assert(used == (ssize_t)length && resp_is(&command.args[0], "EVAL"));
        (void)used;
        bytes_set(&known[i].text, command.args[1].data, command.args[1].length);
        sha1_hex(known[i].text.data, known[i].text.length, known[i].sha1);
    }
    free(wire);
}

/* EFFECTS_MAX: none. */
static uint32_t find_text(const struct resp_arg *text) {
    uint32_t i = 0;
    while (i < EFFECTS_MAX && (known[i].text.length != text->length ||
                               memcmp(known[i].text.data, text->data, text->length) != 0)) {
        i++;
    }
    return i;
}

static uint32_t find_sha1(const struct resp_arg *sha1) {
    uint32_t i = 0;
    if (sha1->length != SHA1_LENGTH) {
        return EFFECTS_MAX;
    }
    while (i < EFFECTS_MAX && strncasecmp(known[i].sha1, sha1->data, SHA1_LENGTH) != 0) {
        i++;
    }
    return i;
}

static bool is_loaded(const struct server *server, uint32_t script) {
    return script < EFFECTS_MAX &&
           ((server->loaded >> script & 1) != 0 || is_set(server, SERVER_BREAK_LOADED_SCRIPTS));
}

/* -- What redis.call() is told -- */

const char *script_refusal(struct script_run *run, const char *name, const struct resp_arg *key,
                           const struct resp_arg *channel) {
    const struct server *server = run->call->server;
    const struct server_user *user = run->call->connection->user;
    const struct rule *rule = rule_of(name);
    assert(rule != NULL && user != NULL);
    enum denial denial = denial_of(user, rule);
    if (denial == DENIED_NOTHING && key != NULL && !may_use_key(user, key)) {
        denial = DENIED_KEY;
    } else if (denial == DENIED_NOTHING && channel != NULL && !may_use_channel(user, channel)) {
        denial = DENIED_CHANNEL;
    }
    if (denial != DENIED_NOTHING) {
        return script_denial(run->call, denial, name, run->error);
    }
    const char *refusal = (rule->flags & CALL_WRITES) != 0 ? write_refusal(server) : NULL;
    if (refusal == NULL && (rule->flags & CALL_DENYOOM) != 0 && run->call->is_full &&
        !run->has_written) {
        refusal = OOM_TEXT;
    }
    run->has_written = run->has_written || (refusal == NULL && (rule->flags & CALL_WRITES) != 0);
    return refusal;
}

/* A command on a declared key. */
static const char *refusal_of(struct script_run *run, const char *name,
                              const struct resp_arg *channel) {
    return script_refusal(run, name, NULL, channel);
}

static const char *no_argument(const struct script_run *run) {
    return run->call->server->words == SERVER_VALKEY
               ? "ERR Command arguments must be strings or integers"
               : "ERR Lua redis lib command arguments must be strings or integers";
}

static const char *try_get(struct script_run *run, const struct resp_arg *name,
                           struct resp_arg *value, bool *is_there) {
    const char *error = name == NULL ? no_argument(run) : refusal_of(run, "get", NULL);
    *is_there = false;
    if (error != NULL) {
        return error;
    }
    const struct server_key *key = find_key(run->call, name);
    if (key != NULL && key->elements > 0) {
        return WRONGTYPE_TEXT;
    }
    *is_there = key != NULL;
    if (key != NULL) {
        *value = (struct resp_arg){key->value.data, key->value.length};
    }
    return NULL;
}

static const char *try_set(struct script_run *run, const struct resp_arg *name,
                           const struct resp_arg *value, bool only_new,
                           const struct resp_arg *ttl_ms) {
    uint64_t expires_ms = SERVER_NEVER_MS;
    bool is_whole = name != NULL && value != NULL && ttl_ms != NULL;
    const char *error = is_whole ? refusal_of(run, "set", NULL) : no_argument(run);
    if (error == NULL) {
        error = read_ttl(run->call, ttl_ms, 1, &expires_ms);
    }
    if (error == NULL && !(only_new && find_key(run->call, name) != NULL)) {
        put_key(run->call, name, value, expires_ms);
    }
    return error;
}

static const char *try_pexpire(struct script_run *run, const struct resp_arg *name,
                               const struct resp_arg *ms) {
    long long number = 0;
    const char *error =
        name != NULL && ms != NULL ? refusal_of(run, "pexpire", NULL) : no_argument(run);
    if (error == NULL && !resp_number(ms, &number)) {
        error = NO_INTEGER_TEXT;
    }
    if (error == NULL && number > INT64_MAX - (long long)run->call->now_ms) {
        error = "ERR invalid expire time in 'pexpire' command";
    }
    struct server_key *key = error == NULL ? find_key(run->call, name) : NULL;
    if (key != NULL) {
        expire_key(run->call, key, (long long)run->call->now_ms + number);
    }
    return error;
}

/* -- redis.call() -- */

/* The line that a piece of the script stands in. */
static unsigned line_of(const struct script_run *run, const char *at) {
    const char *found = strstr(run->text, at);
    unsigned line = 1;
    assert(found != NULL);
    for (const char *c = run->text; c < found; c++) {
        line += *c == '\n';
    }
    return line;
}

void script_raise(struct script_run *run, const char *at, const char *error) {
    const bool is_valkey = run->call->server->words == SERVER_VALKEY;
    reply_error_format(run->call, "%s script: %s%son @user_script:%u.", error,
                       is_valkey ? "" : run->sha1, is_valkey ? "" : ", ", line_of(run, at));
    run->is_over = true;
}

void script_fail(struct script_run *run, const char *at, const char *error) {
    char text[128];
    snprintf(text, sizeof text, "ERR user_script:%u: %s", line_of(run, at), error);
    script_raise(run, at, text);
}

void script_raise_if(struct script_run *run, const char *at, const char *error) {
    if (error != NULL) {
        script_raise(run, at, error);
    }
}

bool script_get(struct script_run *run, const char *at, const struct resp_arg *name,
                struct resp_arg *value) {
    bool is_there = false;
    script_raise_if(run, at, try_get(run, name, value, &is_there));
    return is_there;
}

void script_set(struct script_run *run, const char *at, const struct resp_arg *name,
                const struct resp_arg *value, bool only_new, const struct resp_arg *ttl_ms) {
    script_raise_if(run, at, try_set(run, name, value, only_new, ttl_ms));
}

static bool is_whole(double number) {
    double rest = number - (double)(long long)number;
    return !(rest < 0) && !(rest > 0);
}

/* Lua's numbers become texts, before Redis reads them: whole ones as such in newer servers. */
void script_pexpire(struct script_run *run, const char *at, const struct resp_arg *name,
                    double ms) {
    char text[40];
    bool is_old = run->call->server->words == SERVER_REDIS_7;
    int length = is_old || ms < -9e18 || ms > 9e18 || !is_whole(ms)
                     ? snprintf(text, sizeof text, "%.17g", ms)
                     : snprintf(text, sizeof text, "%lld", (long long)ms);
    struct resp_arg arg = {text, (size_t)length};
    script_raise_if(run, at, try_pexpire(run, name, &arg));
}

void script_pexpire_by(struct script_run *run, const char *at, const struct resp_arg *name,
                       const struct resp_arg *ms) {
    script_raise_if(run, at, try_pexpire(run, name, ms));
}

double script_pttl(struct script_run *run, const char *at, const struct resp_arg *name) {
    script_raise_if(run, at, name == NULL ? no_argument(run) : refusal_of(run, "pttl", NULL));
    const struct server_key *key = run->is_over ? NULL : find_key(run->call, name);
    return key == NULL ? -2 : (double)pttl_of(run->call, key);
}

void script_del(struct script_run *run, const char *at, const struct resp_arg *name) {
    script_raise_if(run, at, refusal_of(run, "del", NULL));
    struct server_key *key = run->is_over ? NULL : find_key(run->call, name);
    if (key != NULL) {
        delete_key(run->call, key);
    }
}

const struct server_key *script_look(struct script_run *run, const char *at, const char *command,
                                     const struct resp_arg *name) {
    script_raise_if(run, at, name == NULL ? no_argument(run) : refusal_of(run, command, NULL));
    return run->is_over ? NULL : find_key(run->call, name);
}

/* -- redis.pcall() -- */

const char *script_try_get(struct script_run *run, const struct resp_arg *name,
                           struct resp_arg *value, bool *is_there) {
    return try_get(run, name, value, is_there);
}

const char *script_try_set(struct script_run *run, const struct resp_arg *name,
                           const struct resp_arg *value, const struct resp_arg *ttl_ms) {
    return try_set(run, name, value, false, ttl_ms);
}

void script_try_pexpire(struct script_run *run, const struct resp_arg *name,
                        const struct resp_arg *ms) {
    try_pexpire(run, name, ms);
}

void script_try_publish(struct script_run *run, const struct resp_arg *name) {
    struct bytes *channel = &run->call->server->scratch;
    channel->length = 0;
    bytes_append_text(channel, "redlock:");
    bytes_append(channel, name->data, name->length);
    struct resp_arg arg = {channel->data, channel->length};
    if (refusal_of(run, "publish", &arg) == NULL) {
        server_publish(run->call->server, arg.data, arg.length, "", 0);
    }
}

bool script_is_wrong_type(const char *error) {
    return strstr(error, "WRONGTYPE") != NULL;
}

/* -- Lua's own -- */

const struct resp_arg *script_key(const struct script_run *run, double i) {
    size_t at = (size_t)i;
    bool is_whole = i >= 1 && !((double)at < i);
    return is_whole && at <= run->n_keys ? &run->keys[at - 1] : NULL;
}

const struct resp_arg *script_arg(const struct script_run *run, size_t i) {
    return i >= 1 && i <= run->n_args ? &run->args[i - 1] : NULL;
}

bool script_number(const struct resp_arg *text, double *out) {
    char copy[64];
    char *end = copy;
    if (text == NULL || text->length == 0 || text->length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text->data, text->length);
    copy[text->length] = '\0';
    *out = strtod(copy, &end);
    if (end == copy) {
        return false;
    }
    end += strspn(end, " \t\n\v\f\r");
    return end == copy + text->length;
}

bool script_same(const struct resp_arg *a, const struct resp_arg *b) {
    return a != NULL && b != NULL && a->length == b->length &&
           (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

void script_return(struct script_run *run, long long number) {
    reply_number(run->call, number);
    run->is_over = true;
}

void script_return_error(struct script_run *run, const char *error) {
    reply_error(run->call, error);
    run->is_over = true;
}

void script_answer(struct script_run *run, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert((size_t)length < sizeof text);
    reply_bulk(run->call, text, (size_t)length);
    run->is_over = true;
}

/* -- The commands -- */

static void run_script(struct call *call, uint32_t script) {
    long long n = 0;
    bool is_number = resp_number(&call->args[2], &n);
    assert(is_number && n >= 0); /* see counts_keys() */
    (void)is_number;
    struct script_run run = {.call = call,
                             .sha1 = known[script].sha1,
                             .text = known[script].text.data,
                             .keys = call->args + 3,
                             .args = call->args + 3 + n,
                             .n_keys = (size_t)n,
                             .n_args = call->count - 3 - (size_t)n};
    if (call->server->is_stale && call->server->is_replica) {
        reply_error(call, MASTERDOWN_TEXT);
        return;
    }
    call->script = effect_name(script);
    effect_run(script, &run);
    assert(run.is_over);
}

/* Whether the number of keys is one; if not, the reply is there. */
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
    bool is_whole = resp_is(&command->args[0], "EVAL");
    if (command->count < 2 || (!is_whole && !resp_is(&command->args[0], "EVALSHA"))) {
        return NULL;
    }
    pthread_once(&once, learn);
    uint32_t script = is_whole ? find_text(&command->args[1]) : find_sha1(&command->args[1]);
    return script < EFFECTS_MAX ? effect_name(script) : NULL;
}

void do_eval(struct call *call) {
    pthread_once(&once, learn);
    if (!counts_keys(call)) {
        return;
    }
    uint32_t script = find_text(&call->args[1]);
    if (script == EFFECTS_MAX) {
        strangers_eval(call);
        return;
    }
    call->server->loaded |= UINT32_C(1) << script;
    run_script(call, script);
}

void do_evalsha(struct call *call) {
    pthread_once(&once, learn);
    bool can_be = call->args[1].length == SHA1_LENGTH;
    if (can_be && !counts_keys(call)) {
        return;
    }
    uint32_t script = find_sha1(&call->args[1]);
    if (is_loaded(call->server, script)) {
        run_script(call, script);
    } else if (!strangers_evalsha(call)) {
        reply_error(call, call->server->words == SERVER_VALKEY
                              ? "NOSCRIPT No matching script."
                              : "NOSCRIPT No matching script. Please use EVAL.");
    }
}

void do_script_load(struct call *call) {
    pthread_once(&once, learn);
    uint32_t script = find_text(&call->args[2]);
    if (script == EFFECTS_MAX) {
        strangers_load(call);
        return;
    }
    call->server->loaded |= UINT32_C(1) << script;
    reply_bulk(call, known[script].sha1, SHA1_LENGTH);
}

void do_script_exists(struct call *call) {
    pthread_once(&once, learn);
    bytes_append_format(&call->connection->output, "*%zu\r\n", call->count - 2);
    for (size_t i = 2; i < call->count; i++) {
        reply_number(call, is_loaded(call->server, find_sha1(&call->args[i])) ||
                               strangers_know(call->server, &call->args[i]));
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
    reply_line(call, "+OK");
}
