/* One command of the library, sent to a node by doctor: the bytes that the library sends, on a
 * random key of the doctor's own, and what the node says to it.
 *
 * Failure modes: the command cannot be sent or is not answered: no reply. Keys end by their ttl if
 * they cannot be deleted. */
#ifndef RL_CLI_DOCTOR_ATTEMPT_H
#define RL_CLI_DOCTOR_ATTEMPT_H

#include "doctor/facts.h"
#include "redis/command.h"
#include "redis/reply.h"

#define RL_ATTEMPT_TTL_MS 10000
#define RL_ATTEMPT_TTL "10000"

struct redisReply;

struct rl_trials {
    struct rl_facts *facts;
    char key[RL_FACT_MAX];
    char channel[RL_FACT_MAX + 16];
    char client[sizeof RL_COMMAND_CLIENT_CHANNEL + RL_CLIENT_ID_LEN]; /* the channel of one */
    char token[RL_COMMAND_TOKEN_LEN + 1];
};

/* The command, of the trial's key; its token too, unless it has one. */
struct redisReply *rl_attempt_run(struct rl_trials *trials, struct rl_command command);

/* As rl_reply_judge(). What is an error or missing is no answer of Redis here. */
struct rl_answer rl_attempt_judge(const struct rl_command *command, struct redisReply *reply);

/* Whether the node has forgotten, or never had, the script. */
bool rl_attempt_lacks_script(const struct redisReply *reply);

/* Notes what is wrong with a reply, and frees it. Whether nothing is. */
bool rl_attempt_note(struct rl_trials *trials, enum rl_trial which, struct redisReply *reply,
                     bool is_good);

/* A command that the library does not send, with the trial's key for %s: its answer is ignored. */
void rl_attempt_forget(struct rl_trials *trials, const char *format);

#endif
