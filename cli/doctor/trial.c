/* See trial.h. */
#include "doctor/trial.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "redis/command.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "tool/utf8.h"
#include "wire/wire.h"

#define TTL_MS 10000
#define TTL "10000"

struct trials {
    struct rl_facts *facts;
    char key[RL_FACT_MAX];
    char channel[RL_FACT_MAX + 16];
    char client[sizeof RL_COMMAND_CLIENT_CHANNEL + RL_CLIENT_ID_LEN]; /* the channel of one */
    char token[RL_COMMAND_TOKEN_LEN + 1];
};

/* Notes what is wrong with a reply, if anything, and frees it. Returns whether it is good. */
static bool note(struct trials *trials, enum rl_trial which, redisReply *reply, bool is_good) {
    char *out = trials->facts->trials[which];
    const char *why = reply == NULL ? rl_socket_error(&trials->facts->wire->socket)
                      : reply->type == REDIS_REPLY_ERROR ? reply->str
                      : is_good                          ? ""
                                                         : "protocol error: unexpected reply";
    tool_utf8_clean(why, strlen(why), out, RL_FACT_MAX);
    freeReplyObject(reply);
    return out[0] == '\0';
}

/* The same for a command that the library does not have; nil is good, too. */
static void note_type(struct trials *trials, enum rl_trial which, redisReply *reply, int type) {
    note(trials, which, reply,
         reply != NULL && (reply->type == type || reply->type == REDIS_REPLY_NIL));
}

/* Whether the node has forgotten, or never had, the script. */
static bool lacks_script(const redisReply *reply) {
    return reply != NULL && reply->type == REDIS_REPLY_ERROR &&
           strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

/* Sends the command exactly as the library does. NULL: not sent, or not answered. */
static redisReply *send_command(struct trials *trials, const struct rl_request *command) {
    char *wire = malloc(rl_command_room(command->target));
    if (wire == NULL) {
        return NULL;
    }
    size_t length = rl_command_format(wire, command);
    rl_socket_put(&trials->facts->wire->socket, wire, length);
    free(wire);
    return rl_wire_reply(trials->facts->wire);
}

/* The command, of the trial's key; token: NULL for the trial's. */
static redisReply *run(struct trials *trials, const char *token, struct rl_request command) {
    const struct rl_bytes name = {trials->key, strlen(trials->key)};
    const bool is_permit = command.lock_mode == RL_PERMIT;
    const struct rl_target target = {.resources = &name,
                                     .n = 1,
                                     .retention_ms = TTL_MS,
                                     .permits = is_permit,
                                     .take = is_permit,
                                     .holder = ""};
    command.target = &target;
    memcpy(command.token, token != NULL ? token : trials->token, sizeof command.token);
    command.ttl_ms = TTL_MS;
    command.grace_ms = TTL_MS;
    redisReply *reply = send_command(trials, &command);
    if (lacks_script(reply)) {
        freeReplyObject(reply);
        command.whole_script = true;
        reply = send_command(trials, &command);
    }
    return reply;
}

/* As rl_reply_judge(); an error or a missing reply counts as RL_NOT_REDIS. */
static struct rl_answer judge(const struct rl_request *command, redisReply *reply) {
    struct rl_answer answer = {.verdict = RL_NOT_REDIS};
    if (reply != NULL && reply->type != REDIS_REPLY_ERROR) {
        answer = rl_reply_judge(command->kind, reply);
    }
    return answer;
}

/* A command that the library does not send, with the trial's key for %s: its answer is ignored. */
static void forget(struct trials *trials, const char *format) {
    redisReply *reply = rl_wire_command(trials->facts->wire, format, trials->key);
    freeReplyObject(reply);
}

/* A command, and the answer that the node must give. */
struct step {
    const char *token; /* NULL: the trial's */
    struct rl_request command;
    enum rl_verdict verdict;
    uint32_t waiting; /* of the answer; how many read */
    uint8_t which;
};

/* Returns whether each step got the answer it should get. */
static bool play(struct trials *trials, enum rl_trial about, const struct step *steps, size_t n) {
    bool is_good = true;
    for (size_t i = 0; is_good && i < n; i++) {
        const struct step *step = &steps[i];
        struct redisReply *reply = run(trials, step->token, step->command);
        const struct rl_answer answer = judge(&step->command, reply);
        const bool is_answer = answer.verdict != RL_NOT_REDIS;
        is_good = answer.verdict == step->verdict && answer.line.waiting == step->waiting &&
                  answer.line.which == step->which;
        if (note(trials, about, reply, is_answer) && !is_good) {
            snprintf(trials->facts->trials[about], RL_FACT_MAX,
                     "NOPERM one of its commands is forbidden");
        }
    }
    return is_good;
}

static bool may_try(const struct trials *trials) {
    return trials->facts->trials[RL_TRIAL_SET][0] == '\0' &&
           trials->facts->trials[RL_TRIAL_RELEASE][0] == '\0';
}

/* number: behind the client. */
static void make_token(const struct trials *trials, const char *number,
                       char token[RL_COMMAND_TOKEN_LEN + 1]) {
    int length = snprintf(token, RL_COMMAND_TOKEN_LEN + 1, "%.*s%s", RL_CLIENT_ID_LEN,
                          trials->token, number);
    assert(length == RL_COMMAND_TOKEN_LEN);
    (void)length;
}

/* Two clients read; neither can become the writer while the other reads, and the second gets the
 * reply that they would deadlock. A writer notes that it waits, which keeps new readers out. The
 * remaining reader becomes the writer; another client waits to read and leaves. The writer reads
 * again, and releases. */
static void try_readers(struct trials *trials) {
    char other[RL_COMMAND_TOKEN_LEN + 1], waiter[RL_COMMAND_TOKEN_LEN + 1];
    if (!may_try(trials)) {
        return;
    }
    snprintf(other, sizeof other, "%c%s", trials->token[0] == '0' ? '1' : '0', trials->token + 1);
    make_token(trials, "0123456789abcdef01234567", waiter);
    const struct rl_request share = {.kind = RL_COMMAND_TAKE, .lock_mode = RL_SHARED};
    const struct rl_request upgrade = {.kind = RL_COMMAND_UPGRADE, .lock_mode = RL_SHARED};
    const struct rl_request extend = {.kind = RL_COMMAND_EXTEND, .lock_mode = RL_SHARED};
    const struct rl_request release = {
        .kind = RL_COMMAND_RELEASE_LINE, .lock_mode = RL_SHARED, .mode = RL_RELEASE_SERVE};
    const struct rl_request intend = {.kind = RL_COMMAND_RELEASE_LINE};
    struct rl_request convert = extend, note = intend, drop = intend;
    convert.converts = true;
    note.intent_ms = TTL_MS;
    drop.intent_ms = RL_INTENT_DROP;
    const struct step steps[] = {
        {NULL, share, RL_YES, 0, 0},
        {other, share, RL_YES, 0, 0},
        {NULL, extend, RL_YES, 0, 0},
        {NULL, {.kind = RL_COMMAND_READER}, RL_YES, 2, 0},
        {NULL, upgrade, RL_NO, 0, RL_UPGRADE_OTHERS},
        {other, upgrade, RL_NO, 0, RL_UPGRADE_MEETS_UPGRADE},
        {other, release, RL_YES, 0, 0},
        {other, note, RL_NO, 0, 0},
        {other, share, RL_NO, 0, 1},
        {other, drop, RL_NO, 0, 0},
        {other, share, RL_YES, 0, 0},
        {other, release, RL_YES, 0, 0},
        {NULL, upgrade, RL_YES, 0, 0},
        {waiter, {.kind = RL_COMMAND_JOIN, .lock_mode = RL_SHARED}, RL_NO, 0, 0},
        {waiter, {.kind = RL_COMMAND_LEAVE, .lock_mode = RL_SHARED}, RL_YES, 0, 0},
        {NULL, convert, RL_YES, 0, 0},
        {NULL, release, RL_YES, 0, 0},
    };
    if (!play(trials, RL_TRIAL_READERS, steps, sizeof steps / sizeof steps[0])) {
        forget(trials, "DEL %s");
        forget(trials, "DEL " RL_COMMAND_READERS_PREFIX "{%s}");
        forget(trials, "DEL " RL_COMMAND_INTENT_PREFIX "{%s}");
        forget(trials, "DEL " RL_COMMAND_UPGRADE_PREFIX "{%s}");
        forget(trials, "DEL " RL_COMMAND_LINE_SHARED_PREFIX "{%s}");
    }
}

/* A semaphore of one permit: the first client gets it, the second waits, leaves, waits again, and
 * is not there when the permit is released; then the number is set, and asked for. */
static void try_permits(struct trials *trials) {
    char first[RL_COMMAND_TOKEN_LEN + 1], second[RL_COMMAND_TOKEN_LEN + 1];
    if (!may_try(trials)) {
        return;
    }
    make_token(trials, "010000000000000000000001", first); /* for one permit each */
    make_token(trials, "010000000000000000000002", second);
    const struct rl_request join = {
        .kind = RL_COMMAND_JOIN, .lock_mode = RL_PERMIT, .from = RL_NO_SLOT};
    const struct rl_request take = {
        .kind = RL_COMMAND_TAKE, .lock_mode = RL_PERMIT, .has_turn = true, .slots = {.n = 1}};
    const struct step steps[] = {
        {first,
         {.kind = RL_COMMAND_JOIN,
          .lock_mode = RL_PERMIT,
          .from = RL_NO_SLOT,
          .join = RL_JOIN_PEEK},
         RL_YES,
         0,
         0},
        {first, take, RL_YES, 0, 0},
        {second, join, RL_NO, 0, 0},
        {second, {.kind = RL_COMMAND_LEAVE, .lock_mode = RL_PERMIT}, RL_YES, 0, 0},
        {second, join, RL_NO, 0, 0},
        {first, take, RL_YES, 1, 0}, /* as after a lost answer; the reply counts the waiters */
        {first,
         {.kind = RL_COMMAND_RELEASE_PERMIT,
          .lock_mode = RL_PERMIT,
          .mode = RL_RELEASE_SERVE,
          .slots = {.n = 1}},
         RL_YES,
         0,
         0},
        {NULL, {.kind = RL_COMMAND_SET_PERMITS, .lock_mode = RL_PERMIT}, RL_YES, 0, 0},
        {NULL,
         {.kind = RL_COMMAND_SLOT, .lock_mode = RL_PERMIT, .index = RL_NO_SLOT},
         RL_YES,
         1,
         0},
        {NULL, {.kind = RL_COMMAND_SLOT, .lock_mode = RL_PERMIT, .index = 0}, RL_NO, 0, 0},
    };
    play(trials, RL_TRIAL_PERMITS, steps, sizeof steps / sizeof steps[0]);
    /* The number lives for a day. */
    forget(trials, "DEL " RL_COMMAND_PERMITS_PREFIX "{%s}");
    forget(trials, "DEL " RL_COMMAND_SLOT_PREFIX "0:{%s}");
    forget(trials, "DEL " RL_COMMAND_LINE_PREFIX "permits:{%s}");
}

static void make_names(struct trials *trial) {
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

/* One command; without a key, because SET was refused, those that follow it answer no if they may
 * run. */
static bool try_script(struct trials *trial, enum rl_trial which, struct rl_request command,
                       enum rl_verdict wanted) {
    redisReply *reply = run(trial, NULL, command);
    const bool is_good = judge(&command, reply).verdict == wanted;
    return note(trial, which, reply, is_good);
}

static void try_key(struct trials *trial) {
    const bool is_set =
        try_script(trial, RL_TRIAL_SET, (struct rl_request){.kind = RL_COMMAND_SET}, RL_YES);
    const enum rl_verdict wanted = is_set ? RL_YES : RL_NO;
    try_script(trial, RL_TRIAL_EXTEND, (struct rl_request){.kind = RL_COMMAND_EXTEND}, wanted);
    if (!try_script(trial, RL_TRIAL_RELEASE, (struct rl_request){.kind = RL_COMMAND_RELEASE},
                    wanted)) {
        forget(trial, "DEL %s");
    }
}

/* A release by a native command of the server. It works, or the server does not know it, or it is a
 * finding. The key is gone by now. A client would try the same, by what INFO says. After all others
 * but SUBSCRIBE: what is between client and server may end the connection (lib/redis/native.h). */
static void try_native(struct trials *trial) {
    const struct rl_info *info = &trial->facts->judged;
    const bool has_delex = rl_info_has_delex(info);
    if (!has_delex && !rl_info_has_delifeq(info)) {
        return;
    }
    const enum rl_command_kind kind = has_delex ? RL_COMMAND_DELEX : RL_COMMAND_DELIFEQ;
    redisReply *reply = run(trial, NULL, (struct rl_request){.kind = (uint8_t)kind});
    bool is_error = reply != NULL && reply->type == REDIS_REPLY_ERROR;
    if (is_error && rl_reply_reason(reply->str) == REDLOCK_ERR_NODE_PERMISSION) {
        note(trial, has_delex ? RL_TRIAL_DELEX : RL_TRIAL_DELIFEQ, reply, false);
    } else {
        freeReplyObject(reply);
    }
}

/* With a counter of the doctor's own. Key and counter expire if they cannot be deleted. */
static void try_fence(struct trials *trial) {
    const struct rl_request take = {.kind = RL_COMMAND_TAKE, .counter = 1};
    const struct rl_request raise = {.kind = RL_COMMAND_RAISE, .counter = 1};
    const bool is_fenced = try_script(trial, RL_TRIAL_FENCE, take, RL_YES);
    try_script(trial, RL_TRIAL_RAISE, raise, is_fenced ? RL_YES : RL_NO);
    forget(trial, "DEL %s");
    forget(trial, "DEL " RL_COMMAND_COUNTER_PREFIX "%s");
}

/* Two clients: the first has the turn; the second waits, leaves, waits again, is passed the lock,
 * is handed it, and is not there. This tries each command of the scripts. Where the node cannot
 * know that the second client is gone, that client has the lock for a moment. */
static void try_line(struct trials *trial) {
    char second[RL_COMMAND_TOKEN_LEN + 1];
    make_token(trial, "0123456789abcdef01234567", second);
    const struct rl_request join = {.kind = RL_COMMAND_JOIN};
    const struct step steps[] = {
        {NULL, {.kind = RL_COMMAND_JOIN}, RL_YES, 0, 0},
        {second, join, RL_NO, 0, 0},
        {second, {.kind = RL_COMMAND_LEAVE}, RL_YES, 0, 0},
        {second, join, RL_NO, 0, 0},
        {NULL, {.kind = RL_COMMAND_TAKE, .has_turn = true}, RL_YES, 1, 0},
        {NULL,
         {.kind = RL_COMMAND_RELEASE_LINE,
          .mode = RL_RELEASE_SERVE,
          .successor = second,
          .lease_ms = 1},
         RL_YES,
         0,
         0},
    };
    if (play(trial, RL_TRIAL_LINE, steps, sizeof steps / sizeof steps[0])) {
        /* Without it the scripts need two round trips. */
        note_type(trial, RL_TRIAL_LINE,
                  rl_wire_command(trial->facts->wire, "GET " RL_COMMAND_SECRET),
                  REDIS_REPLY_STRING);
    } else {
        forget(trial, "DEL %s");
        forget(trial, "DEL " RL_COMMAND_LINE_PREFIX "{%s}");
    }
}

void rl_doctor_try(struct rl_facts *facts) {
    struct trials trial = {.facts = facts};
    struct rl_wire *wire = facts->wire;
    make_names(&trial);
    try_key(&trial);
    try_fence(&trial);
    try_line(&trial);
    note_type(&trial, RL_TRIAL_NUMSUB, rl_wire_command(wire, "PUBSUB NUMSUB %s", trial.client),
              REDIS_REPLY_ARRAY);
    try_readers(&trial);
    try_permits(&trial);
    note_type(&trial, RL_TRIAL_TURN, rl_wire_command(wire, "PUBLISH %s %s", trial.client, ""),
              REDIS_REPLY_INTEGER);
    note_type(&trial, RL_TRIAL_PUBLISH, rl_wire_command(wire, "PUBLISH %s %s", trial.channel, ""),
              REDIS_REPLY_INTEGER);
    try_native(&trial);
    /* Last: a subscribed connection takes no other commands. */
    note_type(&trial, RL_TRIAL_TURN_HEARD, rl_wire_command(wire, "SUBSCRIBE %s", trial.client),
              REDIS_REPLY_ARRAY);
    note_type(&trial, RL_TRIAL_SUBSCRIBE, rl_wire_command(wire, "SUBSCRIBE %s", trial.channel),
              REDIS_REPLY_ARRAY);
}
