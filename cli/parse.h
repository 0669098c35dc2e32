/* What redlock(1) was asked to do: the command line, the environment and the configuration file.
 *
 * One table (args.h) describes every option: its name, what it takes, which commands know it, and
 * whether the configuration file may set it. tool/option.h reads it.
 *
 * The command line wins over the environment, and the environment over the file: the one named by
 * --config or REDLOCK_CONFIG, or the first existing one of $XDG_CONFIG_HOME/redlock/redlock.conf
 * (~/.config) and /etc/redlock.conf. tool/config.h reads it.
 *
 * Failure modes: a sentence on stderr names the option, or file and line, and says what to write
 * instead; exit status RL_EXIT_USAGE, for a file RL_EXIT_CONFIG; nothing was done. A file that was
 * named must exist. A file with a password that other users can read is used, with a warning.
 *
 * Everything behind "--" is the command to run, and is not parsed. In front of it, options and
 * words may come in any order. */
#ifndef RL_CLI_PARSE_H
#define RL_CLI_PARSE_H

#include "args.h"

enum rl_args_result { RL_ARGS_READY, RL_ARGS_DONE, RL_ARGS_BAD };

/* Reads argv, where argv[0] is the command's name. READY: args are complete; DONE: --help was
 * shown, *exit_status is 0; BAD: a sentence was written, *exit_status is what to end with. */
enum rl_args_result rl_args_parse(struct rl_args *args, enum rl_command_name command, int argc,
                                  char **argv, int *exit_status);

/* What follows "--" is the command's. Returns how many arguments are ours. */
int rl_args_cut(int argc, char **argv, char ***command);

#endif
