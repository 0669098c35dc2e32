/* The commands: their names, what they take, and the texts of --help. What each command is for and
 * how it is used is written here; its options come from the table, so that none is forgotten. Each
 * text fits into 80 columns and 40 lines. */
#ifndef RL_CLI_HELP_H
#define RL_CLI_HELP_H

#include "args.h"
#include "tool/options.h"

/* Whether a COMMAND follows --. */
enum rl_child_use { RL_CHILD_NONE, RL_CHILD_MAY, RL_CHILD_MUST };

/* Which of its words are keys. */
enum rl_keys_use { RL_KEYS_NONE, RL_KEYS_ONE, RL_KEYS_LIST, RL_KEYS_MANY };

struct rl_command {
    const char *name;
    int words_min, words_max; /* that are no options, in front of -- */
    enum rl_child_use child;
    enum rl_keys_use keys;
    const char *usage; /* what follows the name */
    const char *text;
    const char *more; /* below the options */
};

extern const struct rl_command rl_commands[RL_CMDS];

void rl_help_show(enum rl_command_name command, const struct tool_options *options);
void rl_help_options(const struct tool_options *options); /* those that every command has */
void rl_help_overview(void);

/* Whether the command takes these words. Returns 0 or an exit status. */
int rl_help_check_words(const struct rl_args *args);

#endif
