/* See work.h. */
#include "work.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

#include "redlock/redlock.h"
#include "say.h"

#define NS_PER_MS UINT64_C(1000000)
#define POLL_MS 20 /* how often an emptying group is looked at */

static uint64_t before(uint64_t until_ns, int64_t ms) {
    uint64_t ns = (uint64_t)ms * NS_PER_MS;
    return until_ns > ns ? until_ns - ns : 0;
}

/* -- The end -- */

static void finish(struct rl_work *work) {
    assert(work->child.is_gone);
    rl_guard_stop(&work->guard);
    rl_terminal_take(&work->terminal, work->child.pid);
    rl_terminal_close(&work->terminal);
    rl_signals_close(&work->signals);
    uv_close((uv_handle_t *)&work->timer, NULL);
    work->on_end(work, rl_child_exit_status(&work->child), work->data);
}

static void on_timer(uv_timer_t *timer);

static void look(struct rl_work *work) {
    if (work->kill_ns != RL_GUARD_NEVER && redlock_now_ns() >= work->kill_ns) {
        rl_child_signal(&work->child, SIGKILL);
        work->kill_ns = RL_GUARD_NEVER;
    }
    if (rl_child_is_gone(&work->child)) {
        finish(work);
        return;
    }
    if (work->child.has_ended || work->kill_ns != RL_GUARD_NEVER) {
        uint64_t now_ns = redlock_now_ns();
        uint64_t left_ms = POLL_MS;
        if (work->kill_ns != RL_GUARD_NEVER) {
            left_ms = work->kill_ns > now_ns ? (work->kill_ns - now_ns) / NS_PER_MS + 1 : 1;
        }
        uv_update_time(work->loop);
        uv_timer_start(&work->timer, on_timer, left_ms < POLL_MS ? left_ms : POLL_MS, 0);
    }
}

static void on_timer(uv_timer_t *timer) {
    look(timer->data);
}

/* -- Loss -- */

static void tell_guard(const struct rl_work *work) {
    struct rl_guard_word word = {RL_GUARD_NEVER, RL_GUARD_NEVER};
    if (work->kill_ns == RL_GUARD_NEVER) {
        word.term_ns = before(work->valid_until_ns, work->grace_ms + RL_WORK_GUARD_MS);
    }
    word.kill_ns = before(work->valid_until_ns, RL_WORK_GUARD_MS);
    rl_guard_tell(&work->guard, &word);
}

void rl_work_renewed(struct rl_work *work, uint64_t valid_until_ns) {
    if (valid_until_ns > work->valid_until_ns && work->kill_ns == RL_GUARD_NEVER) {
        work->valid_until_ns = valid_until_ns;
        tell_guard(work);
    }
}

void rl_work_lost(struct rl_work *work) {
    uint64_t kill_ns = before(work->valid_until_ns, RL_WORK_KILL_MS);
    uint64_t grace_ns = redlock_now_ns() + (uint64_t)work->grace_ms * NS_PER_MS;
    if (!work->is_guarded || work->kill_ns != RL_GUARD_NEVER) {
        return;
    }
    work->kill_ns = grace_ns < kill_ns ? grace_ns : kill_ns;
    rl_child_signal(&work->child, SIGTERM);
    if (redlock_now_ns() < work->kill_ns) {
        rl_child_signal(&work->child, SIGCONT); /* one that is stopped can end, too */
    }
    tell_guard(work);
    look(work);
}

/* -- Job control -- */

/* May the command go on after a stop? If the lock has ended meanwhile, it never runs again. */
static void go_on(struct rl_work *work) {
    if (work->is_guarded && redlock_now_ns() >= before(work->valid_until_ns, RL_WORK_GUARD_MS)) {
        rl_child_signal(&work->child, SIGKILL);
        return;
    }
    if (work->wants_terminal) {
        rl_terminal_give(&work->terminal, work->child.pid);
        work->wants_terminal = false;
    }
    rl_child_signal(&work->child, SIGCONT);
}

static void on_stopped(struct rl_work *work, int signal_number) {
    bool asks = signal_number == SIGTTIN || signal_number == SIGTTOU;
    if (work->terminal.fd < 0 || (!asks && signal_number != SIGTSTP)) {
        return; /* somebody's SIGSTOP: the lock is held on */
    }
    if (asks && rl_terminal_give(&work->terminal, work->child.pid)) {
        rl_child_signal(&work->child, SIGCONT);
        return;
    }
    work->wants_terminal = asks || work->terminal.is_given;
    rl_terminal_take(&work->terminal, work->child.pid);
    if (!rl_terminal_stop_self(signal_number) && !asks) {
        go_on(work); /* no shell is there to do it: a stop makes no sense */
    }
}

/* -- Events -- */

static void reap(struct rl_work *work) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != work->child.pid) {
            continue; /* an orphan that has become ours, or the guard */
        }
        if (WIFSTOPPED(status)) {
            on_stopped(work, WSTOPSIG(status));
        } else {
            work->child.has_ended = true;
            work->child.wait_status = status;
        }
    }
    look(work);
}

static void on_signal(int signal_number, void *data) {
    struct rl_work *work = data;
    switch (signal_number) {
        case SIGCHLD:
            reap(work);
            return;
        case SIGCONT:
            go_on(work);
            return;
        case SIGINT:
            work->interrupts++;
            if (work->interrupts == 2) {
                rl_say("second SIGINT: the command is killed");
            }
            signal_number = work->interrupts >= 2 ? SIGKILL : SIGINT;
            break;
        default:
            break;
    }
    rl_child_signal(&work->child, signal_number);
}

int rl_work_start(struct rl_work *work, uv_loop_t *loop, char *const *argv,
                  const char *const *variables, uint64_t valid_until_ns, int64_t grace_ms,
                  bool is_guarded, rl_work_cb on_end, void *data) {
    static const int list[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                               SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, 0};
    *work = (struct rl_work){.loop = loop,
                             .valid_until_ns = valid_until_ns,
                             .kill_ns = RL_GUARD_NEVER,
                             .grace_ms = grace_ms,
                             .is_guarded = is_guarded,
                             .on_end = on_end,
                             .data = data};
    assert(argv[0] != NULL);
    rl_signals_open(&work->signals, loop, list, on_signal, work);
    int status = rl_child_start(&work->child, argv, variables);
    if (status != 0) {
        rl_signals_close(&work->signals);
        return status;
    }
    uv_timer_init(loop, &work->timer);
    work->timer.data = work;
    rl_terminal_open(&work->terminal);
    if (is_guarded) {
        struct rl_guard_word word = {before(valid_until_ns, grace_ms + RL_WORK_GUARD_MS),
                                     before(valid_until_ns, RL_WORK_GUARD_MS)};
        rl_guard_start(&work->guard, work->child.pid, grace_ms, &word);
    }
    return 0;
}
