/* redlock top: the list of redlock ls, kept up to date in a terminal, below a table of the
 * nodes.
 *
 * Happy path: a thread reads the nodes (scan/scan.h) every --interval; when it is done, its result
 * is drawn, and the struct of the result shown before takes the next sweep. Keys, signals and the
 * timer are events of one loop, so keys work while the thread waits for a node that is down.
 *
 * Failure modes: no terminal: it says so, and names redlock ls. q, SIGINT, SIGTERM, SIGHUP and a
 * terminal that is gone end it, and restore the terminal at once; it waits for the running sweep
 * after that. Ctrl-Z restores the terminal until fg. */
#ifndef RL_CLI_TOP_TOP_H
#define RL_CLI_TOP_TOP_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_top(struct rl_args *args);

#endif
