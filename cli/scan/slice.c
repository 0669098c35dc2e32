/* Reads keys of one node together.
 *
 *     rl_slice_add() for each key, rl_slice_end()
 *
 * Happy path: commands are collected until a slice is full, then sent at once, and the answers are
 * read in order. It reads the first bytes of a value, the first client of a line, and the readers
 * whose leases end last.
 *
 * Failure modes: an answer does not arrive in time: false, and node->why says so. A key that the
 * user may not read is counted and left out; one that expired meanwhile is left out. */
#include "scan/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/command.h"
#include "redis/reply.h"
#include "redlock/redlock.h"
#include "say.h"
#include "tool/utf8.h"

/* -- Memory -- */

void *rl_memory_take(struct rl_memory *memory, size_t size) {
    memory->pieces =
        rl_must_grow(memory->pieces, memory->n, &memory->room, sizeof memory->pieces[0]);
    return memory->pieces[memory->n++] = rl_must_alloc(1, size);
}

char *rl_memory_text(struct rl_memory *memory, const char *bytes, size_t length) {
    char *text = rl_memory_take(memory, length + 1);
    return memcpy(text, bytes, length);
}

void rl_memory_free(struct rl_memory *memory) {
    for (size_t i = 0; i < memory->n; i++) {
        free(memory->pieces[i]);
    }
    free(memory->pieces);
    *memory = (struct rl_memory){0};
}

/* -- What a key is -- */

#define KICKS_PREFIX RL_COMMAND_PREFIX "kicks:"

struct span {
    const char *at;
    size_t length;
};

static bool take_prefix(struct span *span, const char *prefix) {
    size_t length = strlen(prefix);
    if (span->length < length || memcmp(span->at, prefix, length) != 0) {
        return false;
    }
    span->at += length;
    span->length -= length;
    return true;
}

/* "{NAME}" */
static bool take_braces(struct span *span) {
    if (span->length < 3 || span->at[0] != '{' || span->at[span->length - 1] != '}') {
        return false;
    }
    span->at++;
    span->length -= 2;
    return true;
}

/* "I:" */
static bool take_slot(struct span *span, uint16_t *slot) {
    size_t digits = 0;
    uint32_t number = 0;
    while (digits < span->length && digits < 4 && span->at[digits] >= '0' &&
           span->at[digits] <= '9') {
        number = number * 10 + (uint32_t)(span->at[digits++] - '0');
    }
    span->at += digits;
    span->length -= digits;
    *slot = (uint16_t)number;
    bool is_plain = digits == 1 || (digits > 1 && span->at[-(ptrdiff_t)digits] != '0');
    return is_plain && number < RL_PERMITS_MAX && take_prefix(span, ":");
}

/* The form of the rest: NAME, "{NAME}" or "I:{NAME}". */
enum form { PLAIN, BRACED, SLOT };

/* The first matching prefix counts. */
static const struct {
    const char *prefix;
    enum form form;
    enum rl_key_kind kind;
} kinds[] = {
    {RL_COMMAND_COUNTER_PREFIX RL_COMMAND_SLOT_PREFIX, SLOT, RL_KEY_SLOT_FENCE},
    {RL_COMMAND_COUNTER_PREFIX RL_COMMAND_PREFIX, PLAIN, RL_KEY_BESIDE},
    {RL_COMMAND_COUNTER_PREFIX, PLAIN, RL_KEY_FENCE},
    {RL_COMMAND_SLOT_PREFIX, SLOT, RL_KEY_SLOT},
    {RL_COMMAND_READERS_PREFIX, BRACED, RL_KEY_READERS},
    {RL_COMMAND_LINE_SHARED_PREFIX, BRACED, RL_KEY_LINE_SHARED},
    {RL_COMMAND_LINE_PREFIX "permits:", BRACED, RL_KEY_LINE_PERMITS},
    {RL_COMMAND_LINE_PREFIX, BRACED, RL_KEY_LINE},
    {RL_COMMAND_PERMITS_PREFIX, BRACED, RL_KEY_PERMITS},
    {KICKS_PREFIX, BRACED, RL_KEY_KICKS},
    {RL_COMMAND_PREFIX, PLAIN, RL_KEY_BESIDE},
    {"", PLAIN, RL_KEY_LOCK},
};

void rl_key_read(const char *name, size_t length, struct rl_key *key) {
    struct span span = {name, length};
    size_t i = 0;
    *key = (struct rl_key){.kind = RL_KEY_BESIDE};
    while (!take_prefix(&span, kinds[i].prefix)) { /* the last one always matches */
        i++;
    }
    const bool is_good =
        kinds[i].form == PLAIN
            ? span.length > 0
            : (kinds[i].form == BRACED || take_slot(&span, &key->slot)) && take_braces(&span);
    key->kind = is_good ? kinds[i].kind : RL_KEY_BESIDE;
    key->resource = span.at;
    key->length = span.length;
}

#define SLICE_BYTES 49152 /* of commands: fits into a socket */
#define QUESTIONS_MAX 2

/* -- What is taken from the answers -- */

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

/* Takes the beginning of a string, and its ttl. */
static void take_value(struct rl_slice *s, struct rl_seen *seen, redisReply *const *replies) {
    const redisReply *value = replies[0], *life = replies[1];
    seen->remaining_ms = life->type == REDIS_REPLY_INTEGER ? life->integer : -2;
    seen->is_other = is_wrong_type(value) && seen->remaining_ms >= 0;
    if (seen->remaining_ms < RL_SEEN_FOR_EVER ||
        (value->type != REDIS_REPLY_STRING && !seen->is_other)) {
        s->node->others += is_wrong_type(value);
        drop(s, seen, life->type == REDIS_REPLY_ERROR ? life : value);
    } else if (value->type == REDIS_REPLY_STRING) {
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

static void take_number(struct rl_slice *s, struct rl_seen *seen, redisReply *const *replies) {
    const redisReply *reply = replies[0];
    char *end = NULL;
    if (reply->type == REDIS_REPLY_STRING && reply->str[0] >= '0' && reply->str[0] <= '9') {
        seen->number = strtoull(reply->str, &end, 10);
        seen->is_gone = *end != '\0';
    } else {
        drop(s, seen, reply);
    }
}

/* A score is the end of a lease, in ms, or the time when a client joined a line, in us. */
static int64_t ms_of(const struct rl_slice *s, enum rl_key_kind kind, const char *score) {
    const double number = strtod(score, NULL);
    const double ms =
        kind == RL_KEY_READERS ? number - s->now_us / 1e3 : (s->now_us - number) / 1e3;
    return ms < 0 || !(ms < 1e15) ? 0 : (int64_t)ms;
}

static void take_members(struct rl_slice *s, struct rl_seen *seen, const redisReply *reply,
                         size_t step) {
    struct rl_memory *memory = &s->node->memory;
    if (reply->type != REDIS_REPLY_ARRAY) {
        drop(s, seen, reply);
        return;
    }
    seen->members = rl_memory_take(memory, (reply->elements / step) * sizeof *seen->members);
    for (size_t i = 0; i + step <= reply->elements; i += step) {
        const redisReply *member = reply->element[i], *score = reply->element[i + step - 1];
        if (member->str != NULL && score->str != NULL) {
            seen->members[seen->n_members++] = (struct rl_member){
                .text = rl_memory_text(memory, member->str, member->len),
                .ms = step == 2 ? ms_of(s, (enum rl_key_kind)seen->kind, score->str) : 0};
        }
    }
}

/* Takes the number of members of a sorted set, and some of them with their scores. */
static void take_set(struct rl_slice *s, struct rl_seen *seen, redisReply *const *replies) {
    if (replies[0]->type != REDIS_REPLY_INTEGER) {
        drop(s, seen, replies[0]);
        return;
    }
    seen->number = replies[0]->integer > 0 ? (uint64_t)replies[0]->integer : 0;
    take_members(s, seen, replies[1], 2);
}

static void take_kicks(struct rl_slice *s, struct rl_seen *seen, redisReply *const *replies) {
    take_members(s, seen, replies[0], 1);
}

/* Takes the type of a key that is not a string, to show it as redlock status does. */
static void take_type(struct rl_slice *s, struct rl_seen *seen, redisReply *const *replies) {
    if (replies[0]->type != REDIS_REPLY_STATUS) {
        drop(s, seen, replies[0]);
        return;
    }
    const char *text = rl_text("(%s)", rl_text_bytes(replies[0]->str, replies[0]->len, 37));
    seen->value = rl_memory_text(&s->node->memory, text, strlen(text));
}

/* -- What is asked of a key -- */

struct plan {
    const char *questions[QUESTIONS_MAX][4]; /* the words of a command, without the key, which comes
                                                second */
    void (*take)(struct rl_slice *s, struct rl_seen *seen, redisReply *const *replies);
};

static_assert(RL_HOLDER_TEXT_MAX == 106 && RL_SEEN_READERS_MAX == 64 && RL_SEEN_KICKS_MAX == 5,
              "as the plans have it");
#define VALUE \
    { {{"GETRANGE", "0", "105"}, {"PTTL"}}, take_value }
#define NUMBER \
    { {{"GETRANGE", "0", "20"}}, take_number }
#define LINE \
    { {{"ZCARD"}, {"ZRANGE", "0", "0", "WITHSCORES"}}, take_set }

static const struct plan plans[] = {
    [RL_KEY_LOCK] = VALUE,
    [RL_KEY_SLOT] = VALUE,
    [RL_KEY_FENCE] = NUMBER,
    [RL_KEY_SLOT_FENCE] = NUMBER,
    [RL_KEY_PERMITS] = NUMBER,
    [RL_KEY_LINE] = LINE,
    [RL_KEY_LINE_SHARED] = LINE,
    [RL_KEY_LINE_PERMITS] = LINE,
    [RL_KEY_READERS] = {{{"ZCARD"}, {"ZRANGE", "-64", "-1", "WITHSCORES"}}, take_set},
    [RL_KEY_KICKS] = {{{"ZRANGE", "-5", "-1"}}, take_kicks},
};
static const struct plan type_plan = {{{"TYPE"}}, take_type};

static void ask(struct rl_slice *s, const redisReply *key, const struct plan *plan) {
    for (size_t i = 0; i < QUESTIONS_MAX && plan->questions[i][0] != NULL; i++) {
        const char *argv[5] = {plan->questions[i][0], key->str};
        size_t lengths[5] = {strlen(argv[0]), key->len}, n = 2;
        for (; n < 5 && plan->questions[i][n - 1] != NULL; n++) {
            argv[n] = plan->questions[i][n - 1];
            lengths[n] = strlen(argv[n]);
        }
        rl_wire_ask_argv(s->node->wire, n, argv, lengths);
        s->node->asked++;
    }
}

/* The next answer; NULL: none arrived, and node->why is set. */
static redisReply *next(struct rl_slice *s) {
    const char *why = "no answer in time";
    if (redlock_now_ns() < s->until_ns) {
        redisReply *reply = rl_wire_reply(s->node->wire);
        if (reply != NULL) {
            return reply;
        }
        why = rl_socket_error(&s->node->wire->socket);
    }
    tool_utf8_clean(why, strlen(why), s->node->why, sizeof s->node->why);
    return NULL;
}

/* Reads all answers about one key. False: they did not arrive. */
static bool take(struct rl_slice *s, struct rl_seen *seen, const struct plan *plan) {
    redisReply *replies[QUESTIONS_MAX] = {NULL};
    bool is_whole = true;
    for (size_t i = 0; is_whole && i < QUESTIONS_MAX && plan->questions[i][0] != NULL; i++) {
        replies[i] = next(s);
        is_whole = replies[i] != NULL;
    }
    if (is_whole) {
        plan->take(s, seen, replies);
    }
    for (size_t i = 0; i < QUESTIONS_MAX; i++) {
        freeReplyObject(replies[i]);
    }
    return is_whole;
}

/* -- A slice: keys that are asked for together -- */

bool rl_slice_end(struct rl_slice *s) {
    struct rl_seen_node *node = s->node;
    const size_t n = s->n;
    if (n == 0) {
        return true; /* node->seen may not be allocated yet */
    }
    struct rl_seen *first = &node->seen[s->first];
    bool is_whole = true;
    s->n = 0;
    for (size_t i = 0; is_whole && i < n; i++) {
        is_whole = take(s, &first[i], &plans[first[i].kind]);
    }
    for (size_t i = 0; is_whole && i < n; i++) {
        if (first[i].is_other) {
            ask(s, s->names[i], &type_plan);
        }
    }
    for (size_t i = 0; is_whole && i < n; i++) {
        is_whole = !first[i].is_other || take(s, &first[i], &type_plan);
    }
    size_t kept = 0;
    for (size_t i = 0; is_whole && i < n; i++) {
        if (!first[i].is_gone) {
            first[kept++] = first[i];
        }
    }
    node->n -= n - kept;
    return is_whole;
}

bool rl_slice_add(struct rl_slice *s, const struct rl_key *key, const redisReply *name) {
    struct rl_seen_node *node = s->node;
    const size_t bytes = 2 * (name->len + 64);
    if (s->n > 0 && (s->n == RL_SLICE_MAX || s->bytes + bytes > SLICE_BYTES) && !rl_slice_end(s)) {
        return false;
    }
    if (s->n == 0) {
        s->first = node->n;
        s->bytes = 0;
        s->until_ns = redlock_now_ns() + (uint64_t)node->wire->answer_ms * RL_NS_PER_MS;
    }
    s->bytes += bytes;
    node->seen = rl_must_grow(node->seen, node->n, &node->room, sizeof *node->seen);
    const char *resource = rl_memory_text(&node->memory, key->resource, key->length);
    node->seen[node->n++] = (struct rl_seen){.resource = resource,
                                             .length = (uint32_t)key->length,
                                             .slot = key->slot,
                                             .kind = (uint8_t)key->kind};
    s->names[s->n++] = name;
    ask(s, name, &plans[key->kind]);
    return true;
}
