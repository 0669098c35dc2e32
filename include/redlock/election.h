/* Leader election: of several processes that campaign under one name, one leads at a time.
 *
 * An election is a lock that waits without limit, renews itself, and campaigns again when it is
 * lost:
 *
 *     redlock_election_new() -> redlock_election_campaign() -> on_elected -> the leader's work
 *         -> on_lost (campaigns again by itself), or redlock_election_resign()
 *
 * Any number of processes, candidates or not, can be notified of the leader (on_leader).
 *
 * The promise is the lock's (docs/guarantees.md): no two candidates are leader at one instant, if
 * each of them asks redlock_election_is_leader() right before it acts. A leader that was stopped
 * and continues does not notice until it asks, or its loop runs again. The system that it is about
 * to change can then refuse it, by redlock_election_fence().
 *
 * How long there is no leader: after a resignation, which is announced to the waiting candidates,
 * about a round trip to the nodes and a few milliseconds; after the leader's death, until its keys
 * have expired on a quorum of nodes, at most ttl_ms later, and a few milliseconds. If a node does
 * not let clients subscribe to announcements, or the nodes do not answer, poll_ms is added.
 *
 * Threads, units and strings: as in redlock.h. Callbacks run only from the loop, never inside the
 * call that leads to them, and inside a callback every function may be called, even to free the
 * election or close the client. An election belongs to its client; once the client is being closed,
 * every function that sends returns REDLOCK_ERR_CLOSED, no callback except that of a pending
 * resignation runs any more, and the election is freed when on_close has returned.
 */
#ifndef REDLOCK_ELECTION_H
#define REDLOCK_ELECTION_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REDLOCK_CANDIDATE_MAX 64 /* bytes of a candidate's name */

typedef struct redlock_election redlock_election; /* opaque: one candidate, or one observer */

/* status and data: see the function or option that took it. election: valid during the call, unless
 * the callback itself frees it. */
typedef void (*redlock_election_cb)(redlock_election *election, int status, void *data);

/* leader: the name of the candidate that leads, NULL if there is no leader; valid during the
 * call. */
typedef void (*redlock_leader_cb)(redlock_election *election, const char *leader, void *data);

/*     idle -> campaigning -> leading -> resigning -> idle
 *                  ^            |
 *                  +-- (lost) --+
 * and from campaigning through resigning to idle. */
enum redlock_election_state {
    REDLOCK_ELECTION_IDLE = 0,    /* no candidate; it may observe */
    REDLOCK_ELECTION_CAMPAIGNING, /* waits to be elected */
    REDLOCK_ELECTION_LEADING,     /* on_elected ran, or is about to */
    REDLOCK_ELECTION_RESIGNING    /* redlock_election_resign() is pending */
};

/* Begin with REDLOCK_ELECTION_OPTIONS_INIT. Everything is copied, and does not change while the
 * election exists. */
typedef struct redlock_election_options {
    size_t size; /* set by the initializer */

    /* What is led: 1 to REDLOCK_RESOURCE_MAX bytes, the resource of the lock. Candidates of one
     * name must also use the same nodes. */
    const void *name;
    size_t name_length;

    /* The name of this candidate, for on_leader of others: 1 to REDLOCK_CANDIDATE_MAX printable
     * characters without spaces. The election works even if the name is not unique, but then
     * observers cannot tell which candidate leads. NULL: host name and process id, "host:4711".
     * Default NULL. */
    const char *candidate;

    /* The life of the leader's key on each node, as ttl_ms of redlock_acquire_options: the longest
     * time until a dead leader is replaced. Default 10000. */
    int64_t ttl_ms;

    /* How much of its validity is used up when the leader renews, as renew_ms of
     * redlock_acquire_options. Default REDLOCK_THIRD_OF_TTL. */
    int64_t renew_ms;

    /* The pause between two queries for the leader, and between two attempts of a candidate that
     * has received no notification, each with a jitter. 1 to REDLOCK_TTL_MS_MAX. Each candidate or
     * observer costs each node a handful of commands in this time. Default 500. */
    int64_t poll_ms;

    /* status 0: we lead from now on, redlock_election_is_leader() says how long. Default NULL. */
    redlock_election_cb on_elected;

    /* We no longer lead, without having resigned: stop the leader's work. Runs once after
     * each on_elected that was not followed by a resignation, no later than the end of validity.
     *     REDLOCK_ERR_EXPIRED   the keys could not be renewed in time
     *     REDLOCK_ERR_LOST      too many nodes no longer have the key
     *     REDLOCK_ERR_SILENT    no sign of life for max_silence_ms
     * It campaigns again automatically; to prevent that, resign in this callback. And, without
     * having been elected:
     *     REDLOCK_ERR_SYSTEM    the operating system gave no random bytes for a token; the
     *                           campaign is over (idle)
     *     REDLOCK_ERR_INVALID   ttl_ms is above the max_ttl that the nodes were given meanwhile,
     *                           right after the loss; the campaign is over (idle)
     * Default NULL. */
    redlock_election_cb on_lost;

    /* Runs whenever the leader has changed, from redlock_election_new() on, whether we are a
     * candidate or not; the first time as soon as the leader is known. It does not run while too
     * few nodes answer. The answer may be outdated when it arrives: never act as the leader because
     * of it, act on on_elected. NULL: an idle election sends nothing. Default NULL. */
    redlock_leader_cb on_leader;

    void *data; /* of these three callbacks. Default NULL. */

    /* 1: each leadership has a fence, redlock_election_fence(), as `fencing` of
     * redlock_acquire_options. The same for all candidates of one name. Default 0. */
    int fencing;

    /* A leader that gives no sign of life for so long is not renewed, as `max_silence_ms` of
     * redlock_acquire_options; signs are on_elected and redlock_election_alive(). It campaigns
     * again, behind the candidates that wait. 0: no limit. Default 0. */
    int64_t max_silence_ms;
} redlock_election_options;

#define REDLOCK_ELECTION_OPTIONS_INIT                                                            \
    {                                                                                            \
        sizeof(redlock_election_options), NULL, 0, NULL, 10000, REDLOCK_THIRD_OF_TTL, 500, NULL, \
            NULL, NULL, NULL, 0, 0                                                               \
    }

/* REDLOCK_ELECTION_OPTIONS_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_election_options_init(redlock_election_options *options, size_t size);

/* Makes an election; it is idle. With on_leader it begins to observe. After a failure error has an
 * error text, if error_size is not 0.
 *
 * Returns 0, or an error with *election set to NULL: REDLOCK_ERR_INVALID (an argument is NULL, an
 * option is out of range: which one, the size field is unknown), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM, REDLOCK_ERR_SYSTEM (the host name is not usable: set
 * candidate). Since 0.1. */
REDLOCK_API int redlock_election_new(redlock_client *client,
                                     const redlock_election_options *options,
                                     redlock_election **election, char *error, size_t error_size);

/* Becomes a candidate until redlock_election_resign() or redlock_election_free(): on_elected runs
 * whenever it is elected, on_lost whenever it loses the leadership.
 *
 * Returns 0, REDLOCK_ERR_INVALID (NULL, or ttl_ms is above the max_ttl that the nodes were given
 * meanwhile), REDLOCK_ERR_BUSY (it is one already, or resigns), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_election_campaign(redlock_election *election);

/* Ends the candidacy, and the leadership: from this call on redlock_election_is_leader() is 0 and
 * on_elected does not run. If it led, the waiting candidates are notified. The callback's status:
 *     0                       it did not lead, or a quorum of nodes knows: the next one can lead
 *     REDLOCK_ERR_NO_QUORUM   fewer know; the release is retried on the others, or the ttl ends it
 *     REDLOCK_ERR_LOST        the leadership had been lost before; if on_lost was due, it ran
 *     REDLOCK_ERR_CANCELED    by redlock_election_free() or redlock_client_close()
 *
 * Returns 0, REDLOCK_ERR_IDLE (it is no candidate), REDLOCK_ERR_BUSY (it resigns already),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_election_resign(redlock_election *election, redlock_election_cb on_done,
                                        void *data);

/* Frees the object; the caller may not use it again. If it leads, it resigns in the background; a
 * pending resignation ends with REDLOCK_ERR_CANCELED (its callback still runs, and may use the
 * getters below). No other callback runs any more. NULL is ignored. Since 0.1. */
REDLOCK_API void redlock_election_free(redlock_election *election);

/* 1 if it leads and the validity has not ended now, else 0. Ask right before each action of the
 * leader. Since 0.1. */
REDLOCK_API int redlock_election_is_leader(const redlock_election *election);

/* How much validity is left now, in whole milliseconds, rounded down; 0 if it does not lead. Since
 * 0.1. */
REDLOCK_API int64_t redlock_election_remaining_ms(const redlock_election *election);

/* A sign of life of the leader's work, see `max_silence_ms` and redlock_lock_alive(): call it where
 * the work makes progress.
 *
 * Returns 0, or REDLOCK_ERR_INVALID (NULL), REDLOCK_ERR_NOT_HELD (it does not lead),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_election_alive(redlock_election *election);

/* The fence of the current leadership or, if it does not lead, of its last one, even inside
 * on_lost: larger than those of all earlier leaderships of that name. Pass it to the system on
 * which the leader acts, and have that refuse numbers smaller than the largest it has seen. 0
 * without `fencing`, and before it was elected. Since 0.1. */
REDLOCK_API uint64_t redlock_election_fence(const redlock_election *election);

/* The token of the current leadership, as redlock_lock_token(): any party that knows it can release
 * the key of the election, for instance for a leader that was killed. "" if it does not lead. Valid
 * until the loop runs again. Since 0.1. */
REDLOCK_API const char *redlock_election_token(const redlock_election *election);

/* The leader, as last reported to on_leader: NULL if there is no leader, or it is not known (yet).
 * Known only while it campaigns, leads, or has on_leader. Valid until the loop runs again. Since
 * 0.1. */
REDLOCK_API const char *redlock_election_leader(const redlock_election *election);

/* The name of this candidate. Valid as long as the election. Since 0.1. */
REDLOCK_API const char *redlock_election_candidate(const redlock_election *election);

/* The state of an election; REDLOCK_ELECTION_IDLE for NULL. Since 0.1. */
REDLOCK_API enum redlock_election_state redlock_election_state(const redlock_election *election);

/* "campaigning" and so on; "?" for a number that is no state. Static. Any thread. Since 0.1. */
REDLOCK_API const char *redlock_election_state_name(enum redlock_election_state state);

/* The outcome of the last attempt or renewal on each node, human-readable: as
 * redlock_lock_message(). Since 0.1. */
REDLOCK_API const char *redlock_election_message(const redlock_election *election, char *buffer,
                                                 size_t size);

/* Why it does not lead, as redlock_lock_attempt_status() of its lock: REDLOCK_ERR_HELD while
 * another candidate leads, REDLOCK_ERR_NO_QUORUM in an outage; 0 if it leads, or before an attempt
 * has ended. REDLOCK_ERR_INVALID for NULL. Since 0.1. */
REDLOCK_API int redlock_election_attempt_status(const redlock_election *election);

/* The client of an election. Since 0.1. */
REDLOCK_API redlock_client *redlock_election_client(const redlock_election *election);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_ELECTION_H */
