/* redlock status: who holds a lock, or permits of a semaphore, node by node, and whether a holder
 * has a quorum.
 *
 * Happy path: every node is asked for every key; a table for each key, or one line of JSON.
 *
 * Failure modes: nodes that do not answer have their reason in the table; fewer answers than a
 * quorum end with RL_EXIT_NO_QUORUM, whatever those that answered say. What it shows may be
 * outdated by then. */
#ifndef RL_CLI_STATUS_H
#define RL_CLI_STATUS_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_status(struct rl_args *args);

#endif
