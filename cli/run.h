/* redlock run: a command that holds a lock while it runs.
 *
 * Happy path: acquire, start the command (work.h), renew by the library's watchdog, release once
 * the command's process group is empty, end with its status. With --repeat all of this is repeated.
 *
 * Failure modes: not acquired (-E, or too few nodes); the command cannot be started; the lock
 * is lost, which ends the command; interrupted while waiting (128 + n). Each has its own exit
 * status: exits.h.
 *
 * Can two commands run under one lock? The command is started after the acquire's callback and
 * is gone before validity ends: work.h begins to end it the grace and a little more before that,
 * the lock is released when it is gone, and the guard does not depend on this process. */
#ifndef RL_CLI_RUN_H
#define RL_CLI_RUN_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_run(struct rl_args *args);

#endif
