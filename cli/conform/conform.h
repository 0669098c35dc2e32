/* redlock conform -- COMMAND: plays five nodes to a client that is not ours, and reports, story by
 * story, what it does right and wrong. The rules are those of docs/protocol.md.
 *
 * Happy path: for each story of stories_*.c a process of its own, with nodes on free loopback
 * ports, starts COMMAND, plays, and hands over its verdict; several run at a time. The verdicts are
 * shown in the order of the stories: one line each, with the rule and a sentence unless it is PASS;
 * or JSON. Exit status RL_EXIT_OK if none is FAIL, else RL_EXIT_HELD (1).
 *
 * Failure modes: wrong options or no COMMAND: RL_EXIT_USAGE. COMMAND cannot be started: the run
 * ends with RL_EXIT_NOT_FOUND. COMMAND never becomes ready in the first story: the run ends with
 * RL_EXIT_SYSTEM and shows its stderr. A process or a socket is unavailable: RL_EXIT_SYSTEM. A
 * build without Lua says so: clients bring scripts of their own.
 *
 * Can a story hit one of the user's nodes? No: COMMAND's REDLOCK_NODES names the played nodes;
 * other REDLOCK_... variables are not handed on. */
#ifndef RL_CLI_CONFORM_CONFORM_H
#define RL_CLI_CONFORM_CONFORM_H

#include <stddef.h>

#include "tool/options.h"

extern const struct tool_option rl_conform_table[];
extern const size_t rl_conform_table_size;

/* The name of story number i; NULL: there are no more. */
const char *rl_conform_story(size_t i);

/* argv[0] is "conform". Returns the exit status. */
int rl_cmd_conform(int argc, char **argv);

#endif
