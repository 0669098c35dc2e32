/* redlock status: the holder of a lock, or of permits of a semaphore, node by node, and whether it
 * has a quorum.
 *
 * Happy path: every node is asked for every key; a table for each key, or one line of JSON.
 *
 * Failure modes: the table shows why a node did not answer; fewer answers than a quorum end with
 * RL_EXIT_NO_QUORUM, whatever the answers. The output may be outdated when it is shown. */
#ifndef RL_CLI_STATUS_H
#define RL_CLI_STATUS_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_status(struct rl_args *args);

#endif
