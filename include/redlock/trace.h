/* What happens inside a client, event by event: for logs, tests and curiosity.
 *
 * redlock_client_options.trace is called for each event, on the loop's thread. Without a hook an
 * event costs a comparison.
 */
#ifndef REDLOCK_TRACE_H
#define REDLOCK_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct redlock_lock; /* redlock.h names it redlock_lock: in C99 that can be said once */

/* What a trace hook is told. The pointers are valid during the call only. */
enum redlock_event_type {
    REDLOCK_EVENT_NODE_UP = 1,  /* node: connected and its handshake is done */
    REDLOCK_EVENT_NODE_DOWN,    /* node, status: why */
    REDLOCK_EVENT_ATTEMPT,      /* lock: SETs go out; again if one node was asked first */
    REDLOCK_EVENT_EXTEND,       /* lock: a round of extension goes out */
    REDLOCK_EVENT_RELEASE,      /* lock: releases go out */
    REDLOCK_EVENT_REPAIR,       /* lock, node: the key is given back to a node that had lost it */
    REDLOCK_EVENT_VOTE,         /* lock, node, latency_us, status: 0, ERR_HELD, or why it failed */
    REDLOCK_EVENT_LATE_VOTE,    /* as VOTE, for a round that is over: not counted */
    REDLOCK_EVENT_ACQUIRED,     /* lock: held from now on */
    REDLOCK_EVENT_DONE,         /* lock, status: an operation ended, its callback is about to run */
    REDLOCK_EVENT_LOST,         /* lock, status: on_lost is about to run */
    REDLOCK_EVENT_OWED,         /* node: a release could not be delivered, it is owed */
    REDLOCK_EVENT_OWED_REPAID,  /* node: an owed release was answered */
    REDLOCK_EVENT_OWED_DROPPED, /* node: an owed release was given up, the key ends by its ttl */
    REDLOCK_EVENT_LISTEN_UP,    /* node: notices of releases are heard from it */
    REDLOCK_EVENT_LISTEN_DOWN,  /* node, status: not any more, and why */
    REDLOCK_EVENT_NOTICE,       /* lock: a release was heard of, it is tried again at once */
    REDLOCK_EVENT_FENCE,        /* lock: counters differ, a round that raises them goes out */
    REDLOCK_EVENT_NODE_QUARANTINED, /* node, status, votes_in_ms: up, but may not vote yet */
    REDLOCK_EVENT_NODE_VOTES        /* node: its quarantine is over */
};

typedef struct redlock_event {
    enum redlock_event_type type;
    int status;                      /* a REDLOCK_ code, 0 where none applies */
    uint64_t now_ns;                 /* redlock_now_ns() */
    const struct redlock_lock *lock; /* NULL where none applies */
    const char *node;                /* the node's name, NULL where none applies */
    uint32_t latency_us;             /* from sending to the answer, for votes */
    int64_t votes_in_ms;             /* of NODE_QUARANTINED: for how long; else 0 */
} redlock_event;

/* Runs inside the library's own work: it must not call any function of this header that takes a
 * client or a lock, the getters excepted. */
typedef void (*redlock_trace_cb)(const redlock_event *event, void *data);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_TRACE_H */
