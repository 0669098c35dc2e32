/* The commands of redlock(1): what main.c calls, and how it reads their arguments and shows their
 * help. Each command is documented in its own file. */
#ifndef RL_CLI_COMMANDS_H
#define RL_CLI_COMMANDS_H

#include "args.h"
#include "tool/options.h"

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

/* Called by shells; argv[0] is "complete". */
int rl_cmd_complete(int argc, char **argv);

/* Calls each(data, ...) once for every name that has or had a holder, or that clients wait for.
 * args: of any command. Returns 0 or an exit status. */
int rl_ls_names(struct rl_args *args, void (*each)(void *data, const char *name, size_t length),
                void *data);

/* -- parse.c -- */

/* Reads argv, where argv[0] is the command's name. True: args are complete. False: --help was
 * shown, or an error was reported; *exit_status is the program's. */
bool rl_args_parse(struct rl_args *args, enum rl_command_name command, int argc, char **argv,
                   int *exit_status);

/* Splits argv at "--": the rest is the command to run. Returns how many arguments come before
 * it. */
int rl_args_cut(int argc, char **argv, char ***command);

/* -- help.c -- */

/* Whether a COMMAND follows --. */
enum rl_child_use { RL_CHILD_NONE, RL_CHILD_MAY, RL_CHILD_MUST };

/* Which of its words are keys. */
enum rl_keys_use { RL_KEYS_NONE, RL_KEYS_ONE, RL_KEYS_LIST, RL_KEYS_MANY };

struct rl_command {
    const char *name;
    int words_min, words_max; /* arguments before -- that are not options */
    enum rl_child_use child;
    enum rl_keys_use keys;
    const char *usage; /* after the name */
    const char *text;
    const char *more; /* below the options */
};

extern const struct rl_command rl_commands[RL_CMDS];

void rl_help_show(enum rl_command_name command, const struct tool_options *options);
void rl_help_options(const struct tool_options *options); /* common to all commands */
void rl_help_overview(void);

/* Whether the command takes these words. Returns 0 or an exit status. */
int rl_help_check_words(const struct rl_args *args);

/* -- conform/conform.c, if it is built -- */

extern const struct tool_option rl_conform_table[];
extern const size_t rl_conform_table_size;

/* The name of story number i; NULL: there are no more. */
const char *rl_conform_story(size_t i);

/* argv[0] is "conform". Returns the exit status. */
int rl_cmd_conform(int argc, char **argv);

#endif
