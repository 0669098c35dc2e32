/* --health: a command that says whether the work is well.
 *
 * Happy path: rl_health_open() when the work has begun. After each interval /bin/sh runs the check,
 * in a process group of its own, with the lock's REDLOCK_KEY; its end comes by rl_health_reaped().
 * An exit status of 0 is a sign of life.
 *
 * Failure modes: another status, a signal, a check that cannot be started, and one that still runs
 * when the next is due, which is killed. After HEALTH_FAILURES_MAX in a row on_unhealthy runs.
 *
 * Can a check delay a renewal? No: nothing waits for it. Can a check outlive redlock? No: it has
 * the parent-death signal, as the command has (child.h). Can a check that cannot be killed (its
 * disk hangs) hide a failure? No: its failure counts when it is killed, and again after each
 * interval that it is still there. */
#ifndef RL_CLI_HEALTH_H
#define RL_CLI_HEALTH_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "child.h"
#include "report.h"

struct rl_health_plan {
    uv_loop_t *loop;
    const struct rl_report *report; /* with the arguments */
    void (*on_unhealthy)(const char *why, void *data);
    void *data;
};

struct rl_health {
    struct rl_health_plan plan;
    struct rl_child check;
    uv_timer_t timer;
    int failures; /* in a row */
    bool is_open, is_running;
    bool is_counted; /* the check that runs has failed already */
};

/* Without --health, nothing happens. What the plan points to must live on. */
void rl_health_open(struct rl_health *health, const struct rl_health_plan *plan);

/* A child was waited for. False: it was no check. */
bool rl_health_reaped(struct rl_health *health, pid_t pid, int wait_status);

/* A check that runs is killed, and not waited for. */
void rl_health_close(struct rl_health *health);

#endif
