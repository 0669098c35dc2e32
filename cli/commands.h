/* The commands of redlock(1): what main.c calls. How each works is said where it is. */
#ifndef RL_CLI_COMMANDS_H
#define RL_CLI_COMMANDS_H

#include "args.h"

/* Each returns the exit status. */
int rl_cmd_run(struct rl_args *args);
int rl_cmd_acquire(struct rl_args *args);
int rl_cmd_extend(struct rl_args *args);
int rl_cmd_release(struct rl_args *args);
int rl_cmd_status(struct rl_args *args);
int rl_cmd_watch(struct rl_args *args); /* status --watch */
int rl_cmd_elect(struct rl_args *args);
int rl_cmd_doctor(struct rl_args *args);
int rl_cmd_ls(struct rl_args *args);
int rl_cmd_top(struct rl_args *args);
int rl_cmd_queue(struct rl_args *args);
int rl_cmd_kick(struct rl_args *args);
int rl_cmd_metrics(struct rl_args *args);
int rl_cmd_set(struct rl_args *args);

/* For the shells; argv[0] is "complete". */
int rl_cmd_complete(int argc, char **argv);

/* Calls each(data, ...) once for every name that has, or had, a holder, or is waited for. args: of
 * any command. Returns 0 or an exit status. */
int rl_ls_names(struct rl_args *args, void (*each)(void *data, const char *name, size_t length),
                void *data);

#endif
