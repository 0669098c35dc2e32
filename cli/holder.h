/* Who holds a lock, as the nodes tell it to a command that waits for the answer.
 *
 * Failure modes: those of look.h. */
#ifndef RL_CLI_HOLDER_H
#define RL_CLI_HOLDER_H

#include <stdbool.h>

#include "look.h"
#include "session.h"

/* One look at one key, waited for. Returns the query's status. */
int rl_holder_look(struct rl_look *look, struct rl_session *session, redlock_bytes key);

/* rl_look_say() of the first of the keys that has something to say. False: none has, or too few
 * nodes answer. */
bool rl_holder_find(struct rl_session *session, const char *keys, char out[RL_LOOK_TEXT_MAX]);

#endif
