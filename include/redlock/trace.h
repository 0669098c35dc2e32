/* The events inside a client, for logs and tests.
 *
 * redlock_client_options.trace is called for each event, on the loop's thread. Without a hook an
 * event costs a comparison.
 */
#ifndef REDLOCK_TRACE_H
#define REDLOCK_TRACE_H

#include <stdint.h>

#include "redlock/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct redlock_lock; /* redlock.h names it redlock_lock: in C99 that can be said once */

/* The events. The pointers in them are valid during the call only. */
enum redlock_event_type {
    REDLOCK_EVENT_NODE_UP = 1, /* node: connected and its handshake is done */
    REDLOCK_EVENT_NODE_DOWN,   /* node, status: why */
    REDLOCK_EVENT_ATTEMPT,     /* lock: SETs are sent */
    REDLOCK_EVENT_EXTEND,      /* lock: a round of extensions is sent */
    REDLOCK_EVENT_RELEASE,     /* lock: releases are sent */
    REDLOCK_EVENT_REPAIR,      /* lock, node: the key is restored on a node that had lost it */
    REDLOCK_EVENT_VOTE,        /* lock, node, latency_us, status: 0, ERR_HELD, or why it failed */
    REDLOCK_EVENT_LATE_VOTE,   /* as VOTE, for a round that is over: not counted */
    REDLOCK_EVENT_ACQUIRED,    /* lock: held from now on */
    REDLOCK_EVENT_DONE,        /* lock, status: an operation ended, its callback is about to run */
    REDLOCK_EVENT_LOST,        /* lock, status: on_lost is about to run */
    REDLOCK_EVENT_RELEASE_PENDING,  /* node: a release could not be delivered, it is pending */
    REDLOCK_EVENT_RELEASE_RETRIED,  /* node: a pending release was answered */
    REDLOCK_EVENT_RELEASE_DROPPED,  /* node: a pending release was dropped */
    REDLOCK_EVENT_LISTEN_UP,        /* node: messages are received from it: turns, releases */
    REDLOCK_EVENT_LISTEN_DOWN,      /* node, status: no longer, and why */
    REDLOCK_EVENT_RELEASE_NOTIFIED, /* lock: of a candidate that ends its pause to try now */
    REDLOCK_EVENT_FENCE,            /* lock: counters differ, a round that raises them is sent */
    REDLOCK_EVENT_NODE_QUARANTINED, /* node, status, votes_in_ms: up, but may not vote yet */
    REDLOCK_EVENT_NODE_VOTES,       /* node: its quarantine is over */
    REDLOCK_EVENT_JOIN,             /* lock, node: a place in the line at this node is requested */
    REDLOCK_EVENT_TURN,             /* lock, node: it is this client's turn, as the node says; of a
                                     * lock that is passed the first node that says so */
    REDLOCK_EVENT_TAKE,             /* lock: in place of ATTEMPT, when it is this client's turn */
    REDLOCK_EVENT_LEAVE,            /* node: a place in the line at this node is given up */
    REDLOCK_EVENT_UPGRADE,          /* lock: a round that makes a reader the writer is sent */
    REDLOCK_EVENT_CREDENTIALS_ACCEPTED, /* node: newer credentials are in use, see credentials.h */
    REDLOCK_EVENT_CREDENTIALS_REFUSED, /* node, status: it refuses them; the old ones stay in use */
    REDLOCK_EVENT_SUBMITTED,           /* lock: an acquire, or an adoption, begins */
    REDLOCK_EVENT_WAITING, /* lock: it waits: behind another lock of this client, or in a line */
    REDLOCK_EVENT_PAUSE,   /* lock: it pauses between two attempts */
    REDLOCK_EVENT_PLACE,   /* lock, node, rank: its place in the line stands, as the node says */
    REDLOCK_EVENT_FAILED,  /* lock, status: an acquire ended without a hold, and why */
    REDLOCK_EVENT_RELEASED /* lock: a hold ended, released (or disowned) by its holder */
};

/* "node_up" and so on, the name without its prefix in lower case; "?" for a number that is no
 * event. Static. Any thread. Since 0.1. */
REDLOCK_API const char *redlock_event_name(enum redlock_event_type type);

/* One event. What its type does not use is 0 or NULL.
 *
 * Spans: all events of one acquire, and of the resulting hold, have one acquire_id:
 *
 *     SUBMITTED -> WAITING, JOIN, PLACE, TURN, ... -> ACQUIRED, or FAILED
 *                                      ACQUIRED -> EXTEND, ... -> RELEASED, or LOST
 *
 * Each begins once and ends once, even if the lock is freed or the client closed first. An acquire
 * by an object that already holds (`owner`) begins no new span: its events have the id of the hold.
 * examples/otel.c turns this into OpenTelemetry spans. */
typedef struct redlock_event {
    enum redlock_event_type type;    /* which; the comments there say what it uses */
    int status;                      /* a REDLOCK_ code, 0 where none applies */
    uint64_t now_ns;                 /* redlock_now_ns() */
    const struct redlock_lock *lock; /* NULL where none applies */
    const char *node;                /* the node's name, NULL where none applies */
    uint32_t latency_us; /* of votes: from when this node's request was written to its answer; 0:
                          * it was not asked, as it passed the lock by itself */
    int64_t votes_in_ms; /* of NODE_QUARANTINED: for how long; else 0 */
    const char *token;   /* of the RELEASE_ events of a node: the keys' token; else NULL */
    uint64_t acquire_id; /* of the acquire that it belongs to, counted from 1 in each client; 0: of
                          * none, or of one that is over, as a late vote may be */
    uint32_t rank;       /* of PLACE: how many are ahead; else 0 */
} redlock_event;

/* Runs inside the library's own work: it must not call any function that takes a client or a lock,
 * except the getters. */
typedef void (*redlock_trace_cb)(const redlock_event *event, void *data);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_TRACE_H */
