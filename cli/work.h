/* A command that runs under a lock, and not a moment longer.
 *
 *     rl_work_start() -> rl_work_renewed() ... -> on_end, once nobody of its group is left
 *                     \-> rl_work_lost(): SIGTERM, and SIGKILL at the end of the grace
 *
 * What the lock protects is whatever the command has started, so the work ends when its process
 * group is empty, not when its first process has ended: a command that forks away keeps the
 * lock, as an inherited descriptor does under flock(1).
 *
 * Signals to redlock are passed on to the group. The second SIGINT becomes SIGKILL. A stop from
 * the terminal (Ctrl-Z) stops the command and then redlock itself; when the shell continues
 * redlock, the command goes on only if the lock is still valid.
 *
 * Failure modes: the command cannot be started (an exit status comes back, on_end does not
 * run); SIGTERM is ignored (SIGKILL); redlock is stopped or killed (guard.h).
 *
 * Can the command outlive the lock? SIGKILL goes out before valid_until in each case: by the
 * timer here; by the guard, if this process does not run; and if redlock wakes up only after
 * valid_until, the first thing that happens to a group that was stopped with it is SIGKILL, not
 * SIGCONT. */
#ifndef RL_CLI_WORK_H
#define RL_CLI_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "child.h"
#include "guard.h"
#include "signals.h"
#include "terminal.h"

/* How long before the end of validity each step comes: on_lost (lost_margin_ms), then SIGKILL, then
 * the guard's own. */
#define RL_WORK_LOST_MS(grace_ms) ((grace_ms) + 200)
#define RL_WORK_KILL_MS 100
#define RL_WORK_GUARD_MS 50

struct rl_work;
/* status: the command's, as a shell has it. */
typedef void (*rl_work_cb)(struct rl_work *work, int status, void *data);

struct rl_work {
    uv_loop_t *loop;
    struct rl_child child;
    struct rl_guard guard;
    struct rl_terminal terminal;
    struct rl_signals signals;
    uv_timer_t timer;
    uint64_t valid_until_ns;
    uint64_t kill_ns; /* when SIGKILL is due, RL_GUARD_NEVER while all is well */
    int64_t grace_ms;
    int interrupts;      /* SIGINTs */
    bool is_guarded;     /* ends with the lock */
    bool wants_terminal; /* had the foreground when it was stopped */
    rl_work_cb on_end;
    void *data;
};

/* variables: see child.h. is_guarded: false for --on-lost=ignore. Returns 0 or an exit status. */
int rl_work_start(struct rl_work *work, uv_loop_t *loop, char *const *argv,
                  const char *const *variables, uint64_t valid_until_ns, int64_t grace_ms,
                  bool is_guarded, rl_work_cb on_end, void *data);

/* The lock is valid until then. */
void rl_work_renewed(struct rl_work *work, uint64_t valid_until_ns);

/* The command has to end before the lock does. */
void rl_work_lost(struct rl_work *work);

#endif
