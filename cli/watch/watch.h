/* redlock status --watch: what happens to some locks, a line for each event, until SIGINT, SIGTERM
 * or SIGHUP, which end it with status 0; so does the end of whoever reads its output.
 *
 * Happy path: each key is looked at (found.h) every --interval, and what has changed since the look
 * before is said (snapshot.h). When a holder has gone, the nodes are asked whether it was kicked.
 *
 * Why looks, and no messages? A release is announced only to who waits or watches an election; a
 * look costs the nodes what it costs and no holder anything. What it costs a node: for each look
 * and key one script that reads the key, two for the lines, and one for each client listed in them;
 * of a semaphore one more, and one for each slot in use. (Whether a key is a semaphore is looked
 * for at first, and then once in 16 looks.) docs/operations.md has figures.
 *
 * Failure modes: a node that does not answer puts off what a look sees by --node-timeout, until it
 * counts as down; looks of the other keys go on meanwhile. Fewer nodes than a quorum: that is said,
 * and what there is when they are back. A lock that is just changing hands is looked at again,
 * sooner, and shown when it has. */
#ifndef RL_CLI_WATCH_WATCH_H
#define RL_CLI_WATCH_WATCH_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_watch(struct rl_args *args);

#endif
