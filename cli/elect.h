/* redlock elect: one of several machines leads at a time.
 *
 * Happy path: campaign. Without a command, report the leader whenever it changes. With one, run it
 * while we lead (work.h); when it ends by itself, resign and end with its status, or, with
 * --repeat, campaign again after a pause.
 *
 * Failure modes: the leadership is lost: the command is ended, and the campaign goes on. A signal
 * arrives: it goes to the command if there is one; else redlock resigns and ends with 128 + n. The
 * command cannot be started.
 *
 * Can two commands of one election run? Ours is gone before our validity ends, as under run. If we
 * are elected again while the last command is still being ended, the next one waits for its end. If
 * we still lead when it has ended (a renewal came late), we resign then, so that a leadership that
 * was reported as lost is over. */
#ifndef RL_CLI_ELECT_H
#define RL_CLI_ELECT_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_elect(struct rl_args *args);

#endif
