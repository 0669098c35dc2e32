/* The inside of blocking.h: callers of any thread, and one loop thread that does the work.
 *
 * A call fills in an rl_ask on its own stack, puts it into the client's list, wakes the loop by
 * uv_async_send() and sleeps on the ask's own condition variable. The loop thread takes the list,
 * uses the asynchronous API (redlock.h, and of the rest only its check of options), and answers
 * each ask once, at once or in a callback of that API.
 *
 *     caller                  gate (a mutex)              loop thread
 *     rl_ask_send() ------->  first .. last  ---------->  ask->run(ask)
 *     uv_cond_wait() <------  is_done, status  <--------  rl_ask_answer(ask, status)
 *
 * Three kinds of memory, and who may touch what:
 *   - by the gate: the list of asks, is_done and status of each, is_closing, is_open, is_down, and
 *     a mutex's token, fence and message;
 *   - by the loop thread alone: the client, the loop, the list of mutexes and their holds;
 *   - atomics: valid_until_ns and owner of a mutex, and the references.
 *
 * Can a wake-up be lost? The ask is put into the list before uv_async_send(), and the loop thread
 * takes the list after libuv has seen the wake-up; several that libuv makes one find all asks in
 * the list. is_done is set and looked at under the gate, so the signal cannot fall between the look
 * and the sleep.
 *
 * Can a call wait for ever? Each ask is either answered where it is run, or stored in the one place
 * (ask or extend of a hold) out of which the callback of the asynchronous API answers it, and those
 * callbacks run exactly once, also when the client is closed. Closing sets is_closing under the
 * gate: what comes later is refused there, and what was in the list is before the ask that closes.
 *
 * Can an ask be answered twice, or after its caller has gone? The place is emptied before the
 * answer, and rl_ask_answer() asserts that it is the first. The caller leaves only when is_done is
 * set, nobody looks at an ask after that, and the signal is given under the gate, so that the
 * caller cannot destroy the condition variable before uv_cond_signal() has returned. A thread that
 * waits cannot be cancelled (its stack would go).
 *
 * Can a mutex go while a callback uses it? It is freed only after an ask of its own, which runs on
 * the loop thread, as all callbacks do, and which is refused while an ask is stored in a hold. With
 * no ask stored no callback is to come but on_lost and on_renew, which redlock_lock_free() takes
 * back. While the client closes, a mutex is freed only once the loop thread has ended its work.
 *
 * Can the client go while somebody is inside? It is counted: one reference for the opener, one for
 * each mutex, one for each call. The loop thread has none, the closer joins it before it drops its
 * own.
 */
#ifndef RL_BLOCKING_H
#define RL_BLOCKING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "fork.h"
#include "redlock/blocking.h"

/* What a mutex is made from, and the mutex. */
struct rl_making {
    const redlock_lock_options *target;
    const redlock_mutex_options *options;
    redlock_mutex *made;
};

/* A call that waits; on its caller's stack. */
struct rl_ask {
    void (*run)(struct rl_ask *ask); /* on the loop thread; it sees to the answer */
    redlock_blocking *blocking;
    redlock_mutex *mutex;
    uint64_t owner;
    uint64_t asked_ns;
    int64_t ms;           /* the timeout of a lock, the ttl of an extension */
    redlock_stats *stats; /* where these go */
    struct rl_making *making;
    int attempt; /* of a lock: redlock_lock_attempt_status() */
    char *text;  /* where a sentence goes, or NULL */
    size_t text_size;
    /* By the gate. */
    struct rl_ask *next;
    uv_cond_t answered;
    int status;
    bool is_done;
};

/* One lock object of a mutex. Owners that want the mutex at one time have one each; they are kept
 * and used again. Loop thread only.
 *
 *     free:      depth 0, ask NULL
 *     locking:   depth 0, ask set
 *     held:      depth 1 or more; is_lost: it was, and the owner has not unlocked it as often
 *     unlocking: depth 0, ask set, is_unlocking
 */
struct rl_hold {
    redlock_mutex *mutex;
    redlock_lock *lock;
    struct rl_hold *next;
    struct rl_ask *ask;    /* that waits for an acquire or a release */
    struct rl_ask *extend; /* that waits for an extension */
    uint64_t owner;
    uint32_t depth;
    bool is_lost;
    bool is_unlocking;
};

struct redlock_mutex {
    redlock_blocking *blocking;
    redlock_mutex_options options;
    uint64_t own_owner; /* 0: the thread's that calls */
    /* See blocking_valid.c. */
    _Atomic uint64_t valid_until_ns; /* 0: not held */
    _Atomic uint64_t owner;          /* who holds it, or has lost it and not unlocked; 0: nobody */
    /* By the gate. */
    char token[REDLOCK_TOKEN_LENGTH + 1];
    uint64_t fence; /* of the same grant */
    char message[REDLOCK_MESSAGE_MAX];
    /* By the loop thread. */
    redlock_mutex *next;
    redlock_mutex *previous;
    struct rl_hold *holds;
    redlock_lock_options target;
    redlock_bytes room[]; /* the resources, then their bytes, then the holder's name */
};

struct redlock_blocking {
    redlock_allocator memory;
    struct rl_fork fork; /* of the process that opened it */
    uv_thread_t thread;
    uv_thread_t loop_thread; /* the same, written by the thread itself before anything else */
    _Atomic uint32_t references;

    uv_mutex_t gate;
    uv_cond_t changed; /* is_open or is_down */
    struct rl_ask *first;
    struct rl_ask *last;
    bool is_open; /* opening has ended, with open_status */
    bool is_closing;
    bool is_down; /* the loop thread will not touch anything more */
    int open_status;

    uv_loop_t loop;
    uv_async_t wake;
    const redlock_client_options *options; /* the opener's, while it waits */
    redlock_client *client;
    redlock_mutex *mutexes;
};

/* -- blocking_ask.c -- */

/* Sends an ask and waits for the answer. Returns it, or CLOSED, FORKED, WRONG_THREAD or SYSTEM, and
 * nothing was asked. */
int rl_ask_send(redlock_blocking *blocking, struct rl_ask *ask);
/* The last ask of the client: refused if there was one. Does not wait. */
int rl_ask_send_last(redlock_blocking *blocking, struct rl_ask *ask);
/* Loop thread. The ask may be gone when this returns. */
void rl_ask_answer(struct rl_ask *ask, int status);
/* Loop thread: runs all that were sent. */
void rl_ask_run_all(redlock_blocking *blocking);
/* Copies and cuts; text may be NULL or size 0. */
void rl_ask_say(char *text, size_t size, const char *sentence);
/* Whether this call could be made at all: 0, FORKED or WRONG_THREAD. */
int rl_ask_check(const redlock_blocking *blocking);
void rl_blocking_ref(redlock_blocking *blocking);
void rl_blocking_unref(redlock_blocking *blocking);

/* -- blocking_owner.c -- */

/* A number that was never given before. */
uint64_t rl_owner_draw(void);
/* The calling thread's. */
uint64_t rl_owner_of_thread(void);

/* -- blocking_valid.c -- */

/* Loop thread: held by owner until then; not valid any more, but the owner may still ask for its
 * token; unlocked. The latter two do nothing if another owner holds it. */
void rl_valid_publish(redlock_mutex *mutex, uint64_t owner, uint64_t until_ns);
void rl_valid_withdraw(redlock_mutex *mutex, uint64_t owner);
void rl_valid_forget(redlock_mutex *mutex, uint64_t owner);
/* Any thread. 0: it is not valid, or not for this owner. */
uint64_t rl_valid_left_ns(const redlock_mutex *mutex, uint64_t owner);

/* -- blocking_mutex.c -- */

/* The sentence of the last failure. Any thread. */
void rl_mutex_say(redlock_mutex *mutex, const char *sentence);

/* -- blocking_make.c: on the loop thread -- */

/* Asks: to make a mutex, to free one. */
void rl_hold_make(struct rl_ask *ask);
void rl_hold_free(struct rl_ask *ask);
/* What an acquire for a mutex asks for, whoever asks. */
void rl_hold_options(const redlock_mutex_options *from, redlock_acquire_options *options);
/* One more lock object. */
int rl_hold_new(redlock_mutex *mutex, struct rl_hold **hold);
/* The client is gone, and all locks with it. */
void rl_hold_drop_all(redlock_blocking *blocking);

/* -- blocking_hold.c: on the loop thread -- */

/* Asks. */
void rl_hold_lock(struct rl_ask *ask);
void rl_hold_unlock(struct rl_ask *ask);
void rl_hold_extend(struct rl_ask *ask);
/* The client is about to be closed: nothing is valid any more. */
void rl_hold_end_all(redlock_blocking *blocking);

#endif
