/* See guard.h. hiredis calls the functions below in the order of the bytes: an array first, then
 * its elements with their index. */
#include "redis/guard.h"

#include <assert.h>
#include <string.h>

static_assert(RL_CHANNEL_MAX <= UINT16_MAX, "a channel's length fits");

#if HIREDIS_MAJOR >= 1
typedef size_t array_length;
#else
typedef int array_length;
#endif

static redisReply *guard_slot(const redisReadTask *task, int type) {
    struct rl_reply_slot *slot = task->privdata;
    if (task->parent != NULL || (*slot->waiting == 0 && type != REDIS_REPLY_ARRAY)) {
        return NULL;
    }
    if (slot->config != NULL) {
        rl_config_unread(slot->config, "is no string"); /* unless it is one */
    }
    memset(&slot->reply, 0, sizeof slot->reply);
    slot->text[0] = '\0';
    slot->reply.type = type;
    slot->reply.str = slot->text;
    return &slot->reply;
}

/* -- Elements of an array: what they return is only compared with NULL -- */

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

/* -- What hiredis calls -- */

static void *guard_string(const redisReadTask *task, char *bytes, size_t length) {
    const struct rl_reply_slot *slot = task->privdata;
    const bool is_bulk = task->type == REDIS_REPLY_STRING;
    const bool is_line = task->type == REDIS_REPLY_STATUS || task->type == REDIS_REPLY_ERROR;
    if (slot->received != NULL && is_bulk && task->parent != NULL) {
        return received_string(slot, task->idx, bytes, length);
    }
    if (slot->received != NULL && !is_line && !(is_bulk && slot->config != NULL)) {
        return NULL; /* it was not asked for, or is of RESP3 */
    }
    redisReply *reply = guard_slot(task, task->type);
    if (reply == NULL) {
        return NULL;
    }
    if (slot->info != NULL && is_bulk) {
        rl_info_read(slot->info, bytes, length);
    }
    if (slot->config != NULL && is_bulk) {
        rl_config_read(slot->config, bytes, length);
    }
    rl_reply_keep(reply->str, bytes, length);
    reply->len = length;
    return reply;
}

static void *guard_array(const redisReadTask *task, array_length count) {
    const struct rl_reply_slot *slot = task->privdata;
    const bool is_flat = task->type == REDIS_REPLY_ARRAY && count == 3;
    if (slot->received == NULL || !is_flat) {
        return NULL;
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
    redisReply *reply = guard_slot(task, REDIS_REPLY_INTEGER);
    if (reply != NULL) {
        reply->integer = integer;
    }
    return reply;
}

static void *guard_nil(const redisReadTask *task) {
    /* only "$-1": "*-1" and RESP3's are nils, too, but no answer to a command of ours */
    const struct rl_reply_slot *slot = task->privdata;
    const bool is_due = slot->received == NULL || slot->config != NULL;
    const bool is_answer = is_due && task->parent == NULL && task->type == REDIS_REPLY_STRING;
    return is_answer ? guard_slot(task, REDIS_REPLY_NIL) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *guard_double(const redisReadTask *task, double number, char *text, size_t length) {
    (void)task;
    (void)number;
    (void)text;
    (void)length;
    return NULL;
}

static void *guard_bool(const redisReadTask *task, int value) {
    (void)task;
    (void)value;
    return NULL;
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
#if HIREDIS_MAJOR >= 1
    .createDouble = guard_double,
    .createBool = guard_bool,
#endif
    .freeObject = free_nothing,
};

void rl_reply_guard(redisReader *reader, struct rl_reply_slot *slot, const uint32_t *waiting) {
    assert(reader->len == 0); /* before the first byte */
    slot->waiting = waiting;
    slot->info = NULL;
    slot->config = NULL;
    slot->received = NULL;
    reader->fn = &guard;
    reader->privdata = slot;
}
