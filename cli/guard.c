/* See guard.h. */
#include "guard.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "redlock/redlock.h"
#include "say.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define POLL_MS 20

static const struct rl_guard_word all_done = {0, 0};

/* -- In the guard -- */

static bool is_empty(pid_t group) {
    return kill(-group, 0) != 0 && errno == ESRCH;
}

static void end_group(pid_t group, uint64_t kill_ns) {
    kill(-group, SIGTERM);
    kill(-group, SIGCONT);
    while (!is_empty(group) && redlock_now_ns() < kill_ns) {
        poll(NULL, 0, POLL_MS);
    }
    kill(-group, SIGKILL);
}

static void arm(int timer, uint64_t at_ns) {
    struct itimerspec when = {0};
    if (at_ns != RL_GUARD_NEVER) {
        when.it_value.tv_sec = (time_t)(at_ns / NS_PER_S);
        when.it_value.tv_nsec = (long)(at_ns % NS_PER_S) + (at_ns == 0);
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* What the other end of the pipe said last. False: it is closed. */
static bool read_words(int pipe, struct rl_guard_word *word) {
    struct rl_guard_word next;
    ssize_t length;
    while ((length = read(pipe, &next, sizeof next)) == (ssize_t)sizeof next) {
        *word = next;
        if (memcmp(word, &all_done, sizeof all_done) == 0) {
            return true;
        }
    }
    return length != 0;
}

static void guard(int pipe, int timer, pid_t group, int64_t grace_ms, struct rl_guard_word word) {
    for (;;) {
        uint64_t next_ns = word.term_ns < word.kill_ns ? word.term_ns : word.kill_ns;
        struct pollfd polled[2] = {{.fd = pipe, .events = POLLIN}, {.fd = timer, .events = POLLIN}};
        arm(timer, next_ns);
        poll(polled, 2, -1);
        if (polled[0].revents != 0 && !read_words(pipe, &word)) {
            uint64_t grace_ns = redlock_now_ns() + (uint64_t)grace_ms * NS_PER_MS;
            rl_say("redlock was killed; its command is ended too");
            end_group(group, grace_ns < word.kill_ns ? grace_ns : word.kill_ns);
            return;
        }
        if (memcmp(&word, &all_done, sizeof all_done) == 0) {
            return;
        }
        uint64_t now_ns = redlock_now_ns();
        if (now_ns >= word.kill_ns) {
            kill(-group, SIGKILL);
            word.term_ns = word.kill_ns = RL_GUARD_NEVER;
        } else if (now_ns >= word.term_ns) {
            kill(-group, SIGTERM);
            kill(-group, SIGCONT);
            word.term_ns = RL_GUARD_NEVER;
        }
    }
}

/* Nothing of redlock's may be kept open by the guard, stdout least of all: somebody may wait for
 * its end. stderr stays, for its one sentence. */
static void keep_only(int pipe) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(pipe, 3);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 4U, ~0U, 0U) == 0) {
        return;
    }
#endif
    for (int fd = 4; fd < 1024; fd++) {
        close(fd);
    }
}

static void become_guard(int pipe, pid_t group, int64_t grace_ms,
                         const struct rl_guard_word *word) {
    prctl(PR_SET_NAME, "redlock-guard");
    setsid(); /* out of reach of the terminal's signals */
    keep_only(pipe);
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_IGN);
    }
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    guard(3, timer, group, grace_ms, *word);
    _exit(0);
}

/* -- In redlock -- */

void rl_guard_start(struct rl_guard *guard, pid_t group, int64_t grace_ms,
                    const struct rl_guard_word *word) {
    int ends[2];
    sigset_t all, mask;
    guard->pid = 0;
    guard->pipe = -1;
    assert(group > 1);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        become_guard(ends[0], group, grace_ms, word);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return;
    }
    guard->pid = pid;
    guard->pipe = ends[1];
}

void rl_guard_tell(const struct rl_guard *guard, const struct rl_guard_word *word) {
    if (guard->pid != 0) {
        sigset_t set, old;
        sigemptyset(&set);
        sigaddset(&set, SIGPIPE); /* if somebody has killed it */
        sigprocmask(SIG_BLOCK, &set, &old);
        ssize_t ignored = write(guard->pipe, word, sizeof *word);
        (void)ignored;
        struct timespec none = {0};
        sigtimedwait(&set, NULL, &none);
        sigprocmask(SIG_SETMASK, &old, NULL);
    }
}

void rl_guard_stop(struct rl_guard *guard) {
    if (guard->pid == 0) {
        return;
    }
    rl_guard_tell(guard, &all_done);
    close(guard->pipe);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    guard->pid = 0;
}
