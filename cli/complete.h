/* redlock complete WORD...: the candidates for the last word. Only shells call it: their files in
 * cli/completion only pass words on, so that all shells know the table of options. WORD...: the
 * line behind "redlock", up to the cursor; an empty last word is one, too.
 *
 * Happy path: a line for each candidate, with a tab and a description of options. One line that
 * begins with a tab is an instruction:
 *
 *     <tab>files      file names, behind the = of --option=, if there is one
 *     <tab>command    what follows the first -- is a command of its own
 *
 * For KEY it lists the locks on the nodes that the line, the environment or the configuration file
 * names.
 *
 * Failure modes: a line that makes no sense, or no nodes: no candidates. It never writes to stderr
 * and never reads stdin, where the user is typing. It ends after two seconds, even if a file named
 * in the line is not readable by then. */
#ifndef RL_CLI_COMPLETE_H
#define RL_CLI_COMPLETE_H

/* argv[0] is "complete". Returns the exit status. */
int rl_cmd_complete(int argc, char **argv);

#endif
