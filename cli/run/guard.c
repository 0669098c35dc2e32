/* A second process, "lock-guard", that ends the command if redlock cannot: the command must not
 * outlive the lock even if redlock itself is killed, or is stopped and does not renew.
 *
 * Happy path: rl_guard_start() returns when the guard has everything it needs: its clock, its
 * descriptors, the group that it watches. Only then may the command start. The guard sleeps. Each
 * renewal moves its two deadlines. When the group is empty, rl_guard_stop() ends the guard.
 *
 * It may be started while redlock still waits for the lock, so that its start takes no time from
 * the hold. Until rl_guard_move() sends it a token, it guards nothing: it has no deadlines, and if
 * the channel breaks, it ends silently, without sending a signal.
 *
 * Failure modes:
 *   - No process is available, or the guard does not become ready: rl_guard_start() says why, and
 *     the command is not started.
 *   - The channel breaks: redlock was killed. The guard sends SIGTERM to the command's group, and
 *     SIGKILL at the end of the grace. Once no process of the group is left, and never before, the
 *     guard releases the lock (work.c), so that the next holder need not wait for the rest of the
 *     ttl. If the group never becomes empty, the lock ends with its ttl.
 *   - A deadline passes: redlock is stopped, or its thread gets no CPU time. The guard sends the
 *     same signals, at the deadlines. These are measured on the lock's clock, which includes time
 *     in suspend.
 *   - The guard itself is killed or stopped: SIGCHLD reports it, and work.c replaces it.
 *   - Both are killed: the command's first process has its parent-death signal (child.c).
 *   - Both are stopped: no process is left to react. The command may outlive the lock.
 *
 * When is there no guard? Before the group exists, there is nothing to guard; until the guard is
 * ready, the child waits at its gate, which only redlock opens, and exits if redlock is killed. If
 * redlock is killed while the guard starts, the guard finds the channel broken as soon as it is
 * ready. For some milliseconds between the death of a guard and its replacement, redlock alone
 * watches.
 *
 * Can it release a lock that the command still uses, or that redlock does? It releases if the
 * channel is broken and the group is empty. redlock's end is closed when it dies, or in
 * rl_guard_stop(), which kills the guard first. A guard that was started before the grant has the
 * token of this grant or none: each grant has its own guard.
 *
 * Can it signal an unrelated process? While redlock lives, it ends the guard before it reaps the
 * command's last process, or kills the guard as soon as it finds the group empty; a killed guard
 * that is reaped later (rl_guard_kill(), rl_guard_stop()) does nothing more. After redlock's death,
 * the guard acts at once and ends as soon as the group is empty. */
#include "run/room.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

#define NS_PER_S UINT64_C(1000000000)
#define POLL_MS 20
#define EMPTY_MS 5000 /* how long to wait for a group after SIGKILL */
#define READY_MS 2000 /* how long a guard may take to become ready */
#define STOP_MS 1000  /* how long to wait for a guard after SIGKILL */

enum { CHANNEL = 3 }; /* in the guard; of the higher descriptors, only the timer is open */

/* -- In the guard -- */

static bool is_empty(pid_t group) {
    return kill(-group, 0) != 0 && errno == ESRCH;
}

static bool is_empty_by(pid_t group, uint64_t until_ns) {
    while (!is_empty(group)) {
        if (redlock_now_ns() >= until_ns) {
            return false;
        }
        poll(NULL, 0, POLL_MS);
    }
    return true;
}

/* Ends the group. Returns whether no process of it is left. */
static bool end_group(pid_t group, uint64_t kill_ns) {
    kill(-group, SIGTERM);
    kill(-group, SIGCONT);
    if (is_empty_by(group, kill_ns)) {
        return true;
    }
    kill(-group, SIGKILL);
    return is_empty_by(group, redlock_now_ns() + EMPTY_MS * NS_PER_MS);
}

/* redlock is dead. The guard writes nothing to stderr before the group has ended: that could
 * block. */
static void on_orphaned(const struct rl_guard_plan *plan, const struct rl_guard_word *word) {
    if (word->token[0] == '\0') {
        return; /* there was no grant, and the child finds its gate closed */
    }
    uint64_t kill_ns = word->kill_ns;
    uint64_t grace_ns = redlock_now_ns() + (uint64_t)plan->grace_ms * NS_PER_MS;
    bool is_gone = end_group(plan->group, grace_ns < kill_ns ? grace_ns : kill_ns);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    alarm(RL_GUARD_LAST_S);
    rl_say(
        "redlock was killed; its command %s",
        is_gone ? "is ended too" : "got SIGKILL and is still running: the lock ends with its ttl");
    if (is_gone) {
        plan->on_orphaned(word, plan->data);
    }
}

static void arm(int timer, uint64_t at_ns) {
    struct itimerspec when = {0};
    if (at_ns != RL_GUARD_NEVER) {
        when.it_value.tv_sec = (time_t)(at_ns / NS_PER_S);
        when.it_value.tv_nsec = (long)(at_ns % NS_PER_S) + (at_ns == 0);
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Reads the last message in the channel. False: the channel is closed. */
static bool read_words(struct rl_guard_word *word) {
    struct rl_guard_word next;
    ssize_t length;
    while ((length = recv(CHANNEL, &next, sizeof next, MSG_DONTWAIT)) == (ssize_t)sizeof next) {
        *word = next;
    }
    return length < 0 && (errno == EAGAIN || errno == EINTR);
}

static void watch(int timer, const struct rl_guard_plan *plan, struct rl_guard_word word) {
    for (;;) {
        uint64_t next_ns = word.term_ns < word.kill_ns ? word.term_ns : word.kill_ns;
        struct pollfd polled[2] = {{.fd = CHANNEL, .events = POLLIN},
                                   {.fd = timer, .events = POLLIN}};
        arm(timer, next_ns);
        poll(polled, 2, -1);
        if (polled[0].revents != 0 && !read_words(&word)) {
            on_orphaned(plan, &word);
            return;
        }
        uint64_t now_ns = redlock_now_ns();
        if (now_ns >= word.kill_ns) {
            kill(-plan->group, SIGKILL);
            word.term_ns = word.kill_ns = RL_GUARD_NEVER;
        } else if (now_ns >= word.term_ns) {
            kill(-plan->group, SIGTERM);
            kill(-plan->group, SIGCONT);
            word.term_ns = RL_GUARD_NEVER;
        }
    }
}

static void close_from(unsigned first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0U) == 0) {
        return;
    }
#endif
    for (int fd = (int)first; fd < 1024; fd++) {
        close(fd);
    }
}

/* Closes all of redlock's descriptors in the guard, above all stdout: another process may wait for
 * end-of-file on it. stderr stays open, for messages. Returns 0 or an errno. */
static int keep_only(int channel) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        (channel != CHANNEL && dup2(channel, CHANNEL) < 0)) {
        return errno;
    }
    close_from(CHANNEL + 1);
    return 0;
}

static void become_guard(int channel, const struct rl_guard_plan *plan,
                         const struct rl_guard_word *word) {
    /* The guard has its own name: pkill -9 redlock and pkill -9 -f redlock must not end it along
     * with redlock. (killall /path/to/redlock matches the executable, and does.) */
    uv_set_process_title(rl_text("lock-guard %ld", (long)getppid()));
    prctl(PR_SET_NAME, "lock-guard"); /* without the number */
    setsid();                         /* so that the terminal's signals do not reach it */
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_IGN);
    }
    int timer = -1;
    int error = keep_only(channel);
    if (error == 0 && (timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) < 0) {
        error = errno;
    }
    send(error == 0 ? CHANNEL : channel, &error, sizeof error, MSG_NOSIGNAL);
    if (error == 0) {
        watch(timer, plan, *word);
    }
    _exit(0);
}

/* -- In redlock -- */

const char rl_guard_not_ready[] = "it does not become ready";

/* Returns NULL, or why not. */
static const char *await_ready(int channel) {
    int error = 0;
    struct pollfd polled = {.fd = channel, .events = POLLIN};
    uint64_t until_ns = redlock_now_ns() + READY_MS * NS_PER_MS;
    int found = 0;
    while (found <= 0) {
        uint64_t now_ns = redlock_now_ns();
        if (now_ns >= until_ns) {
            return rl_guard_not_ready;
        }
        found = poll(&polled, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
        if (found < 0 && errno != EINTR) {
            return strerror(errno);
        }
    }
    if (recv(channel, &error, sizeof error, 0) != (ssize_t)sizeof error) {
        return "it was killed";
    }
    return error == 0 ? NULL : strerror(error);
}

const char *rl_guard_start(struct rl_guard *guard, const struct rl_guard_plan *plan,
                           const struct rl_guard_word *word) {
    int ends[2];
    sigset_t all, mask;
    *guard = (struct rl_guard){.pid = 0, .channel = -1};
    assert(plan->group > 1);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return strerror(errno);
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become_guard(ends[1], plan, word);
    }
    int error = errno;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return strerror(error);
    }
    *guard = (struct rl_guard){.pid = pid, .channel = ends[0]};
    const char *why = await_ready(guard->channel);
    if (why != NULL) {
        rl_guard_stop(guard);
    }
    return why;
}

bool rl_guard_move(const struct rl_guard *guard, const struct rl_guard_word *word) {
    return guard->pid != 0 && send(guard->channel, word, sizeof *word,
                                   MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *word;
}

bool rl_guard_is_awake(const struct rl_guard *guard) {
    siginfo_t info = {0};
    return guard->pid != 0 &&
           waitid(P_PID, (id_t)guard->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

void rl_guard_kill(const struct rl_guard *guard) {
    if (guard->pid != 0) {
        kill(guard->pid, SIGKILL);
    }
}

void rl_guard_forget(struct rl_guard *guard) {
    close(guard->channel);
    *guard = (struct rl_guard){.pid = 0, .channel = -1};
}

void rl_guard_stop(struct rl_guard *guard) {
    if (guard->pid == 0) {
        return;
    }
    rl_guard_kill(guard);
    uint64_t until_ns = redlock_now_ns() + STOP_MS * NS_PER_MS;
    while (waitpid(guard->pid, NULL, WNOHANG) == 0 && redlock_now_ns() < until_ns) {
        poll(NULL, 0, 1);
    }
    rl_guard_forget(guard);
}
