/* One client of the chaos run, as data: the state that the workers of one process share, and that
 * of each. Its actions are in life.h and work.h; here are its random numbers and its only timer. */
#ifndef CHAOS_WORKER_H
#define CHAOS_WORKER_H

#include <stdbool.h>
#include <uv.h>

#include "journal.h"
#include "settings.h"

#define CHAOS_NAME_SIZE 32

/* Shared by the workers of one process. */
struct chaos_process {
    uv_loop_t loop;
    struct chaos_settings settings;
    struct chaos_journal journal;
    int is_stopping;
    int dies_at_turn; /* ends the whole process silently: SIGUSR1 */
    int open;         /* workers that are not closed yet */
    void (*on_all_closed)(struct chaos_process *process);
    /* permits: which resources have two permits less, as far as this process knows */
    bool is_low[1000];
};

#define CHAOS_TAKE_MAX 3    /* permits of one holder */
#define CHAOS_SLOTS_SIZE 64 /* "0,3,4/5" */

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
    int reads;       /* it waits for the lock, or holds it, as a reader */
    int32_t permits; /* of the semaphore that it waits for or holds; 0: not a semaphore */
    int32_t take;
    int index;                        /* of the resource */
    uint64_t wait_ns;                 /* when the wait for the lock began */
    char paused[REDLOCK_MESSAGE_MAX]; /* why its last attempt failed, if it pauses after one */

    /* One hold. It begins with the grant and ends with exit or lost. */
    int is_working;
    void (*on_worked)(struct chaos_worker *worker);
    int is_lost; /* on_lost has run for this hold */
    enum chaos_plan plan;
    int steps_left;
    int renewals_left;   /* extensions that it still wants */
    int64_t renew_at_ms; /* it extends when this much of its validity is left */
    int convert_at;      /* rwlock: changes its mode with so many steps left; 0: never */
    uint64_t step_ms;
    int is_extending;
    char token[REDLOCK_TOKEN_LENGTH + 1];
    uint64_t asked_ns;       /* when the last attempt or extension was sent */
    uint64_t valid_until_ns; /* as last reported by the library while it was held */
    uint64_t sequence;
    char slots[CHAOS_SLOTS_SIZE];                /* as in the register */
    char kept[CHAOS_TAKE_MAX][CHAOS_SLOTS_SIZE]; /* control kept-slot: its first slots, of this
                                                    number */
    char *set;                                   /* lock-set: what was read, owned */
    size_t set_length;
    int is_changing; /* permits: a change of their number is pending */
    void (*then_changed)(struct chaos_worker *worker);
    int is_closing;
};

/* 0 to below. */
uint64_t chaos_worker_draw(struct chaos_worker *worker, uint64_t below);

/* Calls then after a pause, in place of a pending call. */
void chaos_worker_after(struct chaos_worker *worker, uint64_t ms,
                        void (*then)(struct chaos_worker *worker));

#endif /* CHAOS_WORKER_H */
