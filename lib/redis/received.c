/* See received.h. hiredis calls the functions below in the order of the bytes: the array first,
 * then its three elements with their index. Their return value is only compared with NULL. */
#include "redis/received.h"

#include <assert.h>
#include <string.h>

static_assert(RL_CHANNEL_MAX <= UINT16_MAX, "a channel's length fits");

static const struct {
    const char *word;
    enum rl_received_kind kind;
} kinds[] = {
    {"subscribe", RL_RECEIVED_SUBSCRIBED},
    {"unsubscribe", RL_RECEIVED_UNSUBSCRIBED},
    {"message", RL_RECEIVED_MESSAGE},
};

/* A status or an error. */
static void *heard_line(struct rl_received *heard, int type, const char *bytes, size_t length) {
    if (*heard->waiting == 0) {
        return NULL;
    }
    rl_reply_keep(heard->text, bytes, length);
    memset(&heard->reply, 0, sizeof heard->reply);
    heard->reply.type = type;
    heard->reply.str = heard->text;
    heard->reply.len = length;
    heard->kind = type == REDIS_REPLY_ERROR ? RL_RECEIVED_ERROR : RL_RECEIVED_STATUS;
    return heard;
}

static void *heard_word(struct rl_received *heard, const char *bytes, size_t length) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (length == strlen(kinds[i].word) && memcmp(bytes, kinds[i].word, length) == 0) {
            bool expected = kinds[i].kind == RL_RECEIVED_MESSAGE || *heard->waiting > 0;
            heard->kind = kinds[i].kind;
            return expected ? heard : NULL;
        }
    }
    return NULL;
}

static void *heard_channel(struct rl_received *heard, const char *bytes, size_t length) {
    if (length > RL_CHANNEL_MAX) {
        return NULL;
    }
    memcpy(heard->channel, bytes, length);
    heard->channel_length = (uint16_t)length;
    return heard;
}

static void *heard_payload(struct rl_received *heard, const char *bytes, size_t length) {
    assert(heard->payload_length == 0);
    if (heard->kind != RL_RECEIVED_MESSAGE || length > RL_PAYLOAD_MAX) {
        return NULL;
    }
    memcpy(heard->payload, bytes, length);
    heard->payload_length = (uint16_t)length;
    return heard;
}

static void *guard_string(const redisReadTask *task, char *bytes, size_t length) {
    struct rl_received *heard = task->privdata;
    if (task->parent == NULL) {
        bool line = task->type == REDIS_REPLY_STATUS || task->type == REDIS_REPLY_ERROR;
        return line ? heard_line(heard, task->type, bytes, length) : NULL;
    }
    if (task->type != REDIS_REPLY_STRING) {
        return NULL;
    }
    switch (task->idx) {
        case 0:
            return heard_word(heard, bytes, length);
        case 1:
            return heard_channel(heard, bytes, length);
        default:
            assert(task->idx == 2); /* guard_array() takes three */
            return heard_payload(heard, bytes, length);
    }
}

static void *guard_array(const redisReadTask *task, rl_reply_count count) {
    struct rl_received *heard = task->privdata;
    heard->kind = RL_RECEIVED_NOTHING;
    heard->channel_length = 0;
    heard->payload_length = 0;
    bool flat = task->parent == NULL && task->type == REDIS_REPLY_ARRAY && count == 3;
    return flat ? heard : NULL;
}

/* Only allowed as the third element of a confirmation: the connection's number of channels. */
static void *guard_integer(const redisReadTask *task, long long integer) {
    struct rl_received *heard = task->privdata;
    (void)integer;
    bool confirms =
        heard->kind == RL_RECEIVED_SUBSCRIBED || heard->kind == RL_RECEIVED_UNSUBSCRIBED;
    return task->parent != NULL && task->idx == 2 && confirms ? heard : NULL;
}

static void *guard_nil(const redisReadTask *task) {
    (void)task;
    return NULL;
}

static redisReplyObjectFunctions guard = {
    .createString = guard_string,
    .createArray = guard_array,
    .createInteger = guard_integer,
    .createNil = guard_nil,
    RL_REPLY_GUARD_REST,
};

void rl_received_guard(redisReader *reader, struct rl_received *heard, const uint32_t *waiting) {
    assert(reader->len == 0); /* before the first byte */
    heard->waiting = waiting;
    heard->kind = RL_RECEIVED_NOTHING;
    reader->fn = &guard;
    reader->privdata = heard;
}
