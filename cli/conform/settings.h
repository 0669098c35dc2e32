/* The options of `redlock conform`, and its --help.
 *
 * Failure modes: a sentence on stderr that names the option, and RL_EXIT_USAGE. */
#ifndef RL_CLI_CONFORM_SETTINGS_H
#define RL_CLI_CONFORM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/list.h"
#include "tool/option.h"

struct rl_conform {
    struct tool_list stories; /* by name; none: all */
    int64_t scale, jobs;
    bool json, verbose, lists;
    char **command; /* ends with NULL */
};

extern const struct tool_option rl_conform_table[];
extern const size_t rl_conform_table_size;

/* Story number i, in the order in which they are played, and its name; NULL: there are no more. */
const struct rl_story *rl_story(size_t i);
const char *rl_conform_story(size_t i);

/* True: *out is complete. False: end with *exit_status; --help or an error was shown. */
bool rl_conform_read(struct rl_conform *out, int argc, char **argv, int *exit_status);

#endif
