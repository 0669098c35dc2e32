/* A command that runs under a lock, and not longer.
 *
 *     rl_work_start() -> rl_work_renewed() ... -> on_end, once no process of its group is left
 *                     \-> rl_work_lost(): SIGTERM, and SIGKILL at the end of the grace
 *         -> rl_work_close()
 *
 * rl_work_prepare(), called while waiting for the lock, starts what does not need it: the child at
 * its gate, and the guard. A hand-over of the lock is faster than the start of two processes.
 * rl_work_start() uses both if they still run, and else starts them itself. For the same reason
 * on_end comes as soon as the group is empty, and rl_work_close(), which is called after the
 * release was sent, waits for the guard and stops watching the signals.
 *
 * What the lock protects is whatever the command has started, so the work ends when its process
 * group is empty, not when its first process has ended: a command that forks away keeps the
 * lock, as an inherited descriptor does under flock(1).
 *
 * Signals to redlock are passed on to the group. The second SIGINT becomes SIGKILL. A stop from
 * the terminal (Ctrl-Z) stops the command and then redlock itself; when the shell continues
 * redlock, the command goes on only if the lock is still valid.
 *
 * Failure modes: the command cannot be started (an exit status comes back, on_end does not run);
 * SIGTERM is ignored (SIGKILL); redlock is stopped or killed (guard.h); the guard process is killed
 * or stopped: another takes its place, and if there is none, or they die one after the other, the
 * command is terminated as for a loss. Preparation fails, or a prepared process is killed or
 * stopped meanwhile: rl_work_start() begins anew, and reports failures.
 *
 * If redlock is killed, its guard releases the lock once it has ended the command, so that the next
 * holder need not wait for the ttl: with a new client on a new loop, since a client from before the
 * fork() cannot be used. The nodes do not answer: the lock ends with its ttl, and a sentence says
 * so. Can it take the lock from another client? No: the nodes delete only keys with this token, and
 * the token belongs to this grant alone.
 *
 * Can the command begin without the lock, because it was prepared? No: only rl_work_start() opens
 * the child's gate, when the guard runs and knows when the lock ends. rl_work_close() instead, or
 * the death of redlock, ends the child at its gate, and the guard, which has no token.
 *
 * Can the command outlive the lock? SIGKILL goes out before valid_until in each case: by the
 * timer here; by the guard, if this process does not run; and if redlock wakes up only after
 * valid_until, the first thing that happens to a group that was stopped with it is SIGKILL, not
 * SIGCONT.
 *
 * Can another hold the lock while the command is being ended? When the lock has not been renewed in
 * time, SIGTERM goes out by the timer here (on_due), and the lock is kept, and renewed if that is
 * possible after all, until the group is empty. It is not the library's on_lost that begins the
 * end: a lock whose loss is reported is released, and nodes that come back would grant it to the
 * next client during the grace. on_lost comes after SIGKILL, or because a majority has forgotten
 * the keys; then nothing can keep others out. So it is for work that is not well (health.h). */
#ifndef RL_CLI_WORK_H
#define RL_CLI_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "child.h"
#include "guard.h"
#include "health.h"
#include "report.h"
#include "signals.h"
#include "terminal.h"

/* How long before the end of validity each step comes: on_due with SIGTERM, then SIGKILL, then the
 * guard's own. The library's on_lost follows, by its default margin. */
#define RL_WORK_DUE_MS(grace_ms) ((grace_ms) + 200)
#define RL_WORK_KILL_MS 100
#define RL_WORK_GUARD_MS 50

struct rl_work;
/* status: the command's, as a shell has it; RL_EXIT_SYSTEM if it was ended for want of a guard. */
typedef void (*rl_work_cb)(struct rl_work *work, int status, void *data);

struct rl_work_plan {
    uv_loop_t *loop;
    const struct rl_report *report; /* with the arguments: what runs under which lock */
    const char *holder;             /* that is stored with the token */
    void (*on_due)(const char *why, void *data); /* the command is about to be ended; NULL: the lock
                                                    was not renewed in time */
    rl_work_cb on_end;
    void *data;
};

struct rl_grant {
    const char *token; /* the texts need not live on */
    const char *shown; /* REDLOCK_TOKEN; NULL: none. Its slots are those of the report */
    uint64_t fence;    /* 0: none */
    int64_t valid_ms;
    uint64_t valid_until_ns;
};

struct rl_work {
    struct rl_work_plan plan;
    uint64_t valid_until_ns;
    char token[REDLOCK_TOKEN_LENGTH + 1]; /* "": not started */
    struct rl_child child;
    struct rl_guard guard;
    struct rl_health health;
    struct rl_terminal terminal;
    struct rl_signals deaths;  /* SIGCHLD: from when the child begins */
    struct rl_signals signals; /* the others: from when the command does */
    uv_timer_t timer;
    uint64_t kill_ns;    /* when SIGKILL is due, RL_GUARD_NEVER while all is well */
    uint64_t guarded_ns; /* since when the present guard is there */
    int interrupts;      /* SIGINTs */
    int brief_guards;    /* one after the other */
    bool is_guarded;     /* ends with the lock; false for --on-lost=ignore */
    bool is_open;        /* rl_work_close() has to be called */
    bool is_working;     /* between rl_work_start() and on_end */
    bool is_ending;
    bool is_unguarded;   /* ... for want of a guard */
    bool wants_terminal; /* had the foreground when it was stopped */
};

/* Before the first of the others, with work zeroed. What the plan points to must live on. */
void rl_work_init(struct rl_work *work, const struct rl_work_plan *plan);

/* If it cannot be done now, nothing happens. */
void rl_work_prepare(struct rl_work *work);

/* Closes what was prepared or has ended. Without that, or called again, nothing happens. */
void rl_work_close(struct rl_work *work);

/* After rl_work_prepare(), or without. Returns 0 or an exit status. */
int rl_work_start(struct rl_work *work, const struct rl_grant *grant);

/* The lock is valid until then. */
void rl_work_renewed(struct rl_work *work, uint64_t valid_until_ns);

/* The command has to end before the lock does. Ignored without a guard. */
void rl_work_lost(struct rl_work *work);

#endif
