/* Who holds a lock, as the nodes tell it. */
#ifndef RL_CLI_STATUS_H
#define RL_CLI_STATUS_H

#include <stddef.h>

#include "session.h"

/* "held by web1:4711 for another 25 s", of the first of the keys that somebody holds. False: nobody
 * does, or too few nodes answer. */
bool rl_status_holder(struct rl_session *session, const char *keys, char *out, size_t size);

#endif
