/* The data of an election. election.c handles the candidate, leader_watch.c watches the leader.
 *
 * Memory: the election exists until the user has freed it and every callback that refers to it (of
 * an acquire, a release, a query) has run; `pending` counts these. The client's end frees the rest,
 * when no callback is pending.
 */
#ifndef RL_ELECTION_STATE_H
#define RL_ELECTION_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/require.h"
#include "client/recipe.h"
#include "redlock/election.h"

struct redlock_election {
    struct rl_recipe recipe; /* has the client, and the deadline of the next query */
    redlock_lock *lock;
    redlock_election_options options; /* without its strings */
    redlock_election_cb on_resigned;
    void *resigned_data;
    uint64_t fence;   /* of the current or last leadership; the lock may be campaigning again */
    uint32_t pending; /* pending callbacks, and callers further up */
    uint8_t state;    /* enum redlock_election_state */
    bool is_freed;

    /* The leader. */
    uint64_t expires_ns; /* when the leader's keys expire, by the last answer, or RL_NEVER */
    uint32_t quick_ms;   /* the pause while there is no leader, 0: there is one */
    bool is_looking;     /* a query is pending */
    bool looks_again;    /* the pending query's result is already outdated */
    bool is_known;
    bool has_leader;
    char leader[REDLOCK_CANDIDATE_MAX + 1];
    char candidate[REDLOCK_CANDIDATE_MAX + 1];
};

static inline redlock_client *rl_election_client(const redlock_election *election) {
    return election->recipe.client;
}

/* Whether the user's callbacks run: while the election is not freed and its client is open. */
static inline bool rl_election_can_tell(const redlock_election *election) {
    return !election->is_freed && rl_recipe_is_open(rl_election_client(election));
}

/* One reference for each pending callback, and for callers further up. */
static inline void rl_election_ref(redlock_election *election) {
    assert(rl_link_is_in(&election->recipe.link)); /* it still exists */
    election->pending++;
}

/* May free the election. */
static inline void rl_election_unref(redlock_election *election) {
    RL_REQUIRE(election->pending > 0);
    if (--election->pending == 0 && election->is_freed) {
        rl_recipe_free(&election->recipe);
    }
}

#endif
