/* Who holds a lock, as the nodes tell it. */
#ifndef RL_CLI_STATUS_H
#define RL_CLI_STATUS_H

#include <stdbool.h>

#include "look.h"
#include "session.h"

/* rl_look_say() of the first of the keys that has something to say. False: none has, or too few
 * nodes answer. */
bool rl_status_holder(struct rl_session *session, const char *keys, char out[RL_LOOK_TEXT_MAX]);

#endif
