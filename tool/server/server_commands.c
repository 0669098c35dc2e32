/* The table of commands, who may run them when, and the commands that concern only the connection.
 *
 * Happy path: the command is in the table, no check refuses it, its function appends a reply.
 * Failure modes: Redis's refusals, in its order and its words; the first reason decides. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "server/server_parts.h"

/* -- Commands of the connection -- */

static void do_ping(struct call *call) {
    struct resp_arg nothing = {"", 0};
    const struct resp_arg *text = call->count == 2 ? &call->args[1] : &nothing;
    if (call->count > 2) {
        reply_wrong_number(call, "ping");
    } else if (call->connection->n_channels > 0) {
        reply_array(call, 2);
        reply_bulk(call, "pong", 4);
        reply_bulk(call, text->data, text->length);
    } else if (call->count == 2) {
        reply_bulk(call, text->data, text->length);
    } else {
        reply_status(call, "PONG");
    }
}

static void do_select(struct call *call) {
    long long db = 0;
    if (!resp_number(&call->args[1], &db)) {
        reply_error(call, NO_INTEGER_TEXT);
    } else if (db < INT32_MIN || db > INT32_MAX) {
        reply_error(call, call->server->has_32_bits
                              ? "ERR value is out of range"
                              : "ERR value is out of range, value must between -2147483648 and "
                                "2147483647");
    } else if (db < 0 || db >= SERVER_DATABASES) {
        reply_error(call, "ERR DB index is out of range");
    } else {
        bool selects = !is_set(call->server, SERVER_BREAK_ONE_DATABASE);
        call->connection->db = selects ? (uint32_t)db : 0;
        reply_status(call, "OK");
    }
}

static void do_setname(struct call *call) {
    const struct resp_arg *name = &call->args[2];
    for (size_t i = 0; i < name->length; i++) {
        if (name->data[i] < '!' || name->data[i] > '~') {
            reply_error(call,
                        "ERR Client names cannot contain spaces, newlines or special"
                        " characters.");
            return;
        }
    }
    bytes_set(&call->connection->name, name->data, name->length);
    reply_status(call, "OK");
}

static void do_getname(struct call *call) {
    const struct bytes *name = &call->connection->name;
    if (name->length == 0) {
        reply_nil(call);
    } else {
        reply_bulk(call, name->data, name->length);
    }
}

/* A command that needs a subcommand. */
static void do_container(struct call *call) {
    (void)call;
    assert(false);
}

/* -- The table -- */

#define WRITE CALL_WRITES
#define FULL (CALL_WRITES | CALL_DENYOOM)
#define ALWAYS (CALL_LOADING | CALL_STALE)
#define APART CALL_NOSCRIPT
static const struct rule rules[] = {
    {"evalsha", -3, CALL_STALE | APART, 0, false, do_evalsha},
    {"set", -3, FULL, 1, false, do_set},
    {"ping", -1, CALL_LISTENER, 0, false, do_ping},
    {"info", -1, ALWAYS, 0, false, do_info},
    {"eval", -3, CALL_STALE | APART, 0, false, do_eval},
    {"auth", -2, ALWAYS | CALL_STRANGER | CALL_BUSY | APART, 0, false, do_auth},
    {"client", -2, 0, 0, false, do_container},
    {"client|getname", 2, ALWAYS | APART, 0, false, do_getname},
    {"client|setname", 3, ALWAYS | APART, 0, false, do_setname},
    {"del", -2, WRITE, 1, true, do_del},
    {"delex", -2, WRITE, 1, false, do_delex},
    {"delifeq", 3, WRITE, 1, false, do_delifeq},
    {"flushall", -1, WRITE, 0, false, do_flushall},
    {"get", 2, 0, 1, false, do_get},
    {"getrange", 4, 0, 1, false, do_getrange},
    {"pexpire", -3, WRITE, 1, false, do_pexpire},
    {"pexpireat", -3, WRITE, 1, false, do_pexpireat},
    {"pexpiretime", 2, 0, 1, false, do_pexpiretime},
    {"pttl", 2, 0, 1, false, do_pttl},
    {"publish", 3, ALWAYS, 0, false, do_publish},
    {"rpush", -3, FULL, 1, false, do_rpush},
    {"script", -2, 0, 0, false, do_container},
    {"script|exists", -3, APART, 0, false, do_script_exists},
    {"script|flush", -2, APART, 0, false, do_script_flush},
    {"script|load", 3, CALL_STALE | APART, 0, false, do_script_load},
    {"select", 2, ALWAYS, 0, false, do_select},
    {"subscribe", -2, ALWAYS | CALL_LISTENER | APART, 0, false, do_subscribe},
    {"type", 2, 0, 1, false, do_type},
    /* The library's scripts send some of these, clients of other libraries the rest. */
    {"client|id", 2, ALWAYS | APART, 0, false, do_client_id},
    {"client|setinfo", 4, ALWAYS | APART, 0, false, do_ok},
    {"echo", 2, ALWAYS, 0, false, do_echo},
    {"exists", -2, 0, 1, true, do_exists},
    {"expire", -3, WRITE, 1, false, do_expire},
    {"incr", 2, FULL, 1, false, do_incr},
    {"mget", -2, 0, 1, true, do_mget},
    {"psetex", 4, FULL, 1, false, do_psetex},
    {"setex", 4, FULL, 1, false, do_setex},
    {"setnx", 3, FULL, 1, false, do_setnx},
    {"time", 1, ALWAYS, 0, false, do_time},
    {"ttl", 2, 0, 1, false, do_ttl},
    {"unlink", -2, WRITE, 1, true, do_del},
    {"pubsub", -2, 0, 0, false, do_container},
    {"pubsub|numsub", -2, ALWAYS, 0, false, do_pubsub_numsub},
    {"zadd", -4, FULL, 1, false, do_zadd},
    {"zcard", 2, 0, 1, false, do_zcard},
    {"zcount", 4, 0, 1, false, do_zcount},
    {"zpopmin", -2, WRITE, 1, false, do_zpopmin},
    {"zrange", -4, 0, 1, false, do_zrange},
    {"zrangebyscore", -4, 0, 1, false, do_zrangebyscore},
    {"zrank", 3, 0, 1, false, do_zrank},
    {"zrem", -3, WRITE, 1, false, do_zrem},
    {"zremrangebyscore", 4, WRITE, 1, false, do_zremrangebyscore},
    {"zscore", 3, 0, 1, false, do_zscore},
    {"unsubscribe", -1, ALWAYS | CALL_LISTENER | APART, 0, false, do_unsubscribe},
};
#define N_RULES (sizeof rules / sizeof rules[0])
_Static_assert(N_RULES <= 64, "a mask of 64 bits has room for all commands");

uint32_t rule_index(const struct rule *rule) {
    return (uint32_t)(rule - rules);
}

/* A hash table from names, in any case, to rules; find_rule() fills it. */
#define PLACES 256
static uint8_t places[PLACES]; /* the rule's index, and 1; 0: a hole */

static uint32_t place_of(const char *name, size_t length) {
    uint32_t hash = 0;
    for (size_t i = 0; i < length; i++) {
        hash = hash * 31 + ((unsigned char)name[i] | 0x20u); /* "|" is 0x7c, and stays */
    }
    return (hash ^ hash >> 8) % PLACES;
}

static void place_rules(void) {
    for (uint8_t i = 0; i < N_RULES; i++) {
        uint32_t at = place_of(rules[i].name, strlen(rules[i].name));
        while (places[at] != 0) {
            at = (at + 1) % PLACES;
        }
        places[at] = (uint8_t)(i + 1);
    }
}

static const struct rule *find_rule(const struct resp_arg *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, place_rules);
    uint32_t at = place_of(name->data, name->length);
    while (places[at] != 0) {
        const struct rule *rule = &rules[places[at] - 1];
        if (resp_is(name, rule->name)) {
            return rule;
        }
        at = (at + 1) % PLACES;
    }
    return NULL;
}

const struct rule *rule_of(const char *name) {
    struct resp_arg arg = {name, strlen(name)};
    return find_rule(&arg);
}

/* "client|setname" of "client": NULL if there is no such subcommand. */
static const struct rule *find_subcommand(const struct rule *container,
                                          const struct resp_arg *name) {
    char text[32];
    size_t length = strlen(container->name);
    size_t more = name->length < 16 ? name->length : 16;
    memcpy(text, container->name, length);
    text[length] = '|';
    memcpy(text + length + 1, name->data, more);
    struct resp_arg arg = {text, length + 1 + more};
    return find_rule(&arg);
}

/* -- Refusals -- */

/* Tells versions of Redis 8 apart: 8.0 still behaves as Redis 7 below, 8.6 does not. */
static bool is_redis_8_4(const struct server *server) {
    return server->words == SERVER_REDIS_8 && server->native == SERVER_DELEX;
}

static void reply_unknown(struct call *call) {
    char text[400];
    bool shows_args = call->count > 1 || !is_redis_8_4(call->server);
    int length = snprintf(text, sizeof text, "ERR unknown command '%.*s'%s",
                          (int)(call->args[0].length < 128 ? call->args[0].length : 128),
                          call->args[0].data, shows_args ? ", with args beginning with: " : "");
    int from = length;
    for (size_t i = 1; i < call->count && length - from < 128; i++) {
        int room = 128 - (length - from);
        int shown = call->args[i].length < (size_t)room ? (int)call->args[i].length : room;
        length += snprintf(text + length, sizeof text - (size_t)length, "'%.*s' ", shown,
                           call->args[i].data);
    }
    reply_error(call, text);
}

/* Some commands exist only in some servers. */
static bool is_there(const struct server *server, const struct rule *rule) {
    return (rule->run != do_delex || server->native == SERVER_DELEX) &&
           (rule->run != do_delifeq || server->native == SERVER_DELIFEQ);
}

/* Whether its number of arguments is right. */
static bool fits(const struct call *call, const struct rule *rule) {
    return rule->arity > 0 ? call->count == (size_t)rule->arity
                           : call->count >= (size_t)-rule->arity;
}

/* The command, or NULL after an error. */
static const struct rule *look_up(struct call *call) {
    const struct rule *rule = find_rule(&call->args[0]);
    rule = rule != NULL && !is_there(call->server, rule) ? NULL : rule;
    bool is_for_strangers = rule != NULL && (rule->flags & CALL_STRANGER) != 0;
    if (call->server->words == SERVER_VALKEY && call->connection->user == NULL &&
        !is_for_strangers) { /* an unauthenticated client learns nothing */
        reply_error(call, "NOAUTH Authentication required.");
        return NULL;
    }
    if (rule == NULL) {
        reply_unknown(call);
        return NULL;
    }
    if (rule->run == do_container && call->count > 1) {
        const struct rule *sub = find_subcommand(rule, &call->args[1]);
        if (sub == NULL) {
            char upper[16] = "";
            for (size_t i = 0; rule->name[i] != '\0'; i++) {
                upper[i] = (char)(rule->name[i] - 'a' + 'A');
            }
            const struct resp_arg *said = &call->args[1];
            reply_error_format(call, "ERR unknown subcommand '%.*s'. Try %s HELP.",
                               (int)(said->length < 128 ? said->length : 128), said->data, upper);
            return NULL;
        }
        rule = sub;
    }
    if (!fits(call, rule) || rule->run == do_container) {
        reply_wrong_number(call, rule->name);
        return NULL;
    }
    return rule;
}

/* The flags differ slightly. */
static uint32_t flags_of(const struct call *call, const struct rule *rule) {
    const enum server_words words = call->server->words;
    uint32_t more = 0;
    if (is_redis_8_4(call->server) && rule->run == do_subscribe) {
        more = CALL_DENYOOM;
    } else if (words == SERVER_VALKEY &&
               (rule->run == do_select || rule->run == do_setname || rule->run == do_getname)) {
        more = CALL_BUSY;
    } else if (words == SERVER_VALKEY &&
               (rule->run == do_script_flush || rule->run == do_script_exists)) {
        more = CALL_STALE;
    }
    return rule->flags | more;
}

/* Where the keys are: from *first, so many. */
static size_t keys_of(const struct call *call, const struct rule *rule, size_t *first) {
    *first = rule->first_key;
    if (rule->run == do_eval || rule->run == do_evalsha) {
        long long n = 0;
        *first = 3;
        bool are_there = resp_number(&call->args[2], &n) && n > 0 && (size_t)n <= call->count - 3;
        return are_there ? (size_t)n : 0;
    }
    return rule->first_key == 0 ? 0 : rule->all_keys ? call->count - rule->first_key : 1;
}

static enum denial denial_in(const struct call *call, const struct rule *rule) {
    const struct server_user *user = call->connection->user;
    enum denial denial = denial_of(user, rule);
    size_t first = 0, n = keys_of(call, rule, &first);
    for (size_t i = 0; i < n && denial == DENIED_NOTHING; i++) {
        denial = may_use_key(user, &call->args[first + i]) ? DENIED_NOTHING : DENIED_KEY;
    }
    bool publishes = rule->run == do_publish;
    size_t channels = publishes ? 1 : rule->run == do_subscribe ? call->count - 1 : 0;
    for (size_t i = 0; i < channels && denial == DENIED_NOTHING; i++) {
        denial = may_use_channel(user, &call->args[1 + i]) ? DENIED_NOTHING : DENIED_CHANNEL;
    }
    return denial;
}

static bool is_denied(struct call *call, const struct rule *rule) {
    const enum denial denial = denial_in(call, rule);
    if (denial != DENIED_NOTHING) {
        reply_denial(call, denial, rule->name);
    }
    return denial != DENIED_NOTHING;
}

#define BUSY_TEXT(name) \
    "BUSY " name " is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
#define MISCONF_TEXT(name)                                                                \
    "MISCONF " name                                                                       \
    " is configured to save RDB snapshots, but it's currently unable to persist to"       \
    " disk. Commands that may modify the data set are disabled, because this instance is" \
    " configured to report errors during writes if RDB snapshotting fails"                \
    " (stop-writes-on-bgsave-error option). Please check the " name                       \
    " logs for details about the RDB error."

/* Why the server's state keeps a write from running, without '-'; NULL: it does not. */
static const char *write_refusal(const struct server *server) {
    if (server->cannot_save) {
        return server->words == SERVER_VALKEY ? MISCONF_TEXT("Valkey") : MISCONF_TEXT("Redis");
    }
    if (server->is_alone) {
        return "NOREPLICAS Not enough good replicas to write.";
    }
    return server->is_replica ? "READONLY You can't write against a read only replica." : NULL;
}

static bool runs_scripts(const struct rule *rule) {
    return rule->run == do_eval || rule->run == do_evalsha;
}

/* A reason of the server's own, without '-', or NULL. */
static const char *refusal_of(struct call *call, const struct rule *rule) {
    struct server *server = call->server;
    const uint32_t flags = flags_of(call, rule);
    bool evicts = server->is_full && strcmp(server->policy, "noeviction") != 0 &&
                  ((flags & CALL_DENYOOM) != 0 || runs_scripts(rule));
    bool is_full = server->is_full && !(evicts && server_evict(server));
    call->is_full = is_full;
    if (is_full && (flags & CALL_DENYOOM) != 0) {
        return OOM_TEXT;
    }
    if (server->cannot_save && rule->run == do_ping) {
        return write_refusal(server);
    }
    return (flags & CALL_WRITES) != 0 ? write_refusal(server) : NULL;
}

/* Whether the state of the server or of the connection keeps the command from running; then the
 * reply is there. */
static bool is_refused(struct call *call, const struct rule *rule) {
    const struct server *server = call->server;
    const bool is_valkey = server->words == SERVER_VALKEY;
    const uint32_t flags = flags_of(call, rule);
    if (call->connection->user == NULL && (flags & CALL_STRANGER) == 0) {
        reply_error(call, "NOAUTH Authentication required.");
        return true;
    }
    if (call->connection->user != NULL && is_denied(call, rule)) {
        return true;
    }
    const char *refusal = refusal_of(call, rule);
    if (refusal != NULL) {
        reply_error(call, refusal);
        return true;
    }
    if (call->connection->n_channels > 0 && (flags & CALL_LISTENER) == 0) {
        reply_error_format(call,
                           "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING /"
                           " QUIT / RESET are allowed in this context",
                           rule->name);
        return true;
    }
    if (server->is_stale && server->is_replica && (flags & CALL_STALE) == 0) {
        refusal = MASTERDOWN_TEXT;
    } else if (server->is_loading && (flags & CALL_LOADING) == 0) {
        refusal = is_valkey ? "LOADING Valkey is loading the dataset in memory"
                            : "LOADING Redis is loading the dataset in memory";
    } else if (server->is_busy && (flags & CALL_BUSY) == 0) {
        refusal = is_valkey ? BUSY_TEXT("Valkey") : BUSY_TEXT("Redis");
    }
    if (refusal != NULL) {
        reply_error(call, refusal);
    }
    return refusal != NULL;
}

/* -- In a script -- */

/* What keeps a script from running the command, without '-', or NULL. */
static const char *refusal_in_script(const struct call *call, const struct rule *rule,
                                     bool has_written, char text[256]) {
    const struct server *server = call->server;
    if (rule == NULL || !is_there(server, rule)) {
        return "ERR Unknown Redis command called from script";
    }
    if (!fits(call, rule) || rule->run == do_container) {
        return "ERR Wrong number of args calling Redis command from script";
    }
    if ((rule->flags & CALL_NOSCRIPT) != 0) {
        return "ERR This Redis command is not allowed from script";
    }
    const enum denial denial = denial_in(call, rule);
    if (denial != DENIED_NOTHING) {
        return script_denial(call, denial, rule->name, text);
    }
    const char *refusal = (rule->flags & CALL_WRITES) != 0 ? write_refusal(server) : NULL;
    bool lacks_memory = (rule->flags & CALL_DENYOOM) != 0 && call->is_full && !has_written;
    return refusal == NULL && lacks_memory ? OOM_TEXT : refusal;
}

void call_in_script(struct call *call, bool *has_written) {
    const struct rule *rule = find_rule(&call->args[0]);
    char text[256];
    if (rule != NULL && rule->run == do_container && call->count > 1) {
        rule = find_subcommand(rule, &call->args[1]);
    }
    const char *refusal = refusal_in_script(call, rule, *has_written, text);
    if (refusal != NULL) {
        reply_error(call, refusal);
        return;
    }
    *has_written = *has_written || (rule->flags & CALL_WRITES) != 0;
    rule->run(call);
}

/* -- The connection -- */

void server_execute(struct server_connection *connection, const struct resp_command *command,
                    uint64_t now_us) {
    struct server *server = connection->server;
    struct call call = {.server = server,
                        .connection = connection,
                        .args = command->args,
                        .count = command->count,
                        .now_ms = now_us / 1000,
                        .now_us = now_us};
    size_t before = connection->output.length;
    assert(command->count > 0);
    const struct rule *rule = look_up(&call);
    if (rule != NULL && !is_refused(&call, rule)) {
        rule->run(&call);
    }
    if (server->hooks != NULL && server->hooks->ran != NULL) {
        struct server_ran ran = {connection,
                                 command,
                                 call.script,
                                 connection->output.data + before,
                                 connection->output.length - before,
                                 now_us};
        server->hooks->ran(server->owner, &ran);
    }
}
