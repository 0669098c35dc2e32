/* See child.h. */
#include "child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exits.h"
#include "say.h"

/* -- The environment -- */

static bool is_replaced(const char *entry, const char *const *variables) {
    for (; *variables != NULL; variables++) {
        size_t length = strcspn(*variables, "=") + 1;
        if (strncmp(entry, *variables, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Ours with the variables over it; the strings are not copied. NULL: no memory. */
static char **make_environment(const char *const *variables) {
    size_t count = 0, used = 0;
    while (environ[count] != NULL) {
        count++;
    }
    size_t more = 0;
    while (variables[more] != NULL) {
        more++;
    }
    char **all = calloc(count + more + 1, sizeof *all);
    for (size_t i = 0; all != NULL && i < count; i++) {
        if (!is_replaced(environ[i], variables)) {
            all[used++] = environ[i];
        }
    }
    for (size_t i = 0; all != NULL && i < more; i++) {
        memcpy(&all[used++], &variables[i], sizeof *all); /* a const that execve() keeps */
    }
    assert(all == NULL || used <= count + more);
    return all;
}

/* -- In the child -- */

/* Handlers would write into the parent's loop: none may run here. What is ignored stays so. */
static void reset_signals(const sigset_t *mask) {
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
            action.sa_handler != SIG_DFL) {
            signal(i, SIG_DFL);
        }
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static void become(char *const *argv, char *const *environment, const sigset_t *mask, int report) {
    setpgid(0, 0);
    reset_signals(mask);
    execvpe(argv[0], argv, environment);
    int error = errno;
    ssize_t ignored = write(report, &error, sizeof error);
    (void)ignored;
    _exit(RL_EXIT_NOT_FOUND);
}

/* -- In the parent -- */

static int say_not_run(const char *name, int error) {
    char shown[128];
    rl_say_clean(name, strlen(name), shown, sizeof shown);
    if (error == ENOENT && strchr(name, '/') != NULL && access(name, F_OK) == 0) {
        return rl_fail(RL_EXIT_CANNOT_RUN, "%s: the interpreter in its first line does not exist",
                       shown);
    }
    if (error == ENOENT) {
        return rl_fail(RL_EXIT_NOT_FOUND, "%s: no such command%s", shown,
                       strchr(name, '/') == NULL ? " in PATH; give its full path" : "");
    }
    return rl_fail(RL_EXIT_CANNOT_RUN, "%s: cannot be run: %s%s", shown, strerror(error),
                   error == EACCES ? "; is it executable (chmod +x)?" : "");
}

/* What execve() said; 0: it did not come back. */
static int read_report(int report) {
    int error = 0;
    ssize_t length;
    do {
        length = read(report, &error, sizeof error);
    } while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof error ? error : 0;
}

int rl_child_start(struct rl_child *child, char *const *argv, const char *const *variables) {
    int report[2];
    sigset_t all, mask;
    *child = (struct rl_child){.is_gone = true};
    char **environment = make_environment(variables);
    if (environment == NULL || pipe2(report, O_CLOEXEC) != 0) {
        free(environment);
        return rl_fail(RL_EXIT_SYSTEM, "no process can be started: %s", strerror(errno));
    }
    /* Orphans of the group become ours, so that their end is told by SIGCHLD. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0) {
        become(argv, environment, &mask, report[1]);
    }
    int error = pid < 0 ? errno : 0;
    if (pid > 0) {
        setpgid(pid, pid); /* here too: whoever comes first */
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    free(environment);
    int not_run = pid > 0 ? read_report(report[0]) : 0;
    close(report[0]);
    if (pid < 0) {
        return rl_fail(RL_EXIT_SYSTEM, "no process can be started: %s", strerror(error));
    }
    if (not_run != 0) {
        waitpid(pid, NULL, 0);
        return say_not_run(argv[0], not_run);
    }
    *child = (struct rl_child){.pid = pid};
    return 0;
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
