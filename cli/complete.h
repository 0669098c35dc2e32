/* redlock complete WORD...: what may stand in the place of the last word. For the shells alone,
 * whose files in cli/completion only pass words on, so that all of them know what the table of
 * options knows. WORD...: the line behind "redlock", up to the cursor; an empty last word is one,
 * too.
 *
 * Happy path: a line for each candidate, with a tab and a description of options. One line that
 * begins with a tab is an instruction:
 *
 *     <tab>files      file names, behind the = of --option=, if there is one
 *     <tab>command    what follows the first -- is a command of its own
 *
 * For KEY it names the locks that the nodes have, of those that the line, the environment or the
 * configuration file name.
 *
 * Failure modes: a line that makes no sense, or no nodes: no candidates. Nothing is ever written to
 * stderr or read from stdin, where the user is typing, and after two seconds it ends, also where a
 * file of the line cannot be read by then. */
#ifndef RL_CLI_COMPLETE_H
#define RL_CLI_COMPLETE_H

/* argv[0] is "complete". Returns the exit status. */
int rl_cmd_complete(int argc, char **argv);

#endif
