/* The commands on a new connection before it may carry votes.
 *
 *     AUTH       if newer credentials were set that the node has not accepted yet, alone
 *                (credentials.h); unless it accepts them, AUTH by the URL if that has a password
 *     SELECT     if the URL has a database other than 0
 *     CLIENT SETNAME, if wanted; a node that forbids it is used without a name
 *     HELLO 3    if INFO is wanted and hiredis reads RESP3; then
 *     CLIENT TRACKING ON OPTIN: no key is tracked, but the node reports that all were deleted
 *                (FLUSHALL, FLUSHDB), ahead of its answers to later commands. A node that knows or
 *                allows neither is used without
 *     INFO       if it is wanted: which server it is, whether it may be trusted with locks, and
 *                whether it should have a native command for releases (native.h)
 *     INFO commandstats, with it: how often keys of all names were deleted; 0 if that is refused
 *     GET        of the set's configuration (redis/config.h)
 *     PING       answered last: a server that answers it as Redis does is up
 *
 * All but the first line are sent at once; the first answer that rules the node out ends the
 * connection.
 */
#ifndef RL_REDIS_HANDSHAKE_H
#define RL_REDIS_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/config.h"
#include "redis/reply.h"
#include "redis/url.h"

enum rl_step {
    RL_STEP_AUTH,
    RL_STEP_SELECT,
    RL_STEP_SETNAME,
    RL_STEP_RESP3,
    RL_STEP_TRACK,
    RL_STEP_INFO,
    RL_STEP_STATS,
    RL_STEP_CONFIG,
    RL_STEP_PING,
    RL_STEPS
};

/* What the client wants besides the URL's settings. */
struct rl_handshake_options {
    const char *client_name; /* NULL: none */
    bool wants_info;
};

/* Writes the command of a step, at most RL_COMMAND_WIRE_MAX bytes. Returns its length, 0 if the
 * step is left out. */
size_t rl_handshake_format(enum rl_step step, const struct rl_url *url,
                           const struct rl_handshake_options *options, char *wire);

/* Writes AUTH, at most RL_COMMAND_WIRE_MAX bytes, which the caller wipes. Returns its length. */
size_t rl_handshake_auth(const char *user, const char *password, char *wire);

/* The command that releases a key there, according to INFO: RELEASE, the script, or a native one
 * that the server should have. */
enum rl_command_kind rl_handshake_release(const struct rl_info *info);

/* 0 if the handshake goes on after this answer, or why the node cannot be used. */
int16_t rl_handshake_judge(enum rl_step step, const struct rl_answer *answer);

/* Explains, with the remedy, why INFO does not give the required information: it was refused with
 * reason, or its text has a problem. */
void rl_handshake_explain(int16_t reason, const struct rl_info *info, char *text, size_t size);

/* Explains why the configuration cannot be used: it was refused with reason and these words, or its
 * text has a problem. */
void rl_handshake_explain_config(int16_t reason, const char *problem, const char *words, char *text,
                                 size_t size);

#endif
