/* The guard of replies, driven through hiredis's own reader with bytes as they would come from the
 * socket, and the judge behind it. */
#ifndef UNIT_REPLY_SCENE_H
#define UNIT_REPLY_SCENE_H

#include <hiredis/hiredis.h>

#include "redis/guard.h"
#include "unit/check.h"

struct fixture {
    redisReader *reader;
    struct rl_reply_slot slot;
    uint32_t waiting;
};

static inline void fixture_init(struct fixture *f, uint32_t waiting) {
    memset(f, 0x5a, sizeof *f);
    f->waiting = waiting;
    f->reader = redisReaderCreate();
    rl_reply_guard(f->reader, &f->slot, &f->waiting);
}

static inline void fixture_free(struct fixture *f) {
    redisReaderFree(f->reader);
}

static inline void fixture_wait_for_one(struct fixture *f) {
    fixture_init(f, 1);
}

#define FIXTURE_TEST(name) TEST_ON(name, struct fixture, f, fixture_wait_for_one, fixture_free)

/* The first reply out of these bytes; NULL if the guard or hiredis refused them, or more are
 * needed. */
static inline redisReply *read_reply(struct fixture *f, const void *bytes, size_t length) {
    void *reply = NULL;
    redisReaderFeed(f->reader, bytes, length);
    if (redisReaderGetReply(f->reader, &reply) != REDIS_OK) {
        assert_int_not_equal(f->reader->err, 0);
        return NULL;
    }
    return reply;
}

static inline redisReply *read_text(struct fixture *f, const char *text) {
    return read_reply(f, text, strlen(text));
}

/* The answer's text is valid until the next one is judged. */
static inline struct rl_answer judge(enum rl_command_kind kind, const char *wire) {
    static struct fixture f;
    fixture_init(&f, 1);
    const redisReply *reply = read_text(&f, wire);
    assert_non_null(reply);
    struct rl_answer answer = rl_reply_judge(kind, reply);
    fixture_free(&f);
    return answer;
}

#endif
