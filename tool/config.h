/* A configuration file: lines "name = value", with the names of the options.
 *
 *     # a comment is a line of its own
 *     nodes = redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3
 *     ttl = 30s
 *
 * Happy path: each line sets one option, unless the command line or the environment has set it. A
 * list may be repeated, and adds up.
 *
 * Failure modes: each error names file, line and remedy. Values that are not used are checked,
 * too. */
#ifndef TOOL_CONFIG_H
#define TOOL_CONFIG_H

#include <stdio.h>

#include "tool/options.h"

/* path: for messages. Returns 0, or -1 with options->error. Values point into *text; free it, in
 * both cases, when they are no longer needed. */
int tool_config_read(struct tool_options *options, FILE *file, const char *path, char **text);

#endif
