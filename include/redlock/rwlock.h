/* Read/write locks for programs with threads, used like a pthread_rwlock: readers hold side by
 * side, a writer holds alone, across threads, processes and machines.
 *
 *     redlock_blocking_open() -> redlock_rwlock_new()
 *         -> redlock_rwlock_rdlock() -> read  -> redlock_rwlock_unlock()
 *         -> redlock_rwlock_wrlock() -> write -> redlock_rwlock_unlock()
 *         -> redlock_rwlock_free() -> redlock_blocking_close()
 *
 * What blocking.h says at its top about threads, owners, time, signals and fork() holds here too.
 * A mutex of the same resources, and a lock of another library, exclude readers and are excluded
 * by them as a writer is.
 *
 * Readers: each thread that reads has its own token, ttl, renewal and loss. The loss of one does
 * not affect the others, and a process that dies keeps writers out for no longer than the ttl of
 * its readers.
 *
 * Order: readers and writers that wait take turns. When a writer unlocks, all readers that wait
 * are let in; readers that come after a writer has begun to wait are let in after it. So neither
 * kind starves the other.
 *
 * Owner: a thread that holds it may lock it again and unlocks it as many times: one that reads may
 * read, one that writes may read and write, and holds it exclusively until its last unlock. A
 * thread that reads and asks for a writer's lock would wait for itself, and gets
 * REDLOCK_ERR_WOULD_DEADLOCK at once: it must unlock first, or call redlock_rwlock_try_upgrade().
 *
 * Loss: as for a mutex. A writer that was stopped for longer than its validity can overwrite later
 * writes, and such a reader can see half-written data. With `fencing` both have a number by which
 * the protected resource can refuse them, see redlock_rwlock_fence().
 */
#ifndef REDLOCK_RWLOCK_H
#define REDLOCK_RWLOCK_H

#include "redlock/blocking.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct redlock_rwlock redlock_rwlock; /* opaque */

/* Runs on the loop thread, once for each loss; what a redlock_mutex_cb may do with a mutex, it may
 * do with rwlock, whose token and fence are those that were lost: they tell which of several
 * readers it was. */
typedef void (*redlock_rwlock_cb)(redlock_rwlock *rwlock, int status, void *data);

/* Options. Begin with REDLOCK_RWLOCK_OPTIONS_INIT, which carries the defaults, and set what
 * differs: a 0 means 0. Copied. Each is as in redlock_mutex_options, for readers and writers
 * alike. */
typedef struct redlock_rwlock_options {
    size_t size; /* set by the initializer */

    int64_t ttl_ms;          /* Default 10000. */
    int auto_extend;         /* Default 1. */
    int64_t renew_ms;        /* Default REDLOCK_THIRD_OF_TTL. */
    int64_t max_hold_ms;     /* Default REDLOCK_NO_LIMIT. */
    int64_t delay_ms;        /* Default 50. */
    int64_t jitter_ms;       /* Default 100. */
    int64_t min_validity_ms; /* Default 1. */

    /* The owner of a hold. With a number, or REDLOCK_OWNER_OBJECT, threads that act for one owner
     * are one reader, or one writer. Default REDLOCK_OWNER_THREAD. */
    uint64_t owner;

    /* Default NULL. */
    redlock_rwlock_cb on_lost;
    void *lost_data;

    /* If making it fails, an error text is here. NULL or size 0: none. Default NULL. */
    char *error;
    size_t error_size;

    /* An upgrade brings a new fence, a downgrade does not. Default 0. */
    int fencing;

    int64_t max_silence_ms; /* Default 0. */
} redlock_rwlock_options;

#define REDLOCK_RWLOCK_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(redlock_rwlock_options), 10000, 1, REDLOCK_THIRD_OF_TTL, REDLOCK_NO_LIMIT, 50, 100, \
            1, REDLOCK_OWNER_THREAD, NULL, NULL, NULL, 0, 0, 0                                     \
    }

/* REDLOCK_RWLOCK_OPTIONS_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_rwlock_options_init(redlock_rwlock_options *options, size_t size);

/* Makes a read/write lock of a resource of length bytes; sends nothing to the nodes. Objects of
 * one resource are one lock, in one process as in many. options: NULL for the defaults. Waits for
 * the loop thread.
 *
 * Returns 0, or, with *rwlock set to NULL:
 *     REDLOCK_ERR_INVALID   an argument is NULL, length is 0 or above REDLOCK_RESOURCE_MAX, an
 *                           option is out of range, or the size field unknown
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM,
 *     REDLOCK_ERR_NOMEM
 * Since 0.1. */
REDLOCK_API int redlock_rwlock_new(redlock_blocking *blocking, const void *resource, size_t length,
                                   const redlock_rwlock_options *options, redlock_rwlock **rwlock);

/* As redlock_rwlock_new(), for what redlock_lock_options can say: several resources, a holder's
 * name. lock: copied; its mode is not used, since each call says which it asks for.
 * REDLOCK_ERR_INVALID as for redlock_lock_new_with(), and if it has permits. Since 0.1. */
REDLOCK_API int redlock_rwlock_new_with(redlock_blocking *blocking,
                                        const redlock_lock_options *lock,
                                        const redlock_rwlock_options *options,
                                        redlock_rwlock **rwlock);

/* Frees it. A hold of the caller through it is released in the background. NULL is ignored. Waits
 * for the loop thread, and, if the client is being closed, until it is closed.
 *
 * Returns 0, and the object is gone; or, and it is not:
 *     REDLOCK_ERR_BUSY           a call of another thread on it is pending
 *     REDLOCK_ERR_NOT_OWNER      another owner holds it, or lost it and has not unlocked it
 *     REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_rwlock_free(redlock_rwlock *rwlock);

/* -- Locking -- */

/* Locks it as a reader, waiting up to timeout_ms: 0 for one attempt, REDLOCK_NO_LIMIT for no
 * limit, at most 4294967294. A thread that already holds it, in whichever mode, succeeds at once.
 *
 * Returns:
 *     0                         held
 *     REDLOCK_ERR_DEADLINE      timeout_ms passed, or would pass before the next attempt;
 *                               redlock_rwlock_attempt_status() says what stood in the way
 *     REDLOCK_ERR_HELD          a writer holds it, or waits for it; only with timeout_ms 0
 *     REDLOCK_ERR_NO_QUORUM     too many nodes failed; only with timeout_ms 0
 *     REDLOCK_ERR_EXPIRED       a quorum granted it too late; only with timeout_ms 0
 *     REDLOCK_ERR_CANCELED      the client was closed
 *     REDLOCK_ERR_LOST          the caller's last hold was lost, and is not unlocked yet
 *     REDLOCK_ERR_LOST, REDLOCK_ERR_EXPIRED, REDLOCK_ERR_MAX_HOLD, REDLOCK_ERR_SILENT
 *                               the owner held it through another object, and lost it while this
 *                               call was about to share it
 *     REDLOCK_ERR_BUSY          the same owner is locking or unlocking it in another thread
 *     REDLOCK_ERR_PART_HELD     the owner already holds a part of these resources
 *     REDLOCK_ERR_ALREADY_HELD  the owner holds it through another object, without a fence, and
 *                               this one has `fencing`
 *     REDLOCK_ERR_INVALID       rwlock is NULL, or timeout_ms out of range
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM,
 *     REDLOCK_ERR_SYSTEM
 * After an error nothing is held by this call. Since 0.1. */
REDLOCK_API int redlock_rwlock_rdlock(redlock_rwlock *rwlock, int64_t timeout_ms);

/* Locks it as a writer. As redlock_rwlock_rdlock(), but for:
 *     REDLOCK_ERR_HELD            another reads or writes; only with timeout_ms 0
 *     REDLOCK_ERR_WOULD_DEADLOCK  the owner reads, through this object or another: it would wait
 *                                 for itself. At once, whatever timeout_ms is.
 * Since 0.1. */
REDLOCK_API int redlock_rwlock_wrlock(redlock_rwlock *rwlock, int64_t timeout_ms);

/* As redlock_rwlock_rdlock() and redlock_rwlock_wrlock() with 0: at most one attempt. They wait
 * for the nodes no longer than node_timeout_ms. Since 0.1. */
REDLOCK_API int redlock_rwlock_try_rdlock(redlock_rwlock *rwlock);
REDLOCK_API int redlock_rwlock_try_wrlock(redlock_rwlock *rwlock);

/* The outcome of the last attempt of the calling thread's last call that locks, if that was on
 * this object, as redlock_mutex_attempt_status(). Since 0.1. */
REDLOCK_API int redlock_rwlock_attempt_status(const redlock_rwlock *rwlock);

/* Unlocks once, what was locked in whichever mode. The last unlock of the owner waits until a
 * quorum of nodes has ended its hold, no longer than node_timeout_ms. redlock_rwlock_is_valid() is
 * false before that.
 *
 * Returns:
 *     0                         a quorum answered: waiters can be let in; or the owner has locked
 *                               it more than once and still holds it
 *     REDLOCK_ERR_LOST          it had been lost before: the work may have been unprotected. Once
 *                               for each lock.
 *     REDLOCK_ERR_NO_QUORUM     fewer answered; the release is pending on the others, and is
 *                               retried until they answer or the ttl has ended
 *     REDLOCK_ERR_NOT_OWNER     others hold it, the caller does not
 *     REDLOCK_ERR_NOT_HELD      it is not held through this object
 *     REDLOCK_ERR_BUSY          the same owner is locking or unlocking it in another thread
 *     REDLOCK_ERR_CANCELED      the client was closed; it was still released
 *     REDLOCK_ERR_INVALID (NULL), REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD,
 *     REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_rwlock_unlock(redlock_rwlock *rwlock);

/* -- While it is held -- */

/* Extends what the caller holds to ttl_ms from now (0: the ttl of the options), and waits for the
 * answer, no longer than node_timeout_ms. All objects through which the owner holds it show that.
 *
 * Returns:
 *     0                         renewed by a quorum
 *     REDLOCK_ERR_UNKNOWN       too many nodes did not answer; validity is what it was
 *     REDLOCK_ERR_LOST          lost, now or before: too many nodes no longer have the token
 *     REDLOCK_ERR_EXPIRED       lost: validity ended first
 *     REDLOCK_ERR_NOT_OWNER     others hold it, the caller does not
 *     REDLOCK_ERR_NOT_HELD      it is not held through this object
 *     REDLOCK_ERR_BUSY          the same owner is extending it, or changing its mode, in another
 *                               thread
 *     REDLOCK_ERR_CANCELED      the client was closed, or another thread of the owner unlocked it
 *     REDLOCK_ERR_INVALID       rwlock is NULL, or ttl_ms out of range
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_rwlock_extend(redlock_rwlock *rwlock, int64_t ttl_ms);

/* As redlock_mutex_alive(), for what the caller holds. Since 0.1. */
REDLOCK_API int redlock_rwlock_alive(redlock_rwlock *rwlock);

/* Makes the calling writer a reader and lets other readers in, without a moment in which another
 * writer could come in. It is an extension to the ttl of the options, and the caller is a reader
 * from this call on, whatever the nodes answer. Nodes that did not answer may keep others out until
 * the next extension, or the unlock.
 *
 * Returns as redlock_rwlock_extend(), with ttl_ms 0, and:
 *     REDLOCK_ERR_INVALID       it is a reader already; or NULL
 *     REDLOCK_ERR_BUSY          also if the owner has locked it more than once, or through several
 *                               objects: it is a writer as before
 * Since 0.1. */
REDLOCK_API int redlock_rwlock_downgrade(redlock_rwlock *rwlock);

/* Makes the calling reader a writer, if no other reads, without a moment in which another writer
 * could come in, so what it has read is still current. It tries once and never waits for others,
 * since two readers could wait for each other for ever.
 *
 * Returns:
 *     0                           a writer
 *     REDLOCK_ERR_HELD            others read; a reader as before
 *     REDLOCK_ERR_WOULD_DEADLOCK  the same, and another reader has tried recently (5 s): one of the
 *                                 two must unlock, and what it has read may be changed then
 *     REDLOCK_ERR_UNKNOWN         too many nodes did not answer; a reader as before
 *     REDLOCK_ERR_LOST            lost, now or before
 *     REDLOCK_ERR_EXPIRED         lost: validity ended first
 *     REDLOCK_ERR_NOT_OWNER       others hold it, the caller does not
 *     REDLOCK_ERR_NOT_HELD        it is not held through this object
 *     REDLOCK_ERR_BUSY            the owner has locked it more than once, or through several
 *                                 objects, or is extending it in another thread
 *     REDLOCK_ERR_CANCELED        the client was closed, or another thread of the owner unlocked it
 *     REDLOCK_ERR_INVALID         it is a writer already, or NULL
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_rwlock_try_upgrade(redlock_rwlock *rwlock);

/* 1 if the caller holds it and its validity has not ended now, else 0 (also for NULL and after
 * fork). It takes no lock and never waits; a thread that has locked it may also call this in a
 * signal handler. Since 0.1. */
REDLOCK_API int redlock_rwlock_is_valid(const redlock_rwlock *rwlock);

/* How much validity the caller has left now, in whole milliseconds, rounded down; 0 if none. As
 * redlock_rwlock_is_valid() in everything else. Since 0.1. */
REDLOCK_API int64_t redlock_rwlock_remaining_ms(const redlock_rwlock *rwlock);

/* Copies the token of what the caller holds, or of what it has lost and not unlocked, into buffer,
 * as redlock_mutex_token(). Since 0.1. */
REDLOCK_API int redlock_rwlock_token(redlock_rwlock *rwlock, char *buffer, size_t size);

/* The fence of what the caller holds, or of what it has lost and not unlocked, as
 * redlock_mutex_fence(). A writer's is larger than those of all fenced grants before it. A reader's
 * is at least that of any writer before it, and below that of each writer after it; readers that
 * follow the same writer share a fence. So the protected resource can refuse a late writer or
 * reader, whose number is smaller than the largest it has seen. Since 0.1. */
REDLOCK_API uint64_t redlock_rwlock_fence(redlock_rwlock *rwlock);

/* The last failure on this object, of whichever thread, as redlock_mutex_message(). Since 0.1. */
REDLOCK_API const char *redlock_rwlock_message(const redlock_rwlock *rwlock, char *buffer,
                                               size_t size);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_RWLOCK_H */
