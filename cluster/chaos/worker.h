/* One client of the chaos run: a redlock client of its own, which takes a lock, works under it,
 * gives it back and begins again until it is told to stop.
 *
 *   open -> wait -> work -> release -> pause -> wait -> ... -> close
 *              \______\________\_______/  refused, lost, given back
 *
 * Many workers share one loop and one process, but nothing of the library: each has connections of
 * its own, so they exclude each other only over the nodes, as strangers on other machines would.
 *
 * The works under a lock are of three plans, drawn at random:
 *   short     a few writes, as long as work_ms on average; by far the most
 *   extended  about as long as the ttl, kept alive by redlock_extend()
 *   outlast   longer than the ttl and not extended: the lock is lost in the middle on purpose, and
 *             a correct client stops there
 *
 * Can a correct worker act after the end of validity? Every act of a holder goes through
 * worker_act(), which reads the clock first and asks redlock_lock_is_valid() after it, so the time
 * that is recorded lies within the validity. What nothing in a client can prevent is that the
 * process stands still between that question and the write; the order of the lines in the register
 * shows it, and the checker counts it apart.
 */
#ifndef CHAOS_WORKER_H
#define CHAOS_WORKER_H

#include <uv.h>

#include "journal.h"
#include "settings.h"

#define CHAOS_NAME_SIZE 32

/* What the workers of one process share. */
struct chaos_process {
    uv_loop_t loop;
    struct chaos_settings settings;
    struct chaos_journal journal;
    int is_stopping;
    int open; /* workers that are not closed yet */
    void (*on_all_closed)(struct chaos_process *process);
};

enum chaos_plan { CHAOS_SHORT, CHAOS_EXTENDED, CHAOS_OUTLAST };

struct chaos_worker {
    struct chaos_process *process;
    int number; /* 1 and up */
    char name[CHAOS_NAME_SIZE];
    uint64_t random; /* state */
    redlock_client *client;
    redlock_lock *lock; /* NULL between two acquires */
    uv_timer_t timer;   /* the next step, or the end of a pause */
    void (*then)(struct chaos_worker *worker);

    char resource[CHAOS_NAME_SIZE];
    uint64_t wait_ns; /* when the wait for the lock began */

    /* One hold. It begins with the grant and ends with exit or lost. */
    int is_working;
    int is_lost; /* on_lost has run for this hold */
    enum chaos_plan plan;
    int steps_left;
    uint64_t step_ms;
    int is_extending;
    char token[REDLOCK_TOKEN_LENGTH + 1];
    uint64_t valid_until_ns; /* as last told by the library while it was held */
    uint64_t sequence;
    char *set; /* lock-set: what was read, owned */
    size_t set_length;
    int is_closing;
};

void chaos_worker_open(struct chaos_worker *worker, struct chaos_process *process, int number);

/* The present work ends with its next step; then the client is closed. */
void chaos_worker_stop(struct chaos_worker *worker);

/* Counters of the client, into the story. */
void chaos_worker_count(const struct chaos_worker *worker);

/* 0 to below. */
uint64_t chaos_worker_draw(struct chaos_worker *worker, uint64_t below);

/* Calls then after a pause; replaces what was waited for. */
void chaos_worker_after(struct chaos_worker *worker, uint64_t ms,
                        void (*then)(struct chaos_worker *worker));

/* -- between worker.c and work.c -- */

/* The lock is held: work. It ends in chaos_worker_worked(). */
void chaos_work_begin(struct chaos_worker *worker);
/* on_lost ran. */
void chaos_work_lost(struct chaos_worker *worker, int status);
/* The work is over, or ended by a loss: give the lock back. */
void chaos_worker_worked(struct chaos_worker *worker);

#endif /* CHAOS_WORKER_H */
