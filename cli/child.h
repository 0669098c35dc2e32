/* The command as a process group of its own: started in two steps, signalled, waited for.
 *
 * Happy path: rl_child_begin() forks; the child leads a new process group and waits at a gate, a
 * socket to us, with the signals of a fresh program, all of them blocked. Meanwhile its guard
 * process is started (guard.h). rl_child_go() sends the command's environment, which opens the
 * gate: the child becomes the command. What the command starts belongs to its group, so that all of
 * it can be ended.
 *
 * The child may wait at its gate for as long as redlock waits for a lock. Until then it is called
 * "lock-command", and keeps only the descriptors that the command will have: a copy of a connection
 * would keep the connection open after redlock has closed it.
 *
 * Failure modes: the command is not there (127) or cannot be run (126): execve's error comes back
 * through the gate, so that redlock knows of it before it waits for anything. rl_child_is_waiting()
 * finds a child that ended or was stopped at its gate; that child is dropped. A process that leaves
 * the group (setsid) is out of reach.
 *
 * Can the command run although redlock is dead?
 *   - killed before the gate is open: the child reads the end of the gate, and ends. (A guard that
 *     was forked just then has a copy of our end, until it has closed what it does not need; if it
 *     is stopped before that, the next line helps.)
 *   - killed later: the guard process ends the group. And the kernel kills the child itself, by its
 *     parent-death signal, which also works when the guard is killed at the same moment. It is set
 *     before the gate; the child notices a parent that had died by then, since getppid() has
 *     changed. The signal is SIGKILL, since the guarantee must not depend on how the command
 *     handles SIGTERM. So a command whose redlock is killed has no grace, its descendants do: they
 *     do not inherit the signal, and the guard gives them SIGTERM first. A program that gains
 *     privileges (set-user-ID, file capabilities) loses the signal; only the guard ends it.
 *
 * Can a signal hit an unrelated process? The group's number stays taken while its first process has
 * not been waited for or any member lives; after that rl_child_is_gone() is true and nothing is
 * sent. */
#ifndef RL_CLI_CHILD_H
#define RL_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct rl_child {
    pid_t pid;       /* and the number of its group; 0: none */
    bool has_ended;  /* the command itself; others of its group may go on */
    bool is_gone;    /* no process of the group is left */
    int wait_status; /* once it has ended */
    int gate;        /* our end of it; -1: the child has passed, or there is none */
    const char *name;
};

/* argv ends with NULL. dies_with_us: the kernel kills the command's first process if we are gone.
 * Returns 0 with the child waiting, or the errno of the failure. */
int rl_child_begin(struct rl_child *child, char *const *argv, bool dies_with_us);

/* Whether it is at its gate, neither ended nor stopped. */
bool rl_child_is_waiting(const struct rl_child *child);

/* Sets a variable of the command's environment, which otherwise is ours. */
void rl_child_set(const struct rl_child *child, const char *name, const char *value);

/* The child becomes the command. Returns 0, or an exit status after reporting why; no process of
 * the group is left then. */
int rl_child_go(struct rl_child *child);

/* Says why there is no process. Returns the exit status. */
int rl_child_none(int error);

/* Instead of rl_child_go(): the child ends without having become the command. */
void rl_child_drop(struct rl_child *child);

/* To every process of the group. */
void rl_child_signal(const struct rl_child *child, int signal_number);

/* Whether no process of the group is left. */
bool rl_child_is_gone(struct rl_child *child);

/* The command's exit status as a shell has it: 128 + n for signal n. */
int rl_child_exit_status(const struct rl_child *child);

#endif
