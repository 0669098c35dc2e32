/* See fake_redis.h. Happy path: fake_redis_execute() finds the command in a table, checks its
 * number of arguments, and calls its function, which appends a reply. Failure modes: those of
 * Redis, told in its words; running out of memory ends the program. */
#include "fake/fake_redis.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake_redis_parts.h"
#include "fake/sha1.h"

#define MS 1000000u /* nanoseconds */

struct call { /* what a command's function sees */
    struct fake_redis *redis;
    struct fake_session *session;
    const struct resp_arg *args;
    size_t count;
    uint64_t now_ns;
    struct bytes *reply;
};

/* -- Keys -- */

/* The key of the session's database if it is there. */
static struct fake_key *find_key(const struct call *call, const struct resp_arg *name) {
    return fake_keys_find(&call->redis->keys, call->session->db, name, call->now_ns);
}

static bool holds(const struct fake_key *key, const struct resp_arg *value) {
    assert(key->value.length > 0);
    return key->value.length - 1 == value->length &&
           memcmp(key->value.data, value->data, value->length) == 0;
}

/* -- Replies -- */

static void reply_bulk(struct call *call, const char *data, size_t length) {
    bytes_append_format(call->reply, "$%zu\r\n", length);
    bytes_append(call->reply, data, length);
    bytes_append_text(call->reply, "\r\n");
}

static void reply_number(struct call *call, long long number) {
    bytes_append_format(call->reply, ":%lld\r\n", number);
}

static void reply_text(struct call *call, const char *line) {
    assert(line[0] == '+' || line[0] == '-' || line[0] == '$');
    bytes_append_text(call->reply, line);
    bytes_append_text(call->reply, "\r\n");
}

static void reply_syntax_error(struct call *call) {
    reply_text(call, "-ERR syntax error");
}

/* -- Commands of the connection -- */

static void do_ping(struct call *call) {
    reply_text(call, "+PONG");
}

static void do_auth(struct call *call) {
    const struct fake_redis *redis = call->redis;
    const struct resp_arg *password = &call->args[call->count - 1];
    const char *user = redis->user[0] != '\0' ? redis->user : "default";
    if (redis->password[0] == '\0' && call->count == 2) {
        reply_text(call,
                   "-ERR AUTH <password> called without any password configured for the default"
                   " user. Are you sure your configuration is correct?");
        return;
    }
    struct resp_arg standard = {"default", strlen("default")};
    const struct resp_arg *said = call->count == 3 ? &call->args[1] : &standard;
    bool user_right = said->length == strlen(user) && memcmp(said->data, user, said->length) == 0;
    if (!user_right || password->length != strlen(redis->password) ||
        memcmp(password->data, redis->password, password->length) != 0) {
        reply_text(call, "-WRONGPASS invalid username-password pair or user is disabled.");
        return;
    }
    call->session->authenticated = true;
    reply_text(call, "+OK");
}

static void do_select(struct call *call) {
    long long db = 0;
    if (!resp_number(&call->args[1], &db)) {
        reply_text(call, "-ERR value is not an integer or out of range");
    } else if (db < 0 || db >= FAKE_REDIS_DATABASES) {
        reply_text(call, "-ERR DB index is out of range");
    } else {
        call->session->db = (uint32_t)db;
        reply_text(call, "+OK");
    }
}

static void do_client(struct call *call) {
    if (!resp_is(&call->args[1], "SETNAME") || call->count != 3) {
        reply_text(call, "-ERR unknown subcommand or wrong number of arguments for 'client'");
        return;
    }
    snprintf(call->session->name, sizeof(call->session->name), "%.*s", (int)call->args[2].length,
             call->args[2].data);
    reply_text(call, "+OK");
}

static void do_info(struct call *call) {
    struct bytes text = {NULL, 0, 0};
    bytes_append_text(&text, "# Server\r\n");
    for (size_t i = 0; i < call->redis->n_info; i++) {
        const struct info *info = &call->redis->info[i];
        bytes_append_format(&text, "%s:%s\r\n", info->field, info->value);
    }
    reply_bulk(call, text.data, text.length);
    bytes_free(&text);
}

/* -- Channels -- */

static void do_subscribe(struct call *call) {
    size_t count = fake_channels_add(&call->session->channels, &call->args[1]);
    fake_channels_confirm(call->reply, "subscribe", &call->args[1], count);
}

static void do_unsubscribe(struct call *call) {
    size_t count = fake_channels_remove(&call->session->channels, &call->args[1]);
    fake_channels_confirm(call->reply, "unsubscribe", &call->args[1], count);
}

static size_t publish(struct call *call, const struct resp_arg *channel,
                      const struct resp_arg *payload) {
    struct fake_redis *redis = call->redis;
    return redis->publish != NULL ? redis->publish(redis->publish_data, channel, payload) : 0;
}

static void do_publish(struct call *call) {
    reply_number(call, (long long)publish(call, &call->args[1], &call->args[2]));
}

/* -- Commands on keys -- */

static void do_set(struct call *call) {
    bool only_new = false;
    long long ttl_ms = 0;
    for (size_t i = 3; i < call->count; i++) {
        if (resp_is(&call->args[i], "NX")) {
            only_new = true;
        } else if (resp_is(&call->args[i], "PX") && i + 1 < call->count) {
            i++;
            if (!resp_number(&call->args[i], &ttl_ms)) {
                reply_text(call, "-ERR value is not an integer or out of range");
                return;
            }
            if (ttl_ms <= 0) {
                reply_text(call, "-ERR invalid expire time in 'set' command");
                return;
            }
        } else {
            reply_syntax_error(call);
            return;
        }
    }
    if (only_new && find_key(call, &call->args[1]) != NULL) {
        reply_text(call, "$-1");
        return;
    }
    uint64_t expires_ns = ttl_ms > 0 ? call->now_ns + (uint64_t)ttl_ms * MS : UINT64_MAX;
    fake_keys_put(&call->redis->keys, call->session->db, &call->args[1], &call->args[2],
                  expires_ns);
    reply_text(call, "+OK");
}

static void do_get(struct call *call) {
    const struct fake_key *key = find_key(call, &call->args[1]);
    if (key == NULL) {
        reply_text(call, "$-1");
    } else {
        reply_bulk(call, key->value.data, key->value.length - 1);
    }
}

static long long pttl_of(const struct call *call, const struct fake_key *key) {
    assert(key->expires_ns != UINT64_MAX);
    return (long long)((key->expires_ns - call->now_ns) / MS);
}

static void do_pttl(struct call *call) {
    const struct fake_key *key = find_key(call, &call->args[1]);
    if (key == NULL) {
        reply_number(call, -2);
    } else if (key->expires_ns == UINT64_MAX) {
        reply_number(call, -1);
    } else {
        reply_number(call, pttl_of(call, key));
    }
}

static void do_del(struct call *call) {
    struct fake_key *key = find_key(call, &call->args[1]);
    if (key != NULL) {
        fake_keys_remove(&call->redis->keys, key);
    }
    reply_number(call, key != NULL ? 1 : 0);
}

static void do_flushall(struct call *call) {
    fake_redis_forget_keys(call->redis);
    reply_text(call, "+OK");
}

/* -- Scripts -- */

static bool contains(const struct resp_arg *text, const char *word) {
    assert(word[0] != '\0');
    return memmem(text->data, text->length, word, strlen(word)) != NULL;
}

static struct script *find_script(struct fake_redis *redis, const struct resp_arg *sha1) {
    for (size_t i = 0; i < redis->n_scripts; i++) {
        if (resp_is(sha1, redis->scripts[i].sha1)) {
            return &redis->scripts[i];
        }
    }
    return NULL;
}

/* Remembers a script. Returns it, or NULL after an error reply if it is none that we can run. */
static struct script *load_script(struct call *call, const struct resp_arg *text) {
    struct script script = {"", SCRIPT_NONE, contains(text, "'publish'")};
    if (contains(text, "'getrange'")) {
        script.kind = SCRIPT_READ;
    } else if (contains(text, "'get'") && contains(text, "'pexpire'")) {
        script.kind = SCRIPT_EXTEND;
    } else if (contains(text, "'get'") && contains(text, "'set'")) {
        script.kind = SCRIPT_SET;
    } else if (contains(text, "'get'") && contains(text, "'del'")) {
        script.kind = SCRIPT_DELETE;
    } else {
        reply_text(call, "-ERR Error compiling script: the fake node does not know it");
        return NULL;
    }
    sha1_hex(text->data, text->length, script.sha1);
    struct resp_arg sha1 = {script.sha1, strlen(script.sha1)};
    struct script *known = find_script(call->redis, &sha1);
    if (known == NULL) {
        assert(call->redis->n_scripts < SCRIPTS_MAX);
        known = &call->redis->scripts[call->redis->n_scripts++];
        *known = script;
    }
    return known;
}

struct keys { /* what a script is about: EVAL ... n key... value [ttl] */
    const struct resp_arg *names;
    size_t n;
    const struct resp_arg *args; /* behind the keys */
    uint64_t until_ns;           /* the end of a ttl that begins now */
    bool announces;
};

static bool has_value(const struct call *call, const struct resp_arg *name,
                      const struct resp_arg *value) {
    const struct fake_key *key = find_key(call, name);
    return key != NULL && holds(key, value);
}

static void run_set(struct call *call, const struct keys *keys) {
    for (size_t i = 0; i < keys->n; i++) {
        if (find_key(call, &keys->names[i]) != NULL &&
            !has_value(call, &keys->names[i], &keys->args[0])) {
            reply_number(call, 0);
            return;
        }
    }
    for (size_t i = 0; i < keys->n; i++) {
        if (find_key(call, &keys->names[i]) == NULL) {
            fake_keys_put(&call->redis->keys, call->session->db, &keys->names[i], &keys->args[0],
                          keys->until_ns);
        }
    }
    reply_number(call, 1);
}

static void run_extend(struct call *call, const struct keys *keys) {
    for (size_t i = 0; i < keys->n; i++) {
        if (!has_value(call, &keys->names[i], &keys->args[0])) {
            reply_number(call, 0);
            return;
        }
    }
    for (size_t i = 0; i < keys->n; i++) {
        struct fake_key *key = find_key(call, &keys->names[i]);
        /* never to a shorter life; but PTTL is -1 for a key without end, and the script compares */
        if (keys->until_ns > key->expires_ns || key->expires_ns == UINT64_MAX) {
            key->expires_ns = keys->until_ns;
        }
    }
    reply_number(call, 1);
}

static void announce(struct call *call, const struct resp_arg *key) {
    struct bytes name = {NULL, 0, 0};
    bytes_append_text(&name, "redlock:");
    bytes_append(&name, key->data, key->length);
    struct resp_arg channel = {name.data, name.length}, nothing = {"", 0};
    publish(call, &channel, &nothing);
    bytes_free(&name);
}

static void run_delete(struct call *call, const struct keys *keys) {
    long long deleted = 0;
    for (size_t i = 0; i < keys->n; i++) {
        if (has_value(call, &keys->names[i], &keys->args[0])) {
            fake_keys_remove(&call->redis->keys, find_key(call, &keys->names[i]));
            deleted = 1;
            if (keys->announces) {
                announce(call, &keys->names[i]);
            }
        }
    }
    reply_number(call, deleted);
}

static void run_read(struct call *call, const struct keys *keys) {
    const struct fake_key *key = find_key(call, &keys->names[0]);
    struct bytes text = {NULL, 0, 0};
    if (key == NULL) {
        reply_text(call, "$-1");
        return;
    }
    long long ms = key->expires_ns == UINT64_MAX ? -1 : pttl_of(call, key);
    size_t length = key->value.length - 1;
    bytes_append_format(&text, "%lld s", ms);
    bytes_append(&text, key->value.data, length < 106 ? length : 106);
    reply_bulk(call, text.data, text.length);
    bytes_free(&text);
}

static void run_script(struct call *call, const struct script *script) {
    static const struct {
        size_t args;
        void (*run)(struct call *call, const struct keys *keys);
    } kinds[] = {[SCRIPT_DELETE] = {1, run_delete},
                 [SCRIPT_EXTEND] = {2, run_extend},
                 [SCRIPT_SET] = {2, run_set},
                 [SCRIPT_READ] = {0, run_read}};
    long long n = 0, ttl_ms = 0;
    size_t args = kinds[script->kind].args;
    if (!resp_number(&call->args[2], &n) || n < 1 || call->count != 3 + (size_t)n + args) {
        reply_text(call, "-ERR the fake node's scripts take keys, a value and a ttl");
        return;
    }
    struct keys keys = {call->args + 3, (size_t)n, call->args + 3 + n, 0, script->announces};
    if (args == 2 && (!resp_number(&keys.args[1], &ttl_ms) || ttl_ms <= 0)) {
        reply_text(call, "-ERR invalid expire time in 'set' command");
        return;
    }
    keys.until_ns = call->now_ns + (uint64_t)ttl_ms * MS;
    kinds[script->kind].run(call, &keys);
}

static void do_eval(struct call *call) {
    const struct script *script = load_script(call, &call->args[1]);
    if (script != NULL) {
        run_script(call, script);
    }
}

static void do_evalsha(struct call *call) {
    const struct script *script = find_script(call->redis, &call->args[1]);
    if (script != NULL) {
        run_script(call, script);
    } else {
        reply_text(call, "-NOSCRIPT No matching script. Please use EVAL.");
    }
}

static void do_script(struct call *call) {
    if (resp_is(&call->args[1], "FLUSH")) {
        fake_redis_forget_scripts(call->redis);
        reply_text(call, "+OK");
    } else if (resp_is(&call->args[1], "LOAD") && call->count == 3) {
        const struct script *script = load_script(call, &call->args[2]);
        if (script != NULL) {
            reply_bulk(call, script->sha1, strlen(script->sha1));
        }
    } else {
        reply_text(call, "-ERR unknown subcommand or wrong number of arguments for 'script'");
    }
}

/* -- The table -- */

static const struct {
    const char *name;
    size_t min, max; /* arguments, the name included */
    void (*run)(struct call *call);
} commands[] = {
    {"auth", 2, 3, do_auth},
    {"client", 2, 3, do_client},
    {"del", 2, 2, do_del},
    {"eval", 3, RESP_ARGS_MAX, do_eval},
    {"evalsha", 3, RESP_ARGS_MAX, do_evalsha},
    {"flushall", 1, 1, do_flushall},
    {"get", 2, 2, do_get},
    {"info", 1, 2, do_info},
    {"ping", 1, 1, do_ping},
    {"pttl", 2, 2, do_pttl},
    {"publish", 3, 3, do_publish},
    {"script", 2, 3, do_script},
    {"select", 2, 2, do_select},
    {"set", 3, 6, do_set},
    {"subscribe", 2, 2, do_subscribe},
    {"unsubscribe", 2, 2, do_unsubscribe},
};

void fake_redis_execute(struct fake_redis *redis, struct fake_session *session,
                        const struct resp_command *command, uint64_t now_ns, struct bytes *reply) {
    struct call call = {redis, session, command->args, command->count, now_ns, reply};
    assert(command->count > 0);
    assert(session->db < FAKE_REDIS_DATABASES);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!resp_is(&command->args[0], commands[i].name)) {
            continue;
        }
        if (command->count < commands[i].min || command->count > commands[i].max) {
            bytes_append_format(reply, "-ERR wrong number of arguments for '%s' command\r\n",
                                commands[i].name);
        } else if (redis->password[0] != '\0' && !session->authenticated &&
                   commands[i].run != do_auth) {
            reply_text(&call, "-NOAUTH Authentication required.");
        } else if (session->channels.count > 0 && commands[i].run != do_subscribe &&
                   commands[i].run != do_unsubscribe && commands[i].run != do_ping) {
            bytes_append_format(reply,
                                "-ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
                                "PING / QUIT / RESET are allowed in this context\r\n",
                                commands[i].name);
        } else {
            commands[i].run(&call);
        }
        return;
    }
    bytes_append_format(reply, "-ERR unknown command '%.*s', with args beginning with: \r\n",
                        (int)(command->args[0].length < 64 ? command->args[0].length : 64),
                        command->args[0].data);
}
