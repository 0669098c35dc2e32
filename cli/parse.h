/* Reads the arguments of a command: the command line, the environment, the configuration file. */
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
