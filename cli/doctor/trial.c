/* See trial.h. */
#include "doctor/trial.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "doctor/connection.h"
#include "redis/command.h"
#include "redis/reply.h"
#include "say.h"
#include "tool/utf8.h"

#define TRIAL_TTL_MS 10000
#define TRIAL_TTL "10000"

struct trial {
    struct rl_facts *facts;
    redisContext *context;
    char key[RL_FACT_MAX];
    char channel[RL_FACT_MAX + 16];
    char client[sizeof RL_COMMAND_CLIENT_CHANNEL + RL_CLIENT_ID_LEN]; /* the channel of one */
    char token[RL_COMMAND_TOKEN_LEN + 1];
};

static void make_names(struct trial *trial) {
    unsigned char random[RL_COMMAND_TOKEN_LEN / 2] = {0};
    const char *prefix = trial->facts->args->key_prefix;
    ssize_t length = getrandom(random, sizeof random, 0);
    assert(length == (ssize_t)sizeof random);
    (void)length;
    for (size_t i = 0; i < sizeof random; i++) {
        snprintf(trial->token + 2 * i, 3, "%02x", random[i]);
    }
    snprintf(trial->key, sizeof trial->key, "%.80s%.16s",
             prefix != NULL ? prefix : "redlock-doctor:", trial->token);
    snprintf(trial->channel, sizeof trial->channel, "redlock:%s", trial->key);
    snprintf(trial->client, sizeof trial->client, RL_COMMAND_CLIENT_CHANNEL "%.*s",
             RL_CLIENT_ID_LEN, trial->token);
}

/* Notes what is wrong with a reply, and frees it. */
static bool note(struct trial *trial, enum rl_trial which, redisReply *reply, bool is_good) {
    char *out = trial->facts->trials[which];
    const char *why = reply == NULL                      ? rl_doctor_error(trial->context)
                      : reply->type == REDIS_REPLY_ERROR ? reply->str
                      : is_good                          ? ""
                                                         : "protocol error: unexpected reply";
    tool_utf8_clean(why, strlen(why), out, RL_FACT_MAX);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return out[0] == '\0';
}

static bool is_script_missing(const redisReply *reply) {
    return reply != NULL && reply->type == REDIS_REPLY_ERROR &&
           strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

/* As the library does: by its hash, and whole if the node does not have it. */
static redisReply *eval(struct trial *trial, enum rl_command_kind kind) {
    redisReply *reply =
        rl_doctor_command(trial->facts, trial->context, "EVALSHA %s 1 %s %s " TRIAL_TTL,
                          rl_command_script_sha1(kind), trial->key, trial->token);
    if (is_script_missing(reply)) {
        freeReplyObject(reply);
        reply = rl_doctor_command(trial->facts, trial->context, "EVAL %s 1 %s %s " TRIAL_TTL,
                                  rl_command_script(kind), trial->key, trial->token);
    }
    return reply;
}

static void try_key(struct trial *trial) {
    redisReply *reply = rl_doctor_command(trial->facts, trial->context,
                                          "SET %s %s NX PX " TRIAL_TTL, trial->key, trial->token);
    bool is_set = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    note(trial, RL_TRIAL_SET, reply, is_set);
    /* Without a key, because SET was refused, the scripts answer 0 if they may run. */
    reply = eval(trial, RL_COMMAND_EXTEND);
    note(trial, RL_TRIAL_EXTEND, reply,
         reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == is_set);
    reply = eval(trial, RL_COMMAND_RELEASE);
    bool is_released =
        note(trial, RL_TRIAL_RELEASE, reply,
             reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == is_set);
    if (is_set && !is_released) {
        reply = rl_doctor_command(trial->facts, trial->context, "DEL %s", trial->key);
        if (reply != NULL) {
            freeReplyObject(reply);
        }
    }
}

/* -- Scripts with more arguments -- */

/* Sends the very command of the library. NULL: it cannot be sent, or is not answered. */
static redisReply *send_command(struct trial *trial, const struct rl_command *command) {
    char *wire = malloc(rl_command_room(command->target));
    if (wire == NULL) {
        return NULL;
    }
    size_t length = rl_command_format(wire, command);
    redisAppendFormattedCommand(trial->context, wire, length);
    free(wire);
    return rl_doctor_reply(trial->facts, trial->context);
}

/* The command, of the trial's key and with its token. */
static redisReply *run(struct trial *trial, struct rl_command command) {
    const struct rl_bytes name = {trial->key, strlen(trial->key)};
    const struct rl_target target = {
        .resources = &name, .n = 1, .retention_ms = TRIAL_TTL_MS, .holder = ""};
    command.target = &target;
    command.token = trial->token;
    command.ttl_ms = TRIAL_TTL_MS;
    command.grace_ms = TRIAL_TTL_MS;
    redisReply *reply = send_command(trial, &command);
    if (is_script_missing(reply)) {
        freeReplyObject(reply);
        command.whole_script = true;
        reply = send_command(trial, &command);
    }
    return reply;
}

static void forget(struct trial *trial, const char *format) {
    redisReply *reply = rl_doctor_command(trial->facts, trial->context, format, trial->key);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
}

/* -- Fences -- */

#define FENCE UINT64_C(1) /* of a counter of the doctor's own */

static bool try_script(struct trial *trial, enum rl_trial which, enum rl_command_kind kind,
                       bool wanted) {
    redisReply *reply = run(trial, (struct rl_command){.kind = kind, .counter = FENCE});
    return note(trial, which, reply,
                reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == wanted);
}

/* Key and counter end by their ttl if they cannot be deleted. */
static void try_fence(struct trial *trial) {
    bool is_fenced = try_script(trial, RL_TRIAL_FENCE, RL_COMMAND_FENCE, true);
    try_script(trial, RL_TRIAL_RAISE, RL_COMMAND_RAISE, is_fenced);
    forget(trial, "DEL %s");
    forget(trial, "DEL " RL_COMMAND_COUNTER_PREFIX "%s");
}

/* -- The line -- */

/* One step of it, after which so many wait. The scripts overlook some refusals; then they answer,
 * but not what they should. */
static bool try_step(struct trial *trial, struct rl_command command, enum rl_verdict verdict,
                     uint32_t waiting) {
    redisReply *reply = run(trial, command);
    struct rl_answer answer = {.verdict = RL_NOT_REDIS};
    if (reply != NULL && reply->type != REDIS_REPLY_ERROR) {
        answer = rl_reply_judge(command.kind, reply);
    }
    bool is_answer = answer.verdict != RL_NOT_REDIS;
    bool is_good = answer.verdict == verdict && answer.line.waiting == waiting;
    if (note(trial, RL_TRIAL_LINE, reply, is_answer) && !is_good) {
        snprintf(trial->facts->trials[RL_TRIAL_LINE], RL_FACT_MAX,
                 "NOPERM one of its commands is forbidden");
    }
    return is_good;
}

/* Two clients: the first has the turn, the second waits, leaves, waits again, is handed the lock
 * and is not there. So each command of the scripts is tried. */
static void try_line(struct trial *trial) {
    char second[RL_PLACE_LEN + 1];
    const char *first = trial->token;
    snprintf(second, sizeof second, "%.*s%.*s", RL_CLIENT_ID_LEN, trial->token, RL_CLIENT_ID_LEN,
             "0123456789abcdef");
    const struct rl_command join = {.kind = RL_COMMAND_JOIN, .place = second};
    bool is_good =
        try_step(trial, (struct rl_command){.kind = RL_COMMAND_JOIN, .place = first}, RL_YES, 0) &&
        try_step(trial, join, RL_NO, 0) &&
        try_step(trial, (struct rl_command){.kind = RL_COMMAND_LEAVE, .place = second}, RL_YES,
                 0) &&
        try_step(trial, join, RL_NO, 0) &&
        try_step(trial, (struct rl_command){.kind = RL_COMMAND_TAKE, .place = first}, RL_YES, 1) &&
        try_step(trial,
                 (struct rl_command){.kind = RL_COMMAND_RELEASE_LINE, .mode = RL_RELEASE_SERVE},
                 RL_YES, 0);
    if (!is_good) {
        forget(trial, "DEL %s");
        forget(trial, "DEL " RL_COMMAND_LINE_PREFIX "{%s}");
    }
    redisReply *reply =
        rl_doctor_command(trial->facts, trial->context, "PUBSUB NUMSUB %s", trial->client);
    note(trial, RL_TRIAL_NUMSUB, reply, reply != NULL && reply->type == REDIS_REPLY_ARRAY);
}

static void try_publish(struct trial *trial, enum rl_trial which, const char *channel) {
    redisReply *reply =
        rl_doctor_command(trial->facts, trial->context, "PUBLISH %s %s", channel, "");
    note(trial, which, reply, reply != NULL && reply->type == REDIS_REPLY_INTEGER);
}

static void try_subscribe(struct trial *trial, enum rl_trial which, const char *channel) {
    redisReply *reply = rl_doctor_command(trial->facts, trial->context, "SUBSCRIBE %s", channel);
    note(trial, which, reply, reply != NULL && reply->type == REDIS_REPLY_ARRAY);
}

void rl_doctor_try(struct rl_facts *facts, redisContext *context) {
    struct trial trial = {.facts = facts, .context = context};
    make_names(&trial);
    try_key(&trial);
    try_fence(&trial);
    try_line(&trial);
    try_publish(&trial, RL_TRIAL_TURN, trial.client);
    try_publish(&trial, RL_TRIAL_PUBLISH, trial.channel);
    /* Last, since the connection is good for nothing else afterwards. */
    try_subscribe(&trial, RL_TRIAL_TURN_HEARD, trial.client);
    try_subscribe(&trial, RL_TRIAL_SUBSCRIBE, trial.channel);
}
