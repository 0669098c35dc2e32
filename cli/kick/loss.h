/* Whether a lock that was lost was kicked: said behind the loss, by run.
 *
 * Happy path: a look at the notes of each key (look.h); where there are any they are read, and the
 * one of this token is said, with --json as an event.
 *
 * Failure modes: the nodes do not answer, or there is no note of this token: nothing is said. It
 * takes the timeouts of a node at most, and comes when the command has ended. */
#ifndef RL_CLI_KICK_LOSS_H
#define RL_CLI_KICK_LOSS_H

#include "session.h"
#include "tell.h"

/* token: 40 hex digits. keys: as given. */
void rl_kick_loss_tell(struct rl_session *session, const struct rl_tell *tell, const char *token);

#endif
