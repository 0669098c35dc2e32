/* The terminal's foreground: the process group that may read, and that Ctrl-C hits.
 *
 * The command's group is not ours, so it begins in the background. It is given the foreground when
 * it asks for it: when it reads from the terminal, or sets it, the kernel stops it with SIGTTIN or
 * SIGTTOU. So a command that never reads leaves Ctrl-C to us (we pass it on, and kill at the
 * second), and `redlock run KEY -- make | less` leaves the terminal to less; an editor or a shell
 * gets it.
 *
 * Failure modes: there is no terminal, or we cannot hand it over (we are in the background): then
 * we stop as the command did, and the shell says so. */
#ifndef RL_CLI_TERMINAL_H
#define RL_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct rl_terminal {
    int fd; /* -1: there is none */
    bool is_given;
};

void rl_terminal_open(struct rl_terminal *terminal);
void rl_terminal_close(struct rl_terminal *terminal); /* takes it back */

/* Puts the group into the foreground if we are there. */
bool rl_terminal_give(struct rl_terminal *terminal, pid_t group);
/* ... and us again, if the group is there. */
void rl_terminal_take(struct rl_terminal *terminal, pid_t group);

/* Stops this process as the signal (SIGTSTP, SIGTTIN, SIGTTOU) does by default, and returns once it
 * was continued. False: it was not stopped, because no shell would continue it. */
bool rl_terminal_stop_self(int signal_number);

#endif
