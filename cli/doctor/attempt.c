/* See attempt.h. */
#include "doctor/attempt.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "tool/utf8.h"
#include "wire/connection.h"

bool rl_attempt_note(struct rl_trials *trials, enum rl_trial which, redisReply *reply,
                     bool is_good) {
    char *out = trials->facts->trials[which];
    const char *why = reply == NULL                      ? rl_wire_error(trials->facts->wire)
                      : reply->type == REDIS_REPLY_ERROR ? reply->str
                      : is_good                          ? ""
                                                         : "protocol error: unexpected reply";
    tool_utf8_clean(why, strlen(why), out, RL_FACT_MAX);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return out[0] == '\0';
}

bool rl_attempt_lacks_script(const redisReply *reply) {
    return reply != NULL && reply->type == REDIS_REPLY_ERROR &&
           strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

/* Sends the very command of the library. NULL: it cannot be sent, or is not answered. */
static redisReply *send_command(struct rl_trials *trials, const struct rl_command *command) {
    char *wire = malloc(rl_command_room(command->target));
    if (wire == NULL) {
        return NULL;
    }
    size_t length = rl_command_format(wire, command);
    redisAppendFormattedCommand(trials->facts->wire->context, wire, length);
    free(wire);
    return rl_wire_reply(trials->facts->wire);
}

redisReply *rl_attempt_run(struct rl_trials *trials, struct rl_command command) {
    const struct rl_bytes name = {trials->key, strlen(trials->key)};
    const bool is_permit = command.lock_mode == RL_PERMIT;
    const struct rl_target target = {.resources = &name,
                                     .n = 1,
                                     .retention_ms = RL_ATTEMPT_TTL_MS,
                                     .permits = is_permit,
                                     .take = is_permit,
                                     .holder = ""};
    command.target = &target;
    command.token = command.token != NULL ? command.token : trials->token;
    command.ttl_ms = RL_ATTEMPT_TTL_MS;
    command.grace_ms = RL_ATTEMPT_TTL_MS;
    redisReply *reply = send_command(trials, &command);
    if (rl_attempt_lacks_script(reply)) {
        freeReplyObject(reply);
        command.whole_script = true;
        reply = send_command(trials, &command);
    }
    return reply;
}

struct rl_answer rl_attempt_judge(const struct rl_command *command, redisReply *reply) {
    struct rl_answer answer = {.verdict = RL_NOT_REDIS};
    if (reply != NULL && reply->type != REDIS_REPLY_ERROR) {
        answer = rl_reply_judge(command->kind, reply);
    }
    return answer;
}

void rl_attempt_forget(struct rl_trials *trials, const char *format) {
    redisReply *reply = rl_wire_command(trials->facts->wire, format, trials->key);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
}
