/* Counters of a client and its nodes, and their current state. redlock.h includes this file.
 *
 * Reading is cheap and allowed at any time, in every callback and in the trace hook; on the
 * client's thread, as everything in redlock.h.
 */
#ifndef REDLOCK_STATS_H
#define REDLOCK_STATS_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counters since the client was opened. Begin with REDLOCK_STATS_INIT. */
typedef struct redlock_stats {
    size_t size;               /* set by the initializer */
    uint64_t acquires;         /* acquires submitted */
    uint64_t attempts;         /* rounds of SET, of TAKE when it is the client's turn, and of votes
                                * of nodes that passed it a lock */
    uint64_t granted;          /* acquires that ended with 0 */
    uint64_t held_by_another;  /* acquires that ended with ERR_HELD */
    uint64_t no_quorum;        /* acquires that ended with ERR_NO_QUORUM */
    uint64_t expired;          /* acquires that ended with ERR_EXPIRED */
    uint64_t deadline;         /* acquires that ended with ERR_DEADLINE */
    uint64_t canceled;         /* acquires that ended with ERR_CANCELED */
    uint64_t renewed;          /* extensions that ended with 0; the watchdog's, and the first one
                                * of a lock that was passed, included */
    uint64_t extend_failed;    /* extensions that ended otherwise */
    uint64_t released;         /* releases that ended with 0 */
    uint64_t lost;             /* times that on_lost was due */
    uint64_t repaired;         /* keys restored on nodes */
    uint64_t late_votes;       /* answers to rounds that were over */
    uint64_t releases_retried; /* pending releases that were answered */
    uint64_t releases_dropped; /* pending releases given up: too many, or the key's ttl is over */
    uint64_t pending_releases; /* pending releases now */
    uint64_t locks;            /* lock objects now */
    uint64_t held;             /* locks held now */
    uint64_t nodes_up;         /* nodes that can be sent to now */
    uint64_t waiting;          /* acquires now that wait behind another lock of this client */
    uint64_t handoffs;         /* turns that passed to the next such lock */
    uint64_t shared;           /* acquires that joined a hold of their owner */
    uint64_t fenced;           /* acquires that ended with 0 and a fence */
    uint64_t raised;           /* fences that needed a second round */
    uint64_t nodes_voting;     /* servers that may vote now: up, and not in quarantine */

    /* The lines of the nodes, in which clients wait for each other. How many later clients were
     * served first is not counted: no client can see when another one came. */
    uint64_t joins;           /* places taken in a line: one each time that waiting begins, or
                               * begins anew, at another node or after a turn that was missed;
                               * asking again counts nothing */
    uint64_t turns;           /* times that this client was the next: the lock was passed to it, or
                               * its home gave it the turn */
    uint64_t turns_missed;    /* turns without a grant: nodes refused or did not answer, or the
                               * acquire had ended by then */
    uint64_t handover_us;     /* from the first message of a turn to its grant; the sum of all turns
                               * that were taken */
    uint64_t handover_max_us; /* the longest such time */

    uint64_t credentials_pending; /* nodes now that do not use what was set last by
                                   * redlock_client_set_credentials(): see `credentials` below */

    uint64_t lost_expired;  /* of the losses: a quorum did not answer for the whole validity */
    uint64_t lost_gone;     /* of the losses: a quorum answered that the key is gone */
    uint64_t lost_max_hold; /* of the losses: max_hold_ms was over */
    uint64_t renewed_late;  /* of the extensions that ended with 0: less than a quarter of the
                             * validity before them was left. The next delay may be a loss. The
                             * first one of a lock that was passed does not count */
    uint64_t places;        /* places in lines now */
    uint64_t lost_silent;   /* of the losses: no sign of life for max_silence_ms */
} redlock_stats;

#define REDLOCK_STATS_INIT                                                                       \
    {                                                                                            \
        sizeof(redlock_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                       \
    }

/* REDLOCK_STATS_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_stats_init(redlock_stats *stats, size_t size);

/* Reads the counters. Returns 0, or REDLOCK_ERR_INVALID (NULL, size unknown). Since 0.1. */
REDLOCK_API int redlock_client_stats(const redlock_client *client, redlock_stats *stats);

/* One node now. Begin with REDLOCK_NODE_INFO_INIT. */
typedef struct redlock_node_info {
    size_t size;          /* set by the initializer */
    const char *node;     /* "host:port" or the path; valid as long as the client */
    int up;               /* 1 if it can be sent to */
    int reason;           /* why it is not up or may not vote, REDLOCK_ERR_NODE_...; 0 if it may;
                           * DUPLICATE: it may, and another node that is up is the same server */
    const char *detail;   /* what the node or the system said last, or "" (until the loop runs) */
    uint64_t connects;    /* handshakes that succeeded */
    uint64_t failures;    /* connections that failed or were lost */
    uint64_t requests;    /* commands sent, handshakes left out */
    uint64_t outstanding; /* commands without an answer now, handshakes left out */
    uint64_t pending_releases; /* releases that it has not answered */
    int voting;                /* 1 if it may vote: up, and not in quarantine */
    int64_t votes_in_ms;       /* until it votes, if it is in quarantine; else 0 */
    int credentials;           /* 0: what redlock_client_set_credentials() set last is in use, or
                                * nothing was. NODE_DOWN: the node has not answered it yet. Any
                                * other: why it was refused, and what it had before is in use */
    const char *credentials_detail; /* what the node said then, or "" (until the loop runs) */
} redlock_node_info;

#define REDLOCK_NODE_INFO_INIT \
    { sizeof(redlock_node_info), NULL, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL }

/* REDLOCK_NODE_INFO_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_node_info_init(redlock_node_info *info, size_t size);

/* How node number index (of those in use, see redlock_client_options.nodes) is now. Returns 0, or
 * REDLOCK_ERR_INVALID (NULL, there are not so many, size unknown). Since 0.1. */
REDLOCK_API int redlock_client_node(const redlock_client *client, size_t index,
                                    redlock_node_info *info);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_STATS_H */
