/* The terminal's foreground: the process group that may read, and that receives the signal of
 * Ctrl-C.
 *
 * The command has its own group, so it starts in the background. It gets the foreground when it
 * needs it: when it reads from the terminal, or changes its settings, the kernel stops it with
 * SIGTTIN or SIGTTOU. So with a command that never reads, Ctrl-C goes to redlock (which passes it
 * on, and kills at the second), and `redlock run KEY -- make | less` leaves the terminal to less;
 * an editor or a shell gets it.
 *
 * Failure modes: there is no terminal, or redlock cannot hand it over (it is in the background):
 * then redlock stops as the command did, and the shell reports it. */
#include "session/room.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "say.h"

void rl_terminal_open(struct rl_terminal *terminal) {
    terminal->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    terminal->is_given = false;
}

void rl_terminal_close(struct rl_terminal *terminal) {
    assert(!terminal->is_given);
    if (terminal->fd >= 0) {
        close(terminal->fd);
        terminal->fd = -1;
    }
}

/* tcsetpgrp() from the background raises SIGTTOU, which would stop redlock. */
static bool set_foreground(int fd, pid_t group) {
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, &old);
    bool done = tcsetpgrp(fd, group) == 0;
    sigprocmask(SIG_SETMASK, &old, NULL);
    return done;
}

bool rl_terminal_give(struct rl_terminal *terminal, pid_t group) {
    if (terminal->fd < 0 || tcgetpgrp(terminal->fd) != getpgrp()) {
        return false;
    }
    terminal->is_given = set_foreground(terminal->fd, group);
    return terminal->is_given;
}

void rl_terminal_take(struct rl_terminal *terminal, pid_t group) {
    if (terminal->is_given && tcgetpgrp(terminal->fd) == group) {
        set_foreground(terminal->fd, getpgrp());
    }
    terminal->is_given = false;
}

bool rl_terminal_stop_self(int signal_number) {
    struct sigaction plain = {.sa_handler = SIG_DFL}, handler;
    sigset_t set, old, pending;
    assert(signal_number == SIGTSTP || signal_number == SIGTTIN || signal_number == SIGTTOU);
    sigemptyset(&plain.sa_mask);
    sigemptyset(&set);
    sigaddset(&set, SIGCONT); /* blocked, so that it is pending below */
    sigprocmask(SIG_BLOCK, &set, &old);
    sigaction(signal_number, &plain, &handler);
    raise(signal_number);
    sigaction(signal_number, &handler, NULL);
    sigpending(&pending);
    bool was_stopped = sigismember(&pending, SIGCONT) == 1;
    sigprocmask(SIG_SETMASK, &old, NULL);
    return was_stopped;
}

/* -- Signals -- */

/* The signals that redlock(1) acts on, as events of the loop.
 *
 * A signal that was ignored when redlock began (nohup, a job in the background of a script) stays
 * ignored, here and in the command that is run.
 *
 * Failure modes: if libuv cannot start a handle, it is left out, and the signal has its default
 * action. */

static void on_signal(uv_signal_t *handle, int signal_number) {
    struct rl_signals *signals = handle->data;
    signals->callback(signal_number, signals->data);
}

bool rl_signals_is_ignored(int signal_number) {
    struct sigaction now;
    return sigaction(signal_number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* The parent may have blocked SIGCHLD; then redlock would not notice the command's end. */
static void unblock(int signal_number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void rl_signals_open(struct rl_signals *signals, uv_loop_t *loop, const int *list,
                     rl_signal_cb callback, void *data) {
    signals->count = 0;
    signals->callback = callback;
    signals->data = data;
    for (; *list != 0; list++) {
        assert(signals->count < RL_SIGNALS_MAX);
        if (*list != SIGCHLD && rl_signals_is_ignored(*list)) {
            continue;
        }
        uv_signal_t *handle = rl_must_alloc(1, sizeof *handle);
        if (uv_signal_init(loop, handle) != 0) {
            free(handle);
            continue;
        }
        handle->data = signals;
        uv_signal_start(handle, on_signal, *list);
        if (*list == SIGCHLD) {
            unblock(SIGCHLD);
        }
        signals->handles[signals->count++] = handle;
    }
}

static void on_closed(uv_handle_t *handle) {
    free(handle);
}

void rl_signals_close(struct rl_signals *signals) {
    for (size_t i = 0; i < signals->count; i++) {
        uv_close((uv_handle_t *)signals->handles[i], on_closed);
    }
    signals->count = 0;
}
