/* See command.h. Nothing here can fail but the size of the buffer, and that is settled by constants
 * for our own commands. */
#include "redis/command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redlock/redlock.h"

/* The hashes are compared with what a real node computes by the live tests; a wrong one would only
 * cost the detour over EVAL. */
static const struct {
    const char *text;
    const char *sha1;
} scripts[] = {
    [RL_COMMAND_EXTEND] = {"if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end "
                           "if redis.call('pttl',KEYS[1])<tonumber(ARGV[2]) then "
                           "redis.call('pexpire',KEYS[1],ARGV[2]) end return 1",
                           "fad456264071373a49423a0503fce02a428cad4d"},
    [RL_COMMAND_RELEASE] = {"if redis.call('get',KEYS[1])==ARGV[1] then "
                            "return redis.call('del',KEYS[1]) end return 0",
                            "fab5aabdaac7aab1eaa85bbed1724dee07d7744a"},
};

static_assert(RL_COMMAND_TOKEN_LEN == REDLOCK_TOKEN_LENGTH, "one length of a token");
static_assert(RL_COMMAND_WIRE_MAX > REDLOCK_RESOURCE_MAX + 160 + 40 + 20 + 100,
              "resource, script, token, numbers and their framing");

struct writer {
    char *at;
    size_t left;
    bool overflow;
};

static void put_bytes(struct writer *w, const void *bytes, size_t length) {
    if (length >= w->left) {
        w->overflow = true;
        return;
    }
    memcpy(w->at, bytes, length);
    w->at += length;
    w->left -= length;
}

/* "*5\r\n" or "$40\r\n" */
static void put_count(struct writer *w, char prefix, size_t count) {
    char digits[24];
    char *at = digits + sizeof digits;
    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    *--at = prefix;
    put_bytes(w, at, (size_t)(digits + sizeof digits - at));
}

static void put_bulk(struct writer *w, const void *bytes, size_t length) {
    put_count(w, '$', length);
    put_bytes(w, bytes, length);
    put_bytes(w, "\r\n", 2);
}

static void put_text(struct writer *w, const char *text) {
    put_bulk(w, text, strlen(text));
}

static void put_number(struct writer *w, uint32_t number) {
    char digits[16];
    int length = snprintf(digits, sizeof digits, "%u", (unsigned)number);
    put_bulk(w, digits, (size_t)length);
}

static void put_set(struct writer *w, const struct rl_command *command) {
    put_count(w, '*', 6);
    put_text(w, "SET");
    put_bulk(w, command->resource, command->resource_length);
    put_bulk(w, command->token, RL_COMMAND_TOKEN_LEN);
    put_text(w, "NX");
    put_text(w, "PX");
    put_number(w, command->ttl_ms);
}

static void put_script(struct writer *w, const struct rl_command *command) {
    bool extend = command->kind == RL_COMMAND_EXTEND;
    put_count(w, '*', extend ? 6 : 5);
    put_text(w, command->whole_script ? "EVAL" : "EVALSHA");
    put_text(w, command->whole_script ? scripts[command->kind].text : scripts[command->kind].sha1);
    put_text(w, "1");
    put_bulk(w, command->resource, command->resource_length);
    put_bulk(w, command->token, RL_COMMAND_TOKEN_LEN);
    if (extend) {
        put_number(w, command->ttl_ms);
    }
}

size_t rl_command_format(char *wire, const struct rl_command *command) {
    assert(command->kind != RL_COMMAND_HANDSHAKE);
    assert(command->resource_length >= 1 && command->resource_length <= REDLOCK_RESOURCE_MAX);
    struct writer w = {wire, RL_COMMAND_WIRE_MAX, false};
    if (command->kind == RL_COMMAND_SET) {
        put_set(&w, command);
    } else {
        put_script(&w, command);
    }
    assert(!w.overflow);
    *w.at = '\0';
    return (size_t)(w.at - wire);
}

size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count) {
    assert(capacity > 0);
    struct writer w = {wire, capacity, false};
    put_count(&w, '*', count);
    for (size_t i = 0; i < count; i++) {
        put_text(&w, args[i]);
    }
    *w.at = '\0';
    return w.overflow ? 0 : (size_t)(w.at - wire);
}

const char *rl_command_script(enum rl_command_kind kind) {
    assert(kind == RL_COMMAND_EXTEND || kind == RL_COMMAND_RELEASE);
    return scripts[kind].text;
}

const char *rl_command_script_sha1(enum rl_command_kind kind) {
    assert(kind == RL_COMMAND_EXTEND || kind == RL_COMMAND_RELEASE);
    return scripts[kind].sha1;
}
