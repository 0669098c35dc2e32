/* The library's scripts on a real node: it writes the commands and judges the answers; the
 * connections are the test's. */
#ifndef LIVE_SCRIPT_SCENE_H
#define LIVE_SCRIPT_SCENE_H

#include <string.h>

#include "live/live.h"
#include "redis/command.h"
#include "redis/reply.h"

#define GRACE_MS 250
#define ID_A "aaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbb"
#define ID_C "cccccccccccccccc"
#define A ID_A "000000000000000100000000"
#define B ID_B "000000000000000100000000"
#define C ID_C "000000000000000100000000"

static const char first[] = "1111111111111111111111111111111111111111";
static const char second[] = "2222222222222222222222222222222222222222";

/* Whom each command is sent as: "AUTH NAME PASSWORD"; NULL: the default user. */
static const char *scene_user;

/* One command on the resource "key", or on that and "other", of a holder named h. token: NULL for
 * a question. */
static inline struct rl_answer say_of(const struct live *live, uint8_t n, const char *token,
                                      struct rl_request command) {
    static const struct rl_bytes keys[] = {{"key", 3}, {"other", 5}};
    static char text[RL_REPLY_TEXT_MAX];
    struct rl_target target = {
        .resources = keys, .n = n, .holder_length = 1, .holder = "h", .retention_ms = 60000};
    char wire[16384];
    void *reply = NULL;
    if (token != NULL) {
        memcpy(command.token, token, RL_COMMAND_TOKEN_LEN);
    }
    command.target = &target;
    command.whole_script = true;
    command.grace_ms = command.grace_ms > 0 ? command.grace_ms : GRACE_MS;
    assert_true(rl_command_room(&target) <= sizeof wire);
    redisContext *context =
        redisConnect("127.0.0.1", rl_local_nodes_port(live->node[0].set, live->node[0].index));
    if (scene_user != NULL) {
        freeReplyObject(redisCommand(context, scene_user));
    }
    redisAppendFormattedCommand(context, wire, rl_command_format(wire, &command));
    assert_int_equal(redisGetReply(context, &reply), REDIS_OK);
    struct rl_answer answer = rl_reply_judge((enum rl_command_kind)command.kind, reply);
    snprintf(text, sizeof text, "%s", answer.text);
    answer.text = text;
    freeReplyObject(reply);
    redisFree(context);
    return answer;
}

static inline struct rl_answer say(const struct live *live, const char *token,
                                   struct rl_request command) {
    return say_of(live, 1, token, command);
}

static inline redisContext *listen_to(const struct live *live, const char *command) {
    redisContext *context =
        redisConnect("127.0.0.1", rl_local_nodes_port(live->node[0].set, live->node[0].index));
    assert_non_null(context);
    redisReply *reply = redisCommand(context, command);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    return context;
}

/* The next message that it hears. */
static inline void hears(redisContext *context, const char *wanted) {
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(context, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->element[reply->elements - 1]->str, wanted);
    freeReplyObject(reply);
}

static inline void assert_key(const struct live *live, const char *wanted) {
    assert_true(live_key_is(live, 0, "key", wanted));
}

#endif
