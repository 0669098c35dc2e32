/* redlock ls: all locks of the nodes, at one look.
 *
 * Happy path: all nodes are read at once (scan/scan.h). It prints tables of locks, of left-over
 * tokens, of other libraries' keys and of kicks, and how much of each node was read; or, as JSON,
 * one object per line for each lock, for each node, and a summary.
 *
 *     {"kind": "lock", "key": ..., "held": true, "mode": "exclusive", "votes": 5, ...}
 *     {"kind": "node", "node": "10.0.0.1:6379", "read": true, ...}
 *     {"kind": "summary", ...}
 *
 * Failure modes: nodes that are down, or forbid being read, are named at the end. Fewer than a
 * quorum were read: RL_EXIT_NO_QUORUM; the rest is shown all the same. */
#ifndef RL_CLI_LS_LS_H
#define RL_CLI_LS_LS_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_ls(struct rl_args *args);

/* Calls each(data, ...) once for every name that has, or had, a holder, or is waited for. args: of
 * any command. Returns 0 or an exit status. */
int rl_ls_names(struct rl_args *args, void (*each)(void *data, const char *name, size_t length),
                void *data);

#endif
