/* The outcome of the last round of a lock: as a text, as a status, and node by node. redlock.h
 * includes this file.
 *
 * A round is one command to all nodes: an attempt to acquire, an extension, a release. Reading is
 * cheap and allowed at any time, in every callback; on the client's thread, as everything in
 * redlock.h.
 */
#ifndef REDLOCK_OUTCOME_H
#define REDLOCK_OUTCOME_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The outcome of the last round of this lock, human-readable: "held by another: 2 of 5 granted, 3
 * needed; 127.0.0.1:7003: held by another; ...". While an acquire waits, what it waits for; for an
 * operation that needed no round, why. After a call on this lock was refused, why, until another
 * one is not, or an operation of the lock ends. See "Messages" in redlock.h. Since 0.1. */
REDLOCK_API const char *redlock_lock_message(const redlock_lock *lock, char *buffer, size_t size);

/* The outcome of the last attempt of the last acquire (or adoption), which REDLOCK_ERR_DEADLINE
 * does not tell: is the lock busy, or is there an outage?
 *     0                       granted; or there was no attempt, or none has ended yet
 *     REDLOCK_ERR_HELD        other clients held too many nodes
 *     REDLOCK_ERR_NO_QUORUM   too many nodes failed
 *     REDLOCK_ERR_EXPIRED     a quorum granted it too late
 *     REDLOCK_ERR_LOST        of an adoption: the token was not there
 * While an acquire is pending this is the outcome of its last finished attempt. An attempt that
 * wait_ms cut short does not count, unless it was the first: then votes that had not arrived count
 * as failed. If wait_ms ended in line, before any attempt, this says what held up the line: HELD;
 * or, behind another lock of this client whose attempts failed, the outcome of its last attempt.
 * REDLOCK_ERR_INVALID for NULL. Since 0.1. */
REDLOCK_API int redlock_lock_attempt_status(const redlock_lock *lock);

/* How one node took part in a round. */
enum redlock_vote {
    REDLOCK_VOTE_NONE = 0, /* no round yet */
    REDLOCK_VOTE_PENDING,  /* no answer yet; the round may be decided without it */
    REDLOCK_VOTE_GRANTED,  /* acquire: set; extend: renewed; release: deleted */
    REDLOCK_VOTE_REFUSED, /* acquire: held by another; extend and release: the token is not there */
    REDLOCK_VOTE_FAILED   /* not sent, no answer, or an error: see reason */
};

/* "granted" and so on; "?" for a number that is no vote. Static. Any thread. Since 0.1. */
REDLOCK_API const char *redlock_vote_name(enum redlock_vote vote);

/* One node's part in the last round of a lock. Begin with REDLOCK_NODE_OUTCOME_INIT. */
typedef struct redlock_node_outcome {
    size_t size;            /* set by the initializer */
    const char *node;       /* "host:port" or the path; valid as long as the client */
    enum redlock_vote vote; /* see above */
    int reason; /* why a vote failed: REDLOCK_ERR_NODE_..., DUPLICATE, NOMEM, SYSTEM; else 0 */
    uint32_t latency_us; /* 0 while pending. From writing this node's request to reading its
                          * answer: the node's own time, whichever node was written to first.
                          * Without an answer, the length of the wait */
    int64_t votes_in_ms; /* until the node votes, if it is in quarantine now; else 0 */
} redlock_node_outcome;

#define REDLOCK_NODE_OUTCOME_INIT \
    { sizeof(redlock_node_outcome), NULL, REDLOCK_VOTE_NONE, 0, 0, 0 }

/* REDLOCK_NODE_OUTCOME_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_node_outcome_init(redlock_node_outcome *outcome, size_t size);

/* How node number index (of those in use, see redlock_client_options.nodes) voted in the last
 * round. A vote that arrives after the round was decided still appears here, until the next round
 * begins. Returns 0, or REDLOCK_ERR_INVALID (NULL, there are not so many, size unknown). Since
 * 0.1. */
REDLOCK_API int redlock_lock_outcome(const redlock_lock *lock, size_t index,
                                     redlock_node_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_OUTCOME_H */
