/* The name under which ps, pkill and killall see this process: its comm, and its arguments.
 *
 * The guard process needs one of its own: `pkill -9 redlock` and `pkill -9 -f redlock` must not end
 * it along with redlock. (`killall /path/to/redlock` goes by the file that is executed, and does.)
 *
 * Failure modes: arguments that are not in one piece are left as they are. What is longer than they
 * were is cut. */
#ifndef RL_CLI_TITLE_H
#define RL_CLI_TITLE_H

/* To be called first, with what main() was given: where the arguments are. */
void rl_title_open(int argc, char **argv);

/* comm: 15 bytes at most. text: instead of the arguments, whose strings are gone then: nobody may
 * read argv, or what points into it, any more. */
void rl_title_set(const char *comm, const char *text);

#endif
