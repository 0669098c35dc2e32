/* A command that runs under a lock, and no longer than it.
 *
 *     rl_work_start() -> rl_work_renewed() ... -> on_end, once no process of its group is left
 *                     \-> rl_work_lost(): SIGTERM, and SIGKILL at the end of the grace
 *         -> rl_work_close()
 *
 * rl_work_prepare(), called while waiting for the lock, starts the processes that do not need the
 * lock: the child at its gate, and the guard. A hand-over of the lock is faster than the start of
 * two processes. rl_work_start() uses both if they still run, and else starts them itself. For the
 * same reason, on_end runs as soon as the group is empty, and rl_work_close(), which is called
 * after the release was sent, waits for the guard and stops watching the signals.
 *
 * The lock protects everything that the command has started, so the work ends when its process
 * group is empty, not when its first process has ended: a command that forks away keeps the lock,
 * as an inherited descriptor does under flock(1).
 *
 * Signals to redlock are passed on to the group. The second SIGINT becomes SIGKILL. A stop from
 * the terminal (Ctrl-Z) stops the command and then redlock itself; when the shell continues
 * redlock, the command goes on only if the lock is still valid.
 *
 * Failure modes: the command cannot be started (an exit status comes back, on_end does not run);
 * SIGTERM is ignored (SIGKILL); redlock is stopped or killed (guard.c); the guard process is killed
 * or stopped: another one replaces it, and if none can be started, or they keep dying, the command
 * is terminated as after a loss. Preparation fails, or a prepared process is killed or stopped
 * meanwhile: rl_work_start() starts again, and reports failures.
 *
 * If redlock is killed, its guard releases the lock once it has ended the command, so that the next
 * holder need not wait for the ttl. It uses a new client on a new loop, since a client from before
 * the fork() cannot be used. If the nodes do not answer, the lock ends with its ttl, and a sentence
 * says so. Can it take the lock from another client? No: the nodes delete only keys with this
 * token, and the token belongs to this grant alone.
 *
 * Can the command begin without the lock, because it was prepared? No: only rl_work_start() opens
 * the child's gate, when the guard runs and knows when the lock ends. If rl_work_close() is called
 * instead, or redlock dies, the child at its gate ends, and so does the guard, which has no token.
 *
 * Can the command outlive the lock? SIGKILL is sent before valid_until in each case: by the timer
 * here; by the guard, if this process does not run; and if redlock wakes up only after valid_until,
 * a group that was stopped with it gets SIGKILL first, not SIGCONT.
 *
 * Can another client hold the lock while the command is being ended? When the lock has not been
 * renewed in time, the timer here sends SIGTERM (on_due), and the lock is kept, and renewed if that
 * becomes possible, until the group is empty. The end does not wait for the library's on_lost: a
 * lock whose loss is reported is released, and nodes that come back would grant it to the next
 * client during the grace. on_lost comes after SIGKILL, or because a majority has lost the keys;
 * then nothing can keep other clients out. Unhealthy work is ended in the same way (health.c). */
#include "run/room.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include "redlock/semaphore.h"
#include "say.h"

#define POLL_MS 20 /* how often a group that is ending is checked */
#define BRIEF_MS 1000
#define BRIEF_GUARDS_MAX 5 /* that many in a row; then none is started */

static uint64_t before(uint64_t until_ns, int64_t ms) {
    uint64_t ns = (uint64_t)ms * NS_PER_MS;
    return until_ns > ns ? until_ns - ns : 0;
}

static const struct rl_args *args_of(const struct rl_work *work) {
    return work->plan.report->args;
}

static int64_t grace_ms(const struct rl_work *work) {
    return rl_args_grace_ms(args_of(work));
}

static uint64_t due_ns(const struct rl_work *work) {
    return before(work->valid_until_ns, RL_WORK_DUE_MS(grace_ms(work)));
}

/* -- The end -- */

static void finish(struct rl_work *work) {
    assert(work->child.is_gone);
    if (work->is_guarded && !work->is_ending && redlock_now_ns() >= due_ns(work)) {
        work->plan.on_due(NULL, work->plan.data); /* redlock was stopped, but the guard was not */
    }
    rl_guard_kill(&work->guard);
    rl_health_close(&work->health);
    work->is_working = false;
    rl_terminal_take(&work->terminal, work->child.pid);
    rl_terminal_close(&work->terminal);
    uv_close((uv_handle_t *)&work->timer, NULL);
    int status = rl_child_exit_status(&work->child);
    work->plan.on_end(work, work->is_unguarded ? RL_EXIT_SYSTEM : status, work->plan.data);
}

static void on_timer(uv_timer_t *timer);

static void wake_in(struct rl_work *work, uint64_t ms) {
    uv_update_time(&work->plan.session->loop);
    uv_timer_start(&work->timer, on_timer, ms, 0);
}

/* Whole milliseconds until then, rounded up. */
static uint64_t ms_until(uint64_t at_ns) {
    uint64_t now_ns = redlock_now_ns();
    return at_ns > now_ns ? (at_ns - now_ns) / NS_PER_MS + 1 : 1;
}

static void kill_if_due(struct rl_work *work) {
    if (work->kill_ns != RL_GUARD_NEVER && redlock_now_ns() >= work->kill_ns) {
        rl_child_signal(&work->child, SIGKILL);
        work->kill_ns = RL_GUARD_NEVER;
    }
}

static void arm(struct rl_work *work) {
    if (work->child.has_ended || work->kill_ns != RL_GUARD_NEVER) {
        uint64_t left_ms = work->kill_ns != RL_GUARD_NEVER ? ms_until(work->kill_ns) : POLL_MS;
        wake_in(work, left_ms < POLL_MS ? left_ms : POLL_MS);
    } else if (work->is_guarded && !work->is_ending) {
        wake_in(work, ms_until(due_ns(work)));
    }
}

/* Only for callbacks of the loop, as their last statement: the work may be over afterwards. */
static void look(struct rl_work *work) {
    kill_if_due(work);
    if (rl_child_is_gone(&work->child)) {
        finish(work);
    } else {
        arm(work);
    }
}

/* -- Loss -- */

static struct rl_guard_word word_of(const struct rl_work *work) {
    uint64_t until_ns = work->valid_until_ns;
    struct rl_guard_word word = {.term_ns = RL_GUARD_NEVER, .kill_ns = RL_GUARD_NEVER};
    if (work->token[0] != '\0') {
        snprintf(word.token, sizeof word.token, "%s", work->token);
        memcpy(word.slots, work->plan.report->slots, sizeof word.slots);
        word.kill_ns = before(until_ns, RL_WORK_GUARD_MS);
        if (!work->is_ending) {
            word.term_ns = before(until_ns, grace_ms(work) + RL_WORK_GUARD_MS);
        }
    }
    return word;
}

static bool move_guard(const struct rl_work *work) {
    struct rl_guard_word word = word_of(work);
    return rl_guard_move(&work->guard, &word);
}

void rl_work_renewed(struct rl_work *work, uint64_t valid_until_ns) {
    if (valid_until_ns > work->valid_until_ns && !work->is_ending) {
        work->valid_until_ns = valid_until_ns;
        move_guard(work);
        arm(work);
    }
}

void rl_work_lost(struct rl_work *work) {
    uint64_t kill_ns = before(work->valid_until_ns, RL_WORK_KILL_MS);
    uint64_t grace_ns = redlock_now_ns() + (uint64_t)grace_ms(work) * NS_PER_MS;
    if (!work->is_guarded || work->is_ending) {
        return;
    }
    work->is_ending = true;
    work->kill_ns = grace_ns < kill_ns ? grace_ns : kill_ns;
    rl_child_signal(&work->child, SIGTERM);
    if (redlock_now_ns() < work->kill_ns) {
        rl_child_signal(&work->child, SIGCONT); /* so that a stopped process can end, too */
    }
    kill_if_due(work);
    move_guard(work);
    arm(work);
}

static void end_early(struct rl_work *work, const char *why) {
    work->plan.on_due(why, work->plan.data);
    rl_work_lost(work);
}

static void on_unhealthy(const char *why, void *data) {
    struct rl_work *work = data;
    if (!work->is_ending) {
        end_early(work, why);
    }
}

static void on_timer(uv_timer_t *timer) {
    struct rl_work *work = timer->data;
    bool is_due = work->is_guarded && !work->is_ending && redlock_now_ns() >= due_ns(work);
    if (is_due && !rl_child_is_gone(&work->child)) {
        end_early(work, NULL);
    } else {
        look(work);
    }
}

/* -- The guard process -- */

/* redlock_release_token(); for a semaphore, of the token's slots. */
static int release(redlock_lock *lock, const struct rl_guard_word *word,
                   struct rl_session *session) {
    const struct rl_args *args = session->args;
    int status =
        args->permits != 0 ? redlock_lock_set_slots(lock, word->slots, (size_t)args->take) : 0;
    status = status == 0 ? redlock_release_token(lock, word->token, rl_session_lock_cb, session)
                         : status;
    return status == 0 ? rl_session_wait(session) : status;
}

/* Runs in the guard. The guard ignores all signals, so the session watches none: libuv's signal
 * descriptors have been closed with the others. */
static void on_orphaned(const struct rl_guard_word *word, void *data) {
    static struct rl_session session;
    const struct rl_work *work = data;
    const char *keys = work->plan.report->keys;
    struct rl_args args = *args_of(work);
    redlock_lock *lock = NULL;
    args.guard = REDLOCK_GUARD_OFF; /* a release need not trust a node */
    args.verbose = false;
    rl_password_look(&args.password); /* this process has not checked the file since it started */
    if (rl_session_open(&session, &args) == 0) {
        int status = rl_session_lock(&session, keys, work->plan.holder, &lock);
        if (status == 0 && (status = release(lock, word, &session)) == 0) {
            rl_say_of(keys, "the lock is released");
        } else if (lock != NULL) {
            rl_say_of(keys, "the lock is not released: %s; it ends with its ttl",
                      rl_session_message(lock));
        }
        rl_session_close(&session, 0);
    }
    explicit_bzero(&args.password, sizeof args.password); /* only the copy; the path belongs to the
                                                             original */
}

static const char *start_guard(struct rl_work *work) {
    struct rl_guard_plan plan = {.group = work->child.pid,
                                 .grace_ms = grace_ms(work),
                                 .on_orphaned = on_orphaned,
                                 .data = work};
    struct rl_guard_word word = word_of(work);
    const char *why = rl_guard_start(&work->guard, &plan, &word);
    work->guarded_ns = redlock_now_ns();
    return why;
}

/* Replaces a guard that was killed and reaped, or is stopped, which is just as bad. */
static void replace_guard(struct rl_work *work, bool is_stopped) {
    bool is_brief = redlock_now_ns() - work->guarded_ns < BRIEF_MS * NS_PER_MS;
    const char *why = "they keep dying";
    rl_guard_stop(&work->guard);
    work->brief_guards = is_brief ? work->brief_guards + 1 : 0;
    if (work->brief_guards < BRIEF_GUARDS_MAX && (why = start_guard(work)) == NULL) {
        rl_report_guard(work->plan.report, is_stopped ? "stopped" : "killed", NULL);
        return;
    }
    rl_report_guard(work->plan.report, is_stopped ? "stopped" : "killed", why);
    if (!work->is_ending) {
        work->is_unguarded = true;
        rl_work_lost(work);
    }
}

/* -- Job control -- */

/* Continues the command after a stop, unless the lock has expired: then it never runs again. */
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
        return; /* SIGSTOP from outside: redlock keeps the lock */
    }
    if (asks && rl_terminal_give(&work->terminal, work->child.pid)) {
        rl_child_signal(&work->child, SIGCONT);
        return;
    }
    work->wants_terminal = asks || work->terminal.is_given;
    rl_terminal_take(&work->terminal, work->child.pid);
    if (!rl_terminal_stop_self(signal_number) && !asks) {
        go_on(work); /* no shell would continue redlock, so a stop makes no sense */
    }
}

/* -- Events -- */

static void reap(struct rl_work *work) {
    int status;
    pid_t pid;
    bool is_unguarded = false, is_stopped = false;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid == work->guard.pid) {
            is_unguarded = true;
            is_stopped = WIFSTOPPED(status);
            if (!is_stopped) {
                rl_guard_forget(&work->guard); /* its pid may be reused from now on */
            }
        } else if (rl_health_reaped(&work->health, pid, status) || pid != work->child.pid) {
            continue; /* a check, or an orphan that redlock has adopted */
        } else if (WIFSTOPPED(status)) {
            on_stopped(work, WSTOPSIG(status));
        } else {
            work->child.has_ended = true;
            work->child.wait_status = status;
        }
    }
    if (is_unguarded && !rl_child_is_gone(&work->child)) {
        replace_guard(work, is_stopped);
    }
    look(work);
}

static void on_signal(int signal_number, void *data) {
    struct rl_work *work = data;
    if (!work->is_working) {
        return; /* rl_work_start() checks the processes itself; after on_end, none is left */
    }
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

/* -- Begin and end -- */

static void drop_both(struct rl_work *work) {
    rl_guard_stop(&work->guard); /* first: it must not signal a group that is gone */
    if (work->child.gate >= 0) {
        rl_child_drop(&work->child);
    }
}

static void open_deaths(struct rl_work *work) {
    static const int list[] = {SIGCHLD, 0};
    assert(!work->is_working);
    if (!work->is_open) {
        *work = (struct rl_work){.plan = work->plan,
                                 .is_guarded = args_of(work)->on_lost != RL_ON_LOST_IGNORE,
                                 .is_open = true,
                                 .child.gate = -1,
                                 .kill_ns = RL_GUARD_NEVER};
        rl_signals_open(&work->deaths, &work->plan.session->loop, list, on_signal, work);
    }
}

static int begin_child(struct rl_work *work) {
    return rl_child_begin(&work->child, args_of(work)->child, work->is_guarded);
}

void rl_work_prepare(struct rl_work *work) {
    open_deaths(work);
    if (begin_child(work) != 0 || (work->is_guarded && start_guard(work) != NULL)) {
        drop_both(work);
    }
}

/* Whether child and guard are waiting, and the guard knows of the grant. */
static bool is_prepared(const struct rl_work *work) {
    return rl_child_is_waiting(&work->child) &&
           (!work->is_guarded || (rl_guard_is_awake(&work->guard) && move_guard(work)));
}

/* Returns 0 or an exit status. */
static int begin_both(struct rl_work *work) {
    drop_both(work);
    int error = begin_child(work);
    if (error != 0) {
        return rl_child_none(error);
    }
    const char *why = work->is_guarded ? start_guard(work) : NULL;
    if (why == NULL) {
        return 0;
    }
    return rl_fail(why == rl_guard_not_ready ? RL_EXIT_LOST : RL_EXIT_SYSTEM,
                   "cannot start a guard process: %s; the command is not started", why);
}

static void set_variables(const struct rl_work *work, const struct rl_grant *grant) {
    const struct rl_report *report = work->plan.report;
    rl_child_set(&work->child, "REDLOCK_KEY", report->keys);
    if (grant->shown != NULL) {
        rl_child_set(&work->child, "REDLOCK_TOKEN", grant->shown);
    }
    rl_child_set(&work->child, "REDLOCK_VALID_MS", rl_text("%" PRId64, grant->valid_ms));
    if (grant->fence != 0) {
        rl_child_set(&work->child, "REDLOCK_FENCE", rl_text("%" PRIu64, grant->fence));
    }
    if (report->n_slots > 0) {
        rl_child_set(&work->child, "REDLOCK_SLOT",
                     rl_token_slots(report->slots, report->n_slots, " "));
    }
}

/* Starts the child at its gate and its guard, then the command. Returns 0 or an exit status. */
static int start_both(struct rl_work *work, const struct rl_grant *grant) {
    int status = is_prepared(work) ? 0 : begin_both(work);
    if (status == 0 && work->is_guarded && redlock_now_ns() >= due_ns(work)) {
        status =
            rl_fail(RL_EXIT_LOST, "starting took too long for the ttl; the command is not started");
    }
    if (status == 0) {
        set_variables(work, grant);
        status = rl_child_go(&work->child);
    }
    if (status != 0) {
        drop_both(work);
    }
    return status;
}

int rl_work_start(struct rl_work *work, const struct rl_grant *grant) {
    static const int list[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, 0};
    open_deaths(work);
    snprintf(work->token, sizeof work->token, "%s", grant->token);
    work->valid_until_ns = grant->valid_until_ns;
    work->plan.session->on_caught = on_signal;
    work->plan.session->caught_data = work;
    rl_signals_open(&work->signals, &work->plan.session->loop, list, on_signal, work);
    int status = start_both(work, grant);
    if (status != 0) {
        rl_work_close(work);
        return status;
    }
    work->guarded_ns = redlock_now_ns();
    work->is_working = true;
    uv_timer_init(&work->plan.session->loop, &work->timer);
    work->timer.data = work;
    rl_terminal_open(&work->terminal);
    work->health =
        (struct rl_health){.report = work->plan.report, .on_unhealthy = on_unhealthy, .data = work};
    rl_health_open(&work->health, &work->plan.session->loop);
    arm(work);
    return 0;
}

void rl_work_close(struct rl_work *work) {
    assert(!work->is_working);
    if (work->is_open) {
        drop_both(work);
        rl_signals_close(&work->signals);
        rl_signals_close(&work->deaths);
        work->is_open = false;
    }
}
