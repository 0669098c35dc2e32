/* See slice.h. */
#include "scan/slice.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/reply.h"
#include "redlock/redlock.h"
#include "say.h"
#include "tool/utf8.h"
#include "wire/wire.h"

#define NS_PER_MS UINT64_C(1000000)
#define SLICE_BYTES 49152 /* of commands: they fit into a socket */
#define NUMBER_LAST "20"  /* of the digits of a number */

static_assert(RL_HOLDER_TEXT_MAX == 106, "VALUE_LAST says so");
#define VALUE_LAST "105"

/* -- Asking -- */

static void append(struct rl_slice *s, const redisReply *key, const char *name, const char *from,
                   const char *to, const char *scores) {
    const char *args[] = {name, key->str, from, to, scores};
    const size_t lengths[] = {strlen(name), key->len, from != NULL ? strlen(from) : 0,
                              to != NULL ? strlen(to) : 0, scores != NULL ? strlen(scores) : 0};
    size_t n = from == NULL ? 2 : scores == NULL ? 4 : 5;
    rl_wire_ask_argv(s->node->wire, n, args, lengths);
    s->node->asked++;
}

/* What is read of a key at once; numbers are read at the end of the slice. */
static void ask_key(struct rl_slice *s, const redisReply *key, enum rl_key_kind kind) {
    switch (kind) {
        case RL_KEY_LOCK:
        case RL_KEY_SLOT:
            append(s, key, "GETRANGE", "0", VALUE_LAST, NULL);
            append(s, key, "PTTL", NULL, NULL, NULL);
            break;
        case RL_KEY_FENCE:
        case RL_KEY_SLOT_FENCE:
        case RL_KEY_PERMITS:
            s->numbers++;
            break;
        case RL_KEY_LINE:
        case RL_KEY_LINE_SHARED:
        case RL_KEY_LINE_PERMITS:
            append(s, key, "ZCARD", NULL, NULL, NULL);
            append(s, key, "ZRANGE", "0", "0", "WITHSCORES");
            break;
        case RL_KEY_READERS:
            append(s, key, "ZCARD", NULL, NULL, NULL);
            append(s, key, "ZRANGE", "-64", "-1", "WITHSCORES");
            break;
        case RL_KEY_KICKS:
            append(s, key, "ZRANGE", "-5", "-1", NULL);
            break;
        case RL_KEY_BESIDE:
            break;
    }
}
static_assert(RL_SEEN_READERS_MAX == 64 && RL_SEEN_KICKS_MAX == 5, "ask_key() says so");

/* -- Answers -- */

static bool fail(struct rl_slice *s, const char *why) {
    snprintf(s->node->why, sizeof s->node->why, "%s", why);
    return false;
}

/* The next answer; NULL: none came, and node->why is set. */
static redisReply *next(struct rl_slice *s) {
    redisReply *reply = NULL;
    if (redlock_now_ns() >= s->until_ns) {
        fail(s, "no answer in time");
        return NULL;
    }
    reply = rl_wire_reply(s->node->wire);
    if (reply == NULL) {
        const char *why = rl_socket_error(&s->node->wire->socket);
        tool_utf8_clean(why, strlen(why), s->node->why, sizeof s->node->why);
    }
    return reply;
}

static bool is_wrong_type(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "WRONGTYPE", 9) == 0;
}

/* Drops the key. Any error except WRONGTYPE counts as a refusal. */
static void drop(struct rl_slice *s, struct rl_seen *seen, const redisReply *reply) {
    seen->is_gone = true;
    if (reply->type == REDIS_REPLY_ERROR && !is_wrong_type(reply)) {
        s->node->refused++;
        if (s->node->refusal[0] == '\0') {
            tool_utf8_clean(reply->str, reply->len, s->node->refusal, sizeof s->node->refusal);
        }
    }
}

static void take_value(struct rl_slice *s, struct rl_seen *seen, struct rl_asked *asked,
                       const redisReply *value, const redisReply *life) {
    seen->remaining_ms = life->type == REDIS_REPLY_INTEGER ? life->integer : -2;
    asked->is_other = is_wrong_type(value) && seen->remaining_ms >= 0;
    if (seen->remaining_ms < RL_SEEN_FOR_EVER ||
        (value->type != REDIS_REPLY_STRING && !asked->is_other)) {
        s->node->others += is_wrong_type(value);
        drop(s, seen, life->type == REDIS_REPLY_ERROR ? life : value);
        return;
    }
    if (value->type == REDIS_REPLY_STRING) {
        char text[RL_HOLDER_TEXT_MAX + 1];
        struct rl_holder_reply held;
        tool_utf8_clean(value->str, value->len, text, sizeof text);
        rl_holder_value_parse(text, &held);
        /* No lock of any library is empty, or lives forever. */
        seen->is_gone = text[0] == '\0' || (held.is_foreign && seen->remaining_ms < 0);
        s->node->others += seen->is_gone;
        seen->value = rl_memory_text(&s->node->memory, text, strlen(text));
    }
}

static void take_count(struct rl_slice *s, struct rl_seen *seen, const redisReply *reply) {
    if (reply->type == REDIS_REPLY_INTEGER) {
        seen->number = reply->integer > 0 ? (uint64_t)reply->integer : 0;
    } else {
        drop(s, seen, reply);
    }
}

/* Nil: it ended, or is no string. */
static void take_number(struct rl_slice *s, struct rl_seen *seen, const redisReply *reply) {
    char *end = NULL;
    if (reply->type == REDIS_REPLY_STRING && reply->str[0] >= '0' && reply->str[0] <= '9') {
        seen->number = strtoull(reply->str, &end, 10);
        seen->is_gone = *end != '\0';
    } else {
        drop(s, seen, reply);
    }
}

/* A score is the end of a lease, in ms, or when a client joined a line, in us. */
static int64_t ms_of(const struct rl_slice *s, enum rl_key_kind kind, double score) {
    double ms = kind == RL_KEY_READERS ? score - s->now_us / 1e3 : (s->now_us - score) / 1e3;
    return ms < 0 || !(ms < 1e15) ? 0 : (int64_t)ms;
}

static void take_members(struct rl_slice *s, struct rl_seen *seen, const redisReply *reply) {
    const size_t step = seen->kind == RL_KEY_KICKS ? 1 : 2;
    struct rl_memory *memory = &s->node->memory;
    if (reply->type != REDIS_REPLY_ARRAY) {
        drop(s, seen, reply);
        return;
    }
    seen->members = rl_memory_take(memory, (reply->elements / step) * sizeof *seen->members);
    for (size_t i = 0; i + step <= reply->elements; i += step) {
        const redisReply *member = reply->element[i];
        struct rl_member *to = &seen->members[seen->n_members];
        if (member->str == NULL || (step == 2 && reply->element[i + 1]->str == NULL)) {
            continue;
        }
        to->text = rl_memory_text(memory, member->str, member->len);
        to->ms = step == 2 ? ms_of(s, seen->kind, strtod(reply->element[i + 1]->str, NULL)) : 0;
        seen->n_members++;
    }
}

static bool has_number(const struct rl_seen *seen) {
    return seen->kind == RL_KEY_FENCE || seen->kind == RL_KEY_SLOT_FENCE ||
           seen->kind == RL_KEY_PERMITS;
}

/* All answers about one key. */
static bool take_key(struct rl_slice *s, size_t i) {
    struct rl_seen *seen = &s->node->seen[s->first + i];
    const bool is_value = seen->kind == RL_KEY_LOCK || seen->kind == RL_KEY_SLOT;
    const bool is_kicks = seen->kind == RL_KEY_KICKS;
    if (has_number(seen)) {
        return true;
    }
    redisReply *first = next(s);
    redisReply *second = first != NULL && !is_kicks ? next(s) : NULL;
    bool is_whole = first != NULL && (is_kicks || second != NULL);
    if (is_whole && is_value) {
        take_value(s, seen, &s->asked[i], first, second);
    } else if (is_whole && is_kicks) {
        take_members(s, seen, first);
    } else if (is_whole) {
        take_count(s, seen, first);
        if (!seen->is_gone) {
            take_members(s, seen, second);
        }
    }
    freeReplyObject(first);
    freeReplyObject(second);
    return is_whole;
}

/* Reads all numbers of a slice by one MGET, which costs the node a third of single reads. */
static void ask_numbers(struct rl_slice *s) {
    const char *args[RL_SLICE_MAX + 1] = {"MGET"};
    size_t lengths[RL_SLICE_MAX + 1] = {4};
    size_t n = 1;
    for (size_t i = 0; i < s->n; i++) {
        if (has_number(&s->node->seen[s->first + i]) && s->is_single) {
            append(s, s->asked[i].name, "GETRANGE", "0", NUMBER_LAST, NULL);
        } else if (has_number(&s->node->seen[s->first + i])) {
            args[n] = s->asked[i].name->str;
            lengths[n++] = s->asked[i].name->len;
        }
    }
    if (n > 1) {
        rl_wire_ask_argv(s->node->wire, n, args, lengths);
        s->node->asked++;
    }
}

static bool take_numbers(struct rl_slice *s) {
    redisReply *all = s->is_single || s->numbers == 0 ? NULL : next(s);
    size_t at = 0;
    if (all == NULL && !s->is_single && s->numbers > 0) {
        return false;
    }
    bool is_list = all != NULL && all->type == REDIS_REPLY_ARRAY && all->elements == s->numbers;
    if (all != NULL && !is_list) { /* one of them may not be read */
        s->is_single = true;
        ask_numbers(s);
    }
    for (size_t i = 0; i < s->n; i++) {
        struct rl_seen *seen = &s->node->seen[s->first + i];
        if (!has_number(seen)) {
            continue;
        }
        redisReply *one = is_list ? all->element[at++] : next(s);
        if (one == NULL) {
            break;
        }
        take_number(s, seen, one);
        if (!is_list) {
            at++;
            freeReplyObject(one);
        }
    }
    freeReplyObject(all);
    return at == s->numbers;
}

/* Asks for the type of keys that are not strings, to show it as redlock status does. */
static bool take_types(struct rl_slice *s) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->asked[i].is_other) {
            append(s, s->asked[i].name, "TYPE", NULL, NULL, NULL);
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        struct rl_seen *seen = &s->node->seen[s->first + i];
        char text[RL_WIRE_TEXT_MAX], shown[40];
        redisReply *reply = s->asked[i].is_other ? next(s) : NULL;
        if (s->asked[i].is_other && reply == NULL) {
            return false;
        }
        if (reply != NULL && reply->type == REDIS_REPLY_STATUS) {
            tool_utf8_clean(reply->str, reply->len, shown, sizeof shown - 3);
            snprintf(text, sizeof text, "(%s)", shown);
            seen->value = rl_memory_text(&s->node->memory, text, strlen(text));
        } else if (reply != NULL) {
            drop(s, seen, reply);
        }
        freeReplyObject(reply);
    }
    return true;
}

/* -- A slice: keys that are asked for together -- */

static void begin(struct rl_slice *s) {
    s->first = s->node->n;
    s->n = s->numbers = s->bytes = 0;
    s->until_ns = redlock_now_ns() + (uint64_t)s->node->wire->answer_ms * NS_PER_MS;
}

bool rl_slice_end(struct rl_slice *s) {
    struct rl_seen_node *node = s->node;
    bool is_whole = true;
    if (s->n == 0) {
        return true;
    }
    ask_numbers(s);
    for (size_t i = 0; is_whole && i < s->n; i++) {
        is_whole = take_key(s, i);
    }
    if (!is_whole || !take_numbers(s) || !take_types(s)) {
        node->n = s->first;
        return false;
    }
    size_t kept = s->first;
    for (size_t i = s->first; i < s->first + s->n; i++) {
        if (!node->seen[i].is_gone) {
            node->seen[kept++] = node->seen[i];
        }
    }
    node->n = kept;
    s->n = 0;
    return true;
}

bool rl_slice_add(struct rl_slice *s, const struct rl_key *key, const redisReply *name) {
    struct rl_seen_node *node = s->node;
    const size_t bytes = 2 * (name->len + 64);
    if (s->n > 0 && (s->n == RL_SLICE_MAX || s->bytes + bytes > SLICE_BYTES) && !rl_slice_end(s)) {
        return false;
    }
    if (s->n == 0) {
        begin(s);
    }
    s->bytes += bytes;
    node->seen = rl_must_grow(node->seen, node->n, &node->room, sizeof *node->seen);
    const char *resource = rl_memory_text(&node->memory, key->resource, key->length);
    node->seen[node->n++] = (struct rl_seen){.resource = resource,
                                             .length = (uint32_t)key->length,
                                             .slot = key->slot,
                                             .kind = (uint8_t)key->kind};
    s->asked[s->n++] = (struct rl_asked){.name = name};
    ask_key(s, name, key->kind);
    return true;
}
