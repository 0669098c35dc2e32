/* Locks: making, acquiring, extending, releasing and reading them. redlock.h includes this file,
 * and has the common rules: callbacks, waiting, threads, NULL, messages, sizes, units.
 */
#ifndef REDLOCK_LOCK_H
#define REDLOCK_LOCK_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* status: see the function that took the callback. lock: valid during the call, unless the callback
 * itself frees it. */
typedef void (*redlock_lock_cb)(redlock_lock *lock, int status, void *data);

/* Makes a lock object for a resource; sends nothing. It can be acquired and released any number of
 * times. resource is copied. Several lock objects of one resource exclude each other (but see
 * `owner` of redlock_acquire_options).
 *
 * Returns 0, REDLOCK_ERR_INVALID (an argument is NULL, length is 0 or above REDLOCK_RESOURCE_MAX,
 * or the resource begins with "libredlock:", where the nodes keep counters, waiters and readers),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_NOMEM; *lock is NULL then. Since 0.1. */
REDLOCK_API int redlock_lock_new(redlock_client *client, const void *resource, size_t length,
                                 redlock_lock **lock);

/* Any sequence of bytes. */
typedef struct redlock_bytes {
    const void *data;
    size_t length;
} redlock_bytes;

/* The mode in which a lock is held. */
enum redlock_mode {
    REDLOCK_EXCLUSIVE = 0, /* by one client: a writer, as in all other Redlock libraries */
    REDLOCK_SHARED = 1     /* by any number of readers, while nobody has it exclusively */
};

/* Options of a lock object. Begin with REDLOCK_LOCK_OPTIONS_INIT. Everything is copied, and does
 * not change while the lock exists. */
typedef struct redlock_lock_options {
    size_t size; /* set by the initializer */

    /* 1 to REDLOCK_RESOURCES_MAX different resources, in any order. With more than one, the lock
     * holds all of them or none: each node sets all the keys in one step or no key at all, so no
     * client ever waits while it holds a part, and there is no deadlock. All keys of a lock have
     * one token, and live and end together. If the nodes form several sets, all resources must
     * belong to one set, as names with the same part in {braces} do: "{user:7}:mail" and
     * "{user:7}:files". */
    const redlock_bytes *resources;
    size_t n_resources;

    /* A name for operators and for redlock_query_holder(), stored behind the token: 1 to
     * REDLOCK_HOLDER_MAX printable characters without spaces. NULL: none. Default NULL. */
    const char *holder;

    /* REDLOCK_SHARED: a reader. Readers hold side by side; they exclude, and are excluded by, an
     * exclusive holder, be it a lock of this library or of another. Each has its own token, ttl,
     * watchdog and loss: a crashed reader keeps writers out until its own ttl ends. Readers and
     * writers take turns: when a writer releases, all waiting readers are let in, and later readers
     * wait for the next writer. All resources of a lock are held in one mode. With `fencing` a
     * reader's fence is at least that of any writer before it, and below that of each writer after
     * it; as a rule, readers that follow the same writer share a fence. Nodes keep readers under
     * "libredlock:readers:{" resource "}". Default REDLOCK_EXCLUSIVE. */
    enum redlock_mode mode;

    /* A semaphore of so many permits, see semaphore.h: up to REDLOCK_PERMITS_MAX, of one resource,
     * and REDLOCK_EXCLUSIVE. The lock holds `take` of them at once, or none: 1 to
     * REDLOCK_TAKE_MAX, and no more than permits. 0: no semaphore, and take is ignored. Default 0
     * and 1. */
    int32_t permits;
    int32_t take;
} redlock_lock_options;

#define REDLOCK_LOCK_OPTIONS_INIT \
    { sizeof(redlock_lock_options), NULL, 0, NULL, REDLOCK_EXCLUSIVE, 0, 1 }

/* REDLOCK_LOCK_OPTIONS_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_lock_options_init(redlock_lock_options *options, size_t size);

/* As redlock_lock_new(), with options. After a failure error has an error text, if error_size is
 * not 0.
 *
 * Returns 0, REDLOCK_ERR_INVALID (as redlock_lock_new(); an option is out of range, a resource is
 * named twice, the holder's name cannot be stored, the size field is unknown), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_NOMEM; *lock is NULL then. Since 0.1. */
REDLOCK_API int redlock_lock_new_with(redlock_client *client, const redlock_lock_options *options,
                                      redlock_lock **lock, char *error, size_t error_size);

/* Frees the object; the caller may not use it again. A hold is released in the background, and a
 * pending operation ends with REDLOCK_ERR_CANCELED (its callback still runs, and may read the
 * lock). In a child, after fork(), nothing is released. NULL is ignored. Since 0.1. */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/* Options of one acquire. Begin with REDLOCK_ACQUIRE_OPTIONS_INIT; a 0 means 0. */
typedef struct redlock_acquire_options {
    size_t size; /* set by the initializer */

    /* The life of the key on each node, and so of the lock unless it is extended. Above the drift
     * allowance and min_validity_ms, up to REDLOCK_TTL_MS_MAX or max_ttl_ms. Default 10000.
     *
     * A lock that another client's release has passed is valid for at most 1 s at first. Soon
     * afterwards it is extended to its ttl in the background, even without auto_extend; on_renew
     * runs. A program that may block its loop for longer sets min_validity_ms. */
    int64_t ttl_ms;

    /* Give up after this many attempts (1 or more, or REDLOCK_NO_LIMIT), or after this time (0: one
     * attempt; or REDLOCK_NO_LIMIT), whichever comes first. While the lock waits in line, behind
     * another lock of this client or other clients, each pause's length of time counts as one
     * attempt. Default REDLOCK_NO_LIMIT tries within 10000 ms. */
    int64_t tries;
    int64_t wait_ms;

    /* The pause between two attempts is delay_ms plus a random part of up to jitter_ms, so that
     * clients that split the votes do not collide again. 0 to 86400000; a pause is never shorter
     * than 1 ms. A lock that waits in line waits for its turn instead. Default 50 and 100.
     * Specification, "Retry on failure". */
    int64_t delay_ms;
    int64_t jitter_ms;

    /* A lock with less validity left than this when the callback is about to run is not granted.
     * Ignored if the acquire joins a hold of its owner. If it is at least half of the validity with
     * which a passed lock begins (494 of 1 s), such a lock asks the nodes for its whole ttl, in one
     * more round trip. Default 1. */
    int64_t min_validity_ms;

    /* Runs once if the lock ends while it is held and neither released nor freed:
     *     REDLOCK_ERR_EXPIRED   validity is about to end; it was not extended in time
     *     REDLOCK_ERR_LOST      an extension found that too many nodes no longer have the token
     *     REDLOCK_ERR_MAX_HOLD  max_hold_ms is over
     *     REDLOCK_ERR_SILENT    no sign of life for max_silence_ms, so the watchdog stopped
     * Stop the protected work. The lock is no longer held; its remaining keys are being released,
     * and it may be acquired again. Default NULL. */
    redlock_lock_cb on_lost;
    void *lost_data;

    /* The watchdog. 1: the lock is extended to its ttl until it is released or lost: whenever
     * renew_ms of its validity are used up (up to an eighth earlier, at random, so that many locks
     * spread out), and after a short pause if the outcome was unknown. A node that has lost the key
     * gets it back. An extension by the caller takes precedence. Default 0. */
    int auto_extend;

    /* 1 or more, and less than the validity of ttl_ms without lost_margin_ms, or
     * REDLOCK_THIRD_OF_TTL. A lock whose renewals all fail is lost: leave room for several. Default
     * REDLOCK_THIRD_OF_TTL. */
    int64_t renew_ms;

    /* The lock ends this long after the attempt that won it, however often it is extended; on_lost
     * runs with REDLOCK_ERR_MAX_HOLD. 1 or more, or REDLOCK_NO_LIMIT. Default REDLOCK_NO_LIMIT. */
    int64_t max_hold_ms;

    /* Runs after each extension by the watchdog: 0, or REDLOCK_ERR_UNKNOWN (validity is what it
     * was). Default NULL. */
    redlock_lock_cb on_renew;
    void *renew_data;

    /* The owner, for reentrancy: a thread's or a task's number; 0 is no owner. If this client has a
     * lock object of the same resources that is held for the same owner, the acquire succeeds at
     * once and shares that hold: one token, one validity, one watchdog with the options of the
     * first acquire, and its fence (with `fencing`, a hold without one cannot be shared:
     * REDLOCK_ERR_ALREADY_HELD); on_lost and on_renew are each object's own. It may be the same
     * object: acquired n times, it is released n times, and its last on_lost and on_renew that are
     * not NULL stay for the hold. The owner's last release releases the lock. An extension counts
     * for all objects; cancelling, releasing or freeing one object ends no operation of another. An
     * owner that holds a part of the resources cannot acquire more of them (REDLOCK_ERR_PART_HELD),
     * since it would wait for itself. So would an owner that reads and wants to write
     * (REDLOCK_ERR_WOULD_DEADLOCK; see redlock_try_upgrade()); an exclusive holder may read.
     * Default 0. */
    uint64_t owner;

    /* 1: the grant has a fence, a number that is larger than those of all fenced grants of the
     * resources before it: redlock_lock_fence(). Pass it to the resource that the lock protects,
     * and have that refuse numbers smaller than the largest it has seen: then a holder that was
     * stopped for longer than its validity cannot do harm. Nodes keep a counter under
     * "libredlock:fence:" and the resource. It costs a script instead of SET, and a second round
     * trip if the nodes' counters differ (the wall clocks of clients do, and several want the
     * lock). Default 0. */
    int fencing;

    /* The watchdog stops when there was no sign of life for this long: work that hangs must not
     * hold the lock for ever. Signs are the grant, redlock_lock_alive(), and the caller's own
     * redlock_extend(), redlock_downgrade() and redlock_try_upgrade(), by any lock object that
     * shares the hold. The validity that is left then stays, two thirds of the ttl by default. A
     * sign within that time lets the watchdog resume; otherwise on_lost runs with
     * REDLOCK_ERR_SILENT, no later than max_silence_ms and a ttl after the last sign (a lock that
     * was passed is extended to its ttl once in any case). Without auto_extend there is no watchdog
     * to stop. 0: no limit. Default 0. */
    int64_t max_silence_ms;

    /* For a loop that takes one lock again and again while no other client wants it. After a
     * release the nodes keep the lock, and the next acquire of this object with the same options,
     * within linger_ms of that release, sends nothing: it resumes the old validity, of which at
     * least half (and min_validity_ms) must be left, and the old token. A later release goes to the
     * nodes. A client that waits in line recalls the lock at once, and gets it some three round
     * trips after it asked; a free lock takes one.
     *
     * Until then other clients see a held lock: they are refused if they try once, or use another
     * library, and "redlock ls" shows the key with its ttl. Recalls need a second connection to one
     * of the nodes; without it the lock does not linger. A client may wait up to linger_ms if its
     * message is lost, if it reaches other nodes and so sends it to another home, or if it was
     * already first in line when this client took over the lock from another library's holder. The
     * lock is also released when another lock object of the client wants it, with
     * redlock_lock_free() and with redlock_client_close(); a process that exits without these
     * leaves it to its ttl.
     *
     * 0 to ttl_ms; 0: none. Not with fencing or max_hold_ms, and not for readers, permits and
     * several resources. Adopted locks do not linger. Default 0. */
    int64_t linger_ms;
} redlock_acquire_options;

#define REDLOCK_ACQUIRE_OPTIONS_INIT                                                             \
    {                                                                                            \
        sizeof(redlock_acquire_options), 10000, REDLOCK_NO_LIMIT, 10000, 50, 100, 1, NULL, NULL, \
            0, REDLOCK_THIRD_OF_TTL, REDLOCK_NO_LIMIT, NULL, NULL, 0, 0, 0, 0                    \
    }

/* REDLOCK_ACQUIRE_OPTIONS_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_acquire_options_init(redlock_acquire_options *options, size_t size);

/* Acquires the lock: SET resource token NX PX ttl on every node at once, with a fresh token for
 * each attempt; held as soon as a quorum granted and validity = ttl - elapsed - drift is left;
 * otherwise everything is released on every node, and it tries again. Specification, "The Redlock
 * algorithm", steps 1 to 5.
 *
 * options: NULL for the defaults; copied. The callback's status:
 *     0                       the lock is held, redlock_lock_valid_until_ns() says how long
 *     REDLOCK_ERR_HELD        the tries are over; in the last one other clients held too many nodes
 *     REDLOCK_ERR_NO_QUORUM   the tries are over; in the last one too many nodes failed
 *     REDLOCK_ERR_EXPIRED     the tries are over; in the last one a quorum granted too late. Or too
 *                             little was left of a hold that lingered when the callback could run
 *     REDLOCK_ERR_DEADLINE    wait_ms passed, or would pass before the next attempt;
 *                             redlock_lock_attempt_status() says what stood in the way
 *     REDLOCK_ERR_CANCELED    by redlock_cancel(), redlock_lock_free() or redlock_client_close()
 *     REDLOCK_ERR_ALREADY_HELD, REDLOCK_ERR_PART_HELD, REDLOCK_ERR_WOULD_DEADLOCK
 *                             its owner was meanwhile granted a hold that it cannot share: one
 *                             without a fence, while this has `fencing`; a part of the resources;
 *                             a reader's, while this wants to write
 *     REDLOCK_ERR_PERMITS     of a semaphore: another number of permits is in use on so many nodes
 *                             that no quorum has this one; the message has both
 *     REDLOCK_ERR_SYSTEM      the operating system gave no random bytes for a token
 * After an error nothing of this acquire stays on a live node.
 *
 * Returns 0, or REDLOCK_ERR_INVALID (redlock_lock_message() names the option, or the resources that
 * are not in one set), REDLOCK_ERR_BUSY (an acquire or a release is pending, or on_lost of the last
 * hold is about to run, or the object was released but its hold is still shared by other objects of
 * the owner), REDLOCK_ERR_ALREADY_HELD (without an owner, or by another one; or the owner's hold
 * has no fence, and this has `fencing`), REDLOCK_ERR_PART_HELD, REDLOCK_ERR_WOULD_DEADLOCK,
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM (with `owner`, `on_renew` or
 * `linger_ms`). Since 0.1. */
REDLOCK_API int redlock_acquire(redlock_lock *lock, const redlock_acquire_options *options,
                                redlock_lock_cb on_done, void *data);

/* Acquires one of n locks, whichever is free: for workers that take any job. It tries one after the
 * other, in random order, so that workers do not all begin with the same lock.
 *
 * locks: 1 to REDLOCK_ANY_MAX lock objects of one client; the array is copied. A lock that is in
 * use elsewhere in the program is skipped, so one array serves several jobs at a time; with `owner`
 * a hold of that owner counts as free. No lock may be freed before the callback, except to cancel.
 * options: as for redlock_acquire(). Each round tries every lock once: `tries` is the number of
 * rounds, with the pause of delay_ms and jitter_ms between two rounds; wait_ms is for the whole
 * call, and a try that has begun may take longer by node_timeout_ms. Unlike a line for one lock,
 * this gives no client a turn: it asks again and again, with n attempts each round. For one round
 * set wait_ms to 0.
 *
 * on_done runs once, with the lock that is held, or else with the last one that was tried, whose
 * message says what stood in the way:
 *     0                       `lock` is held, and redlock_lock_resource() says what it locks
 *     REDLOCK_ERR_HELD        the rounds are over, and other clients hold all of them
 *     REDLOCK_ERR_NO_QUORUM, REDLOCK_ERR_EXPIRED
 *                             the rounds are over, and the nodes failed: a round ends with the
 *                             first lock for which they do
 *     REDLOCK_ERR_DEADLINE, REDLOCK_ERR_ALREADY_HELD, REDLOCK_ERR_PART_HELD,
 *     REDLOCK_ERR_WOULD_DEADLOCK, REDLOCK_ERR_PERMITS, REDLOCK_ERR_SYSTEM
 *                             as for redlock_acquire()
 *     REDLOCK_ERR_CANCELED    by redlock_cancel() or redlock_lock_free() of the lock that was being
 *                             tried, or by redlock_client_close(). To cancel, call redlock_cancel()
 *                             for each lock: for all but that one it is REDLOCK_ERR_IDLE.
 * After an error nothing is held by this call. In statistics and spans each try is an acquire.
 *
 * Returns 0, or REDLOCK_ERR_INVALID (n is out of range, a pointer NULL, a lock of another client,
 * or an option is one that redlock_acquire() refuses for a lock, whose message says so), as
 * redlock_acquire() for the last lock if none can be tried (REDLOCK_ERR_BUSY,
 * REDLOCK_ERR_ALREADY_HELD and so on), REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM.
 * Since 0.1. */
REDLOCK_API int redlock_acquire_any(redlock_lock *const *locks, size_t n,
                                    const redlock_acquire_options *options, redlock_lock_cb on_done,
                                    void *data);

/* Extends a held lock to ttl_ms from now (0: the ttl it was acquired with), on every node that
 * still has the token. The callback's status:
 *     0                       renewed by a quorum: validity runs from the moment this was sent
 *     REDLOCK_ERR_LOST        so many nodes no longer have the token that no quorum can have it;
 *                             on_lost ran
 *     REDLOCK_ERR_EXPIRED     validity ended first; on_lost ran
 *     REDLOCK_ERR_UNKNOWN     too many nodes did not answer; validity is what it was, extend again
 *                             until it ends (the watchdog, if there is one, does)
 *     REDLOCK_ERR_CANCELED    by redlock_cancel(), redlock_release(), redlock_lock_free() or
 *                             redlock_client_close()
 * A ttl shorter than the remaining validity shortens it at once, whatever the nodes answer. The
 * keys keep their longer ttl until they are released: a command that shortens them might run late,
 * after a longer extension, and end a lock that is held. A node that had lost the key while a
 * quorum renewed it gets it back, with the same token. Specification, "Making the algorithm more
 * reliable: Extending the lock".
 *
 * Returns 0, or REDLOCK_ERR_INVALID (ttl_ms negative, above REDLOCK_TTL_MS_MAX or max_ttl_ms, or
 * not above the drift), REDLOCK_ERR_NOT_HELD, REDLOCK_ERR_BUSY (an extension is pending),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_extend(redlock_lock *lock, int64_t ttl_ms, redlock_lock_cb on_done,
                               void *data);

/* A sign of life, see `max_silence_ms`: the work that the lock protects makes progress. Call it
 * where the work makes progress, not from a timer, which would also fire for a worker that hangs.
 * It sends nothing, and is cheap enough for a loop; if the watchdog had stopped, the lock is
 * renewed at once. Without max_silence_ms it changes nothing.
 *
 * Returns 0, or REDLOCK_ERR_INVALID (NULL), REDLOCK_ERR_NOT_HELD (lost, too: it does not bring a
 * lock back), REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_lock_alive(redlock_lock *lock);

/* Makes an exclusively held lock a shared one, without a gap in which no client holds it. This is
 * an extension to the ttl with which the lock was acquired, and lets other readers in on every node
 * that it reaches. The lock counts as shared from this call on, whatever the nodes answer. Nodes
 * that did not answer may keep others out until the next extension, or the release. The callback's
 * status: as for redlock_extend().
 *
 * Returns as redlock_extend(); REDLOCK_ERR_INVALID also if it is shared already, REDLOCK_ERR_BUSY
 * also if it was acquired more than once or is shared by other objects of its owner. Since 0.1. */
REDLOCK_API int redlock_downgrade(redlock_lock *lock, redlock_lock_cb on_done, void *data);

/* Makes a lock that is held shared an exclusive one, if no other client reads. It tries once and
 * never waits, since two readers could wait for each other for ever. A hold with a fence then gets
 * a new one, larger than its reader's fence and all earlier ones: call redlock_lock_fence() again.
 * The callback's status:
 *     0                          held exclusively; validity is not shorter than before, unless the
 *                                set was given a lower max_ttl meanwhile
 *     REDLOCK_ERR_HELD           others read, or have released a moment ago and a node has yet to
 *                                execute that; it is held shared as before
 *     REDLOCK_ERR_WOULD_DEADLOCK
 *                                the same, and another reader has tried recently (5 s): one of the
 *                                two must release
 *     REDLOCK_ERR_UNKNOWN        too many nodes did not answer this, or an earlier change of the
 *                                mode, which might run late; held shared as before
 *     REDLOCK_ERR_LOST, REDLOCK_ERR_EXPIRED, REDLOCK_ERR_CANCELED
 *                                as for redlock_extend()
 * Before a failure is reported an extension gives back what some nodes had granted. Nodes that did
 * not answer that extension may keep others out until the next one, or until the release.
 *
 * Returns as redlock_downgrade(); REDLOCK_ERR_INVALID also if it is held exclusively already, or
 * was adopted. Since 0.1. */
REDLOCK_API int redlock_try_upgrade(redlock_lock *lock, redlock_lock_cb on_done, void *data);

/* Releases a held lock: on every node the key is deleted if it still has this lock's token. The
 * lock counts as not held from this call on; a pending extension ends with REDLOCK_ERR_CANCELED.
 * The callback's status:
 *     0                       a quorum of nodes answered: the next acquire, of any client, can
 *                             succeed. Or the lock lingers, and nothing was sent (linger_ms)
 *     REDLOCK_ERR_NO_QUORUM   fewer answered; the release is pending on the others, and is retried
 *                             until they answer or the ttl has ended
 *     REDLOCK_ERR_LOST        the lock had been lost before: the work may have been unprotected
 *     REDLOCK_ERR_CANCELED    by redlock_client_close(); it was still released
 * Specification, "The Redlock algorithm", step 5, and "Releasing the lock".
 *
 * Returns 0, or REDLOCK_ERR_NOT_HELD (never acquired, or released already), REDLOCK_ERR_BUSY (an
 * acquire or a release is pending: redlock_cancel() ends an acquire), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_release(redlock_lock *lock, redlock_lock_cb on_done, void *data);

/* Cancels the pending acquire or extension: it ends with REDLOCK_ERR_CANCELED. The keys of a
 * cancelled acquire are released; a cancelled extension leaves the lock held as long as it was. An
 * acquire that has been granted or has failed, but whose callback has not run yet, is cancelled
 * too.
 *
 * Returns 0, REDLOCK_ERR_IDLE (nothing pending that can be cancelled; the watchdog's extensions
 * cannot), REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_cancel(redlock_lock *lock);

/* 1 if the lock is held and its validity has not ended now, else 0. Ask again after anything that
 * may have blocked the loop. Since 0.1. */
REDLOCK_API int redlock_lock_is_valid(const redlock_lock *lock);

/* When validity ends, on redlock_now_ns(); 0 if the lock is not held. Since 0.1. */
REDLOCK_API uint64_t redlock_lock_valid_until_ns(const redlock_lock *lock);

/* How much validity is left now, in whole milliseconds, rounded down; 0 if none. Since 0.1. */
REDLOCK_API int64_t redlock_lock_remaining_ms(const redlock_lock *lock);

/* The token of the last attempt, REDLOCK_TOKEN_LENGTH hex digits and a zero; "" before the first.
 * Valid until the next attempt. Any party that knows the token can release the lock. Since 0.1. */
REDLOCK_API const char *redlock_lock_token(const redlock_lock *lock);

/* The mode in which the lock is held; if it is not held, the last or the intended mode. Since
 * 0.1. */
REDLOCK_API enum redlock_mode redlock_lock_mode(const redlock_lock *lock);

/* The fence of the last grant, also after the lock was lost or released; 0 while it is being
 * acquired, if the last acquire failed or did not ask for one, and after redlock_adopt(). Below
 * 2^53, so exact in a double and in JSON. An upgrade changes it, an extension or a downgrade does
 * not. Since 0.1. */
REDLOCK_API uint64_t redlock_lock_fence(const redlock_lock *lock);

/* The resource and its length; the first if there are several. Valid as long as the lock. Since
 * 0.1. */
REDLOCK_API const void *redlock_lock_resource(const redlock_lock *lock, size_t *length);

/* A pointer for the caller's own data; the library does not use it. NULL before the first
 * redlock_lock_set_data(), and for a lock that is NULL. Since 0.1. */
REDLOCK_API void redlock_lock_set_data(redlock_lock *lock, void *data);
REDLOCK_API void *redlock_lock_data(const redlock_lock *lock);

/* The client of a lock. Since 0.1. */
REDLOCK_API redlock_client *redlock_lock_client(const redlock_lock *lock);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_LOCK_H */
