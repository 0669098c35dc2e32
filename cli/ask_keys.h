/* For commands that take several keys: asks the nodes for each key in turn, and shows what was
 * found.
 *
 * Failure modes: a malformed key, or nodes that cannot be asked, end the command with a message.
 * SIGINT, SIGTERM and SIGHUP end it before the next key. */
#ifndef RL_CLI_ASK_KEYS_H
#define RL_CLI_ASK_KEYS_H

#include <stdbool.h>

#include "args.h"
#include "found.h"
#include "session.h"

/* Shows one key. Returns its exit status; the command's is the largest of all. */
typedef int (*rl_ask_keys_show)(struct rl_session *session, struct rl_found *found, bool is_first);

/* Asks the nodes what they know of one key, and waits. Returns 0, also if too few answer; or an
 * exit status after reporting why. */
int rl_ask_key(struct rl_session *session, struct rl_found *found, redlock_bytes key,
               struct rl_found_parts parts);

/* Returns the exit status. */
int rl_ask_keys(struct rl_args *args, rl_ask_keys_show show);

#endif
