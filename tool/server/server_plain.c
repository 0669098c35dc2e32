/* Commands that clients of other libraries send, and ours only in scripts, or never. */
#include <stdio.h>

#include "server/server_parts.h"

void do_ok(struct call *call) {
    reply_status(call, "OK");
}

void do_client_id(struct call *call) {
    reply_number(call, (long long)call->connection->id);
}

void do_echo(struct call *call) {
    reply_bulk(call, call->args[1].data, call->args[1].length);
}

void do_time(struct call *call) {
    char text[24];
    reply_array(call, 2);
    const uint64_t parts[] = {call->now_us / 1000000, call->now_us % 1000000};
    for (size_t i = 0; i < 2; i++) {
        int length = snprintf(text, sizeof text, "%llu", (unsigned long long)parts[i]);
        reply_bulk(call, text, (size_t)length);
    }
}

void do_exists(struct call *call) {
    long long count = 0;
    for (size_t i = 1; i < call->count; i++) {
        count += find_key(call, &call->args[i]) != NULL;
    }
    reply_number(call, count);
}

void do_mget(struct call *call) {
    reply_array(call, call->count - 1);
    for (size_t i = 1; i < call->count; i++) {
        const struct server_key *key = find_key(call, &call->args[i]);
        if (key == NULL || key->elements > 0) {
            reply_nil(call);
        } else {
            reply_bulk(call, key->value.data, key->value.length);
        }
    }
}

void do_ttl(struct call *call) {
    const struct server_key *key = find_key(call, &call->args[1]);
    const long long ms = key == NULL ? -2 : pttl_of(call, key);
    reply_number(call, ms < 0 ? ms : (ms + 500) / 1000);
}

void do_expire(struct call *call) {
    expire_by(call, "expire", 1000, (long long)call->now_ms);
}

void do_setnx(struct call *call) {
    const bool is_free = find_key(call, &call->args[1]) == NULL;
    if (is_free) {
        put_key(call, &call->args[1], &call->args[2], SERVER_NEVER_MS);
    }
    reply_number(call, is_free);
}

static void set_for(struct call *call, const char *name, long long unit_ms) {
    uint64_t expires_ms = SERVER_NEVER_MS;
    if (read_ttl(call, name, &call->args[2], unit_ms, &expires_ms)) {
        put_key(call, &call->args[1], &call->args[3], expires_ms);
        reply_status(call, "OK");
    }
}

void do_setex(struct call *call) {
    set_for(call, "setex", 1000);
}

void do_psetex(struct call *call) {
    set_for(call, "psetex", 1);
}

void do_incr(struct call *call) {
    const struct server_key *key = find_string(call);
    long long number = 0;
    char text[24];
    if (call->failed) {
        return;
    }
    if (key != NULL) {
        struct resp_arg value = {key->value.data, key->value.length};
        if (!resp_number(&value, &number)) {
            reply_error(call, NO_INTEGER_TEXT);
            return;
        }
    }
    if (number == INT64_MAX) {
        reply_error(call, "ERR increment or decrement would overflow");
        return;
    }
    int length = snprintf(text, sizeof text, "%lld", number + 1);
    struct resp_arg next = {text, (size_t)length};
    put_key(call, &call->args[1], &next, key != NULL ? key->expires_ms : SERVER_NEVER_MS);
    reply_number(call, number + 1);
}
