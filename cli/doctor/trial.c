/* Tries what the library sends on a node: the same SET and the same scripts, on a random key, which
 * is deleted afterwards, or else expires; and each command that the scripts call.
 *
 * Failure modes: a trial keeps the node's error for its first refused command; the others are still
 * tried, because an ACL is fixed faster when everything that is missing is known at once. */
#include "doctor/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/command.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "say.h"
#include "tool/utf8.h"

#define TTL_MS 10000

struct trials {
    struct rl_facts *facts;
    char key[REDLOCK_RESOURCE_MAX + 1];
    char token[RL_TOKEN_LEN + 1];
};

/* Notes the first problem with a reply in this trial, and frees the reply. Returns whether it is
 * good. */
static bool note(struct trials *trials, enum rl_trial which, redisReply *reply, bool is_good) {
    char *out = trials->facts->trials[which];
    const char *why = reply == NULL ? rl_socket_error(&trials->facts->wire->socket)
                      : reply->type == REDIS_REPLY_ERROR ? reply->str
                      : is_good                          ? ""
                                                         : "protocol error: unexpected reply";
    if (out[0] == '\0') {
        tool_utf8_clean(why, strlen(why), out, RL_FACT_MAX);
    }
    is_good = why[0] == '\0';
    freeReplyObject(reply);
    return is_good;
}

/* -- What the library sends -- */

/* Whether the node does not have the script. */
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

/* Sends the command with the trial's key and token; the token of a permit says that it is one of
 * one. */
static redisReply *run(struct trials *trials, struct rl_request command) {
    const struct rl_bytes name = {trials->key, strlen(trials->key)};
    const bool is_permit = command.lock_mode == RL_PERMIT;
    const struct rl_target target = {.resources = &name,
                                     .n = 1,
                                     .retention_ms = TTL_MS,
                                     .permits = is_permit,
                                     .take = is_permit,
                                     .holder = ""};
    command.target = &target;
    memcpy(command.token, trials->token, sizeof command.token);
    if (is_permit) {
        memcpy(command.token + RL_CLIENT_ID_LEN, "010000000000000000000001",
               RL_TOKEN_LEN - RL_CLIENT_ID_LEN);
    }
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
static_assert(RL_TOKEN_LEN - RL_CLIENT_ID_LEN == 24, "as the token of a permit has it");

/* The channel of a client that does not listen, so that nothing arrives. */
#define NOBODY "0000000000000000000000000000000000000000"
static_assert(sizeof NOBODY == RL_TOKEN_LEN + 1, "a token");

/* Each command of the library at least once, in an order that leaves the key free. Any answer will
 * do, if it is an answer to the command. */
static const struct {
    enum rl_trial trial;
    struct rl_request command;
} library[] = {
    {RL_TRIAL_SET, {.kind = RL_COMMAND_SET}},
    {RL_TRIAL_EXTEND, {.kind = RL_COMMAND_EXTEND}},
    {RL_TRIAL_RELEASE, {.kind = RL_COMMAND_RELEASE}},
    {RL_TRIAL_FENCE, {.kind = RL_COMMAND_TAKE, .counter = 1}},
    {RL_TRIAL_FENCE, {.kind = RL_COMMAND_RAISE, .counter = 1}},
    {RL_TRIAL_RELEASE, {.kind = RL_COMMAND_RELEASE}},
    {RL_TRIAL_LINE, {.kind = RL_COMMAND_JOIN}},
    {RL_TRIAL_LINE, {.kind = RL_COMMAND_TAKE, .has_turn = true}},
    {RL_TRIAL_LINE,
     {.kind = RL_COMMAND_RELEASE_LINE,
      .mode = RL_RELEASE_SERVE,
      .successor = NOBODY,
      .lease_ms = 1}},
    {RL_TRIAL_LINE, {.kind = RL_COMMAND_LEAVE}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_TAKE, .lock_mode = RL_SHARED}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_EXTEND, .lock_mode = RL_SHARED}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_READER}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_RELEASE_LINE, .intent_ms = TTL_MS}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_RELEASE_LINE, .intent_ms = RL_INTENT_DROP}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_UPGRADE, .lock_mode = RL_SHARED}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_EXTEND, .lock_mode = RL_SHARED, .converts = true}},
    {RL_TRIAL_READERS,
     {.kind = RL_COMMAND_RELEASE_LINE, .lock_mode = RL_SHARED, .mode = RL_RELEASE_SERVE}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_JOIN, .lock_mode = RL_SHARED}},
    {RL_TRIAL_READERS, {.kind = RL_COMMAND_LEAVE, .lock_mode = RL_SHARED}},
    {RL_TRIAL_PERMITS, {.kind = RL_COMMAND_JOIN, .lock_mode = RL_PERMIT, .from = RL_NO_SLOT}},
    {RL_TRIAL_PERMITS,
     {.kind = RL_COMMAND_TAKE, .lock_mode = RL_PERMIT, .has_turn = true, .slots = {.n = 1}}},
    {RL_TRIAL_PERMITS, {.kind = RL_COMMAND_LEAVE, .lock_mode = RL_PERMIT}},
    {RL_TRIAL_PERMITS, {.kind = RL_COMMAND_SLOT, .lock_mode = RL_PERMIT, .index = RL_NO_SLOT}},
    {RL_TRIAL_PERMITS,
     {.kind = RL_COMMAND_RELEASE_PERMIT,
      .lock_mode = RL_PERMIT,
      .mode = RL_RELEASE_SERVE,
      .slots = {.n = 1}}},
    {RL_TRIAL_PERMITS, {.kind = RL_COMMAND_SET_PERMITS, .lock_mode = RL_PERMIT}},
};

/* -- What its scripts call -- */

#define LINE RL_COMMAND_LINE_PREFIX "{%s}"
#define LINE_SHARED RL_COMMAND_LINE_SHARED_PREFIX "{%s}"
#define LINE_PERMITS RL_COMMAND_LINE_PREFIX "permits:{%s}"
#define READERS RL_COMMAND_READERS_PREFIX "{%s}"
#define SLOT RL_COMMAND_SLOT_PREFIX "0:{%s}"
#define ONE_CLIENT RL_COMMAND_CLIENT_CHANNEL "doctor"

/* A script ignores a refused command if the lock works without it, so each command is tried by
 * itself, with the trial's key for %s. None of them creates a key. */
static const struct {
    enum rl_trial trial;
    const char *format;
} calls[] = {
    {RL_TRIAL_FLUSH, "HELLO 2"}, /* clients ask for 3, whose answers have other forms */
    {RL_TRIAL_FLUSH, "CLIENT TRACKING ON OPTIN"},
    {RL_TRIAL_LINE, "TIME"},
    {RL_TRIAL_LINE, "GET " RL_COMMAND_SECRET},
    {RL_TRIAL_LINE, "ZADD " LINE " XX 1 m"},
    {RL_TRIAL_LINE, "ZRANK " LINE " m"},
    {RL_TRIAL_LINE, "ZCARD " LINE},
    {RL_TRIAL_LINE, "ZRANGE " LINE " 0 0"},
    {RL_TRIAL_LINE, "ZREM " LINE " m"},
    {RL_TRIAL_LINE, "ZPOPMIN " LINE},
    {RL_TRIAL_NUMSUB, "PUBSUB NUMSUB " ONE_CLIENT},
    {RL_TRIAL_READERS, "TIME"},
    {RL_TRIAL_READERS, "EXISTS " READERS},
    {RL_TRIAL_READERS, "ZADD " READERS " XX 1 m"},
    {RL_TRIAL_READERS, "ZSCORE " READERS " m"},
    {RL_TRIAL_READERS, "ZCOUNT " READERS " 0 1"},
    {RL_TRIAL_READERS, "ZRANGE " READERS " 0 0"},
    {RL_TRIAL_READERS, "ZRANGEBYSCORE " READERS " 0 1"},
    {RL_TRIAL_READERS, "ZREMRANGEBYSCORE " READERS " 0 1"},
    {RL_TRIAL_READERS, "PEXPIREAT " READERS " 1"},
    {RL_TRIAL_READERS, "ZADD " LINE_SHARED " XX 1 m"},
    {RL_TRIAL_READERS, "ZRANK " LINE_SHARED " m"},
    {RL_TRIAL_READERS, "ZCARD " LINE_SHARED},
    {RL_TRIAL_READERS, "ZREM " LINE_SHARED " m"},
    {RL_TRIAL_READERS, "EXISTS " RL_COMMAND_INTENT_PREFIX "{%s}"},
    {RL_TRIAL_READERS, "EXISTS " RL_COMMAND_UPGRADE_PREFIX "{%s}"},
    {RL_TRIAL_PERMITS, "TIME"},
    {RL_TRIAL_PERMITS, "MGET " SLOT},
    {RL_TRIAL_PERMITS, "EXISTS " SLOT},
    {RL_TRIAL_PERMITS, "GET " RL_COMMAND_PERMITS_PREFIX "{%s}"},
    {RL_TRIAL_PERMITS, "ZADD " LINE_PERMITS " XX 1 m"},
    {RL_TRIAL_PERMITS, "ZRANK " LINE_PERMITS " m"},
    {RL_TRIAL_PERMITS, "ZCARD " LINE_PERMITS},
    {RL_TRIAL_PERMITS, "ZRANGE " LINE_PERMITS " 0 0"},
    {RL_TRIAL_PERMITS, "ZREM " LINE_PERMITS " m"},
    {RL_TRIAL_TURN, "PUBLISH " ONE_CLIENT " m"},
    {RL_TRIAL_PUBLISH, "PUBLISH redlock:%s m"},
};

/* Deletes keys that remain after a refused command, and the number of permits; if they cannot be
 * deleted, they expire. */
static const char *const left[] = {
    "DEL %s",
    "DEL " RL_COMMAND_COUNTER_PREFIX "%s",
    "DEL " LINE,
    "DEL " LINE_SHARED,
    "DEL " LINE_PERMITS,
    "DEL " READERS,
    "DEL " RL_COMMAND_INTENT_PREFIX "{%s}",
    "DEL " RL_COMMAND_UPGRADE_PREFIX "{%s}",
    "DEL " SLOT,
    "DEL " RL_COMMAND_PERMITS_PREFIX "{%s}",
};

/* A subscribed connection takes no other commands. */
static const struct {
    enum rl_trial trial;
    const char *format;
} last[] = {
    {RL_TRIAL_TURN_HEARD, "SUBSCRIBE " ONE_CLIENT},
    {RL_TRIAL_SUBSCRIBE, "SUBSCRIBE redlock:%s"},
};

/* -- The trial -- */

static_assert(REDLOCK_RESOURCE_MAX == 1008 + 16, "as the key has it");

static void make_names(struct trials *trials) {
    const char *prefix = trials->facts->wire->args->key_prefix;
    rl_must_draw(trials->token, RL_TOKEN_LEN);
    snprintf(trials->key, sizeof trials->key, "%.1008s%.16s",
             prefix != NULL ? prefix : "redlock-doctor:", trials->token);
}

/* Tries a release by a native command of the server. Only a missing permission is a finding. The
 * key is gone by now. A client would try the same, as INFO tells. It comes after all others but
 * SUBSCRIBE: a proxy between client and server may end the connection (lib/redis/native.h). */
static void try_native(struct trials *trials) {
    const struct rl_info *info = &trials->facts->info.judged;
    const bool has_delex = rl_info_has_delex(info);
    if (!has_delex && !rl_info_has_delifeq(info)) {
        return;
    }
    const enum rl_command_kind kind = has_delex ? RL_COMMAND_DELEX : RL_COMMAND_DELIFEQ;
    redisReply *reply = run(trials, (struct rl_request){.kind = (uint8_t)kind});
    bool is_error = reply != NULL && reply->type == REDIS_REPLY_ERROR;
    if (is_error && rl_reply_reason(reply->str) == REDLOCK_ERR_NODE_PERMISSION) {
        note(trials, has_delex ? RL_TRIAL_DELEX : RL_TRIAL_DELIFEQ, reply, false);
    } else {
        freeReplyObject(reply);
    }
}

bool rl_doctor_try(struct rl_facts *facts) {
    struct trials trials = {.facts = facts};
    struct rl_wire *wire = facts->wire;
    make_names(&trials);
    for (size_t i = 0; i < sizeof library / sizeof library[0]; i++) {
        redisReply *reply = run(&trials, library[i].command);
        const bool is_answer =
            reply != NULL && reply->type != REDIS_REPLY_ERROR &&
            rl_reply_judge(library[i].command.kind, reply).verdict != RL_NOT_REDIS;
        note(&trials, library[i].trial, reply, is_answer);
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        note(&trials, calls[i].trial, rl_wire_command(wire, calls[i].format, trials.key), true);
    }
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        freeReplyObject(rl_wire_command(wire, left[i], trials.key));
    }
    const bool is_connected = !rl_socket_has_failed(&wire->socket);
    try_native(&trials);
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        note(&trials, last[i].trial, rl_wire_command(wire, last[i].format, trials.key), true);
    }
    return is_connected;
}
