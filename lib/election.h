/* The inside of an election: election.c is the candidate's life, observe.c who leads.
 *
 * Memory: the election lives until the user has freed it and every callback that knows it (of an
 * acquire, a release, a query) has run; `pending` counts those. The client's end frees what is
 * left: by then no callback is out.
 */
#ifndef RL_ELECTION_H
#define RL_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/deadline.h"
#include "notice.h"
#include "redlock/election.h"

struct redlock_election {
    redlock_client *client;
    redlock_election *next; /* all elections of the client */
    redlock_election *previous;
    redlock_lock *lock;
    redlock_election_options options; /* without its strings */
    redlock_election_cb on_resigned;
    void *resigned_data;
    uint64_t fence;   /* of the present or last leadership; the lock may be campaigning again */
    uint32_t pending; /* callbacks that will come, and callers further up */
    uint8_t state;    /* enum redlock_election_state */
    bool is_freed;

    /* Who leads. */
    struct rl_ear ear;
    struct rl_deadline deadline; /* the next look */
    uint64_t looked_ns;          /* when the query that is out was sent */
    uint64_t expires_ns;         /* when the leader's keys end, by the last answer, or RL_NEVER */
    uint32_t quick_ms;           /* the pause while nobody leads, 0: somebody does */
    bool is_looking;             /* a query is out */
    bool looks_again;            /* ... and what it will say is old already */
    bool is_known;
    bool has_leader;
    char leader[REDLOCK_CANDIDATE_MAX + 1];
    char candidate[REDLOCK_CANDIDATE_MAX + 1];
};

/* -- election.c -- */

void rl_election_ref(redlock_election *election);
void rl_election_unref(redlock_election *election);

/* Frees all elections of a client; no callback of theirs is out. */
void rl_election_end_all(redlock_client *client);

/* -- observe.c -- */

void rl_observe_init(redlock_election *election);

/* The state or the freedom of the election has changed: looks, or does not any more. */
void rl_observe_update(redlock_election *election);

/* We are the leader ourselves. Tells the user, who may free the election. */
void rl_observe_elected(redlock_election *election);

/* To be called when the deadline has come. */
void rl_observe_tick(redlock_election *election, uint64_t now_ns);

#endif
