/* Cases that random commands seldom reach: a lone reader, for which take.lua and release_line.lua
 * have first lines of their own, and a writer that becomes a reader. */
#include "server/random_parts.h"

#include <assert.h>
#include <string.h>

#include "redis/command.h"

static void put(struct bytes *wire, const char *token, struct rl_request command, uint32_t key) {
    const struct rl_bytes name = {random_keys[key].data, random_keys[key].length};
    const struct rl_target target = {.resources = &name, .n = 1, .retention_ms = 3600000};
    char text[16384];
    command.whole_script = true;
    command.lock_mode = command.kind == RL_COMMAND_SET ? RL_EXCLUSIVE : RL_SHARED;
    command.target = &target;
    memcpy(command.token, token, RL_TOKEN_LEN);
    command.ttl_ms = command.ttl_ms == 0 ? 60000 : command.ttl_ms;
    assert(rl_command_room(&target) <= sizeof text);
    bytes_append(wire, text, rl_command_format(text, &command));
}

static void put_release(struct bytes *wire, uint32_t key, const char *token,
                        enum rl_release_mode mode) {
    put(wire, token, (struct rl_request){.kind = RL_COMMAND_RELEASE_LINE, .mode = (uint8_t)mode},
        key);
}

static void put_deletes(struct bytes *wire, const struct resp_arg *resource) {
    for (uint32_t i = 0; i < RANDOM_KEYS; i++) {
        const struct resp_arg *key = &random_keys[i];
        bool is_its = key == resource; /* or "...{resource}" */
        for (size_t at = 0; at + resource->length + 2 <= key->length && !is_its; at++) {
            is_its = at + resource->length + 2 == key->length && key->data[at] == '{' &&
                     memcmp(key->data + at + 1, resource->data, resource->length) == 0;
        }
        if (is_its) {
            bytes_append_text(wire, "*2\r\n");
            put_word(wire, "DEL");
            put_key_at(wire, i);
        }
    }
}

/* A writer becomes a reader while another one waits. */
static void put_downgrade(struct bytes *wire, uint32_t key) {
    static const struct rl_request sent[] = {
        {.kind = RL_COMMAND_SET},
        {.kind = RL_COMMAND_JOIN, .waited_ms = 40000000, .grace_ms = 250},
        {.kind = RL_COMMAND_EXTEND, .converts = true},
    };
    for (uint32_t i = 0; i < COUNT(sent); i++) {
        put(wire, random_tokens[sent[i].kind == RL_COMMAND_JOIN], sent[i], key);
    }
}

void random_alone(struct random_commands *random, struct bytes *wire) {
    static const uint32_t ttls[] = {1, 3, 5000, 60000, 86400000};
    const uint32_t key = chance(random, 80) ? 0 : 1, parts = pick(random, 4);
    const char *token = random_tokens[chance(random, 80) ? 0 : 1];
    const enum rl_release_mode mode = chance(random, 50) ? RL_RELEASE_PLAIN : RL_RELEASE_SERVE;
    if (parts < 2 && chance(random, 80)) {
        put_deletes(wire, &random_keys[key]);
    }
    if (chance(random, 20)) {
        put_downgrade(wire, key);
        return;
    }
    if (parts < 3) {
        put(wire, token,
            (struct rl_request){.kind = RL_COMMAND_TAKE, .ttl_ms = ttls[pick(random, COUNT(ttls))]},
            key);
    }
    if (parts != 1) {
        put_release(wire, key, token, mode);
    }
}

void random_alone_plant(struct bytes *wire) {
    put(wire, random_tokens[0], (struct rl_request){.kind = RL_COMMAND_TAKE}, RANDOM_ALONE_KEY);
}

void random_alone_release(struct bytes *wire) {
    put_release(wire, RANDOM_ALONE_KEY, random_tokens[1], RL_RELEASE_SERVE); /* not its lease */
    put_release(wire, RANDOM_ALONE_KEY, random_tokens[0], RL_RELEASE_PLAIN);
    put_release(wire, RANDOM_ALONE_KEY, random_tokens[0], RL_RELEASE_SERVE);
}
