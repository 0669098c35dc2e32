/* The implementation of blocking.h: callers in any thread, and a loop that does the work.
 *
 * A call fills in an rl_ask on its own stack, puts it into the client's list and sleeps on the
 * ask's own semaphore. The thread that runs the loop takes the list, uses the asynchronous API
 * (redlock.h, and otherwise only client/recipe.h), and answers each ask once, at once or in a
 * callback of that API.
 *
 *     caller                  gate (a mutex)              thread with the wheel
 *     rl_ask_send() ------->  asks           ---------->  ask->run(ask)
 *     sem_wait()  <-------------------------------------  rl_ask_answer(ask, status)
 *
 * Which thread runs the loop? The client's own thread, the loop thread; or, while callers come one
 * by one, the caller itself while it waits. drive.c says when, and why. `wheel`, protected by the
 * gate, says which thread has the wheel: the loop thread, one caller, or briefly none.
 *
 * The gate is never closed while a thread is woken or a system call is made, or the woken thread
 * would find it closed and sleep again.
 *
 * Memory is protected in three ways:
 *   - by the gate: the list of asks, wheel, is_asleep, is_closing, is_open, is_down, a mutex's
 *     message, and a hold's grant;
 *   - only the thread with the wheel: the client, the loop, the list of mutexes, the answers that
 *     are not delivered yet, and the rest of each hold;
 *   - atomics: the list of a mutex's holds, the validity of each, and the references.
 * An ask belongs to its caller until it is in the list, then to the thread with the wheel until
 * sem_post(), then to the caller again.
 *
 * Can two threads have the wheel? No: it changes hands only under the gate. A caller takes a free
 * wheel in the call that puts its ask into the list, and returns it, to the loop thread or to none,
 * as its last step with the loop. The loop thread frees the wheel only outside of uv_run()
 * (rl_drive_rest()), and enters that again only when it has the wheel.
 *
 * Can a wake-up be lost? No. Before a thread waits in the loop it closes the gate, takes the list,
 * and sets is_asleep. An ask that was put into the list before that is run now. A caller that adds
 * one after that finds is_asleep, clears it, and calls rl_loop_thread_wake(), which ends this wait
 * or the next. After each wait, whatever ended it, the list is taken and is_asleep cleared, so an
 * ask that is added while there is work to do is run before the next wait, without a wake-up. A
 * caller that has cleared is_asleep but not yet called rl_loop_thread_wake() is about to call it;
 * later callers rely on that.
 *
 * Can an ask be left behind when the wheel changes hands? No. A caller that returns the wheel
 * checks under the gate: if any asks are unanswered, including those in the list, the loop thread
 * gets the wheel, is woken, and begins with the list. Otherwise the wheel is free, and the caller
 * of the next ask takes it, or calls the loop thread.
 *
 * Can the loop thread sleep while it has the wheel? No: it waits for `changed`, with the gate
 * closed between its check of `wheel` and its sleep, and checks again after REST_MS.
 *
 * Can code of the program run in a caller's thread, inside the library? No: if there is any such
 * code, the wheel is never free (may_drive() of drive.c). And if a mutex with on_lost is made while
 * a caller has the wheel, the caller takes nothing more out of the list, and leaves: the loop
 * thread runs the asks that lock it. It also runs the ask that closes the client.
 *
 * Can an answer be kept back? Only from the end of a wait until everything that arrived is
 * processed, to wake all callers together (rl_ask_tell()): before the next wait, before the user's
 * on_lost, before the wheel changes hands, and at the end of the loop. At all other times it is
 * delivered at once.
 *
 * Can a call wait for ever? No. Each ask is either answered where it is run, or stored in the one
 * place (ask or extend of a hold) from which the callback of the asynchronous API answers it, and
 * those callbacks run exactly once, even when the client is closed. Closing sets is_closing under
 * the gate: later asks are refused there, and asks that were in the list precede the one that
 * closes.
 *
 * Can an ask be answered twice, or after its caller has left? No. The place is emptied before the
 * answer, and rl_ask_answer() requires that it is the first. The caller leaves only when the
 * semaphore lets it through, and sem_post() is the last operation on an ask: POSIX allows a thread
 * to destroy a semaphore that has let it through, whether or not sem_post() has returned. A waiting
 * thread cannot be cancelled (its stack would be freed).
 *
 * Can a mutex be freed while a callback uses it? No. It is freed only after an ask of its own,
 * which runs in the loop, as all callbacks do, and which is refused while an ask is stored in a
 * hold. With no ask stored, no callback can follow except on_lost and on_renew, which
 * redlock_lock_free() cancels. While the client closes, a mutex is freed only after the loop thread
 * has ended its work.
 *
 * Can a hold be freed while a thread reads its validity? No: a mutex's holds are added and reused,
 * and freed only with the mutex, by the thread that frees it.
 *
 * Can the client be freed while a thread is inside? No: references are counted, one for the opener,
 * one for each mutex, one for each call. The loop thread has none: the closer joins it before it
 * drops its own. The descriptor that wakes the loop is closed with the last reference.
 */
#ifndef RL_BLOCKING_STATE_H
#define RL_BLOCKING_STATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fork.h"
#include "base/list.h"
#include "redlock/blocking.h"
#include "redlock/rwlock.h"
#include "redlock/semaphore_blocking.h"
#include "uv/loop_thread.h"

/* What a redlock_mutex is for its user. */
enum rl_kind {
    RL_KIND_MUTEX,
    RL_KIND_RWLOCK,   /* redlock_rwlock: several owners may hold it at one time, as readers */
    RL_KIND_SEMAPHORE /* redlock_semaphore: holds permits, and cannot be locked again meanwhile */
};

struct rl_mutex_options {
    enum rl_kind kind;
    redlock_acquire_options acquire; /* all but the timeout, the owner and the callbacks */
    uint64_t owner;                  /* as in redlock_mutex_options */
    bool has_on_lost;
    union {
        redlock_mutex_cb mutex;
        redlock_rwlock_cb rwlock;
        redlock_semaphore_cb semaphore;
    } on_lost; /* by kind */
    void *lost_data;
};

/* What a mutex is made from, and the mutex. */
struct rl_making {
    const redlock_lock_options *target;
    struct rl_mutex_options options;
    char *error; /* where the sentence of a failure goes, or NULL */
    size_t error_size;
    redlock_mutex *made;
};

/* A waiting call; on its caller's stack. */
struct rl_ask {
    void (*run)(struct rl_ask *ask); /* by the thread with the wheel; ensures an answer */
    redlock_blocking *blocking;
    redlock_mutex *mutex;
    uint64_t owner;
    uint64_t asked_ns;
    int64_t ms; /* the timeout of a lock, the ttl of an extension; of metrics their length */
    enum redlock_mode mode; /* of a lock */
    bool is_slow;           /* the lock pauses once in all of its time */
    redlock_stats *stats;   /* where statistics go */
    enum redlock_metrics_text metrics;
    struct rl_making *making;
    int attempt; /* of a lock: redlock_lock_attempt_status() */
    char *text;  /* where a sentence goes, or NULL */
    size_t text_size;
    struct rl_queued queued; /* among those that were sent, or answered */
    sem_t answered;
    int status; /* the answer */
    bool is_done;
};

/* The part of a hold that every thread may read: see valid.h. */
struct rl_valid {
    _Atomic uint64_t until_ns; /* 0: not held */
    _Atomic uint64_t owner;    /* its owner, even after a loss, until the unlock; 0: none */
};

struct rl_grant {
    char token[REDLOCK_TOKEN_LENGTH + 1];
    uint64_t fence;
    int32_t slots[REDLOCK_TAKE_MAX]; /* REDLOCK_NO_SLOT ends them */
};

/* One lock object of a mutex. Owners that want the mutex at one time have one each; they are kept
 * and reused. Only for the thread with the wheel, unless stated otherwise.
 *
 *     free:      depth 0, ask NULL
 *     locking:   depth 0, ask set
 *     held:      depth 1 or more; is_lost: it was, and the owner has not unlocked it as often
 *     unlocking: depth 0, ask set, is_unlocking
 */
struct rl_hold {
    redlock_mutex *mutex; /* this and the next: never changed */
    struct rl_hold *next;
    struct rl_valid valid;
    redlock_lock *lock;
    enum redlock_mode made; /* the lock object's mode; after a downgrade the hold's mode differs */
    struct rl_ask *ask;     /* the ask that waits for an acquire or a release */
    struct rl_ask *extend;  /* the ask that waits for an extension, or a change of mode */
    uint64_t owner;
    uint32_t depth;
    bool is_lost;
    bool is_unlocking;
    struct rl_grant grant; /* by the gate */
};

/* A mutex, a read/write lock (rwlock.c) or a holder of permits (semaphore.c). */
struct redlock_mutex {
    redlock_blocking *blocking;
    struct rl_mutex_options options;
    uint64_t own_owner; /* 0: the calling thread's */
    uint64_t number;    /* of this object, never reused */
    _Atomic(struct rl_hold *) holds;
    /* By the gate. */
    char message[REDLOCK_MESSAGE_MAX];
    /* By the loop thread. */
    struct rl_link link;        /* all mutexes of the client */
    const struct rl_hold *lost; /* while on_lost runs for it */
};

/* Which thread runs the loop. */
enum rl_wheel { RL_WHEEL_THREAD, RL_WHEEL_CALLER, RL_WHEEL_FREE };

struct redlock_blocking {
    redlock_allocator memory;
    struct rl_fork fork; /* of the process that opened it */
    struct rl_loop_thread *thread;
    _Atomic uint32_t references;

    pthread_mutex_t gate;
    pthread_cond_t changed; /* is_open, is_down, or wheel to RL_WHEEL_THREAD */
    struct rl_queue asks;   /* that were sent, and not taken yet */
    uint64_t sent;          /* asks, ever */
    bool is_asleep;         /* a new ask must wake the thread with the wheel */
    enum rl_wheel wheel;
    uint64_t stints; /* of callers that had the wheel */
    uint64_t due_ns; /* while the wheel is free: the first timer of the loop */
    bool is_open;    /* opening has ended, with open_status */
    bool is_closing;
    bool is_down; /* the loop thread no longer touches anything */
    int open_status;
    int begin_status; /* the thread's: whether there is a client */

    const redlock_client_options *options; /* the opener's, while it waits */
    redlock_client *client;
    struct rl_list mutexes;
    struct rl_queue answers; /* answered asks whose callers are not woken yet */
    bool keeps_answers;
    uint64_t answered;   /* asks, ever */
    uint64_t considered; /* the value of `answered` when callers were last counted */
    uint32_t alone;      /* how often in a row no other caller was waiting */
    uint32_t listeners;  /* mutexes with on_lost */
    bool has_own_code;   /* a trace hook or an allocator of the program */
    bool leaves;         /* a caller that has the wheel must return it */

    _Atomic(const void *) driver; /* the thread that has the wheel, for assertions */
};

#endif
