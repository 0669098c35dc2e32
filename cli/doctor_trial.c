/* Tries on a node what the library sends: the same SET, the same scripts, on a random key of the
 * doctor's own, which is deleted again and ends by its ttl if it cannot be. See doctor.h.
 *
 * Failure modes: each command that is refused leaves what the node said; the others are tried all
 * the same, because an ACL is mended faster when everything that is missing is known at once. */
#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "doctor.h"
#include "redis/command.h"
#include "say.h"

#define TRIAL_TTL_MS 10000
#define TRIAL_TTL "10000"

struct trial {
    struct rl_facts *facts;
    redisContext *context;
    char key[RL_FACT_MAX];
    char channel[RL_FACT_MAX + 16];
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
}

/* Notes what is wrong with a reply, and frees it. */
static bool note(struct trial *trial, enum rl_trial which, redisReply *reply, bool is_good) {
    char *out = trial->facts->trials[which];
    const char *why = reply == NULL                      ? rl_doctor_error(trial->context)
                      : reply->type == REDIS_REPLY_ERROR ? reply->str
                      : is_good                          ? ""
                                                         : "the answer is not what Redis says";
    rl_say_clean(why, strlen(why), out, RL_FACT_MAX);
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

/* -- Fences -- */

#define FENCE UINT64_C(1) /* of a counter of the doctor's own */

/* Sends the very command of the library. */
static redisReply *send_command(struct trial *trial, struct rl_command *command) {
    char wire[2 * RL_COMMAND_WIRE_MAX];
    assert(rl_command_room(command->target) <= sizeof wire);
    size_t length = rl_command_format(wire, command);
    redisAppendFormattedCommand(trial->context, wire, length);
    return rl_doctor_reply(trial->facts, trial->context);
}

static bool try_script(struct trial *trial, enum rl_trial which, enum rl_command_kind kind,
                       bool wanted) {
    const struct rl_bytes name = {trial->key, strlen(trial->key)};
    const struct rl_target target = {.resources = &name, .n = 1, .retention_ms = TRIAL_TTL_MS};
    struct rl_command command = {.kind = kind,
                                 .ttl_ms = TRIAL_TTL_MS,
                                 .counter = FENCE,
                                 .target = &target,
                                 .token = trial->token};
    redisReply *reply = send_command(trial, &command);
    if (is_script_missing(reply)) {
        freeReplyObject(reply);
        command.whole_script = true;
        reply = send_command(trial, &command);
    }
    return note(trial, which, reply,
                reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == wanted);
}

/* Key and counter end by their ttl if they cannot be deleted. */
static void try_fence(struct trial *trial) {
    bool is_fenced = try_script(trial, RL_TRIAL_FENCE, RL_COMMAND_FENCE, true);
    try_script(trial, RL_TRIAL_RAISE, RL_COMMAND_RAISE, is_fenced);
    redisReply *reply =
        rl_doctor_command(trial->facts, trial->context, "DEL %s " RL_COMMAND_COUNTER_PREFIX "%s",
                          trial->key, trial->key);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
}

void rl_doctor_try(struct rl_facts *facts, redisContext *context) {
    struct trial trial = {.facts = facts, .context = context};
    make_names(&trial);
    try_key(&trial);
    try_fence(&trial);
    redisReply *reply = rl_doctor_command(facts, context, "PUBLISH %s %s", trial.channel, "");
    note(&trial, RL_TRIAL_PUBLISH, reply, reply != NULL && reply->type == REDIS_REPLY_INTEGER);
    /* Last, since the connection is good for nothing else afterwards. */
    reply = rl_doctor_command(facts, context, "SUBSCRIBE %s", trial.channel);
    note(&trial, RL_TRIAL_SUBSCRIBE, reply, reply != NULL && reply->type == REDIS_REPLY_ARRAY);
}
