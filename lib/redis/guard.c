/* See guard.h. hiredis calls the functions below in the order of the bytes: an array first, then
 * its elements with their index. */
#include "redis/guard.h"

#include <assert.h>
#include <string.h>

static_assert(RL_CHANNEL_MAX <= UINT16_MAX, "a channel's length fits");

#if RL_HAS_RESP3
typedef size_t array_length;
#else
typedef int array_length;
/* hiredis 0.14 makes no task of these types. */
#define REDIS_REPLY_MAP 9
#define REDIS_REPLY_PUSH 12
#define REDIS_REPLY_VERB 14
#endif

#define FLUSH_WORD "invalidate" /* of the push, whose second element is null then */

static redisReply *guard_slot(const redisReadTask *task, int type) {
    struct rl_reply_slot *slot = task->privdata;
    if (task->parent != NULL || (*slot->waiting == 0 && type != REDIS_REPLY_ARRAY)) {
        return NULL;
    }
    if (slot->due.config != NULL) {
        rl_config_unread(slot->due.config, "is no string"); /* unless a string follows */
    }
    memset(&slot->reply, 0, sizeof slot->reply);
    slot->text[0] = '\0';
    slot->reply.type = type;
    slot->reply.str = slot->text;
    return &slot->reply;
}

/* -- Elements of an array: the result is only compared with NULL -- */

static void *received_word(const struct rl_reply_slot *slot, const char *bytes, size_t length) {
    static const char *const words[] = {[RL_RECEIVED_SUBSCRIBED] = "subscribe",
                                        [RL_RECEIVED_UNSUBSCRIBED] = "unsubscribe",
                                        [RL_RECEIVED_MESSAGE] = "message"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (length == strlen(words[i]) && memcmp(bytes, words[i], length) == 0) {
            slot->received->kind = (enum rl_received_kind)i;
            bool is_expected = i == RL_RECEIVED_MESSAGE || *slot->waiting > 0;
            return is_expected ? slot->received : NULL;
        }
    }
    return NULL;
}

static void *received_string(const struct rl_reply_slot *slot, int at, const char *bytes,
                             size_t length) {
    struct rl_received *received = slot->received;
    if (at == 0) {
        return received_word(slot, bytes, length);
    }
    if (at == 1 && length <= RL_CHANNEL_MAX) {
        memcpy(received->channel, bytes, length);
        received->channel_length = (uint16_t)length;
        return received;
    }
    assert(at <= 2); /* guard_array() takes three */
    if (at == 2 && received->kind == RL_RECEIVED_MESSAGE && length <= RL_PAYLOAD_MAX) {
        memcpy(received->payload, bytes, length);
        received->payload_length = (uint16_t)length;
        return received;
    }
    return NULL;
}

/* -- RESP3 -- */

#define HELLO_DEPTH 6 /* of a value in HELLO's answer, which lists modules with their arguments */

/* The answer to HELLO, and the push that tells a client to forget all keys. */
static void *resp3_root(const redisReadTask *task, array_length count) {
    struct rl_reply_slot *slot = task->privdata;
    const bool is_hello = slot->due.hello && *slot->waiting > 0 && task->type == REDIS_REPLY_MAP;
    const bool is_push = slot->is_resp3 && task->type == REDIS_REPLY_PUSH && count == 2;
    if (task->parent != NULL || (!is_hello && !is_push)) {
        return NULL;
    }
    slot->is_resp3 = true;
    slot->text[0] = '\0';
    slot->reply =
        (redisReply){.type = is_hello ? REDIS_REPLY_STATUS : RL_REPLY_FLUSHED, .str = slot->text};
    return &slot->reply;
}

/* Whether it is an element of either: anything in the first, and what fits in the second. */
static bool is_resp3_part(const redisReadTask *task, bool fits_push) {
    const struct rl_reply_slot *slot = task->privdata;
    int depth = 0;
    if (task->parent != NULL && task->parent->type == REDIS_REPLY_PUSH) {
        return fits_push;
    }
    for (const redisReadTask *up = task->parent; up != NULL && depth <= HELLO_DEPTH;
         up = up->parent) {
        depth++;
    }
    return slot->due.hello && depth > 0 && depth <= HELLO_DEPTH;
}

static bool is_resp3_info(const redisReadTask *task, size_t length) {
    const struct rl_reply_slot *slot = task->privdata;
    const bool is_due = slot->due.info != NULL || slot->due.flushes != NULL;
    return slot->is_resp3 && is_due && task->type == REDIS_REPLY_VERB && length >= 4;
}

static bool is_resp3_nil(const redisReadTask *task) {
    const struct rl_reply_slot *slot = task->privdata;
    return slot->is_resp3 && task->type == REDIS_REPLY_NIL;
}

/* -- What hiredis calls -- */

static void *guard_string(const redisReadTask *task, char *bytes, size_t length) {
    const struct rl_reply_slot *slot = task->privdata;
    const bool is_info = is_resp3_info(task, length);
    const bool is_bulk = task->type == REDIS_REPLY_STRING || is_info;
    const bool is_line = task->type == REDIS_REPLY_STATUS || task->type == REDIS_REPLY_ERROR;
    if (slot->received != NULL && is_bulk && task->parent != NULL) {
        return received_string(slot, task->idx, bytes, length);
    }
    if (slot->received != NULL && !is_line && !(is_bulk && slot->due.config != NULL)) {
        return NULL; /* it was not asked for, or is of RESP3 */
    }
    if (is_resp3_part(task, task->idx == 0 && length == strlen(FLUSH_WORD) &&
                                memcmp(bytes, FLUSH_WORD, length) == 0)) {
        return task->privdata;
    }
    if (is_info) { /* behind "txt:" */
        bytes += 4;
        length -= 4;
    }
    redisReply *reply =
        is_bulk || is_line ? guard_slot(task, is_info ? REDIS_REPLY_STRING : task->type) : NULL;
    if (reply == NULL) {
        return NULL;
    }
    if (slot->due.info != NULL && is_bulk) {
        rl_info_read(slot->due.info, bytes, length);
    }
    if (slot->due.flushes != NULL && is_bulk) {
        *slot->due.flushes = rl_info_flushes(bytes, length);
    }
    if (slot->due.config != NULL && is_bulk) {
        rl_config_read(slot->due.config, bytes, length);
    }
    rl_reply_keep(reply->str, bytes, length);
    reply->len = length;
    return reply;
}

static void *guard_array(const redisReadTask *task, array_length count) {
    const struct rl_reply_slot *slot = task->privdata;
    const bool is_flat = task->type == REDIS_REPLY_ARRAY && count == 3;
    if (slot->received == NULL || !is_flat) {
        return is_resp3_part(task, false) ? task->privdata : resp3_root(task, count);
    }
    slot->received->channel_length = slot->received->payload_length = 0;
    return guard_slot(task, REDIS_REPLY_ARRAY);
}

/* On a connection that listens only as the third element of a confirmation: how many channels it
 * has. */
static void *guard_integer(const redisReadTask *task, long long integer) {
    const struct rl_reply_slot *slot = task->privdata;
    if (slot->received != NULL) {
        const bool confirms =
            task->parent != NULL && task->idx == 2 && slot->received->kind != RL_RECEIVED_MESSAGE;
        return confirms ? slot->received : NULL;
    }
    if (is_resp3_part(task, false)) {
        return task->privdata;
    }
    redisReply *reply = guard_slot(task, REDIS_REPLY_INTEGER);
    if (reply != NULL) {
        reply->integer = integer;
    }
    return reply;
}

static void *guard_nil(const redisReadTask *task) {
    /* only "$-1" and RESP3's: "*-1" is a nil, too, but no answer to a command of ours */
    const struct rl_reply_slot *slot = task->privdata;
    const bool is_due = slot->received == NULL || slot->due.config != NULL;
    const bool is_answer =
        is_due && task->parent == NULL && (task->type == REDIS_REPLY_STRING || is_resp3_nil(task));
    if (is_resp3_part(task, task->idx == 1)) {
        return task->privdata;
    }
    return is_answer ? guard_slot(task, REDIS_REPLY_NIL) : NULL;
}

#if RL_HAS_RESP3
static void *guard_double(const redisReadTask *task, double number, char *text, size_t length) {
    (void)number, (void)text, (void)length;
    return is_resp3_part(task, false) ? task->privdata : NULL;
}

static void *guard_bool(const redisReadTask *task, int value) {
    (void)value;
    return is_resp3_part(task, false) ? task->privdata : NULL;
}
#endif

static void free_nothing(void *reply) {
    (void)reply; /* the slot is the connection's */
}

static redisReplyObjectFunctions guard = {
    .createString = guard_string,
    .createArray = guard_array,
    .createInteger = guard_integer,
    .createNil = guard_nil,
#if RL_HAS_RESP3
    .createDouble = guard_double,
    .createBool = guard_bool,
#endif
    .freeObject = free_nothing,
};

void rl_reply_guard(redisReader *reader, struct rl_reply_slot *slot, const uint32_t *waiting) {
    assert(reader->len == 0); /* before the first byte */
    slot->waiting = waiting;
    slot->due = (struct rl_due){0};
    slot->is_resp3 = false;
    slot->received = NULL;
    reader->fn = &guard;
    reader->privdata = slot;
}
