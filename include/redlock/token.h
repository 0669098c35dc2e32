/* Locks by their token: handed from one process to another, released by a script, looked at.
 *
 * The token is what a lock is on the nodes. Whoever has it can go on holding the lock, or end it:
 *
 *     process A: redlock_acquire(), redlock_lock_token(), redlock_disown()
 *     process B: redlock_adopt() with that token, work, redlock_release()
 *
 * Failure modes: nobody adopts, and the keys end by their ttl. Two processes adopt one token: they
 * are one holder for the nodes, and nothing keeps them apart; hand a token to one.
 *
 * Threads, units and the callback contract: as in redlock.h.
 */
#ifndef REDLOCK_TOKEN_H
#define REDLOCK_TOKEN_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes over a lock that is held by its token, for instance in another process: extends it on every
 * node and, if a quorum renewed it, holds it from now on as if it had been acquired. The lock must
 * be of the same resources and have the same holder. options: as for redlock_acquire(); tries,
 * wait_ms, delay_ms, jitter_ms, tie_break and owner have no meaning here, and fencing is refused: a
 * fence is of the grant, hand it over with the token. The callback's status:
 *     0                       the lock is held
 *     REDLOCK_ERR_LOST        too many nodes answered that the token is not there
 *     REDLOCK_ERR_NO_QUORUM   too many nodes did not answer
 *     REDLOCK_ERR_EXPIRED     a quorum renewed it too late
 *     REDLOCK_ERR_CANCELED    as for redlock_acquire()
 * After an error nothing is released: it may be held by whoever else has the token.
 *
 * Returns as redlock_acquire(); REDLOCK_ERR_INVALID also if token is not REDLOCK_TOKEN_LENGTH hex
 * digits, REDLOCK_ERR_BUSY also while another lock of this client holds the resource or asks for
 * it. Since 0.1. */
REDLOCK_API int redlock_adopt(redlock_lock *lock, const char *token,
                              const redlock_acquire_options *options, redlock_lock_cb on_done,
                              void *data);

/* The opposite: the lock is not held by this object any more, but its keys stay until their ttl
 * ends, and whoever has the token can adopt or release it. An extension under way ends with
 * REDLOCK_ERR_CANCELED. on_lost does not run.
 *
 * Returns 0, REDLOCK_ERR_NOT_HELD, REDLOCK_ERR_BUSY (acquired more than once, or shared by
 * other objects of its owner), REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_disown(redlock_lock *lock);

/* Releases by its token what this object does not hold: on every node the keys are deleted if they
 * have the token. redlock_lock_outcome() tells for each node whether it was there. The callback's
 * status and the errors: as for redlock_release(), and REDLOCK_ERR_ALREADY_HELD, and
 * REDLOCK_ERR_INVALID (token is not REDLOCK_TOKEN_LENGTH hex digits). Since 0.1. */
REDLOCK_API int redlock_release_token(redlock_lock *lock, const char *token,
                                      redlock_lock_cb on_done, void *data);

/* What one node has under a resource's key. Begin with REDLOCK_SIGHT_INIT. */
typedef struct redlock_sight {
    size_t size;       /* set by the initializer */
    const char *node;  /* "host:port" or the path; valid as long as the client */
    int status;        /* 0: it answered; else why not, REDLOCK_ERR_NODE_... (or ERR_CANCELED) */
    int is_held;       /* 1: the key exists */
    const char *token; /* "" if not held, or if the value is not of this library's kind */

    /* The name behind the token, "" if none. Of a value that is not of this library's kind its
     * beginning, in printable characters; "(empty string)", or of another type its name, "(list)".
     */
    const char *holder;

    int64_t remaining_ms; /* until the key ends by the node's clock; -1: it never ends */
    uint32_t latency_us;  /* from sending to the answer; 0 if there was none */
} redlock_sight;

#define REDLOCK_SIGHT_INIT \
    { sizeof(redlock_sight), NULL, 0, 0, NULL, NULL, 0, 0 }

typedef struct redlock_query redlock_query; /* opaque: the answers of the nodes */

/* status: see redlock_query_holder(). query: valid during the call. */
typedef void (*redlock_query_cb)(redlock_query *query, int status, void *data);

/* Asks every node who holds a resource; changes nothing. The callback runs when all nodes that are
 * up have answered or node_timeout_ms has passed:
 *     0                       a quorum answered
 *     REDLOCK_ERR_NO_QUORUM   fewer did; those that did can be read all the same
 *     REDLOCK_ERR_CANCELED    the client is closing
 * What it tells is over when it is told: never act on it as if it were a lock. Each node answers of
 * one moment, but the nodes' moments differ, so a lock that changes hands just then may be seen
 * with both of its tokens, or none. Where users are restricted by an ACL, this needs TYPE, PTTL and
 * GETRANGE in scripts. on_done: not NULL.
 *
 * Returns 0, REDLOCK_ERR_INVALID (an argument is NULL, the length out of range),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM. Since 0.1. */
REDLOCK_API int redlock_query_holder(redlock_client *client, const void *resource, size_t length,
                                     redlock_query_cb on_done, void *data);

/* Node number index (in the order of the options) as it answered. The strings are valid during the
 * callback. Returns 0, or REDLOCK_ERR_INVALID (NULL, index not below n_nodes, size unknown). Since
 * 0.1. */
REDLOCK_API int redlock_query_sight(const redlock_query *query, size_t index, redlock_sight *sight);

/* The holder by the quorum's word: if a quorum of all nodes has one token, sets what is not NULL
 * (the strings are valid during the callback; remaining_ms is until fewer than a quorum have it)
 * and returns 1. It also does if a quorum has one string that is not of this library's kind and has
 * a ttl, as a lock of another Redlock library has: then *token is "", and *holder the beginning of
 * that string, as in redlock_sight. 0 if nothing has a quorum. Since 0.1. */
REDLOCK_API int redlock_query_quorum(const redlock_query *query, const char **token,
                                     const char **holder, int64_t *remaining_ms);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_TOKEN_H */
