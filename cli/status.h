/* Who holds a lock, as the nodes tell it. */
#ifndef RL_CLI_STATUS_H
#define RL_CLI_STATUS_H

#include <stddef.h>

#include "session.h"

/* "held by web1:4711 for another 25 s", of the first of the keys that somebody holds. A lock of
 * another library is named by its value; keys that are no locks and in the way are named, too.
 * False: there is none of these, or too few nodes answer. */
bool rl_status_holder(struct rl_session *session, const char *keys, char *out, size_t size);

#endif
