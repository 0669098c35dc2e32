/* redlock top: the list of redlock ls, kept up to date in a terminal, below a table of the
 * nodes.
 *
 * Happy path: a thread reads the nodes (scan/scan.h) every --interval; when it is done, what it
 * found is drawn, and what was shown before becomes what the next sweep is put into. Keys, signals
 * and the timer are events of one loop, so keys work while a node that is down is waited for.
 *
 * Failure modes: no terminal: it says so, and names redlock ls. q, SIGINT, SIGTERM, SIGHUP and a
 * terminal that is gone end it, and give the terminal back at once; what is being read is waited
 * for after that. Ctrl-Z gives it back until fg. */
#ifndef RL_CLI_TOP_TOP_H
#define RL_CLI_TOP_TOP_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_top(struct rl_args *args);

#endif
