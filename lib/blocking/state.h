/* The inside of blocking.h: callers of any thread, and a loop that does the work.
 *
 * A call fills in an rl_ask on its own stack, puts it into the client's list and sleeps on the
 * ask's own semaphore. Who runs the loop takes the list, uses the asynchronous API (redlock.h, and
 * of the rest only what client/recipe.h has), and answers each ask once, at once or in a callback
 * of that API.
 *
 *     caller                  gate (a mutex)              who has the wheel
 *     rl_ask_send() ------->  first .. last  ---------->  ask->run(ask)
 *     sem_wait()  <-------------------------------------  rl_ask_answer(ask, status)
 *
 * Who runs the loop? The client's own thread, the loop thread; or, while callers come one by one,
 * the caller himself while he waits: drive.c says when, and why. That is `wheel`, by the gate: the
 * loop thread, one caller, or nobody for a moment.
 *
 * The gate is never closed while a thread is woken or a system call is made: a thread that is woken
 * would find it closed, and sleep again.
 *
 * Three kinds of memory, and who may touch what:
 *   - by the gate: the list of asks, wheel, is_asleep, is_closing, is_open, is_down, a mutex's
 *     message, and a hold's token, fence and slots;
 * - by who has the wheel alone: the client, the loop, the list of mutexes, the answers that are
 * not
 *     told yet, and of holds the rest;
 *   - atomics: the list of a mutex's holds, the validity of each, and the references.
 * An ask is its caller's until it is in the list, then that of who has the wheel until sem_post(),
 * then the caller's again.
 *
 * Can two threads have the wheel? It changes hands under the gate only. A caller takes it when it
 * is free, by the call that puts his ask into the list, and gives it back, to the loop thread or
 * to nobody, as the last that he does with the loop. The loop thread makes it free only outside of
 * uv_run() (rl_drive_rest()), and goes back into it only when it has it again.
 *
 * Can a wake-up be lost? Before a thread waits in the loop it closes the gate, takes the list, and
 * says is_asleep. An ask that is put into the list before that is run now. Who puts one into it
 * after that finds is_asleep, takes it back, and calls rl_loop_thread_wake(): the wait that comes
 * ends, or the next one. After each wait, for whatever reason it has ended, the list is taken, and
 * is_asleep taken back: an ask that is put into it while there is work to do is run before the
 * next wait, and nobody has to wake anybody. One who took is_asleep back, and has not come to
 * rl_loop_thread_wake(), is about to call it; those who come after him rely on it.
 *
 * Can an ask be left behind when the wheel changes hands? A caller who gives it back counts under
 * the gate: if there are asks that were sent and not answered, also those in the list, it is the
 * loop thread's, which is told so, and begins with the list. If there are none it is free, and who
 * puts the next one into the list takes it, or calls the loop thread.
 *
 * Can the loop thread sleep while it has the wheel? It waits for `changed`, with the gate closed
 * between its look at `wheel` and its sleep, and looks itself after RL_REST_MS.
 *
 * Can code of the program run in a caller's thread, inside the library? No: where there is any, the
 * wheel is never free (may_drive() of wheel.c). And if a mutex with on_lost is made while a caller
 * has the wheel, he takes nothing more out of the list, and leaves: what locks it is run by the
 * loop thread. So is what closes the client.
 *
 * Can an answer be kept back? From the end of a wait until all that came was dealt with, to wake
 * their callers in one go (rl_ask_tell()): before the next wait, before the user's on_lost, before
 * the wheel changes hands, and at the end of the loop. At all other times it is told at once.
 *
 * Can a call wait for ever? Each ask is either answered where it is run, or stored in the one
 * place (ask or extend of a hold) out of which the callback of the asynchronous API answers it,
 * and those callbacks run exactly once, also when the client is closed. Closing sets is_closing
 * under the gate: what comes later is refused there, and what was in the list is before the ask
 * that closes.
 *
 * Can an ask be answered twice, or after its caller has gone? The place is emptied before the
 * answer, and rl_ask_answer() requires that it is the first. The caller leaves only when the
 * semaphore lets him, and sem_post() is the last that is done with an ask: POSIX lets a thread
 * destroy a semaphore that has let it through, whether or not sem_post() has returned. A thread
 * that waits cannot be cancelled (its stack would go).
 *
 * Can a mutex go while a callback uses it? It is freed only after an ask of its own, which runs
 * in the loop, as all callbacks do, and which is refused while an ask is stored in a hold.
 * With no ask stored no callback is to come but on_lost and on_renew, which redlock_lock_free()
 * takes back. While the client closes, a mutex is freed only once the loop thread has ended its
 * work.
 *
 * Can a hold go while a thread looks at its validity? No: a mutex's holds are added, used again,
 * and freed with the mutex, by the thread that frees it.
 *
 * Can the client go while a thread is inside? It is counted: one reference for the opener, one
 * for each mutex, one for each call. The loop thread has none, the closer joins it before it
 * drops its own. The descriptor by which the loop is woken goes with the last one.
 */
#ifndef RL_BLOCKING_STATE_H
#define RL_BLOCKING_STATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fork.h"
#include "redlock/blocking.h"
#include "uv/loop_thread.h"

/* What a mutex is made from, and the mutex. */
struct rl_making {
    const redlock_lock_options *target;
    const redlock_mutex_options *options;
    size_t size;    /* of what begins with a redlock_mutex */
    bool is_both;   /* its holds may be of either mode: a read/write lock */
    bool is_permit; /* it holds permits (semaphore.c) */
    redlock_mutex *made;
};

/* A call that waits; on its caller's stack. */
struct rl_ask {
    void (*run)(struct rl_ask *ask); /* by who has the wheel; it sees to the answer */
    redlock_blocking *blocking;
    redlock_mutex *mutex;
    uint64_t owner;
    uint64_t asked_ns;
    int64_t ms; /* the timeout of a lock, the ttl of an extension; of metrics their length */
    enum redlock_mode mode; /* of a lock */
    redlock_stats *stats;   /* where these go */
    enum redlock_metrics_text metrics;
    struct rl_making *making;
    int attempt; /* of a lock: redlock_lock_attempt_status() */
    char *text;  /* where a sentence goes, or NULL */
    size_t text_size;
    struct rl_ask *next; /* that was sent, or answered, after it */
    sem_t answered;
    int status; /* the answer */
    bool is_done;
};

/* What every thread may see of a hold: see valid.h. */
struct rl_valid {
    _Atomic uint64_t until_ns; /* 0: not held */
    _Atomic uint64_t owner;    /* who holds it, or has lost it and not unlocked; 0: none */
};

/* One lock object of a mutex. Owners that want the mutex at one time have one each; they are kept
 * and used again. By who has the wheel only, where it says nothing else.
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
    enum redlock_mode made; /* what the lock object is for; downgraded, it is held in the other */
    struct rl_ask *ask;     /* that waits for an acquire or a release */
    struct rl_ask *extend;  /* that waits for an extension, or another mode */
    uint64_t owner;
    uint32_t depth;
    bool is_lost;
    bool is_unlocking;
    /* By the gate. */
    char token[REDLOCK_TOKEN_LENGTH + 1];
    uint64_t fence;                  /* of the same grant */
    int32_t slots[REDLOCK_TAKE_MAX]; /* too; behind them REDLOCK_NO_SLOT */
};

/* A mutex, or what a read/write lock (rwlock.c) begins with: then several owners may hold it at
 * one time, as readers; or a holder of permits (semaphore.c). Behind each: the resources, then
 * their bytes, then the holder's name. */
struct redlock_mutex {
    redlock_blocking *blocking;
    redlock_mutex_options options;
    uint64_t own_owner; /* 0: the thread's that calls */
    uint64_t number;    /* of this object, no other's before or after */
    bool is_permit;     /* its owner does not lock it again while he holds it */
    _Atomic(struct rl_hold *) holds;
    /* By the gate. */
    char message[REDLOCK_MESSAGE_MAX];
    /* By the loop thread. */
    redlock_mutex *next;
    redlock_mutex *previous;
    const struct rl_hold *lost; /* while on_lost runs for it */
    redlock_lock_options target;
};

/* Who runs the loop. */
enum rl_wheel { RL_WHEEL_THREAD, RL_WHEEL_CALLER, RL_WHEEL_FREE };

struct redlock_blocking {
    redlock_allocator memory;
    struct rl_fork fork; /* of the process that opened it */
    struct rl_loop_thread *thread;
    _Atomic uint32_t references;

    pthread_mutex_t gate;
    pthread_cond_t changed; /* is_open, is_down, or wheel to RL_WHEEL_THREAD */
    struct rl_ask *first;
    struct rl_ask *last;
    uint64_t sent;  /* asks, ever */
    bool is_asleep; /* who puts an ask into the list has to wake who has the wheel */
    enum rl_wheel wheel;
    uint64_t stints; /* of callers who had it */
    uint64_t due_ns; /* while it is free: the first timer of the loop */
    bool is_open;    /* opening has ended, with open_status */
    bool is_closing;
    bool is_down; /* the loop thread will not touch anything more */
    int open_status;
    int begin_status; /* the thread's: whether there is a client */

    const redlock_client_options *options; /* the opener's, while it waits */
    redlock_client *client;
    redlock_mutex *mutexes;
    struct rl_ask *first_answer; /* answered, their callers are still to be woken */
    struct rl_ask *last_answer;
    bool keeps_answers;
    uint64_t answered;   /* asks, ever */
    uint64_t considered; /* ... when it was last looked how many callers there are */
    uint32_t alone;      /* so often no other one was left then */
    uint32_t listeners;  /* mutexes with on_lost */
    bool has_own_code;   /* a trace hook or an allocator of the program */
    bool leaves;         /* a caller who has the wheel is to give it back */

    _Atomic(const void *) driver; /* the thread that has the wheel, for assertions */
};

#endif
