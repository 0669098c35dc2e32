/* Whether those who stand in a line still listen for their turn, asked of the node that has the
 * line, over a connection of its own: PUBSUB NUMSUB of each client's channel.
 *
 * Failure modes: the node does not answer, or forbids it: of its places it is not known. A process
 * that was stopped listens as before; one whose machine is gone does until the node's tcp-keepalive
 * finds out. */
#ifndef RL_CLI_LISTENERS_H
#define RL_CLI_LISTENERS_H

#include "args.h"
#include "line.h"

/* Sets `listens` of all places. */
void rl_listeners_look(struct rl_line *line, const struct rl_args *args);

#endif
