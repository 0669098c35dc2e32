/* --health: a command that checks whether the work is healthy.
 *
 * Happy path: rl_health_open() when the work has begun. After each interval, /bin/sh runs the
 * check, in its own process group, with the lock's REDLOCK_KEY; rl_health_reaped() reports its end.
 * An exit status of 0 means healthy.
 *
 * Failure modes: the check ends with another status or by a signal, cannot be started, or still
 * runs when the next one is due, and is killed. After HEALTH_FAILURES_MAX failures in a row,
 * on_unhealthy runs.
 *
 * Can a check delay a renewal? No: nothing waits for it. Can a check outlive redlock? No: like the
 * command, it has the parent-death signal (child.c). Can a check that cannot be killed (its disk
 * hangs) hide a failure? No: its failure counts when it is killed, and again after each interval in
 * which it still exists. */
#include "run/room.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "say.h"

#define HEALTH_FAILURES_MAX 3

static const struct rl_args *args_of(const struct rl_health *health) {
    return health->report->args;
}

static void failed(struct rl_health *health, const char *how) {
    health->failures++;
    rl_report_unhealthy(health->report, how, health->failures, HEALTH_FAILURES_MAX);
    if (health->failures == HEALTH_FAILURES_MAX) {
        uv_timer_stop(&health->timer); /* the command is being ended */
        health->on_unhealthy(rl_text("--health failed %d times in a row, the last time: %s",
                                     HEALTH_FAILURES_MAX, how),
                             health->data);
    }
}

/* SIGCHLD reports the child's exit, even if it could not become the shell. */
static void begin(struct rl_health *health) {
    const char *const argv[] = {"/bin/sh", "-c", args_of(health)->health, NULL};
    union {
        const char *const *text;
        char *const *argv;
    } of = {argv}; /* the type that execvp() takes */
    health->is_counted = false;
    const int error = rl_child_begin(&health->check, of.argv, true);
    if (error != 0) {
        failed(health, strerror(error));
        return;
    }
    rl_child_set(&health->check, "REDLOCK_KEY", health->report->keys);
    health->is_running = rl_child_go(&health->check) == 0;
    if (!health->is_running) {
        failed(health, "/bin/sh cannot be run");
    }
}

static void on_timer(uv_timer_t *timer) {
    struct rl_health *health = timer->data;
    if (!health->is_running) {
        begin(health);
        return;
    }
    rl_child_signal(&health->check, SIGKILL);
    health->is_counted = true;
    failed(health,
           rl_text("it ran for longer than %s", rl_say_exact(args_of(health)->health_interval_ms)));
}

void rl_health_open(struct rl_health *health, uv_loop_t *loop) {
    if (args_of(health)->health != NULL) {
        const uint64_t interval_ms = (uint64_t)args_of(health)->health_interval_ms;
        health->is_open = true;
        uv_timer_init(loop, &health->timer);
        health->timer.data = health;
        uv_update_time(loop);
        uv_timer_start(&health->timer, on_timer, interval_ms, interval_ms);
    }
}

bool rl_health_reaped(struct rl_health *health, pid_t pid, int wait_status) {
    if (!health->is_running || pid != health->check.pid) {
        return false;
    }
    if (WIFSTOPPED(wait_status)) {
        return true; /* it will take too long */
    }
    health->is_running = false;
    if (health->is_counted) {
        return true;
    }
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
        health->failures = 0;
        return true;
    }
    failed(health, WIFSIGNALED(wait_status)
                       ? rl_text("ended by %s", strsignal(WTERMSIG(wait_status)))
                       : rl_text("status %d", WEXITSTATUS(wait_status)));
    return true;
}

void rl_health_close(struct rl_health *health) {
    if (health->is_open) {
        health->is_open = false;
        uv_close((uv_handle_t *)&health->timer, NULL);
        if (health->is_running) {
            rl_child_signal(&health->check, SIGKILL);
            health->is_running = false;
        }
    }
}
