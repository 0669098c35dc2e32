/* libredlock: a lock on N independent Redis nodes, held by whoever has a majority of them.
 *
 * A client drives all nodes from one libuv loop. A lock object names one resource; acquire, extend
 * and release are asynchronous and end in a callback:
 *
 *     redlock_client_open() -> redlock_lock_new() -> redlock_acquire() -> work
 *         -> redlock_release() -> redlock_lock_free() -> redlock_client_close()
 *
 * The callback contract, for every function that takes a callback:
 *   - If the function returns 0, its callback runs exactly once, later, from the loop: never inside
 *     the call that submitted it. If the function returns an error, nothing was submitted and the
 *     callback never runs.
 *   - Inside a callback every function of this header may be called, freeing the lock and closing
 *     the client included. (uv_run() may not: libuv does not nest. Callbacks wait for the outer
 *     one.)
 *   - A callback may be NULL where the outcome does not matter.
 *   - on_lost of one lock runs before any later success of any lock is reported.
 *
 * Waiting: locks of one client that want the same resource form a line. Only the first in line asks
 * the nodes; when it is done the next one asks at once, so that a thousand waiters in one process
 * cost the nodes what one costs. After a second of being handed on within one client the line lets
 * others go first once, by the pause between two attempts. Clients exclude each other on the nodes.
 *
 * Threads: a client, its locks and its loop belong to one thread, the one that runs the loop; once
 * it has run, nothing here may be called from another (a debug build of the library, one without
 * NDEBUG, then ends the program and names the function). Different clients on different loops are
 * independent, there is no global state. After fork() the child may not use the client: every
 * function that sends answers REDLOCK_ERR_FORKED, and the parent's sockets are untouched.
 *
 * NULL, in every header: a function that returns a status answers REDLOCK_ERR_INVALID where an
 * object or a pointer that it needs is NULL. One that frees ignores NULL, and returns 0 if it
 * returns something. A getter answers for NULL as for an object that has nothing: 0, "" if it
 * returns a text, NULL if it returns a pointer (a client, a resource, a leader's name). Callbacks,
 * their data, and what is said to be optional may be NULL. A buffer with size 0 is none.
 *
 * Structs with a size: begin with their initializer, it sets `size` and the defaults. Any other
 * size is REDLOCK_ERR_INVALID, and where there is a place for a sentence it names the initializer.
 *
 * Units are in the names. Durations given by the caller are int64_t milliseconds; a negative one is
 * an error and not a very long time. Times returned are uint64_t nanoseconds of redlock_now_ns().
 *
 * Strings: a resource is any sequence of 1 to REDLOCK_RESOURCE_MAX bytes, zero bytes included. It
 * is used as the Redis key as it is.
 *
 * The protocol is the one of the Redis page "Distributed Locks with Redis" ("the specification"
 * below); each function names the step that it implements. What the lock promises and what it does
 * not: docs/guarantees.md.
 */
#ifndef REDLOCK_REDLOCK_H
#define REDLOCK_REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "redlock/guard.h"
#include "redlock/status.h"
#include "redlock/trace.h"
#include "redlock/version.h"

#ifdef __cplusplus
extern "C" {
#endif

struct uv_loop_s; /* libuv's uv_loop_t */

/* -- Limits and constants -- */

#define REDLOCK_NODES_MAX 31                         /* nodes of one client */
#define REDLOCK_RESOURCES_MAX 64                     /* resources of one lock */
#define REDLOCK_HOLDER_MAX 64                        /* bytes of a holder's name */
#define REDLOCK_RESOURCE_MAX 1024                    /* bytes of a resource */
#define REDLOCK_TTL_MS_MAX 86400000                  /* one day */
#define REDLOCK_RETENTION_MS_MAX INT64_C(2678400000) /* 31 days */
#define REDLOCK_TOKEN_LENGTH 40                      /* hex digits of a token: 20 random bytes */
#define REDLOCK_MESSAGE_MAX 512   /* bytes of any message of this library, with its zero */
#define REDLOCK_NO_LIMIT (-1)     /* for tries, wait_ms and max_hold_ms */
#define REDLOCK_THIRD_OF_TTL (-1) /* for renew_ms */

/* The version of the library that is linked, e.g. "0.1.0". Static. Any thread. Since 0.1. */
REDLOCK_API const char *redlock_version(void);

/* The clock that validity is measured on, in nanoseconds: CLOCK_BOOTTIME on Linux, which goes on
 * while the machine is suspended and is not moved by changes of the wall clock. Any thread. Since
 * 0.1. */
REDLOCK_API uint64_t redlock_now_ns(void);

/* -- Client -- */

typedef struct redlock_client redlock_client; /* opaque: N nodes on one loop */
typedef struct redlock_lock redlock_lock;     /* opaque: one resource, held or not */

/* status: see redlock_client_open() and redlock_client_close(). data: as given with the callback.
 * */
typedef void (*redlock_client_cb)(redlock_client *client, int status, void *data);

/* Memory of one client comes from here. Both functions are called on the loop's thread only (or on
 * the thread that calls an API function). free must accept NULL. hiredis and libuv allocate for
 * themselves. */
typedef struct redlock_allocator {
    void *(*malloc)(size_t size, void *data);
    void (*free)(void *pointer, void *data);
    void *data;
} redlock_allocator;

/* Options of a client. Begin with REDLOCK_CLIENT_OPTIONS_INIT, which carries the defaults, and set
 * what differs: a 0 means 0. The strings and arrays are copied. */
typedef struct redlock_client_options {
    size_t size; /* set by the initializer: by it the library knows the caller's version */

    /* The nodes, 1 to REDLOCK_NODES_MAX independent Redis servers (not replicas of each other):
     *     redis://[[user]:password@]host[:port][/db]     IPv6 in brackets; port 6379, db 0
     *     unix://[[user]:password@]/path[?db=n]
     * User, password and path may be percent-encoded. Quorum is n_nodes / 2 + 1. */
    const char *const *nodes;
    size_t n_nodes;

    /* Resolving, connecting and the handshake with one address of a node end after this. 1 to
     * 3600000. Default 1000. */
    int64_t connect_timeout_ms;

    /* A vote that has not come so long after the sending is counted as failed. 1 to 3600000.
     * Default 250. It is only ever waited for when a quorum cannot be decided without that vote. A
     * node whose oldest request has waited longer is left out of new attempts until it answers.
     * After four times as long without any answer, or if that request is sixteen times as old, its
     * connection is dropped and made anew. */
    int64_t node_timeout_ms;

    /* The pause before a node is connected again doubles from the first to the second value, each
     * with a jitter of half of itself. 1 to 3600000. Default 50 and 2000. */
    int64_t reconnect_min_ms;
    int64_t reconnect_max_ms;

    /* The allowance for clocks that run at different rates, taken off the validity: ttl *
     * drift_ratio + drift_ms. 0 <= drift_ratio < 1, at a resolution of one millionth, rounded up; 0
     * <= drift_ms. Default 0.01 and 2, as in the specification, "Safety arguments". */
    double drift_ratio;
    int64_t drift_ms;

    /* on_lost runs so long before the end of validity (and a millisecond for the timer's
     * resolution), so that a thread that is scheduled a little late is still in time; at most half
     * of the validity, so a validity of less than 2 ms cannot be told in time. It is no time to
     * stop work in: with the loss the keys are released, and another client may be granted them at
     * once. Work that takes long to stop has to begin with that while the lock is held, by
     * redlock_lock_valid_until_ns(), and to release afterwards. 0 or more. Default 10. */
    int64_t lost_margin_ms;

    /* CLIENT SETNAME, so that operators can tell whose connection it is: 1 to 64 printable
     * characters without spaces. NULL sends none. Default "redlock". A node that forbids the
     * command is used without. */
    const char *client_name;

    const redlock_allocator *allocator; /* copied; NULL: malloc and free. Default NULL. */
    redlock_trace_cb trace;             /* NULL: none, at no cost. Default NULL. */
    void *trace_data;

    /* If redlock_client_open() itself fails, it puts a sentence that names the option or URL here.
     * NULL or size 0: none. Passwords never appear in it. Default NULL. */
    char *error;
    size_t error_size;

    /* How long a node keeps the counter of a resource's fences (see `fencing` of
     * redlock_acquire_options) after the last grant or extension. 1000 to REDLOCK_RETENTION_MS_MAX,
     * and not less than twice the ttl of a fenced lock. The same for all clients. Default 86400000,
     * a day. */
    int64_t fence_retention_ms;

    /* See guard.h. Unless it is off, the nodes must allow INFO. Default REDLOCK_GUARD_STRICT: on
     * nodes that were started a moment ago nothing can be acquired until max_ttl_ms have passed. */
    enum redlock_guard guard;

    /* The longest ttl that any client of these nodes asks for, the same in all. With a guard a
     * longer one is refused. 1 to REDLOCK_TTL_MS_MAX. Default 30000. */
    int64_t max_ttl_ms;
} redlock_client_options;

#define REDLOCK_CLIENT_OPTIONS_INIT                                                           \
    {                                                                                         \
        sizeof(redlock_client_options), NULL, 0, 1000, 250, 50, 2000, 0.01, 2, 10, "redlock", \
            NULL, NULL, NULL, NULL, 0, 86400000, REDLOCK_GUARD_STRICT, 30000                  \
    }

/* Opens a client on loop and begins to connect to all nodes.
 *
 * loop: must outlive the client; the caller runs it, or waits in a loop of its own for
 * uv_backend_fd() (examples/epoll.c). options: not NULL, copied. on_open: may be NULL; it runs
 * once, when a quorum of nodes is up and the others have had 50 ms more to join, or each node has
 * succeeded or failed once, or connect_timeout_ms has passed:
 *     0                       a quorum of nodes is up and may vote
 *     REDLOCK_ERR_NO_QUORUM   it is not, or may not (redlock_client_message() says why, and until
 *                             when). The client goes on connecting and may be used; it must be
 *                             closed in any case.
 *     REDLOCK_ERR_DUPLICATE   as NO_QUORUM, since two URLs lead to one server (with a guard)
 *     REDLOCK_ERR_CANCELED    the client was closed first
 * client: receives the client, also usable before on_open ran: a node that is not up yet counts as
 * a failed vote.
 *
 * Returns 0, or an error with *client set to NULL, nothing left behind, and a sentence in
 * options->error:
 *     REDLOCK_ERR_INVALID     an option is out of range, or its size field unknown; loop, options
 *                             or client is NULL
 *     REDLOCK_ERR_URL         a URL cannot be parsed: which part of it, and why
 *     REDLOCK_ERR_NO_TLS      a rediss:// URL, and the library was built without TLS
 *     REDLOCK_ERR_DUPLICATE   two URLs name one host and port or one path: one server would have
 *                             two votes
 *     REDLOCK_ERR_NOMEM, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_client_open(redlock_client **client, struct uv_loop_s *loop,
                                    const redlock_client_options *options,
                                    redlock_client_cb on_open, void *data);

/* Closes a client. Operations under way end with REDLOCK_ERR_CANCELED; what its locks hold is
 * released, and so is what nodes are owed; the answers are waited for no longer than
 * node_timeout_ms. Then the connections are closed and on_close runs with status 0 (a name look-up
 * that is under way has to be waited for: the system cannot cancel it). Its locks may
 * be used (each call answers REDLOCK_ERR_CLOSED) until on_close has returned; then client and locks
 * are gone, redlock_lock_free() need not have been called. on_lost does not run for locks that
 * closing releases.
 *
 * Returns 0, REDLOCK_ERR_INVALID (client is NULL) or REDLOCK_ERR_CLOSED (called before). After
 * fork(), in the child, it closes the child's copies of the sockets without a word to the nodes,
 * leaves the inherited loop alone, runs no callback and returns REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_client_close(redlock_client *client, redlock_client_cb on_close,
                                     void *data);

/* What is wrong with the nodes now, for people: "4 of 5 nodes up; 127.0.0.1:7004: connection
 * refused or unreachable (Connection refused); 1 of 5 nodes may not vote: 127.0.0.1:7003 restarted
 * 4.1 s ago, votes again in 25.9 s". Valid until the next message is asked of this
 * client or of one of its locks. Never NULL. Since 0.1. */
REDLOCK_API const char *redlock_client_message(redlock_client *client);

/* -- Lock -- */

/* status: see the function that took the callback. lock: valid during the call, unless the callback
 * itself frees it. */
typedef void (*redlock_lock_cb)(redlock_lock *lock, int status, void *data);

/* Makes a lock object for a resource; sends nothing. It can be acquired and released any number of
 * times. resource is copied. Several lock objects of one resource exclude each other (but see
 * `owner` of redlock_acquire_options).
 *
 * Returns 0, REDLOCK_ERR_INVALID (an argument is NULL, or length is 0 or above
 * REDLOCK_RESOURCE_MAX), REDLOCK_ERR_CLOSED, REDLOCK_ERR_NOMEM; *lock is NULL then. Since 0.1. */
REDLOCK_API int redlock_lock_new(redlock_client *client, const void *resource, size_t length,
                                 redlock_lock **lock);

/* Any sequence of bytes. */
typedef struct redlock_bytes {
    const void *data;
    size_t length;
} redlock_bytes;

/* What a lock is of. Begin with REDLOCK_LOCK_OPTIONS_INIT. Everything is copied, and stays as it is
 * as long as the lock lives. */
typedef struct redlock_lock_options {
    size_t size; /* set by the initializer */

    /* 1 to REDLOCK_RESOURCES_MAX different resources, in any order. With more than one the lock is
     * of all of them or of none: each node sets all the keys in one step or no key at all, so that
     * nobody ever waits while holding a part, and there is no deadlock. All keys of a lock have one
     * token, and live and end together. */
    const redlock_bytes *resources;
    size_t n_resources;

    /* A name for people and for redlock_query_holder(), stored behind the token: 1 to
     * REDLOCK_HOLDER_MAX printable characters without spaces. NULL: none. Default NULL. */
    const char *holder;

    /* 1: its release is announced on the nodes (PUBLISH on the channel "redlock:" resource), and
     * its acquire listens and tries again at once instead of when its pause is over. It costs a
     * second connection to each node while somebody waits, and works among locks that have it set.
     * Default 0. */
    int notify;
} redlock_lock_options;

#define REDLOCK_LOCK_OPTIONS_INIT \
    { sizeof(redlock_lock_options), NULL, 0, NULL, 0 }

/* As redlock_lock_new(), with options. error receives a sentence of a failure if error_size is not
 * 0.
 *
 * Returns 0, REDLOCK_ERR_INVALID (a count or length is out of range, a resource is named twice, the
 * holder's name cannot be stored, the size field is unknown), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_NOMEM; *lock is NULL then. Since 0.1. */
REDLOCK_API int redlock_lock_new_with(redlock_client *client, const redlock_lock_options *options,
                                      redlock_lock **lock, char *error, size_t error_size);

/* Gives the object up; it may not be used again by the caller. What it holds is released in the
 * background, an operation under way ends with REDLOCK_ERR_CANCELED (its callback still runs, and
 * may read the lock). In a child, after fork(), nothing is released. NULL is ignored. Since 0.1. */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/* Options of one acquire. Begin with REDLOCK_ACQUIRE_OPTIONS_INIT; a 0 means 0. */
typedef struct redlock_acquire_options {
    size_t size; /* set by the initializer */

    /* The life of the key on each node, and so of the lock if it is not extended. Above the drift
     * allowance and min_validity_ms, up to REDLOCK_TTL_MS_MAX or max_ttl_ms. Default 10000. */
    int64_t ttl_ms;

    /* Give up after so many attempts (1 or more, or REDLOCK_NO_LIMIT), or so much time (0: one
     * attempt; or REDLOCK_NO_LIMIT), whichever is first. In line behind another lock of this client
     * each pause between two attempts counts as one. Default REDLOCK_NO_LIMIT tries within
     * 10000 ms. */
    int64_t tries;
    int64_t wait_ms;

    /* The pause between two attempts is delay_ms plus a random part of up to jitter_ms, so that
     * clients that split the votes do not meet again. 0 to 86400000; a pause is never shorter than
     * 1 ms. Default 50 and 100. Specification, "Retry on failure". */
    int64_t delay_ms;
    int64_t jitter_ms;

    /* A lock with less validity left than this when the callback is about to run is not granted.
     * Default 1. */
    int64_t min_validity_ms;

    /* Runs once if the lock ends while it is held and neither released nor freed:
     *     REDLOCK_ERR_EXPIRED   validity is about to end; it was not extended in time
     *     REDLOCK_ERR_LOST      an extension found that too many nodes no longer have the token
     *     REDLOCK_ERR_MAX_HOLD  max_hold_ms is over
     * Stop what the lock protects. The lock is not held any more; what is left of it on the nodes
     * is being released, and it may be acquired again. Default NULL. */
    redlock_lock_cb on_lost;
    void *lost_data;

    /* The watchdog. 1: the lock is extended to its ttl again and again until it is released or
     * lost: whenever renew_ms of its validity are used up (up to an eighth earlier, at random, so
     * that many locks spread out), and after a short pause if the outcome was unknown. Nodes that
     * miss the key are given it back. An extension by the caller takes precedence. Default 0. */
    int auto_extend;

    /* 1 to less than what on_lost leaves of the validity that ttl_ms gives (lost_margin_ms), or
     * REDLOCK_THIRD_OF_TTL. A lock whose renewals all fail is lost then: leave room for several.
     * Default REDLOCK_THIRD_OF_TTL. */
    int64_t renew_ms;

    /* The lock ends so long after the attempt that won it, however it is extended; on_lost says
     * REDLOCK_ERR_MAX_HOLD. 1 or more, or REDLOCK_NO_LIMIT. Default REDLOCK_NO_LIMIT. */
    int64_t max_hold_ms;

    /* Runs after each extension by the watchdog: 0, or REDLOCK_ERR_UNKNOWN (validity is what it
     * was). Default NULL. */
    redlock_lock_cb on_renew;
    void *renew_data;

    /* Who acquires, for reentrancy: a thread's or a task's number; 0 is nobody. If this client has
     * a lock object of the same resources that is held for the same owner, the acquire succeeds at
     * once and shares that hold: one token, one validity, one watchdog with the options of the
     * first acquire, and its fence (with `fencing`, a hold without one cannot be shared:
     * REDLOCK_ERR_ALREADY_HELD); on_lost and on_renew are each object's own. It may be the same
     * object: acquired n times, it is released n times. The last release of the owner releases.
     * An extension is everybody's; cancelling, releasing or freeing one object ends no operation of
     * another. What an owner holds only a part of cannot be acquired with more
     * (REDLOCK_ERR_PART_HELD): he would wait for himself. Default 0. */
    uint64_t owner;

    /* 1: the grant has a fence, a number that is larger than those of all fenced grants of the
     * resources before it: redlock_lock_fence(). Hand it to whatever the lock protects and have it
     * refuse smaller numbers than it has seen: then a holder that was stopped for longer than its
     * validity cannot do harm. Nodes keep a counter under "libredlock:fence:" and the resource. It
     * costs a script in place of SET, and a second round trip if the nodes' counters differ (the
     * wall clocks of clients do, and several want the lock). Default 0. */
    int fencing;

    /* 1: once an attempt has met another client's key, the next ones ask one node first, the same
     * for all clients, and the others only when that one has granted. Clients that want the lock at
     * the same time then do not split the votes, and waiting for a lock costs the nodes less. At
     * most three times in a row, so that a key that was left on that node is no obstacle. It costs
     * a retry one round trip more. 0: every attempt asks all nodes at once. Default 1. */
    int tie_break;
} redlock_acquire_options;

#define REDLOCK_ACQUIRE_OPTIONS_INIT                                                             \
    {                                                                                            \
        sizeof(redlock_acquire_options), 10000, REDLOCK_NO_LIMIT, 10000, 50, 100, 1, NULL, NULL, \
            0, REDLOCK_THIRD_OF_TTL, REDLOCK_NO_LIMIT, NULL, NULL, 0, 0, 1                       \
    }

/* Acquires the lock: SET resource token NX PX ttl on every node at once, with a fresh token for
 * each attempt; held as soon as a quorum granted and validity = ttl - elapsed - drift is left;
 * otherwise everything is released on every node and tried again. Specification, "The Redlock
 * algorithm", steps 1 to 5.
 *
 * options: NULL for the defaults; copied. The callback's status:
 *     0                       the lock is held, redlock_lock_valid_until_ns() says how long
 *     REDLOCK_ERR_HELD        the tries are over; in the last one others held too many nodes
 *     REDLOCK_ERR_NO_QUORUM   the tries are over; in the last one too many nodes failed
 *     REDLOCK_ERR_EXPIRED     the tries are over; in the last one a quorum granted too late
 *     REDLOCK_ERR_DEADLINE    wait_ms passed, or would pass before the next attempt;
 *                             redlock_lock_attempt_status() says what stood in the way
 *     REDLOCK_ERR_CANCELED    by redlock_cancel(), redlock_lock_free() or redlock_client_close()
 *     REDLOCK_ERR_ALREADY_HELD, REDLOCK_ERR_PART_HELD
 *                             its owner was granted meanwhile what it cannot share: a hold
 *                             without a fence, while it has `fencing`; a part of the resources
 *     REDLOCK_ERR_SYSTEM      the operating system gave no random bytes for a token
 * After an error nothing of this acquire stays on a live node.
 *
 * Returns 0, or REDLOCK_ERR_INVALID (redlock_lock_message() names the option), REDLOCK_ERR_BUSY (an
 * acquire or a release is under way, or on_lost of the last hold is about to run, or the object was
 * released but its hold is still shared by other objects of the owner), REDLOCK_ERR_ALREADY_HELD
 * (without an owner, or by another one; or the owner's hold has no fence, and this has `fencing`),
 * REDLOCK_ERR_PART_HELD, REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_acquire(redlock_lock *lock, const redlock_acquire_options *options,
                                redlock_lock_cb on_done, void *data);

/* Extends a held lock to ttl_ms from now (0: the ttl it was acquired with), on every node that
 * still has the token. The callback's status:
 *     0                       renewed by a quorum: validity runs from the moment this was sent
 *     REDLOCK_ERR_LOST        so many nodes answered that the token is gone that no quorum can have
 *                             it; on_lost ran
 *     REDLOCK_ERR_EXPIRED     validity ended first; on_lost ran
 *     REDLOCK_ERR_UNKNOWN     too many nodes did not answer; validity is what it was, extend again
 *                             until it ends (the watchdog, if there is one, does)
 *     REDLOCK_ERR_CANCELED    by redlock_cancel(), redlock_release(), redlock_lock_free() or
 *                             redlock_client_close()
 * A ttl that is shorter than what is left shortens the validity at once, whatever the nodes answer.
 * The keys keep their longer life until they are released: a command that shortens them might run
 * late, after a longer extension, and end a lock that is held. A node that had lost the key while a
 * quorum renewed it is given it back, with the same token. Specification, "Making the algorithm
 * more reliable: Extending the lock".
 *
 * Returns 0, or REDLOCK_ERR_INVALID (ttl_ms negative, above REDLOCK_TTL_MS_MAX or max_ttl_ms, or
 * not above the drift), REDLOCK_ERR_NOT_HELD, REDLOCK_ERR_BUSY (an extension is under way),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_extend(redlock_lock *lock, int64_t ttl_ms, redlock_lock_cb on_done,
                               void *data);

/* Releases a held lock: on every node the key is deleted if it still has this lock's token. The
 * lock counts as not held from this call on; an extension under way ends with REDLOCK_ERR_CANCELED.
 * The callback's status:
 *     0                       a quorum of nodes answered: the next acquire by anybody can succeed
 *     REDLOCK_ERR_NO_QUORUM   fewer answered; what they are owed is repeated until they do, or
 *                             until the ttl ends it
 *     REDLOCK_ERR_LOST        the lock had been lost before: the work may have been unprotected
 *     REDLOCK_ERR_CANCELED    by redlock_client_close(); it was released all the same
 * Specification, "The Redlock algorithm", step 5, and "Releasing the lock".
 *
 * Returns 0, or REDLOCK_ERR_NOT_HELD (never acquired, or released already), REDLOCK_ERR_BUSY (an
 * acquire or a release is under way: redlock_cancel() ends an acquire), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_release(redlock_lock *lock, redlock_lock_cb on_done, void *data);

/* Cancels the acquire or the extension under way: it ends with REDLOCK_ERR_CANCELED. The keys of a
 * cancelled acquire are released; a cancelled extension leaves the lock held as long as it was. An
 * acquire that has been granted but whose callback has not run yet is cancelled too.
 *
 * Returns 0, REDLOCK_ERR_IDLE (nothing under way that can be cancelled; the watchdog's extensions
 * cannot), REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_cancel(redlock_lock *lock);

/* 1 if the lock is held and its validity has not ended by the clock at this very moment, else 0.
 * Ask it after anything that may have blocked the loop. Since 0.1. */
REDLOCK_API int redlock_lock_is_valid(const redlock_lock *lock);

/* When validity ends, on redlock_now_ns(); 0 if the lock is not held. Since 0.1. */
REDLOCK_API uint64_t redlock_lock_valid_until_ns(const redlock_lock *lock);

/* How much validity is left now, in whole milliseconds, rounded down; 0 if none. Since 0.1. */
REDLOCK_API int64_t redlock_lock_remaining_ms(const redlock_lock *lock);

/* The token of the last attempt, REDLOCK_TOKEN_LENGTH hex digits and a zero; "" before the first.
 * Valid until the next attempt. Whoever has it can release the lock. Since 0.1. */
REDLOCK_API const char *redlock_lock_token(const redlock_lock *lock);

/* The fence of the last grant, also after the lock was lost or released; 0 while it is being
 * acquired, if the last acquire failed or did not ask for one, and after redlock_adopt(). Below
 * 2^53, so exact in a double and in JSON. An extension does not change it. Since 0.1. */
REDLOCK_API uint64_t redlock_lock_fence(const redlock_lock *lock);

/* The resource and its length, of several the first. Valid as long as the lock. Since 0.1. */
REDLOCK_API const void *redlock_lock_resource(const redlock_lock *lock, size_t *length);

/* The client of a lock. Since 0.1. */
REDLOCK_API redlock_client *redlock_lock_client(const redlock_lock *lock);

#ifdef __cplusplus
}
#endif

#include "redlock/outcome.h"
#include "redlock/stats.h"

#endif /* REDLOCK_REDLOCK_H */
