/* The lists of those who wait for a key, below its holder, as redlock status shows them. The table
 * of all that is known of them is queue.h.
 *
 * Failure modes: more wait than are listed: the others are counted. A place at another node than
 * the first one's is named. */
#ifndef RL_CLI_LINE_SHOW_H
#define RL_CLI_LINE_SHOW_H

#include "line.h"
#include "look.h"
#include "tool/json.h"

/* The lists of status. look: of the same key. Nothing if nobody waits. */
void rl_line_print(const struct rl_line *line, const struct rl_look *look);
void rl_line_print_permits(const struct rl_line *line, const struct rl_look *look);

/* Members of the key's object in the JSON of status. */
void rl_line_json(struct tool_json *json, const struct rl_line *line);
void rl_line_json_permits(struct tool_json *json, const struct rl_line *line);

#endif
