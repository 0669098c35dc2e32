/* Semaphores for programs with threads, used like a sem_t: at most k hold a permit at one time,
 * across threads, processes and machines.
 *
 *     redlock_blocking_open() -> redlock_semaphore_new() -> redlock_semaphore_acquire() -> work
 *         -> redlock_semaphore_release() -> redlock_semaphore_free() -> redlock_blocking_close()
 *
 * What blocking.h says at its top about threads, time, loss, signals and fork() holds here too, and
 * what semaphore.h says about permits: each is a slot with a number, and k is the same for all.
 *
 * Holder: unlike a sem_t, one object is one holder, of one permit (or of `take` at once, see
 * redlock_semaphore_new_with()). Five threads that work side by side have five objects, each with
 * its own token, loss and slot; objects are cheap. An object is not bound to a thread: any thread
 * may release it, or ask about it. To acquire it while it holds is REDLOCK_ERR_ALREADY_HELD: that
 * permit would not be counted.
 *
 * A thread that holds permits through one object and waits for more through another can wait for
 * one that does the same, until timeout_ms is over: a holder that needs several takes them at once,
 * with `take`.
 */
#ifndef REDLOCK_SEMAPHORE_BLOCKING_H
#define REDLOCK_SEMAPHORE_BLOCKING_H

#include "redlock/blocking.h"
#include "redlock/semaphore.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct redlock_semaphore redlock_semaphore; /* opaque: a holder of permits */

/* Runs on the loop thread, once for each loss; what a redlock_mutex_cb may do with a mutex, it may
 * do with semaphore, and redlock_semaphore_slot(): token, fence and slots are those that were lost.
 */
typedef void (*redlock_semaphore_cb)(redlock_semaphore *semaphore, int status, void *data);

/* Options. Begin with REDLOCK_SEMAPHORE_OPTIONS_INIT, which carries the defaults, and set what
 * differs: a 0 means 0. Copied. Each is as in redlock_mutex_options; the owner is always the
 * object. */
typedef struct redlock_semaphore_options {
    size_t size; /* set by the initializer */

    int64_t ttl_ms;          /* Default 10000. */
    int auto_extend;         /* Default 1. */
    int64_t renew_ms;        /* Default REDLOCK_THIRD_OF_TTL. */
    int64_t max_hold_ms;     /* Default REDLOCK_NO_LIMIT. */
    int64_t delay_ms;        /* Default 50. */
    int64_t jitter_ms;       /* Default 100. */
    int64_t min_validity_ms; /* Default 1. */

    /* Default NULL. */
    redlock_semaphore_cb on_lost;
    void *lost_data;

    /* If making it fails, an error text is here. NULL or size 0: none. Default NULL. */
    char *error;
    size_t error_size;

    int fencing; /* Default 0. */

    int64_t max_silence_ms; /* Default 0. */
} redlock_semaphore_options;

#define REDLOCK_SEMAPHORE_OPTIONS_INIT                                                           \
    {                                                                                            \
        sizeof(redlock_semaphore_options), 10000, 1, REDLOCK_THIRD_OF_TTL, REDLOCK_NO_LIMIT, 50, \
            100, 1, NULL, NULL, NULL, 0, 0, 0                                                    \
    }

/* REDLOCK_SEMAPHORE_OPTIONS_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_semaphore_options_init(redlock_semaphore_options *options, size_t size);

/* Makes a holder of one of `permits` permits (1 to REDLOCK_PERMITS_MAX) of a resource of length
 * bytes; sends nothing to the nodes. options: NULL for the defaults. Waits for the loop thread.
 *
 * Returns 0, or, with *semaphore set to NULL:
 *     REDLOCK_ERR_INVALID   an argument is NULL or out of range, length is 0 or above
 *                           REDLOCK_RESOURCE_MAX, an option is out of range, or the size field
 *                           unknown
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM,
 *     REDLOCK_ERR_NOMEM
 * Since 0.1. */
REDLOCK_API int redlock_semaphore_new(redlock_blocking *blocking, const void *resource,
                                      size_t length, int32_t permits,
                                      const redlock_semaphore_options *options,
                                      redlock_semaphore **semaphore);

/* As redlock_semaphore_new(), for what redlock_lock_options can say: several permits at once
 * (`take`), a holder's name. lock: copied. REDLOCK_ERR_INVALID as for redlock_lock_new_with(), and
 * if its permits are 0. Since 0.1. */
REDLOCK_API int redlock_semaphore_new_with(redlock_blocking *blocking,
                                           const redlock_lock_options *lock,
                                           const redlock_semaphore_options *options,
                                           redlock_semaphore **semaphore);

/* Frees it. Its permits are released in the background. NULL is ignored. Waits for the loop thread,
 * and, if the client is being closed, until it is closed.
 *
 * Returns 0, and the object is gone; or, and it is not: REDLOCK_ERR_BUSY (a call of another thread
 * on it is pending), REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM. Since 0.1.
 */
REDLOCK_API int redlock_semaphore_free(redlock_semaphore *semaphore);

/* Acquires its permit, or all that it takes, waiting up to timeout_ms: 0 for one attempt,
 * REDLOCK_NO_LIMIT for no limit, at most 4294967294. Waiting callers are served in turn.
 *
 * Returns:
 *     0                         held; redlock_semaphore_slot() has the number
 *     REDLOCK_ERR_DEADLINE      timeout_ms passed, or would pass before the next attempt;
 *                               redlock_semaphore_attempt_status() says what stood in the way
 *     REDLOCK_ERR_HELD          too few permits are free, or others wait for those that are; only
 *                               with timeout_ms 0
 *     REDLOCK_ERR_NO_QUORUM     too many nodes failed; only with timeout_ms 0
 *     REDLOCK_ERR_EXPIRED       a quorum granted it too late; only with timeout_ms 0
 *     REDLOCK_ERR_PERMITS       another number of permits is in use; the message has both
 *     REDLOCK_ERR_CANCELED      the client was closed
 *     REDLOCK_ERR_ALREADY_HELD  this object holds its permit
 *     REDLOCK_ERR_LOST          its last permit was lost, and is not released yet
 *     REDLOCK_ERR_BUSY          another thread is acquiring or releasing it
 *     REDLOCK_ERR_INVALID       semaphore is NULL, or timeout_ms out of range
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD, REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM,
 *     REDLOCK_ERR_SYSTEM
 * After an error nothing was acquired by this call. Since 0.1. */
REDLOCK_API int redlock_semaphore_acquire(redlock_semaphore *semaphore, int64_t timeout_ms);

/* As redlock_semaphore_acquire() with 0: at most one attempt. Waits for the nodes no longer than
 * node_timeout_ms. Since 0.1. */
REDLOCK_API int redlock_semaphore_try_acquire(redlock_semaphore *semaphore);

/* The outcome of the last attempt of the calling thread's last call that acquires, if that was on
 * this object, as redlock_mutex_attempt_status(). Since 0.1. */
REDLOCK_API int redlock_semaphore_attempt_status(const redlock_semaphore *semaphore);

/* Gives back what it holds. redlock_semaphore_is_valid() is false before this begins to wait: until
 * a quorum of nodes has answered, no longer than node_timeout_ms.
 *
 * Returns:
 *     0                         a quorum answered: a waiter can have it
 *     REDLOCK_ERR_LOST          it had been lost before: more than k may have worked. Once.
 *     REDLOCK_ERR_NO_QUORUM     fewer answered; the release is pending on the others, and is
 *                               retried until they answer or the ttl has ended
 *     REDLOCK_ERR_NOT_HELD      this object holds nothing
 *     REDLOCK_ERR_BUSY          another thread is acquiring or releasing it
 *     REDLOCK_ERR_CANCELED      the client was closed; it was still released
 *     REDLOCK_ERR_INVALID (NULL), REDLOCK_ERR_CLOSED, REDLOCK_ERR_WRONG_THREAD,
 *     REDLOCK_ERR_FORKED, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_semaphore_release(redlock_semaphore *semaphore);

/* -- While it is held -- */

/* Extends what it holds to ttl_ms from now (0: the ttl of the options), and waits for the answer,
 * no longer than node_timeout_ms. Returns as redlock_mutex_extend(). Since 0.1. */
REDLOCK_API int redlock_semaphore_extend(redlock_semaphore *semaphore, int64_t ttl_ms);

/* As redlock_mutex_alive(), for what it holds. Since 0.1. */
REDLOCK_API int redlock_semaphore_alive(redlock_semaphore *semaphore);

/* The slot of a permit: number `index` of those that it holds (of `take`, from 0), or has lost and
 * not released; from 0 to k - 1. REDLOCK_NO_SLOT if it holds none or not so many, and for NULL and
 * after fork. Inside on_lost it is the slot that was lost. Does not wait; not for signal handlers.
 * Since 0.1. */
REDLOCK_API int32_t redlock_semaphore_slot(redlock_semaphore *semaphore, size_t index);

/* 1 if it holds its permit and the validity has not ended now, else 0 (also for NULL and after
 * fork). It takes no lock and never waits; also for signal handlers of a thread that has acquired
 * it. Since 0.1. */
REDLOCK_API int redlock_semaphore_is_valid(const redlock_semaphore *semaphore);

/* How much validity is left now, in whole milliseconds, rounded down; 0 if none. As
 * redlock_semaphore_is_valid() in everything else. Since 0.1. */
REDLOCK_API int64_t redlock_semaphore_remaining_ms(const redlock_semaphore *semaphore);

/* The token and the fence of what it holds, or has lost and not released, as redlock_mutex_token()
 * and redlock_mutex_fence(). Since 0.1. */
REDLOCK_API int redlock_semaphore_token(redlock_semaphore *semaphore, char *buffer, size_t size);
REDLOCK_API uint64_t redlock_semaphore_fence(redlock_semaphore *semaphore);

/* The last failure on this object, of whichever thread, as redlock_mutex_message(). Since 0.1. */
REDLOCK_API const char *redlock_semaphore_message(const redlock_semaphore *semaphore, char *buffer,
                                                  size_t size);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_SEMAPHORE_BLOCKING_H */
