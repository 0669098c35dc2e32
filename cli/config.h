/* The configuration file of redlock(1): which one it is. What is in it is read by tool/config.h.
 *
 * Happy path: the file named by --config or REDLOCK_CONFIG, or the first that is there of
 * $XDG_CONFIG_HOME/redlock/redlock.conf (~/.config) and /etc/redlock.conf.
 *
 * Failure modes: each names file, line and remedy. A file that was asked for must be there. One
 * that others can read although it has a password in it is told, and used. */
#ifndef RL_CLI_CONFIG_H
#define RL_CLI_CONFIG_H

#include "args.h"
#include "tool/options.h"

/* Sets what neither the command line nor the environment has set. Returns 0 or an exit status. */
int rl_config_read(struct rl_args *args, struct tool_options *options);

#endif
