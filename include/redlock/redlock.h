/* libredlock: a lock on N independent Redis nodes, held by the client that a majority has granted
 * it.
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
 *   - Inside a callback every function of this header may be called, even to free the lock or close
 *     the client. (uv_run() may not: libuv does not nest. Callbacks wait for the outer one.)
 *   - A callback may be NULL where the outcome does not matter.
 *   - on_lost of one lock runs before any later success of any lock is reported.
 *
 * Waiting: clients that want the same resource stand in a line, which one of the nodes keeps, and
 * are served first come, first served, whatever process or machine they are in. A waiting client
 * only listens, which costs the nodes next to nothing. A release passes the lock to the next
 * client, in one round trip as a rule (see ttl_ms in lock.h). The locks of one client have one
 * place in the line, and only the first of them asks the nodes, so that a thousand waiters in one
 * process cost the nodes as much as one; the client hands over the lock inside the process while no
 * other client has waited for longer. docs/waiting.md says what this promises, and its assumptions.
 * A client that may not listen on any node polls after each pause between attempts, and is served
 * by chance. Safety does not depend on any of this.
 *
 * Threads: a client, its locks and its loop belong to one thread, the one that runs the loop; once
 * it has run, nothing here may be called from another (a debug build of the library, one without
 * NDEBUG, then aborts the program and names the function). Different clients on different loops are
 * independent, there is no global state. After fork() the child may not use the client: every
 * function that sends answers REDLOCK_ERR_FORKED, and the parent's sockets are untouched.
 *
 * NULL, in every header: a function that returns a status returns REDLOCK_ERR_INVALID if an object
 * or a pointer that it needs is NULL. A function that frees ignores NULL, and returns 0 if it
 * returns a status. A getter treats NULL as an empty object: it returns 0, "" if it returns a text,
 * NULL if it returns a pointer (a client, a resource, a leader's name). Callbacks, their data, and
 * everything described as optional may be NULL. A buffer with size 0 counts as none.
 *
 * Messages, in every header: a function whose name ends in _message writes one human-readable
 * sentence into the caller's buffer and returns the buffer:
 *
 *     char text[REDLOCK_MESSAGE_MAX];
 *     fprintf(stderr, "%s\n", redlock_lock_message(lock, text, sizeof text));
 *
 * The sentence describes the state at the time of the call, and the buffer is the caller's: later
 * calls do not change it. REDLOCK_MESSAGE_MAX is always enough; a sentence that is longer than
 * that, or than the buffer, is cut. It always ends in a zero, and a cut one, with room for it, in
 * "...". Without a buffer (NULL, or size 0) the answer is "". Passwords never appear in it.
 *
 * Structs with a size: begin with their initializer, a macro, or the function that does the same
 * for other languages (REDLOCK_STATS_INIT, redlock_stats_init()). It sets `size` and the defaults.
 * Any other size is REDLOCK_ERR_INVALID, and if there is a buffer for the error text, it names the
 * initializer.
 *
 * Units are in the names. Durations given by the caller are int64_t milliseconds; a negative one is
 * an error, not a very long time. Times returned are uint64_t nanoseconds of redlock_now_ns().
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

#define REDLOCK_NAMED_MAX 31 /* nodes that a client is given */
#define REDLOCK_NODES_MAX \
    (sizeof(void *) > 4 ? 127 : 63)                  /* with those that it finds, in all sets */
#define REDLOCK_RESOURCES_MAX 64                     /* resources of one lock */
#define REDLOCK_ANY_MAX 1024                         /* locks of redlock_acquire_any() */
#define REDLOCK_PERMITS_MAX 1024                     /* of a semaphore */
#define REDLOCK_TAKE_MAX 8                           /* permits of one lock */
#define REDLOCK_NO_SLOT (-1)                         /* of redlock_lock_slot() */
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

/* 1 if the library was built with TLS, and takes rediss:// URLs; else 0. Any thread. Since 0.1. */
REDLOCK_API int redlock_has_tls(void);

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
 * the thread that calls an API function). free must accept NULL. hiredis, libuv and OpenSSL
 * allocate for themselves. */
typedef struct redlock_allocator {
    void *(*malloc)(size_t size, void *data);
    void (*free)(void *pointer, void *data);
    void *data;
} redlock_allocator;

/* Chooses the label of a lock's histograms (metrics.h): maps a resource to one of a few labels,
 * such as "invoice" or "cron". Called once for each lock, with its first resource, when it is made.
 * It returns a text of 1 to REDLOCK_METRICS_LABEL_MAX characters, which is copied; it must not call
 * any function of this library. NULL, a text of another length, and every one beyond
 * REDLOCK_METRICS_LABELS_MAX - 1 different ones, is "other". */
#define REDLOCK_METRICS_LABELS_MAX 16
#define REDLOCK_METRICS_LABEL_MAX 63
typedef const char *(*redlock_metrics_label_cb)(const void *resource, size_t length, void *data);

/* Options of a client. Begin with REDLOCK_CLIENT_OPTIONS_INIT, which carries the defaults, and set
 * what differs: a 0 means 0. The strings and arrays are copied. */
typedef struct redlock_client_options {
    size_t size; /* set by the initializer: by it the library knows the caller's version */

    /* The nodes, 1 to REDLOCK_NAMED_MAX independent Redis servers (not replicas of each other):
     *     redis://[[user]:password@]host[:port][/db]     IPv6 in brackets; port 6379, db 0
     *     rediss://...                                   the same with TLS, see tls_ca below
     *     unix://[[user]:password@]/path[?db=n]
     * User, password and path may be percent-encoded. Quorum is n_nodes / 2 + 1.
     *
     * Nodes may know the configuration of their set (`redlock set`). Then the client uses the nodes
     * that it names, and starts from the nodes given here. If the configuration has several sets,
     * each resource belongs to one of them by its name, and its lock needs a quorum of that set. A
     * configuration of more than REDLOCK_NODES_MAX nodes is refused.
     *
     * Functions that take a node's index count the nodes in use: these, in this order, without
     * those that have left their set. A node that joins takes the place of one that has left, or
     * the last. */
    const char *const *nodes;
    size_t n_nodes;

    /* The limit for resolving, connecting and each handshake with one address of a node. 1 to
     * 3600000. Default 1000. */
    int64_t connect_timeout_ms;

    /* A vote that has not arrived this long after its request counts as failed. 1 to 3600000.
     * Default 250. The library waits for a vote only if a quorum cannot be decided without it. A
     * node whose oldest request has waited longer is left out of new attempts until it answers.
     * After four times as long without any answer, or if that request is sixteen times as old, its
     * connection is dropped, and the node is reconnected. */
    int64_t node_timeout_ms;

    /* A node whose connection was up for reconnect_min_ms is connected again within half of that,
     * at random. Otherwise the pause before the next try doubles from the first to the second
     * value, each with a jitter of half of itself. 1 to 3600000. Default 50 and 2000. */
    int64_t reconnect_min_ms;
    int64_t reconnect_max_ms;

    /* The allowance for clocks that run at different rates, taken off the validity: ttl *
     * drift_ratio + drift_ms. 0 <= drift_ratio < 1, at a resolution of one millionth, rounded up; 0
     * <= drift_ms. Default 0.01 and 2, as in the specification, "Safety arguments". */
    double drift_ratio;
    int64_t drift_ms;

    /* on_lost runs this long before the end of validity (plus a millisecond for the timer's
     * resolution), so that a thread that is scheduled a little late is still in time. At most half
     * of the validity, so for a validity below 2 ms the notice may come late. The margin is not
     * time in which to stop the work: when on_lost runs, the keys are being released, and another
     * client may be granted them at once. Work that takes long to stop must begin to stop while the
     * lock is held (redlock_lock_valid_until_ns() says until when), and release afterwards. 0 or
     * more. Default 10. */
    int64_t lost_margin_ms;

    /* CLIENT SETNAME, so that operators can see whose connection it is: 1 to 64 printable
     * characters without spaces. NULL sends none. Default "redlock". A node that forbids the
     * command is used without it. */
    const char *client_name;

    const redlock_allocator *allocator; /* copied; NULL: malloc and free. Default NULL. */
    redlock_trace_cb trace;             /* NULL: none, at no cost. Default NULL. */
    void *trace_data;                   /* what `trace` is given. Default NULL. */

    /* If redlock_client_open() itself fails, it writes an error text here that names the option or
     * URL. NULL or size 0: none. Passwords never appear in it. Default NULL. */
    char *error;
    size_t error_size;

    /* How long a node keeps the counter of a resource's fences (see `fencing` of
     * redlock_acquire_options) after the last grant or extension. 1000 to REDLOCK_RETENTION_MS_MAX,
     * and not less than twice the ttl of a fenced lock. The same for all clients. Default 86400000,
     * a day. */
    int64_t fence_retention_ms;

    /* See guard.h. Unless it is off, the nodes must allow INFO. Default REDLOCK_GUARD_STRICT:
     * nodes that have just started grant nothing until max_ttl_ms have passed. */
    enum redlock_guard guard;

    /* The longest ttl that any client of these nodes asks for, the same in all. With a guard a
     * longer one is refused. 1 to REDLOCK_TTL_MS_MAX. Default 30000. */
    int64_t max_ttl_ms;

    /* TLS, for nodes whose URL is rediss://: TLS 1.2 or later, and the server's certificate must be
     * from an authority that is trusted here and be for the host of the URL (a name or an IP
     * address, in its subjectAltName). The client does not connect to a node that does not fulfil
     * this; its reason is REDLOCK_ERR_NODE_CERTIFICATE or REDLOCK_ERR_NODE_TLS, with a sentence. A
     * URL may have its own options, which take precedence over these:
     *     rediss://10.0.0.7:6380?tls_ca=/etc/redis/ca.pem&tls_server_name=redis-1.example
     * Files are read when the client opens, and not later. PEM. Setting one of these for nodes
     * without TLS is an error, so that a forgotten s in rediss:// is noticed. */

    /* The trusted authorities: a file, or a folder whose certificates are all read. An intermediate
     * authority may be named, or the server's own certificate. NULL: the system's, as OpenSSL finds
     * them (SSL_CERT_FILE, SSL_CERT_DIR). Default NULL. */
    const char *tls_ca;

    /* The client's own certificate (followed by its chain) and its key, without a passphrase, for
     * servers that require one. Both or none. Default NULL. */
    const char *tls_cert;
    const char *tls_key;

    /* The name to send (SNI) and to expect in the certificates, instead of the URL's host. At most
     * 255 characters. Default NULL. */
    const char *tls_server_name;

    /* 1: certificates are not checked. Any machine on the way can then pose as the server, read the
     * password and grant locks. Not together with tls_ca. Default 0. */
    int tls_insecure_skip_verify;

    /* 1: histograms are kept for redlock_metrics_format(), see metrics.h. Default 0. */
    int metrics;

    /* With metrics: the label of a lock's histograms. NULL: all locks of the client share one set,
     * without a label. Default NULL. */
    redlock_metrics_label_cb metrics_label;
    void *metrics_label_data;

    /* The id of the set whose nodes these are, 16 hex digits (`redlock set show`): nodes of another
     * set, and nodes without a configuration, then have no vote. NULL: that of the set that the
     * nodes belong to, if they belong to one. Default NULL. */
    const char *config_id;

    /* 1: the client does not keep the loop running, as by uv_unref(). uv_run() then returns when
     * nothing else is on the loop, also while the client holds locks or has pending operations: a
     * program that still needs them keeps a handle of its own on the loop until on_close (as the
     * binding for Node.js does). A name lookup, which cannot be unreferenced, may delay it.
     * With blocking.h it has no effect. Default 0. */
    int background;
} redlock_client_options;

#define REDLOCK_CLIENT_OPTIONS_INIT                                                             \
    {                                                                                           \
        sizeof(redlock_client_options), NULL, 0, 1000, 250, 50, 2000, 0.01, 2, 10, "redlock",   \
            NULL, NULL, NULL, NULL, 0, 86400000, REDLOCK_GUARD_STRICT, 30000, NULL, NULL, NULL, \
            NULL, 0, 0, NULL, NULL, NULL, 0                                                     \
    }

/* Sets what REDLOCK_CLIENT_OPTIONS_INIT sets, for languages that cannot use a macro. size: of the
 * struct as the caller knows it. Returns 0, or REDLOCK_ERR_INVALID (options is NULL, size unknown),
 * and nothing was written. Any thread. There is such a function for every struct that has a size.
 * Since 0.1. */
REDLOCK_API int redlock_client_options_init(redlock_client_options *options, size_t size);

/* Opens a client on loop and begins to connect to all nodes; also to those that it finds in their
 * configuration, of all sets, so that the first lock of a set need not wait.
 *
 * loop: must outlive the client; the caller runs it, or watches uv_backend_fd() in its own loop
 * (examples/epoll.c). options: not NULL, copied. on_open: may be NULL; it runs once, when a quorum
 * of nodes is up and the grace period of 50 ms for the remaining nodes to connect is over, or each
 * node has succeeded or failed once, or connect_timeout_ms has passed:
 *     0                       a quorum of nodes is up and may vote; of several sets, of at least
 *                             one: locks of a set without one fail with NO_QUORUM meanwhile
 *     REDLOCK_ERR_NO_QUORUM   it is not up, or may not vote (redlock_client_message() says why, and
 *                             until when). The client keeps connecting and may be used; it must
 *                             be closed in any case.
 *     REDLOCK_ERR_DUPLICATE   as NO_QUORUM, since two URLs lead to one server (with a guard)
 *     REDLOCK_ERR_CANCELED    the client was closed first
 * client: receives the client, which may be used before on_open has run: a node that is not up yet
 * counts as a failed vote.
 *
 * Returns 0, or an error with *client set to NULL, nothing left behind, and an error text in
 * options->error:
 *     REDLOCK_ERR_INVALID     an option is out of range, or its size field unknown; a TLS file
 *                             cannot be used; loop, options or client is NULL
 *     REDLOCK_ERR_URL         a URL cannot be parsed: which part of it, and why
 *     REDLOCK_ERR_NO_TLS      a rediss:// URL, and the library was built without TLS
 *     REDLOCK_ERR_DUPLICATE   two URLs name one host and port or one path: one server would have
 *                             two votes
 *     REDLOCK_ERR_NOMEM, REDLOCK_ERR_SYSTEM
 * Since 0.1. */
REDLOCK_API int redlock_client_open(redlock_client **client, struct uv_loop_s *loop,
                                    const redlock_client_options *options,
                                    redlock_client_cb on_open, void *data);

/* Closes a client. Pending operations end with REDLOCK_ERR_CANCELED. What its locks hold is
 * released, pending releases are sent, and the client waits for the answers no longer than
 * node_timeout_ms. Then the connections are closed and on_close runs with status 0 (after a pending
 * name lookup, which the system cannot cancel). Its locks may be used (each call answers
 * REDLOCK_ERR_CLOSED) until on_close has returned; then the client and its locks are freed, whether
 * or not redlock_lock_free() was called. on_lost does not run for locks that closing releases.
 *
 * Returns 0, REDLOCK_ERR_INVALID (client is NULL) or REDLOCK_ERR_CLOSED (called before). After
 * fork(), in the child, it closes the child's copies of the sockets, sends nothing to the nodes,
 * does not touch the inherited loop, runs no callback and returns REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_client_close(redlock_client *client, redlock_client_cb on_close,
                                     void *data);

/* What is wrong with the nodes now, human-readable: "4 of 5 nodes up; 127.0.0.1:7004: connection
 * refused or unreachable (Connection refused); 1 of 5 nodes in quarantine: 127.0.0.1:7003 restarted
 * 4.1 s ago, votes again in 25.9 s". See "Messages" above. Since 0.1. */
REDLOCK_API const char *redlock_client_message(const redlock_client *client, char *buffer,
                                               size_t size);

#ifdef __cplusplus
}
#endif

#include "redlock/credentials.h"
#include "redlock/lock.h"
#include "redlock/metrics.h"
#include "redlock/outcome.h"
#include "redlock/stats.h"

#endif /* REDLOCK_REDLOCK_H */
