/* Every option of redlock(1), one row each, in the order in which --help shows them. */
#ifndef RL_CLI_ARGS_TABLE_H
#define RL_CLI_ARGS_TABLE_H

#include <stddef.h>

#include "tool/options.h"

/* Of fields of struct rl_args; the bits of `uses` are 1u << enum rl_command_name. */
extern const struct tool_option rl_args_table[];
extern const size_t rl_args_table_size;

#endif
