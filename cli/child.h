/* The command as a process group of its own: started, signalled, waited for.
 *
 * Happy path: rl_child_start() forks; the child leads a new process group, has the signals of a
 * fresh program, and becomes the command. What the command starts belongs to its group, so that all
 * of it can be ended.
 *
 * Failure modes: the command is not there (127) or cannot be run (126): execve's error comes back
 * through a pipe, so that it is known before anything is waited for. What leaves the group (setsid)
 * is out of reach.
 *
 * Can a signal hit a stranger? The group's number stays taken while its first process has not been
 * waited for or any member lives; after that rl_child_is_gone() is true and nothing is sent. */
#ifndef RL_CLI_CHILD_H
#define RL_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct rl_child {
    pid_t pid;       /* and the number of its group; 0: none */
    bool has_ended;  /* the command itself; others of its group may go on */
    bool is_gone;    /* nobody of the group is left */
    int wait_status; /* once it has ended */
};

/* argv ends with NULL. variables: "NAME=value", NULL at the end, over those of our own environment.
 * Returns 0, or an exit status after having said why. */
int rl_child_start(struct rl_child *child, char *const *argv, const char *const *variables);

/* To every process of the group. */
void rl_child_signal(const struct rl_child *child, int signal_number);

/* Whether nobody of the group is left. */
bool rl_child_is_gone(struct rl_child *child);

/* The command's exit status as a shell has it: 128 + n for signal n. */
int rl_child_exit_status(const struct rl_child *child);

#endif
