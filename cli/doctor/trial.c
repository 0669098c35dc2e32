/* See trial.h. */
#include "doctor/trial.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "doctor/attempt.h"
#include "doctor/trial_modes.h"
#include "redis/command.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "wire/connection.h"

static void make_names(struct rl_trials *trial) {
    unsigned char random[RL_COMMAND_TOKEN_LEN / 2] = {0};
    const char *prefix = trial->facts->wire->args->key_prefix;
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

/* As the library does: by its hash, and whole if the node does not have it. */
static redisReply *eval(struct rl_trials *trial, enum rl_command_kind kind) {
    redisReply *reply = rl_wire_command(trial->facts->wire, "EVALSHA %s 1 %s %s " RL_ATTEMPT_TTL,
                                        rl_command_script_sha1(kind), trial->key, trial->token);
    if (rl_attempt_lacks_script(reply)) {
        freeReplyObject(reply);
        reply = rl_wire_command(trial->facts->wire, "EVAL %s 1 %s %s " RL_ATTEMPT_TTL,
                                rl_command_script(kind), trial->key, trial->token);
    }
    return reply;
}

static void try_key(struct rl_trials *trial) {
    redisReply *reply = rl_wire_command(trial->facts->wire, "SET %s %s NX PX " RL_ATTEMPT_TTL,
                                        trial->key, trial->token);
    bool is_set = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    rl_attempt_note(trial, RL_TRIAL_SET, reply, is_set);
    /* Without a key, because SET was refused, the scripts answer 0 if they may run. */
    reply = eval(trial, RL_COMMAND_EXTEND);
    rl_attempt_note(
        trial, RL_TRIAL_EXTEND, reply,
        reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == is_set);
    reply = eval(trial, RL_COMMAND_RELEASE);
    bool is_released = rl_attempt_note(
        trial, RL_TRIAL_RELEASE, reply,
        reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == is_set);
    if (is_set && !is_released) {
        reply = rl_wire_command(trial->facts->wire, "DEL %s", trial->key);
        if (reply != NULL) {
            freeReplyObject(reply);
        }
    }
}

/* -- A release by a command of the server's own -- */

/* It works, or the server does not know it, or it is a finding. The key is gone by now. A client
 * would try the same, by what INFO says. After all others but SUBSCRIBE: what is between client and
 * server may end the connection (lib/redis/native.h). */
static void try_native(struct rl_trials *trial) {
    const struct rl_info *info = &trial->facts->judged;
    const bool has_delex = rl_info_has_delex(info);
    if (!has_delex && !rl_info_has_delifeq(info)) {
        return;
    }
    const enum rl_command_kind kind = has_delex ? RL_COMMAND_DELEX : RL_COMMAND_DELIFEQ;
    assert(rl_command_is_native_release(kind));
    redisReply *reply = rl_attempt_run(trial, (struct rl_command){.kind = kind});
    bool is_error = reply != NULL && reply->type == REDIS_REPLY_ERROR;
    if (is_error && rl_reply_reason(reply->str) == REDLOCK_ERR_NODE_PERMISSION) {
        rl_attempt_note(trial, has_delex ? RL_TRIAL_DELEX : RL_TRIAL_DELIFEQ, reply, false);
    } else if (reply != NULL) {
        freeReplyObject(reply);
    }
}

/* -- Fences -- */

#define FENCE UINT64_C(1) /* of a counter of the doctor's own */

static bool try_script(struct rl_trials *trial, enum rl_trial which, enum rl_command_kind kind,
                       enum rl_verdict wanted) {
    const struct rl_command command = {.kind = kind, .counter = FENCE};
    redisReply *reply = rl_attempt_run(trial, command);
    const bool is_good = rl_attempt_judge(&command, reply).verdict == wanted;
    return rl_attempt_note(trial, which, reply, is_good);
}

/* Key and counter end by their ttl if they cannot be deleted. */
static void try_fence(struct rl_trials *trial) {
    bool is_fenced = try_script(trial, RL_TRIAL_FENCE, RL_COMMAND_TAKE, RL_YES);
    try_script(trial, RL_TRIAL_RAISE, RL_COMMAND_RAISE, is_fenced ? RL_YES : RL_NO);
    rl_attempt_forget(trial, "DEL %s");
    rl_attempt_forget(trial, "DEL " RL_COMMAND_COUNTER_PREFIX "%s");
}

/* -- The line -- */

/* One step of it, after which so many wait. The scripts overlook some refusals; then they answer,
 * but not what they should. */
static bool try_step(struct rl_trials *trial, struct rl_command command, enum rl_verdict verdict,
                     uint32_t waiting) {
    redisReply *reply = rl_attempt_run(trial, command);
    struct rl_answer answer = rl_attempt_judge(&command, reply);
    bool is_answer = answer.verdict != RL_NOT_REDIS;
    bool is_good = answer.verdict == verdict && answer.line.waiting == waiting;
    if (rl_attempt_note(trial, RL_TRIAL_LINE, reply, is_answer) && !is_good) {
        snprintf(trial->facts->trials[RL_TRIAL_LINE], RL_FACT_MAX,
                 "NOPERM one of its commands is forbidden");
    }
    return is_good;
}

/* Two clients: the first has the turn, the second waits, leaves, waits again, is passed the lock,
 * is handed it, and is not there. So each command of the scripts is tried. Where a node cannot know
 * that it is not there it has the lock, for a moment. */
static void try_line(struct rl_trials *trial) {
    char second[RL_PLACE_LEN + 1];
    snprintf(second, sizeof second, "%.*s%s", RL_CLIENT_ID_LEN, trial->token,
             "0123456789abcdef01234567");
    const struct rl_command join = {.kind = RL_COMMAND_JOIN, .token = second};
    bool is_good = try_step(trial, (struct rl_command){.kind = RL_COMMAND_JOIN}, RL_YES, 0) &&
                   try_step(trial, join, RL_NO, 0) &&
                   try_step(trial, (struct rl_command){.kind = RL_COMMAND_LEAVE, .token = second},
                            RL_YES, 0) &&
                   try_step(trial, join, RL_NO, 0) &&
                   try_step(trial, (struct rl_command){.kind = RL_COMMAND_TAKE, .has_turn = true},
                            RL_YES, 1) &&
                   try_step(trial,
                            (struct rl_command){.kind = RL_COMMAND_RELEASE_LINE,
                                                .mode = RL_RELEASE_SERVE,
                                                .successor = second,
                                                .lease_ms = 1},
                            RL_YES, 0);
    if (!is_good) {
        rl_attempt_forget(trial, "DEL %s");
        rl_attempt_forget(trial, "DEL " RL_COMMAND_LINE_PREFIX "{%s}");
    }
    redisReply *reply;
    if (is_good) { /* the scripts do without it, in two round trips */
        reply = rl_wire_command(trial->facts->wire, "GET " RL_COMMAND_SECRET);
        rl_attempt_note(
            trial, RL_TRIAL_LINE, reply,
            reply != NULL && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_NIL));
    }
    reply = rl_wire_command(trial->facts->wire, "PUBSUB NUMSUB %s", trial->client);
    rl_attempt_note(trial, RL_TRIAL_NUMSUB, reply,
                    reply != NULL && reply->type == REDIS_REPLY_ARRAY);
}

static void try_publish(struct rl_trials *trial, enum rl_trial which, const char *channel) {
    redisReply *reply = rl_wire_command(trial->facts->wire, "PUBLISH %s %s", channel, "");
    rl_attempt_note(trial, which, reply, reply != NULL && reply->type == REDIS_REPLY_INTEGER);
}

static void try_subscribe(struct rl_trials *trial, enum rl_trial which, const char *channel) {
    redisReply *reply = rl_wire_command(trial->facts->wire, "SUBSCRIBE %s", channel);
    rl_attempt_note(trial, which, reply, reply != NULL && reply->type == REDIS_REPLY_ARRAY);
}

void rl_doctor_try(struct rl_facts *facts) {
    struct rl_trials trial = {.facts = facts};
    make_names(&trial);
    try_key(&trial);
    try_fence(&trial);
    try_line(&trial);
    rl_doctor_try_readers(&trial);
    rl_doctor_try_permits(&trial);
    try_publish(&trial, RL_TRIAL_TURN, trial.client);
    try_publish(&trial, RL_TRIAL_PUBLISH, trial.channel);
    try_native(&trial);
    /* Last, since the connection is good for nothing else afterwards. */
    try_subscribe(&trial, RL_TRIAL_TURN_HEARD, trial.client);
    try_subscribe(&trial, RL_TRIAL_SUBSCRIBE, trial.channel);
}
