/* libredlock for programs with threads: a client with its own loop thread, and locks that are used
 * like a pthread mutex.
 *
 *     redlock_blocking_open() -> redlock_mutex_new() -> redlock_mutex_lock() -> work
 *         -> redlock_mutex_unlock() -> redlock_mutex_free() -> redlock_blocking_close()
 *
 * Threads: every function here may be called from every thread at any time, with two exceptions. A
 * mutex may not be freed, nor a client be closed a second time, while another thread may begin a
 * call on it. And on the loop thread, that is inside on_lost, the functions that wait (their
 * descriptions say so) return REDLOCK_ERR_WRONG_THREAD at once, since the thread would wait for
 * itself.
 *
 * Owner: a mutex is held by a thread, and having the pointer is not enough. Its thread may lock it
 * again, also through other mutex objects of the same resources, and unlocks it as many times;
 * another thread can neither unlock nor extend it. Let each thread unlock what it holds before it
 * ends: no other thread can, and the lock would be renewed until the client is closed (max_hold_ms
 * bounds that). A task that moves from thread to thread has its own mutex object with `owner` set.
 *
 * Time: a call ends when its timeout is over, as the loop thread sees it; a call to nodes that do
 * not answer ends after node_timeout_ms. The only call that can wait without limit is a lock with
 * REDLOCK_NO_LIMIT, and that ends when the client is closed.
 *
 * Loss: a lock ends while it is held if a quorum of nodes cannot be reached for its whole validity,
 * or forgets it. Ask redlock_mutex_is_valid() before each step that must not be done twice, or set
 * on_lost. After a loss the holder must still unlock (which returns REDLOCK_ERR_LOST). If a holder
 * is stopped between the question and the step, only the resource that the lock protects can refuse
 * the step: set `fencing` and pass it redlock_mutex_fence().
 *
 * Work: waking the loop thread costs more than the lock. While calls come one by one, the calling
 * thread therefore does the loop thread's work itself while it waits, for some milliseconds at
 * most: it reads and writes the client's sockets, also for other locks. Code of the program never
 * runs there: a client with a trace hook, a label function or an allocator, or with a mutex that
 * has on_lost, leaves all of it to the loop thread. So does a call with less than 128 KB of stack
 * left. If a calling thread may not use sockets (seccomp), has a network or descriptors of its own
 * (setns(), unshare()), or runs at idle priority (SCHED_IDLE), the program turns this off by making
 * a mutex with on_lost, which need not be used.
 *
 * Signals: the loop thread blocks all signals except those that a fault in the thread itself raises
 * (SIGSEGV and the like), so handlers of the program do not run there. A signal does not end a
 * call; a handler that runs in it for long may delay the client. Cancellation: pthread_cancel() has
 * no effect inside a call that waits.
 *
 * fork(): in the child every function returns REDLOCK_ERR_FORKED, or "nothing is held", and touches
 * nothing: another thread may have held a lock of this library or of malloc when the process was
 * copied. What the child inherits stays as it is until it ends or calls exec (the sockets are
 * closed by exec). The child opens its own client.
 *
 * What a lock promises and what not: docs/guarantees.md. The asynchronous interface, on which this
 * one is built, is redlock.h; statuses and units are the same.
 */
#ifndef REDLOCK_BLOCKING_H
#define REDLOCK_BLOCKING_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- Client -- */

typedef struct redlock_blocking redlock_blocking; /* opaque: N nodes and a thread */
typedef struct redlock_mutex redlock_mutex;       /* opaque: a lock that threads use */

/* Opens a client and starts its thread. Waits until a quorum of nodes is up, or each node has
 * succeeded or failed once, or connect_timeout_ms has passed.
 *
 * options: as for redlock_client_open(); copied. The trace hook is called on the loop thread, the
 * allocator there and on the threads that open, close and free, also at one time; its data must
 * live as long as the client and its mutexes. error is also filled in for REDLOCK_ERR_NO_QUORUM,
 * and is not used after this call.
 *
 * Returns 0, or:
 *     REDLOCK_ERR_NO_QUORUM   fewer nodes are up, or may vote. *blocking is set, the client goes on
 *                             connecting and may be used; it must be closed.
 *     REDLOCK_ERR_DUPLICATE   two URLs name one server: *blocking is NULL; or they lead to one, as
 *                             reported by the server, and without it there is no quorum:
 *                             *blocking is set, as with NO_QUORUM
 *     REDLOCK_ERR_INVALID, REDLOCK_ERR_URL, REDLOCK_ERR_NO_TLS, REDLOCK_ERR_NOMEM
 *                             as for redlock_client_open(); *blocking is NULL
 *     REDLOCK_ERR_SYSTEM      also if a thread, pipe or mutex is unavailable; *blocking is NULL
 * Since 0.1. */
REDLOCK_API int redlock_blocking_open(redlock_blocking **blocking,
                                      const redlock_client_options *options);

/* Closes a client. Calls that wait in other threads end with REDLOCK_ERR_CANCELED, later ones with
 * REDLOCK_ERR_CLOSED; held locks are released, without on_lost. Waits until that has been answered,
 * no longer than node_timeout_ms (and for a pending name lookup, which cannot be cancelled), and
 * until the thread has ended. Mutexes remain objects that answer REDLOCK_ERR_CLOSED until they are
 * freed, so a thread that still has one does no harm. The caller may not use the client again.
 *
 * Returns 0, REDLOCK_ERR_INVALID (NULL), REDLOCK_ERR_CLOSED (another thread is closing it),
 * REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED (nothing was done). Since 0.1. */
REDLOCK_API int redlock_blocking_close(redlock_blocking *blocking);

/* Statistics of the client, as redlock_client_stats(). Waits for the loop thread. Returns 0,
 * REDLOCK_ERR_INVALID (NULL, size unknown), REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD,
 * REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM. Since 0.1. */
REDLOCK_API int redlock_blocking_stats(redlock_blocking *blocking, redlock_stats *stats);

/* Metrics of the client, as redlock_metrics_format(). Waits for the loop thread. Returns the
 * length, or REDLOCK_ERR_INVALID, REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD,
 * REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM. Since 0.1. */
REDLOCK_API int redlock_blocking_metrics(redlock_blocking *blocking, enum redlock_metrics_text text,
                                         char *buffer, size_t size);

/* Sets user and password for a node or for all of them (REDLOCK_ALL_NODES), as
 * redlock_client_set_credentials(); credentials.h says how a password is rotated. The first ones
 * belong in the URLs: the client logs in while it is opened, so what is set here is a rotation,
 * and a node that refuses it keeps what it accepted before. Waits for the loop thread, not for the
 * nodes: `credentials_pending` of redlock_blocking_stats() is 0 when all of them use it. Returns 0,
 * REDLOCK_ERR_INVALID, REDLOCK_ERR_NOMEM, REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD,
 * REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM. Since 0.1. */
REDLOCK_API int redlock_blocking_set_credentials(redlock_blocking *blocking, size_t node,
                                                 const char *user, const char *password);

/* What is wrong with the nodes now, as redlock_client_message(). Waits for the loop thread; where
 * that cannot be asked (see redlock_blocking_stats()), the sentence says why. Since 0.1. */
REDLOCK_API const char *redlock_blocking_message(redlock_blocking *blocking, char *buffer,
                                                 size_t size);

/* -- Mutex -- */

/* Runs on the loop thread; status: see on_lost. It must be quick, since all locks of the client
 * wait for it: set a flag, close a socket, wake a thread. It may call redlock_mutex_is_valid(),
 * redlock_mutex_remaining_ms() (nothing is left), redlock_mutex_token(), redlock_mutex_fence() and
 * redlock_mutex_message(). mutex: valid during the call, and as long as it is not freed. */
typedef void (*redlock_mutex_cb)(redlock_mutex *mutex, int status, void *data);

/* Each thread is its own owner, see `owner` of redlock_mutex_options. */
#define REDLOCK_OWNER_THREAD 0u
/* The mutex object is its own owner. */
#define REDLOCK_OWNER_OBJECT UINT64_MAX
/* The largest number that a program can choose. */
#define REDLOCK_OWNER_MAX ((UINT64_C(1) << 63) - 1)

/* Options of a mutex. Begin with REDLOCK_MUTEX_OPTIONS_INIT, which carries the defaults, and set
 * what differs: a 0 means 0. Copied. */
typedef struct redlock_mutex_options {
    size_t size; /* set by the initializer */

    /* As in redlock_acquire_options, with the same ranges and defaults, except that auto_extend is
     * 1: the loop thread renews the lock until it is unlocked, lost, or max_hold_ms is over. */
    int64_t ttl_ms;          /* Default 10000. */
    int auto_extend;         /* Default 1. */
    int64_t renew_ms;        /* Default REDLOCK_THIRD_OF_TTL. */
    int64_t max_hold_ms;     /* Default REDLOCK_NO_LIMIT. */
    int64_t delay_ms;        /* Default 50. */
    int64_t jitter_ms;       /* Default 100. */
    int64_t min_validity_ms; /* Default 1. */

    /* The owner of a hold:
     *     REDLOCK_OWNER_THREAD      the thread that calls
     *     1 to REDLOCK_OWNER_MAX    the owner of that number, whichever thread calls: a task that
     *                               moves between threads. Mutex objects of one number and the same
     *                               resources share a hold.
     *     REDLOCK_OWNER_OBJECT      this object: every thread that has it may unlock it
     * Owners exclude each other, threads that act for one owner do not: with the latter two each
     * task needs a mutex object of its own. Default REDLOCK_OWNER_THREAD. */
    uint64_t owner;

    /* Runs once for each loss, on the loop thread, at the moment that redlock.h promises: before
     * validity ends.
     *     REDLOCK_ERR_EXPIRED    validity is about to end; it was not extended in time
     *     REDLOCK_ERR_LOST       an extension found that too many nodes no longer have the token
     *     REDLOCK_ERR_MAX_HOLD   max_hold_ms is over
     *     REDLOCK_ERR_SILENT     no sign of life for max_silence_ms
     * Default NULL. */
    redlock_mutex_cb on_lost;
    void *lost_data;

    /* If making the mutex fails, an error text is here. NULL or size 0: none. Default NULL. */
    char *error;
    size_t error_size;

    /* As in redlock_acquire_options. fencing: set it in all mutex objects that one owner may hold
     * at the same time, because the hold they share has one fence or none. Default 0. */
    int fencing;

    /* As in redlock_acquire_options; a sign is redlock_mutex_alive(), a lock or an extension: not a
     * lock of an owner that has locked already. Default 0. */
    int64_t max_silence_ms;

    /* As in redlock_acquire_options: an unlocked mutex stays on the nodes for a while, and the next
     * lock by any thread usually needs no round trip. Default 0. */
    int64_t linger_ms;
} redlock_mutex_options;

#define REDLOCK_MUTEX_OPTIONS_INIT                                                                \
    {                                                                                             \
        sizeof(redlock_mutex_options), 10000, 1, REDLOCK_THIRD_OF_TTL, REDLOCK_NO_LIMIT, 50, 100, \
            1, REDLOCK_OWNER_THREAD, NULL, NULL, NULL, 0, 0, 0, 0                                 \
    }

/* REDLOCK_MUTEX_OPTIONS_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_mutex_options_init(redlock_mutex_options *options, size_t size);

/* Makes a mutex for a resource of length bytes; sends nothing to the nodes. Mutex objects of one
 * resource exclude each other, in one process as in many. options: NULL for the defaults. Waits for
 * the loop thread.
 *
 * Returns 0, or, with *mutex set to NULL:
 *     REDLOCK_ERR_INVALID   an argument is NULL, length is 0 or above REDLOCK_RESOURCE_MAX, an
 *                           option is out of range, or the size field unknown
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM,
 *     REDLOCK_ERR_NOMEM
 * Since 0.1. */
REDLOCK_API int redlock_mutex_new(redlock_blocking *blocking, const void *resource, size_t length,
                                  const redlock_mutex_options *options, redlock_mutex **mutex);

/* As redlock_mutex_new(), for what redlock_lock_options can say: several resources, a holder's
 * name, permits of a semaphore (the owner is REDLOCK_OWNER_OBJECT then: an object for each holder;
 * semaphore_blocking.h tells the slots as well). lock: copied. REDLOCK_ERR_INVALID as for
 * redlock_lock_new_with(), and if its mode is not REDLOCK_EXCLUSIVE (for readers there is
 * rwlock.h), or of permits by another owner. Since 0.1. */
REDLOCK_API int redlock_mutex_new_with(redlock_blocking *blocking, const redlock_lock_options *lock,
                                       const redlock_mutex_options *options, redlock_mutex **mutex);

/* Frees a mutex. A hold of the caller through it is released in the background. NULL is ignored.
 * Waits for the loop thread, and, if the client is being closed, until it is closed.
 *
 * Returns 0, and the object is gone; or, and it is not:
 *     REDLOCK_ERR_BUSY           a call of another thread on it is pending
 *     REDLOCK_ERR_NOT_OWNER      another owner holds it, or lost it and has not unlocked it
 *     REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_mutex_free(redlock_mutex *mutex);

/* Locks the mutex, waiting up to timeout_ms: 0 for one attempt, REDLOCK_NO_LIMIT for no limit, at
 * most 4294967294. A thread that already holds it succeeds at once. Threads of one client wait in
 * line; with 0 it does not wait behind them.
 *
 * Returns:
 *     0                         held; redlock_mutex_remaining_ms() says for how long, if it is not
 *                               renewed
 *     REDLOCK_ERR_DEADLINE      timeout_ms passed, or would pass before the next attempt;
 *                               redlock_mutex_attempt_status() says what stood in the way
 *     REDLOCK_ERR_HELD          held by another; only with timeout_ms 0
 *     REDLOCK_ERR_NO_QUORUM     too many nodes failed; only with timeout_ms 0
 *     REDLOCK_ERR_EXPIRED       a quorum granted it too late, only with timeout_ms 0; or it
 *                               lingered (linger_ms), and was over before this call returned
 *     REDLOCK_ERR_PERMITS       of permits: another number of them is in use; the message has both
 *     REDLOCK_ERR_CANCELED      the client was closed
 *     REDLOCK_ERR_LOST          the caller's last hold was lost, and is not unlocked yet
 *     REDLOCK_ERR_LOST, REDLOCK_ERR_EXPIRED, REDLOCK_ERR_MAX_HOLD, REDLOCK_ERR_SILENT
 *                               the owner held it through another mutex object, and lost it while
 *                               this call was about to share it
 *     REDLOCK_ERR_BUSY          the same owner is locking or unlocking it in another thread
 *     REDLOCK_ERR_PART_HELD     the owner already holds a part of these resources
 *     REDLOCK_ERR_WOULD_DEADLOCK
 *                               the owner holds it as a reader (rwlock.h): it would wait for itself
 *     REDLOCK_ERR_ALREADY_HELD  the owner holds it through another mutex object, without a fence,
 *                               and this one has `fencing`
 *     REDLOCK_ERR_INVALID       mutex is NULL, or timeout_ms out of range
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM,
 *     REDLOCK_ERR_SYSTEM
 * After an error nothing is held by this call. Since 0.1. */
REDLOCK_API int redlock_mutex_lock(redlock_mutex *mutex, int64_t timeout_ms);

/* As redlock_mutex_lock() with 0: at most one attempt. Waits for the nodes no longer than
 * node_timeout_ms. Since 0.1. */
REDLOCK_API int redlock_mutex_try_lock(redlock_mutex *mutex);

/* Locks one of n mutexes (1 to REDLOCK_ANY_MAX), whichever is free, as redlock_acquire_any(); each
 * is tried with its own options. timeout_ms: as for redlock_mutex_lock(), 0 for one round, and a
 * try may take longer by node_timeout_ms. Mutexes that the caller has locked are left out, and so
 * are those that another thread of the same owner is locking.
 *
 * locked: the mutex that is locked; after an error the one that was tried last, for its message, or
 * NULL if there was none.
 *
 * Returns as redlock_mutex_lock() for the mutex that was tried last: REDLOCK_ERR_HELD (with
 * timeout_ms 0: others hold all of them), REDLOCK_ERR_DEADLINE, REDLOCK_ERR_NO_QUORUM and so on;
 * REDLOCK_ERR_ALREADY_HELD also if the caller has locked all of them; REDLOCK_ERR_INVALID also if n
 * is out of range or a pointer is NULL. After an error nothing is held by this call. Since 0.1. */
REDLOCK_API int redlock_mutex_lock_any(redlock_mutex *const *mutexes, size_t n, int64_t timeout_ms,
                                       redlock_mutex **locked);

/* The outcome of the last attempt of the calling thread's last redlock_mutex_lock() or
 * redlock_mutex_try_lock(), as redlock_lock_attempt_status(): after REDLOCK_ERR_DEADLINE it says
 * whether another held it (REDLOCK_ERR_HELD) or too few nodes answered (REDLOCK_ERR_NO_QUORUM). 0
 * if there was no attempt, or that call was on another mutex; REDLOCK_ERR_INVALID for NULL. Does
 * not wait. Since 0.1. */
REDLOCK_API int redlock_mutex_attempt_status(const redlock_mutex *mutex);

/* Unlocks once. redlock_mutex_is_valid() is false before this begins to wait. The last unlock of
 * the owner waits until a quorum of nodes has deleted the lock, no longer than node_timeout_ms.
 *
 * Returns:
 *     0                         a quorum answered: the next lock of any client can succeed; or the
 *                               owner has locked it more than once and still holds it
 *     REDLOCK_ERR_LOST          it had been lost before: the work may have been unprotected. Once
 *                               for each lock.
 *     REDLOCK_ERR_NO_QUORUM     fewer answered; the release is pending on the others, and is
 *                               retried until they answer or the ttl has ended
 *     REDLOCK_ERR_NOT_OWNER     another owner holds it
 *     REDLOCK_ERR_NOT_HELD      it is not held through this object
 *     REDLOCK_ERR_BUSY          the same owner is locking or unlocking it in another thread
 *     REDLOCK_ERR_CANCELED      the client was closed; it was still released
 *     REDLOCK_ERR_INVALID (NULL), REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD,
 *     REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_mutex_unlock(redlock_mutex *mutex);

/* Extends what the caller holds to ttl_ms from now (0: the ttl of the options), and waits for the
 * answer, no longer than node_timeout_ms. All mutexes through which the owner holds it show that.
 * With auto_extend it is useful for another ttl, or to have a quorum confirm the lock now.
 *
 * Returns:
 *     0                         renewed by a quorum
 *     REDLOCK_ERR_UNKNOWN       too many nodes did not answer; validity is what it was
 *     REDLOCK_ERR_LOST          lost, now or before: too many nodes no longer have the token
 *     REDLOCK_ERR_EXPIRED       lost: validity ended first
 *     REDLOCK_ERR_NOT_OWNER     another owner holds it
 *     REDLOCK_ERR_NOT_HELD      it is not held through this object
 *     REDLOCK_ERR_BUSY          the same owner is extending it in another thread
 *     REDLOCK_ERR_CANCELED      the client was closed, or another thread of the owner unlocked it
 *     REDLOCK_ERR_INVALID       mutex is NULL, or ttl_ms out of range
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_mutex_extend(redlock_mutex *mutex, int64_t ttl_ms);

/* A sign of life of the caller's work, see `max_silence_ms` of redlock_mutex_options and
 * redlock_lock_alive(). Waits for the loop thread, not for the nodes.
 *
 * Returns 0, or REDLOCK_ERR_LOST (lost before), REDLOCK_ERR_NOT_OWNER, REDLOCK_ERR_NOT_HELD,
 * REDLOCK_ERR_INVALID (NULL), REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED,
 * REDLOCK_ERR_SYSTEM. Since 0.1. */
REDLOCK_API int redlock_mutex_alive(redlock_mutex *mutex);

/* 1 if the caller holds it and its validity has not ended now, else 0 (also for NULL and after
 * fork). It takes no lock and never waits; a thread that has locked it may also call this in a
 * signal handler. Since 0.1. */
REDLOCK_API int redlock_mutex_is_valid(const redlock_mutex *mutex);

/* How much validity the caller has left now, in whole milliseconds, rounded down; 0 if none. As
 * redlock_mutex_is_valid() in everything else. Since 0.1. */
REDLOCK_API int64_t redlock_mutex_remaining_ms(const redlock_mutex *mutex);

/* Copies the token of what the caller holds, or of what it has lost and not unlocked, into buffer:
 * REDLOCK_TOKEN_LENGTH hex digits and a zero. Inside on_lost it is the token that was lost. Does
 * not wait.
 *
 * Returns 0, or, with buffer empty: REDLOCK_ERR_NOT_HELD (also if another owner holds it),
 * REDLOCK_ERR_INVALID (NULL, or size is not above REDLOCK_TOKEN_LENGTH), REDLOCK_ERR_FORKED.
 * Since 0.1. */
REDLOCK_API int redlock_mutex_token(redlock_mutex *mutex, char *buffer, size_t size);

/* The fence of what the caller holds, or of what it has lost and not unlocked: larger than those of
 * all fenced grants before it (see `fencing` of redlock_acquire_options). Inside on_lost it is the
 * fence that was lost. It stays the same however often the owner locks again or extends. Does not
 * wait; not for signal handlers.
 *
 * 0 if the caller does not hold it (another owner's fence is not for this caller's work), if it was
 * locked without `fencing`, and for NULL and after fork. Since 0.1. */
REDLOCK_API uint64_t redlock_mutex_fence(redlock_mutex *mutex);

/* The last failure on this mutex: "held by another: 2 of 5 granted, 3 needed; 127.0.0.1:7003: held
 * by another; ...". A failure is what a call on it ended with or why it was refused, or a loss; of
 * several threads the last one; "" if there was none. See "Messages" in redlock.h. Does not wait.
 * After fork it is the sentence of REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API const char *redlock_mutex_message(const redlock_mutex *mutex, char *buffer,
                                              size_t size);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_BLOCKING_H */
