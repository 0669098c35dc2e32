/* redlock status --watch: the events of some locks, one line each, until SIGINT, SIGTERM or SIGHUP,
 * which end it with status 0; so does the end of the process that reads its output.
 *
 * Happy path: each key is looked at (found.h) every --interval, and changes since the last look are
 * reported (snapshot.h). When a holder has gone, the nodes are asked whether it was kicked.
 *
 * Why polling, and no messages? A release is announced only to clients that wait or watch an
 * election; polling costs the holders nothing. It costs a node, for each look and key, one script
 * that reads the key, two for the lines, and one for each client listed in them; for a semaphore
 * one more, and one for each slot in use. (Whether a key is a semaphore is looked for at first, and
 * then once in 16 looks.) docs/monitoring.md has figures.
 *
 * Failure modes: a node that does not answer delays a look by --node-timeout, until it counts as
 * down; looks at other keys go on meanwhile. Fewer nodes than a quorum: reported, and the state
 * once they are back. A lock that is just changing hands is looked at again sooner, and shown
 * afterwards. */
#ifndef RL_CLI_WATCH_WATCH_H
#define RL_CLI_WATCH_WATCH_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_watch(struct rl_args *args);

#endif
