/* See read.h. */
#include "scan/read.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "redlock/redlock.h"
#include "say.h"
#include "scan/facts.h"
#include "scan/slice.h"
#include "wire/connection.h"

#define PREFIX_MAX 1024
#define NAMED_MAX 1048576 /* keys that one step of SCAN may name */
#define PIECES_MAX 4096

struct reading {
    struct rl_seen_node *node;
    const struct rl_read_options *options;
    struct rl_slice slice;
};

static bool fail(struct reading *r, const char *why) {
    snprintf(r->node->why, sizeof r->node->why, "%s", why);
    return false;
}

static bool is_wanted(const struct reading *r, const struct rl_key *key) {
    const char *prefix = r->options->prefix;
    const size_t length = strlen(prefix);
    return key->kind != RL_KEY_BESIDE && key->length <= REDLOCK_RESOURCE_MAX &&
           key->length >= length && memcmp(key->resource, prefix, length) == 0;
}

/* Reads what was named. */
static bool read_named(struct reading *r, const redisReply *names) {
    for (size_t i = 0; i < names->elements; i++) {
        const redisReply *name = names->element[i];
        struct rl_key key;
        if (name->str == NULL) {
            continue;
        }
        rl_key_read(name->str, name->len, &key);
        r->node->keys++;
        if (is_wanted(r, &key) && !rl_slice_add(&r->slice, &key, name)) {
            return false;
        }
    }
    return rl_slice_end(&r->slice);
}

/* -- SCAN -- */

/* A pattern that the names of all keys of such resources match, and few others. */
static void make_pattern(const char *prefix, char out[2 * PREFIX_MAX + 3]) {
    size_t used = 0;
    out[used++] = '*';
    for (const char *at = prefix; *at != '\0'; at++) {
        if (strchr("*?[]\\", *at) != NULL) {
            out[used++] = '\\';
        }
        out[used++] = *at;
    }
    out[used++] = '*';
    out[used] = '\0';
    assert(used < 2 * PREFIX_MAX + 3);
}

static bool is_scan(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->str != NULL && reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* One step, from the cursor on, which becomes the next one. */
static bool step(struct reading *r, const char *pattern, char cursor[32]) {
    struct rl_wire *wire = r->node->wire;
    const bool is_all = r->options->prefix[0] == '\0'; /* a pattern costs the node as much again */
    redisReply *reply = rl_wire_checked(
        wire, is_all ? rl_wire_command(wire, "SCAN %s COUNT %d", cursor, RL_READ_COUNT)
                     : rl_wire_command(wire, "SCAN %s MATCH %s COUNT %d", cursor, pattern,
                                       RL_READ_COUNT));
    if (reply == NULL) {
        return fail(r, wire->failure);
    }
    r->node->calls++;
    r->node->asked++;
    bool is_good = is_scan(reply);
    if (is_good) {
        snprintf(cursor, 32, "%.31s", reply->element[0]->str);
        is_good = read_named(r, reply->element[1]);
    } else {
        fail(r, "protocol error: unexpected reply");
    }
    freeReplyObject(reply);
    return is_good;
}

static void scan(struct reading *r) {
    char cursor[32] = "0", pattern[2 * PREFIX_MAX + 3];
    make_pattern(r->options->prefix, pattern);
    do {
        if (!step(r, pattern, cursor)) {
            return;
        }
    } while (strcmp(cursor, "0") != 0 && r->node->keys < r->options->keys_max &&
             r->node->calls * RL_READ_COUNT < r->options->keys_max);
    r->node->is_cut = strcmp(cursor, "0") != 0;
    r->node->is_whole = true;
}

static double wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void forget(struct rl_seen_node *node) {
    rl_memory_free(&node->memory);
    node->n = 0;
    node->keys = node->others = node->refused = node->calls = 0;
    node->asked = 0;
    node->is_up = node->is_whole = node->is_cut = false;
    node->why[0] = node->refusal[0] = '\0';
}

void rl_read_node(struct rl_seen_node *node, const struct rl_read_options *options) {
    struct rl_wire *wire = node->wire;
    static_assert(PREFIX_MAX >= REDLOCK_RESOURCE_MAX, "a name of a resource is a prefix, too");
    assert(strlen(options->prefix) <= PREFIX_MAX);
    uint64_t began_ns = redlock_now_ns();
    forget(node);
    if (wire->context == NULL && !(rl_wire_connect(wire) && rl_wire_hello(wire))) {
        rl_wire_disconnect(wire);
        snprintf(node->why, sizeof node->why, "%s",
                 wire->tls_end[0] != '\0' ? wire->tls_end : wire->failure);
        return;
    }
    struct reading *r = rl_must_alloc(1, sizeof *r);
    node->is_up = true;
    r->node = r->slice.node = node;
    r->options = options;
    wire->elements_max = NAMED_MAX;
    wire->pieces_max = PIECES_MAX;
    rl_facts_ask(node, options->samples);
    r->slice.now_us = wall_us() + node->clock.ahead_ms * 1e3;
    scan(r);
    free(r);
    if (wire->context->err != 0 || !options->stays) {
        node->is_up = wire->context->err == 0;
        rl_wire_disconnect(wire);
    }
    node->took_ms = (double)(redlock_now_ns() - began_ns) / 1e6;
}
