/* The texts of --help. What each command is for and how it is used is written here; its options
 * come from the table, so that none is forgotten. Each fits into 80 columns and 50 lines. */
#ifndef RL_CLI_HELP_H
#define RL_CLI_HELP_H

#include "args.h"
#include "tool/options.h"

void rl_help_show(enum rl_command_name command, const struct tool_options *options);
void rl_help_options(void); /* those that every command has */
void rl_help_overview(void);

#endif
