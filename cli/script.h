/* redlock acquire, extend and release: a lock in three processes of a script.
 *
 * Happy path: acquire waits until all nodes have answered, prints the token, with --fence the fence
 * behind it, and disowns the lock, so that its keys stay when the process ends. extend adopts the
 * lock by its token, which renews it on every node, waits in the same way, and disowns it again.
 * release deletes the keys that still have the token.
 *
 * Failure modes: the lock is not renewed between these commands, so it may be gone: extend and
 * release then end with RL_EXIT_LOST. A token that acquire has not printed is refused before
 * anything is sent. If acquire cannot print the token (a closed pipe), the lock is released
 * again. */
#ifndef RL_CLI_SCRIPT_H
#define RL_CLI_SCRIPT_H

#include "args.h"

/* Each returns the exit status. */
int rl_cmd_acquire(struct rl_args *args);
int rl_cmd_extend(struct rl_args *args);
int rl_cmd_release(struct rl_args *args);

#endif
