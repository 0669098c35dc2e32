/* The commands of redlock(1), one file each. Each does its work with complete arguments, says what
 * it has to say, and returns the exit status. */
#ifndef RL_CLI_COMMANDS_H
#define RL_CLI_COMMANDS_H

#include "args.h"

int rl_cmd_run(struct rl_args *args);
int rl_cmd_acquire(struct rl_args *args); /* token.c, with the next two */
int rl_cmd_extend(struct rl_args *args);
int rl_cmd_release(struct rl_args *args);
int rl_cmd_status(struct rl_args *args);
int rl_cmd_elect(struct rl_args *args);
int rl_cmd_doctor(struct rl_args *args);

#endif
