/* A command that runs under a lock. */
#ifndef RL_CLI_RUN_ROOM_H
#define RL_CLI_RUN_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <uv.h>

#include "args.h"
#include "redlock/redlock.h"
#include "session/room.h"

#define NS_PER_MS UINT64_C(1000000)

/* -- child.c -- */

struct rl_child {
    pid_t pid;       /* also the id of its group; 0: none */
    bool has_ended;  /* the command itself; other processes of its group may live on */
    bool is_gone;    /* no process of the group is left */
    int wait_status; /* once it has ended */
    int gate;        /* redlock's end of it; -1: the child has passed it, or there is none */
    const char *name;
};

/* argv ends with NULL. dies_with_us: the kernel kills the command's first process when redlock
 * dies. Returns 0 with the child waiting at its gate, or the errno of the failure. */
int rl_child_begin(struct rl_child *child, char *const *argv, bool dies_with_us);

/* Whether the child waits at its gate, neither ended nor stopped. */
bool rl_child_is_waiting(const struct rl_child *child);

/* Sets a variable in the command's environment, which is otherwise redlock's. */
void rl_child_set(const struct rl_child *child, const char *name, const char *value);

/* The child becomes the command. Returns 0, or an exit status after reporting why not; then no
 * process of the group is left. */
int rl_child_go(struct rl_child *child);

/* Reports why the process could not be started. Returns the exit status. */
int rl_child_none(int error);

/* Instead of rl_child_go(): ends the child before it becomes the command. */
void rl_child_drop(struct rl_child *child);

/* Sends the signal to every process of the group. */
void rl_child_signal(const struct rl_child *child, int signal_number);

/* Whether no process of the group is left. */
bool rl_child_is_gone(struct rl_child *child);

/* The command's exit status as a shell reports it: 128 + n for signal n. */
int rl_child_exit_status(const struct rl_child *child);

/* -- report.c -- */

struct rl_report {
    const struct rl_args *args;
    FILE *file; /* of JSON */
    const char *keys;
    int32_t slots[REDLOCK_TAKE_MAX]; /* of a semaphore: the slots of the last grant */
    size_t n_slots;
};

/* token may be NULL. fence: 0 for none. */
void rl_report_acquired(const struct rl_report *report, const char *token, uint64_t fence,
                        int64_t valid_ms);
/* Only with --json: the terminal shows it already. */
void rl_report_refused(const struct rl_report *report, int status, const char *message);
void rl_report_renewed(const struct rl_report *report, int status, int64_t valid_ms);
/* Why a lock that is still held was not renewed: message, with "success" replaced by that reason.
 * Valid as long as an rl_text(). */
const char *rl_report_not_renewed(const char *message);
/* Always reported: without --json and --verbose, as text on stderr. */
void rl_report_lost(const struct rl_report *report, int status, const char *message,
                    const char *then);
/* The lock was lost to a kick; message: by whom and why. Always reported. */
void rl_report_kicked(const struct rl_report *report, const char *message);
/* The guard process was "killed" or "stopped". why_no_other: why no guard replaces it; NULL: one
 * does. Always reported. */
void rl_report_guard(const struct rl_report *report, const char *what, const char *why_no_other);
/* A check of --health failed, for the given number of times in a row. */
void rl_report_unhealthy(const struct rl_report *report, const char *how, int failures, int most);
void rl_report_ended(const struct rl_report *report, int exit_status);
void rl_report_released(const struct rl_report *report, int status, const char *message);

/* -- guard.c -- */

#define RL_GUARD_NEVER UINT64_MAX

struct rl_guard {
    pid_t pid; /* 0: none */
    int channel;
};

/* When the guard sends the group SIGTERM and SIGKILL, in time of redlock_now_ns(). RL_GUARD_NEVER:
 * never. */
struct rl_guard_word {
    uint64_t term_ns;
    uint64_t kill_ns;
    char token[REDLOCK_TOKEN_LENGTH + 1]; /* of the grant; "": no grant yet */
    int32_t slots[REDLOCK_TAKE_MAX];      /* of the grant, for a semaphore: --take of them */
};

struct rl_guard_plan {
    pid_t group;
    int64_t grace_ms; /* between the two signals if redlock is dead */

    /* Runs in the guard, once redlock is dead and the group is empty. After RL_GUARD_LAST_S, the
     * guard ends in any case. */
    void (*on_orphaned)(const struct rl_guard_word *word, void *data);
    void *data;
};

#define RL_GUARD_LAST_S 10

/* The reason that rl_guard_start() returns on a machine that is too busy: a later attempt may
 * succeed. */
extern const char rl_guard_not_ready[];

/* Starts the guard and waits until it is ready. Returns NULL, or why there is none: a clause. */
const char *rl_guard_start(struct rl_guard *guard, const struct rl_guard_plan *plan,
                           const struct rl_guard_word *word);
/* Moves the guard's deadlines. False: it did not get the message. If it is dead or stopped, SIGCHLD
 * reports that, too. */
bool rl_guard_move(const struct rl_guard *guard, const struct rl_guard_word *word);
/* Whether the guard runs, neither ended nor stopped. */
bool rl_guard_is_awake(const struct rl_guard *guard);
/* The first half of rl_guard_stop(), which must still be called: does not wait for the guard's
 * end. */
void rl_guard_kill(const struct rl_guard *guard);
/* Ends the guard, even if it is stopped. Without a guard, it does nothing. */
void rl_guard_stop(struct rl_guard *guard);
/* Instead of rl_guard_stop(), for a guard that has been reaped. */
void rl_guard_forget(struct rl_guard *guard);

/* -- health.c -- */

struct rl_health {
    const struct rl_report *report; /* with the arguments */
    void (*on_unhealthy)(const char *why, void *data);
    void *data;
    struct rl_child check;
    uv_timer_t timer;
    int failures; /* in a row */
    bool is_open, is_running;
    bool is_counted; /* the running check has already counted as failed */
};

/* health: its first three members are set, and what they point to must live on. Without --health,
 * it does nothing. */
void rl_health_open(struct rl_health *health, uv_loop_t *loop);

/* A child was reaped. False: it was not a check. */
bool rl_health_reaped(struct rl_health *health, pid_t pid, int wait_status);

/* Kills a running check, and does not wait for it. */
void rl_health_close(struct rl_health *health);

/* -- plan.c -- */

/* Checks that the ttl leaves time to renew the lock, and to end the command. Returns 0 or an exit
 * status. */
int rl_plan_check_ttl(const struct rl_args *args);

/* Removes from redlock's environment, which the command inherits, the variables of another lock,
 * and the passwords in REDLOCK_NODES unless --keep-passwords is given; a list that cannot be parsed
 * is removed as a whole. Returns 0 or an exit status. */
int rl_plan_begin(const struct rl_args *args);

/* -- work.c -- */

/* How long before the end of validity each step comes: on_due with SIGTERM, then SIGKILL, then the
 * guard's signals. The library's on_lost follows, by its default margin. */
#define RL_WORK_DUE_MS(grace_ms) ((grace_ms) + 200)
#define RL_WORK_KILL_MS 100
#define RL_WORK_GUARD_MS 50

struct rl_work;
/* status: the command's, as a shell reports it; RL_EXIT_SYSTEM if it was ended because no guard was
 * left. */
typedef void (*rl_work_cb)(struct rl_work *work, int status, void *data);

struct rl_work_plan {
    struct rl_session *session;
    const struct rl_report *report; /* with the arguments: which command runs under which lock */
    const char *holder;             /* stored with the token */
    void (*on_due)(const char *why, void *data); /* the command is about to be ended, because `why`;
                                                    NULL: the lock was not renewed in time */
    rl_work_cb on_end;
    void *data;
};

struct rl_grant {
    const char *token; /* the texts need not live on */
    const char *shown; /* REDLOCK_TOKEN; NULL: none. Its slots are in the report */
    uint64_t fence;    /* 0: none */
    int64_t valid_ms;
    uint64_t valid_until_ns;
};

struct rl_work {
    struct rl_work_plan plan; /* set by the owner beforehand; what it points to must live on */
    uint64_t valid_until_ns;
    char token[REDLOCK_TOKEN_LENGTH + 1]; /* "": not started */
    struct rl_child child;
    struct rl_guard guard;
    struct rl_health health;
    struct rl_terminal terminal;
    struct rl_signals deaths;  /* SIGCHLD, from the child's start on */
    struct rl_signals signals; /* from the command's start on; the session watches the others */
    uv_timer_t timer;
    uint64_t kill_ns;    /* when SIGKILL is due; RL_GUARD_NEVER: it is not */
    uint64_t guarded_ns; /* when the present guard was started */
    int interrupts;      /* SIGINTs */
    int brief_guards;    /* in a row, see work.c */
    bool is_guarded;     /* the command ends with the lock; false for --on-lost=ignore */
    bool is_open;        /* rl_work_close() has to be called */
    bool is_working;     /* between rl_work_start() and on_end */
    bool is_ending;
    bool is_unguarded;   /* it ends because no guard is left */
    bool wants_terminal; /* had, or wanted, the foreground when it was stopped */
};

/* Starts the child and the guard in advance, if it can. */
void rl_work_prepare(struct rl_work *work);

/* Closes what was prepared or has ended. If nothing was, or if it is called again, it does
 * nothing. */
void rl_work_close(struct rl_work *work);

/* Starts the command, with or without an earlier rl_work_prepare(). Returns 0 or an exit status. */
int rl_work_start(struct rl_work *work, const struct rl_grant *grant);

/* The lock was renewed and is valid until then. */
void rl_work_renewed(struct rl_work *work, uint64_t valid_until_ns);

/* Ends the command before the lock's validity ends. Ignored without a guard. */
void rl_work_lost(struct rl_work *work);

#endif
