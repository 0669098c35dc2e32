/* redlock conform -- COMMAND: plays five nodes to a client that is not ours, and says, story by
 * story, what it does right and what it does wrong. The rules are those of docs/protocol.md.
 *
 * Happy path: for each story of stories_*.c a process of our own, with nodes on free loopback
 * ports, starts COMMAND, plays, and hands over its verdict; some run at a time. The verdicts are
 * shown in the order of the stories: a line each, and for what is not PASS the rule and a sentence;
 * or JSON. Exit status RL_EXIT_OK if none is FAIL, else RL_EXIT_HELD (1).
 *
 * Failure modes: wrong options and no COMMAND: RL_EXIT_USAGE. A COMMAND that cannot be started ends
 * the run: RL_EXIT_NOT_FOUND; so does one that is never ready in the first story, with its stderr:
 * RL_EXIT_SYSTEM. A process or a socket is unavailable: RL_EXIT_SYSTEM. Without Lua, when built, it
 * says so: clients bring scripts of their own.
 *
 * Can a story hit a node of the user's? No: COMMAND's REDLOCK_NODES are the played ones, other
 * variables REDLOCK_... are not handed on. */
#ifndef RL_CLI_CONFORM_CONFORM_H
#define RL_CLI_CONFORM_CONFORM_H

/* argv[0] is "conform". Returns the exit status. */
int rl_cmd_conform(int argc, char **argv);

#endif
