/* One question to one node, with an end to it.
 *
 * hiredis's own redisCommand() waits anew after each byte that comes: a server that sends one now
 * and then, or never stops, would hold doctor for ever, and the second would fill the memory.
 *
 * Failure modes: the answer is not whole in time, or too long: no reply, and the context has the
 * error, so that nothing more is asked on it. */
#ifndef RL_CLI_DOCTOR_CONNECTION_H
#define RL_CLI_DOCTOR_CONNECTION_H

#include "doctor/facts.h"

struct redisContext;
struct redisReply;

/* As redisConnectWithTimeout(), to what the URL names; with RL_DOCTOR_ERR_TLS: TLS failed. One at a
 * time. */
struct redisContext *rl_doctor_connect(struct rl_facts *facts);

/* As redisFree(), also for NULL; facts->tls_end says afterwards whether TLS had ended it. */
void rl_doctor_disconnect(struct rl_facts *facts, struct redisContext *context);

/* As redisCommand(), but the whole answer has to be there in time, and of a reasonable length. */
struct redisReply *rl_doctor_command(const struct rl_facts *facts, struct redisContext *context,
                                     const char *format, ...);
/* The same for what has been appended to the context. */
struct redisReply *rl_doctor_reply(const struct rl_facts *facts, struct redisContext *context);

/* Why the context has failed. */
const char *rl_doctor_error(const struct redisContext *context);

#endif
