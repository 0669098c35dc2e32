/* The command as a process group of its own: started in two steps, signalled, waited for.
 *
 * Happy path: rl_child_begin() forks; the child leads a new process group and waits at a gate, a
 * socket to redlock, with the signal dispositions of a fresh program, all signals blocked.
 * Meanwhile its guard process is started (guard.c). rl_child_go() sends the command's environment,
 * which opens the gate: the child becomes the command. Everything the command starts belongs to its
 * group, so that it can be ended as a whole.
 *
 * The child may wait at its gate for as long as redlock waits for a lock. Until then it is called
 * "lock-command", and keeps only the descriptors that the command will have: a copy of a connection
 * would keep the connection open after redlock has closed it.
 *
 * Failure modes: the command is not found (127) or cannot be run (126): execve's error comes back
 * through the gate, so that redlock learns of it before it waits for anything.
 * rl_child_is_waiting() detects a child that ended or was stopped at its gate; that child is
 * dropped. A process that leaves the group (setsid) is out of reach.
 *
 * Can the command run although redlock is dead?
 *   - killed before the gate is open: the child reads end-of-file from the gate, and exits. (A
 *     guard that was forked just then has a copy of redlock's end, until it has closed the
 *     descriptors that it does not need; if it is stopped before that, the parent-death signal
 *     below helps.)
 *   - killed later: the guard process ends the group. And the kernel kills the child itself, by its
 *     parent-death signal, which also works when the guard is killed at the same moment. The child
 *     sets it before the gate, and notices a parent that died earlier, since getppid() has changed.
 *     The signal is SIGKILL, since the guarantee must not depend on how the command handles
 *     SIGTERM. So a command whose redlock is killed gets no grace, but its descendants do: they do
 *     not inherit the signal, and the guard sends them SIGTERM first. A program that gains
 *     privileges (set-user-ID, file capabilities) loses the signal; only the guard ends it.
 *
 * Can a signal hit an unrelated process? The group's id stays in use until its first process has
 * been reaped and no member lives; after that rl_child_is_gone() is true and no signal is sent. */
#include "run/room.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

#define FDS_MAX 1024 /* redlock has few descriptors, all below it */

/* -- In the child -- */

/* The parent's handlers write into its loop and must not run here. Ignored signals stay ignored. */
static void reset_signals(void) {
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
            action.sa_handler != SIG_DFL) {
            signal(i, SIG_DFL);
        }
    }
}

static void fail(int gate, int error) {
    ssize_t ignored = write(gate, &error, sizeof error);
    (void)ignored;
    _exit(RL_EXIT_NOT_FOUND);
}

/* Sets the parent-death signal, see above. parent: redlock's pid. */
static void tie_to(pid_t parent, int gate) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        fail(gate, errno);
    }
    if (getppid() != parent) {
        _exit(RL_EXIT_SYSTEM); /* redlock died before the prctl() */
    }
}

/* Closes redlock's own descriptors, see above. */
static void close_ours(int gate) {
    for (int fd = STDERR_FILENO + 1; fd < FDS_MAX; fd++) {
        int flags = fd != gate ? fcntl(fd, F_GETFD) : -1;
        if (flags >= 0 && (flags & FD_CLOEXEC) != 0) {
            close(fd);
        }
    }
}

/* Waits until the gate is opened by the variables, each with its '\0', and an empty text after the
 * last. They become the environment, so they are never freed. Signals are blocked, so nothing
 * interrupts it. */
static void wait_at(int gate) {
    FILE *in = fdopen(gate, "r");
    for (bool is_open = false; !is_open;) {
        char *text = NULL;
        size_t room = 0;
        ssize_t length = in != NULL ? getdelim(&text, &room, '\0', in) : -1;
        if (length > 0 && text[length - 1] == '\0') {
            is_open = length == 1;
        } else if (in != NULL && feof(in)) {
            _exit(RL_EXIT_SYSTEM); /* the gate was closed */
        }
        if (length <= 0 || (length > 1 && putenv(text) != 0)) {
            fail(gate, ENOMEM);
        }
    }
}

static void become(char *const *argv, const sigset_t *mask, int gate) {
    prctl(PR_SET_NAME, "lock-command");
    reset_signals();
    close_ours(gate);
    wait_at(gate);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    fail(gate, errno);
}

/* -- In the parent -- */

static int say_not_run(const char *name, int error) {
    const char *shown = rl_text_clean(name, 128);
    if (error == ENOENT && strchr(name, '/') != NULL && access(name, F_OK) == 0) {
        return rl_fail(RL_EXIT_CANNOT_RUN, "%s: the interpreter in its first line does not exist",
                       shown);
    }
    if (error == ENOENT) {
        return rl_fail(RL_EXIT_NOT_FOUND, "%s: no such command%s", shown,
                       strchr(name, '/') == NULL ? " in PATH; give its full path" : "");
    }
    return rl_fail(RL_EXIT_CANNOT_RUN, "%s: cannot run it: %s%s", shown, strerror(error),
                   error == EACCES ? "; is it executable (chmod +x)?" : "");
}

/* The errno of execve(); 0: it succeeded. */
static int read_report(int gate) {
    int error = 0;
    ssize_t length;
    do {
        length = read(gate, &error, sizeof error);
    } while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof error ? error : 0;
}

int rl_child_none(int error) {
    return rl_fail(RL_EXIT_SYSTEM, "cannot start a process: %s", strerror(error));
}

int rl_child_begin(struct rl_child *child, char *const *argv, bool dies_with_us) {
    int gate[2];
    sigset_t all, mask;
    pid_t us = getpid();
    *child = (struct rl_child){.is_gone = true, .gate = -1, .name = argv[0]};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0) {
        return errno;
    }
    /* Orphans of the group become redlock's children, so that SIGCHLD reports their end. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        close(gate[0]);
        if (dies_with_us) {
            tie_to(us, gate[1]);
        }
        become(argv, &mask, gate[1]);
    }
    int error = errno;
    if (pid > 0) {
        setpgid(pid, pid); /* here as well as in the child: whichever runs first does it */
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(gate[1]);
    if (pid < 0) {
        close(gate[0]);
        return error;
    }
    child->pid = pid;
    child->is_gone = false;
    child->gate = gate[0];
    return 0;
}

/* Reaps the child, which is known to be ending. */
static void wait_for_end(struct rl_child *child) {
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    child->is_gone = true;
}

bool rl_child_is_waiting(const struct rl_child *child) {
    siginfo_t info = {0};
    return child->gate >= 0 &&
           waitid(P_PID, (id_t)child->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

/* Sends the text with its '\0'. If the child was killed, SIGCHLD reports it. */
static void tell(const struct rl_child *child, const char *text) {
    const size_t size = strlen(text) + 1;
    assert(child->gate >= 0);
    for (size_t sent = 0; sent < size;) {
        ssize_t length = send(child->gate, text + sent, size - sent, MSG_NOSIGNAL);
        if (length < 0 && errno != EINTR) {
            break;
        }
        sent += length > 0 ? (size_t)length : 0;
    }
}

void rl_child_set(const struct rl_child *child, const char *name, const char *value) {
    char *variable = rl_must_print("%s=%s", name, value);
    tell(child, variable);
    free(variable);
}

int rl_child_go(struct rl_child *child) {
    tell(child, "");
    int not_run = read_report(child->gate);
    close(child->gate);
    child->gate = -1;
    if (not_run != 0) {
        wait_for_end(child);
        return say_not_run(child->name, not_run);
    }
    return 0;
}

void rl_child_drop(struct rl_child *child) {
    assert(child->gate >= 0);
    close(child->gate);
    child->gate = -1;
    kill(child->pid, SIGKILL); /* in case it is stopped */
    wait_for_end(child);
}

void rl_child_signal(const struct rl_child *child, int signal_number) {
    assert(child->pid > 1);
    if (!child->is_gone) {
        kill(-child->pid, signal_number);
    }
}

bool rl_child_is_gone(struct rl_child *child) {
    if (!child->is_gone && child->has_ended && kill(-child->pid, 0) != 0 && errno == ESRCH) {
        child->is_gone = true;
    }
    return child->is_gone;
}

int rl_child_exit_status(const struct rl_child *child) {
    assert(child->has_ended);
    return WIFSIGNALED(child->wait_status) ? RL_EXIT_SIGNAL + WTERMSIG(child->wait_status)
                                           : WEXITSTATUS(child->wait_status);
}
