/* The options of a table as --help shows them. Nothing can fail here. */
#ifndef TOOL_OPTIONS_HELP_H
#define TOOL_OPTIONS_HELP_H

#include "tool/options.h"

/* Prints the rows for `use`, except those for every use, which are TOOL_COMMON. With TOOL_EVERY
 * all. */
void tool_options_help(const struct tool_options *options, unsigned use);

#endif
