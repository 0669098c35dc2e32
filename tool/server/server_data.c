/* The commands on keys. An expired key is gone for any command that looks it up; the server removes
 * it then, unless it is a replica, which waits for its primary. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "server/server_parts.h"

static void tell(const struct call *call, const struct server_key *key, enum server_change change) {
    const struct server *server = call->server;
    if (server->hooks != NULL && server->hooks->changed != NULL) {
        server->hooks->changed(server->owner, key, change, call->connection);
    }
}

/* By the server itself. */
static void drop_key(struct server *server, struct server_key *key, enum server_change change) {
    if (server->hooks != NULL && server->hooks->changed != NULL) {
        server->hooks->changed(server->owner, key, change, NULL);
    }
    keys_remove(&server->keys, key);
}

struct server_key *find_key(struct call *call, const struct resp_arg *name) {
    struct server_key *key = keys_find(&call->server->keys, call->connection->db, name);
    if (key == NULL || !server_has_expired(call->server, key, call->now_us)) {
        return key;
    }
    if (!call->server->is_replica) {
        drop_key(call->server, key, SERVER_EXPIRED);
    }
    return NULL;
}

void put_key(struct call *call, const struct resp_arg *name, const struct resp_arg *value,
             uint64_t expires_ms) {
    struct server_key *key = keys_put(&call->server->keys, call->connection->db, name);
    bytes_set(&key->value, value->data, value->length);
    key->expires_ms = expires_ms;
    key->elements = 0;
    key->is_line = false;
    key->writer = call->connection->id;
    key->written_us = call->now_us;
    tell(call, key, SERVER_SET);
}

static void delete_key(struct call *call, struct server_key *key) {
    tell(call, key, SERVER_DELETED);
    keys_remove(&call->server->keys, key);
}

static void expire_key(struct call *call, struct server_key *key, long long when_ms) {
    if (when_ms <= (long long)call->now_ms && !call->server->is_loading) {
        delete_key(call, key);
        return;
    }
    key->expires_ms = (uint64_t)when_ms;
    tell(call, key, SERVER_EXPIRY);
}

long long pttl_of(const struct call *call, const struct server_key *key) {
    if (key->expires_ms == SERVER_NEVER_MS) {
        return -1;
    }
    return key->expires_ms > call->now_ms ? (long long)(key->expires_ms - call->now_ms) : 0;
}

/* -- Making room -- */

bool server_evict(struct server *server) {
    struct server_keys *keys = &server->keys;
    if (keys->used == 0 || strcmp(server->policy, "noeviction") == 0) {
        return false;
    }
    uint64_t skip = next_random(&server->random) % keys->used;
    for (uint32_t i = 0;; i++) {
        if (keys->row[i].is_used && skip-- == 0) {
            server->evicted++;
            drop_key(server, &keys->row[i], SERVER_EVICTED);
            return true;
        }
    }
}

/* -- Reading -- */

const struct server_key *find_string(struct call *call) {
    const struct server_key *key = find_key(call, &call->args[1]);
    if (key != NULL && key->elements > 0) {
        reply_error(call, WRONGTYPE_TEXT);
        return NULL;
    }
    return key;
}

void do_get(struct call *call) {
    const struct server_key *key = find_string(call);
    if (key != NULL) {
        reply_bulk(call, key->value.data, key->value.length);
    } else if (!call->failed) {
        reply_nil(call);
    }
}

void do_getrange(struct call *call) {
    long long from = 0, to = 0;
    if (!resp_number(&call->args[2], &from) || !resp_number(&call->args[3], &to)) {
        reply_error(call, NO_INTEGER_TEXT);
        return;
    }
    const struct server_key *key = find_string(call);
    if (key == NULL) {
        if (!call->failed) {
            reply_bulk(call, "", 0);
        }
        return;
    }
    long long length = (long long)key->value.length;
    bool is_empty = from < 0 && to < 0 && from > to;
    from = from < 0 ? from + length : from;
    to = to < 0 ? to + length : to;
    from = from < 0 ? 0 : from;
    to = to < 0 ? 0 : to >= length ? length - 1 : to;
    is_empty = is_empty || from > to || length == 0;
    reply_bulk(call, key->value.data + (is_empty ? 0 : from),
               is_empty ? 0 : (size_t)(to - from + 1));
}

void do_type(struct call *call) {
    const struct server_key *key = find_key(call, &call->args[1]);
    reply_status(call, key == NULL         ? "none"
                       : key->is_line      ? "zset"
                       : key->elements > 0 ? "list"
                                           : "string");
}

void do_pttl(struct call *call) {
    const struct server_key *key = find_key(call, &call->args[1]);
    reply_number(call, key == NULL ? -2 : pttl_of(call, key));
}

void do_pexpiretime(struct call *call) {
    const struct server_key *key = find_key(call, &call->args[1]);
    bool is_mortal = key != NULL && key->expires_ms != SERVER_NEVER_MS;
    reply_number(call, is_mortal ? (long long)key->expires_ms : key != NULL ? -1 : -2);
}

/* -- Writing -- */

struct set_options {
    bool only_new, only_there, keeps_ttl;
    const struct resp_arg *seconds, *ms;
};

static bool read_set_options(const struct resp_arg *args, size_t count, struct set_options *out) {
    for (size_t i = 3; i < count; i++) {
        bool has_next = i + 1 < count;
        if (resp_is(&args[i], "NX") && !out->only_there) {
            out->only_new = true;
        } else if (resp_is(&args[i], "XX") && !out->only_new) {
            out->only_there = true;
        } else if (resp_is(&args[i], "KEEPTTL") && out->ms == NULL && out->seconds == NULL) {
            out->keeps_ttl = true;
        } else if (resp_is(&args[i], "PX") && has_next && !out->keeps_ttl && out->seconds == NULL) {
            out->ms = &args[++i];
        } else if (resp_is(&args[i], "EX") && has_next && !out->keeps_ttl && out->ms == NULL) {
            out->seconds = &args[++i];
        } else {
            return false;
        }
    }
    return true;
}

bool read_ttl(struct call *call, const char *name, const struct resp_arg *text, long long unit,
              uint64_t *expires_ms) {
    long long ttl = 0;
    if (!resp_number(text, &ttl)) {
        reply_error(call, NO_INTEGER_TEXT);
    } else if (ttl <= 0 || ttl > LLONG_MAX / unit ||
               ttl * unit > LLONG_MAX - (long long)call->now_ms) {
        reply_error_format(call, "ERR invalid expire time in '%s' command", name);
    } else {
        *expires_ms = call->now_ms + (uint64_t)(ttl * unit);
    }
    return !call->failed;
}

void do_set(struct call *call) {
    struct set_options options = {.only_new = false};
    uint64_t expires_ms = SERVER_NEVER_MS;
    if (!read_set_options(call->args, call->count, &options)) {
        reply_error(call, "ERR syntax error");
        return;
    }
    const struct resp_arg *ttl = options.ms != NULL ? options.ms : options.seconds;
    if (ttl != NULL && !read_ttl(call, "set", ttl, options.ms != NULL ? 1 : 1000, &expires_ms)) {
        return;
    }
    const struct server_key *key = find_key(call, &call->args[1]);
    if ((options.only_new && key != NULL) || (options.only_there && key == NULL)) {
        reply_nil(call);
        return;
    }
    if (options.keeps_ttl && key != NULL) {
        expires_ms = key->expires_ms;
    }
    put_key(call, &call->args[1], &call->args[2], expires_ms);
    reply_status(call, "OK");
}

void do_del(struct call *call) {
    long long deleted = 0;
    for (size_t i = 1; i < call->count; i++) {
        struct server_key *key = find_key(call, &call->args[i]);
        if (key != NULL) {
            delete_key(call, key);
            deleted++;
        }
    }
    reply_number(call, deleted);
}

/* Deletes a string that has this value. */
static void delete_if(struct call *call, const struct resp_arg *value, const char *if_no_string) {
    struct server_key *key = find_key(call, &call->args[1]);
    if (key != NULL && key->elements > 0) {
        reply_error(call, if_no_string);
        return;
    }
    bool is_it = key != NULL && (is_set(call->server, SERVER_BREAK_BLIND_RELEASE) ||
                                 (key->value.length == value->length &&
                                  memcmp(key->value.data, value->data, value->length) == 0));
    if (is_it) {
        delete_key(call, key);
    }
    reply_number(call, is_it);
}

void do_delifeq(struct call *call) {
    delete_if(call, &call->args[2], WRONGTYPE_TEXT);
}

/* Only IFEQ: no other condition is known here. */
void do_delex(struct call *call) {
    if (call->count == 2) {
        do_del(call);
    } else if (call->count != 4) {
        reply_wrong_number(call, "delex");
    } else {
        assert(resp_is(&call->args[2], "ifeq"));
        delete_if(call, &call->args[3],
                  "ERR Key should be of string type if conditions are specified");
    }
}

void do_flushall(struct call *call) {
    bool fits =
        call->count == 1 ||
        (call->count == 2 && (resp_is(&call->args[1], "SYNC") || resp_is(&call->args[1], "ASYNC")));
    if (!fits) {
        reply_error(call, "ERR syntax error");
        return;
    }
    struct server_keys *keys = &call->server->keys;
    for (uint32_t i = 0; i < keys->size; i++) {
        if (keys->row[i].is_used) {
            delete_key(call, &keys->row[i]);
        }
    }
    reply_status(call, "OK");
}

/* Whether an option of PEXPIRE allows this time of expiry; also false if there is no such option,
 * with the error as the reply. */
static bool may_expire(struct call *call, const struct server_key *key, long long when_ms) {
    static const char *const options[] = {"NX", "XX", "GT", "LT"};
    const struct resp_arg *said = &call->args[3];
    const bool is_mortal = key != NULL && key->expires_ms != SERVER_NEVER_MS;
    const bool is_later = is_mortal && when_ms > (long long)key->expires_ms;
    const bool is_earlier = !is_mortal || when_ms < (long long)key->expires_ms;
    const bool fits[] = {!is_mortal, is_mortal, is_later, is_earlier};
    for (size_t i = 0; i < 4; i++) {
        if (call->count == 4 && resp_is(said, options[i])) {
            return fits[i];
        }
    }
    reply_error_format(call, "ERR Unsupported option %.*s",
                       (int)(said->length < 128 ? said->length : 128), said->data);
    return false;
}

void expire_by(struct call *call, const char *name, long long unit_ms, long long from_ms) {
    struct server_key *key = find_key(call, &call->args[1]);
    long long number = 0;
    bool is_number = resp_number(&call->args[2], &number);
    bool fits = number <= (LLONG_MAX - from_ms) / unit_ms && number >= LLONG_MIN / unit_ms;
    long long when_ms = is_number && fits ? from_ms + number * unit_ms : 0;
    bool may = call->count == 3 || may_expire(call, key, when_ms);
    if (call->failed) {
        return;
    }
    if (!is_number) {
        reply_error(call, NO_INTEGER_TEXT);
        return;
    }
    if (!fits) {
        reply_error_format(call, "ERR invalid expire time in '%s' command", name);
        return;
    }
    if (key != NULL && may) {
        expire_key(call, key, when_ms);
    }
    reply_number(call, key != NULL && may ? 1 : 0);
}

void do_pexpire(struct call *call) {
    expire_by(call, "pexpire", 1, (long long)call->now_ms);
}

void do_pexpireat(struct call *call) {
    expire_by(call, "pexpireat", 1, 0);
}

void do_rpush(struct call *call) {
    struct server_key *key = find_key(call, &call->args[1]);
    if (key != NULL && (key->elements == 0 || key->is_line)) {
        reply_error(call, WRONGTYPE_TEXT);
        return;
    }
    if (key == NULL) {
        struct resp_arg nothing = {"", 0};
        put_key(call, &call->args[1], &nothing, SERVER_NEVER_MS);
        key = find_key(call, &call->args[1]);
    }
    key->elements += (uint32_t)(call->count - 2);
    reply_number(call, key->elements);
}
