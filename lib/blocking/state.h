/* The inside of blocking.h: callers of any thread, and one loop thread that does the work.
 *
 * A call fills in an rl_ask on its own stack, puts it into the client's list, wakes the loop by
 * rl_loop_thread_wake() and sleeps on the ask's own condition variable. The loop thread takes the
 * list, uses the asynchronous API (redlock.h, and of the rest only its check of options), and
 * answers each ask once, at once or in a callback of that API.
 *
 *     caller                  gate (a mutex)              loop thread
 *     rl_ask_send() ------->  first .. last  ---------->  ask->run(ask)
 *     pthread_cond_wait() <-  is_done, status  <--------  rl_ask_answer(ask, status)
 *
 * Three kinds of memory, and who may touch what:
 *   - by the gate: the list of asks, is_done and status of each, is_closing, is_open, is_down, a
 *     mutex's message, and a hold's token, fence and slots;
 *   - by the loop thread alone: the client, the loop, the list of mutexes, and of holds the rest;
 *   - atomics: the list of a mutex's holds, the validity of each, and the references.
 *
 * Can a wake-up be lost? The ask is put into the list before rl_loop_thread_wake(), and the loop
 * thread takes the list after libuv has seen the wake-up; several that libuv makes one find all
 * asks in the list. is_done is set and looked at under the gate, so the signal cannot fall
 * between the look and the sleep.
 *
 * Can a call wait for ever? Each ask is either answered where it is run, or stored in the one
 * place (ask or extend of a hold) out of which the callback of the asynchronous API answers it,
 * and those callbacks run exactly once, also when the client is closed. Closing sets is_closing
 * under the gate: what comes later is refused there, and what was in the list is before the ask
 * that closes.
 *
 * Can an ask be answered twice, or after its caller has gone? The place is emptied before the
 * answer, and rl_ask_answer() asserts that it is the first. The caller leaves only when is_done
 * is set, no thread looks at an ask after that, and the signal is given under the gate, so that
 * the caller cannot destroy the condition variable before pthread_cond_signal() has returned. A
 * thread that waits cannot be cancelled (its stack would go).
 *
 * Can a mutex go while a callback uses it? It is freed only after an ask of its own, which runs
 * on the loop thread, as all callbacks do, and which is refused while an ask is stored in a hold.
 * With no ask stored no callback is to come but on_lost and on_renew, which redlock_lock_free()
 * takes back. While the client closes, a mutex is freed only once the loop thread has ended its
 * work.
 *
 * Can a hold go while a thread looks at its validity? No: a mutex's holds are added, used again,
 * and freed with the mutex, by the thread that frees it.
 *
 * Can the client go while a thread is inside? It is counted: one reference for the opener, one
 * for each mutex, one for each call. The loop thread has none, the closer joins it before it
 * drops its own.
 */
#ifndef RL_BLOCKING_STATE_H
#define RL_BLOCKING_STATE_H

#include <pthread.h>
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
    void (*run)(struct rl_ask *ask); /* on the loop thread; it sees to the answer */
    redlock_blocking *blocking;
    redlock_mutex *mutex;
    uint64_t owner;
    uint64_t asked_ns;
    int64_t ms;             /* the timeout of a lock, the ttl of an extension */
    enum redlock_mode mode; /* of a lock */
    redlock_stats *stats;   /* where these go */
    struct rl_making *making;
    int attempt; /* of a lock: redlock_lock_attempt_status() */
    char *text;  /* where a sentence goes, or NULL */
    size_t text_size;
    /* By the gate. */
    struct rl_ask *next;
    pthread_cond_t answered;
    int status;
    bool is_done;
};

/* What every thread may see of a hold: see valid.h. */
struct rl_valid {
    _Atomic uint64_t until_ns; /* 0: not held */
    _Atomic uint64_t owner;    /* who holds it, or has lost it and not unlocked; 0: none */
};

/* One lock object of a mutex. Owners that want the mutex at one time have one each; they are kept
 * and used again. Loop thread only, where it says nothing else.
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

struct redlock_blocking {
    redlock_allocator memory;
    struct rl_fork fork; /* of the process that opened it */
    struct rl_loop_thread *thread;
    _Atomic uint32_t references;

    pthread_mutex_t gate;
    pthread_cond_t changed; /* is_open or is_down */
    struct rl_ask *first;
    struct rl_ask *last;
    bool is_open; /* opening has ended, with open_status */
    bool is_closing;
    bool is_down; /* the loop thread will not touch anything more */
    int open_status;
    int begin_status; /* the thread's: whether there is a client */

    const redlock_client_options *options; /* the opener's, while it waits */
    redlock_client *client;
    redlock_mutex *mutexes;
};

#endif
