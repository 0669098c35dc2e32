/* Watches the leader: queries the nodes regularly, and when something may have changed.
 *
 * Happy path: a query every poll_ms, with jitter; after a release notification, a query at once,
 * and then at short intervals (5 ms, doubling up to poll_ms) until there is a leader. A leader
 * itself needs no query.
 *
 * It also hurries a candidate that pauses for poll_ms instead of waiting in line, because its
 * attempt had no quorum or there is no home. It brings the next attempt forward (rl_recipe_hurry)
 * after a release notification, when the keys of a leader that does not renew them expire, or when
 * there is no leader. This only makes an attempt earlier, and decides nothing.
 *
 * Failure modes: if too few nodes answer to decide, nothing is reported; without memory for a
 * query, the next one follows after a pause.
 *
 * "No leader" is reported only if no token can have a quorum, whatever the silent nodes have: a
 * leader leads even if some of its nodes are down.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "election/leader_watch.h"
#include "redlock/token.h"

#define QUICK_MS_FIRST 5u

/* Not while it resigns: nodes may still have the key. */
static bool wants_to_know(const redlock_election *election) {
    const bool observes =
        election->state == REDLOCK_ELECTION_IDLE && election->options.on_leader != NULL;
    return rl_election_can_tell(election) &&
           (observes || election->state == REDLOCK_ELECTION_CAMPAIGNING);
}

/* Three quarters to five quarters of ms. */
static uint64_t jittered_ns(redlock_election *election, uint64_t ms) {
    assert(ms > 0); /* else queries would have no pause */
    uint64_t ns = ms * RL_NS_PER_MS;
    return ns - ns / 4 + rl_client_random(rl_election_client(election)) % (ns / 2 + 1);
}

static void look_at(redlock_election *election, uint64_t at_ns) {
    rl_recipe_at(&election->recipe, at_ns);
}

/* Schedules the next query: after poll_ms, or when the leader's keys end; soon if there is no
 * leader. */
static void look_later(redlock_election *election) {
    uint64_t now_ns = rl_client_now_ns(rl_election_client(election));
    uint64_t pause_ms = (uint64_t)election->options.poll_ms;
    if (election->quick_ms > 0 && election->quick_ms < pause_ms) {
        pause_ms = election->quick_ms;
        election->quick_ms *= 2;
    }
    assert(!election->is_looking);
    uint64_t at_ns = now_ns + jittered_ns(election, pause_ms);
    look_at(election, at_ns < election->expires_ns ? at_ns : election->expires_ns);
}

static void look_now(redlock_election *election) {
    if (election->is_looking) {
        election->looks_again = true;
    } else {
        look_at(election, rl_client_now_ns(rl_election_client(election)));
    }
}

static void poll_fast(redlock_election *election) {
    if (election->quick_ms == 0) {
        election->quick_ms = QUICK_MS_FIRST;
    }
}

/* -- Reporting -- */

static void set_leader(redlock_election *election, const char *leader) {
    bool has_leader = leader != NULL;
    bool same = election->is_known && election->has_leader == has_leader &&
                (!has_leader || strcmp(election->leader, leader) == 0);
    if (same) {
        return;
    }
    assert(has_leader || election->state != REDLOCK_ELECTION_LEADING); /* a leader knows itself */
    election->is_known = true;
    election->has_leader = has_leader;
    snprintf(election->leader, sizeof election->leader, "%s", has_leader ? leader : "");
    if (election->options.on_leader != NULL && rl_election_can_tell(election)) {
        election->options.on_leader(election, redlock_election_leader(election),
                                    election->options.data);
    }
}

void rl_leader_watch_elected(redlock_election *election) {
    if (election->state == REDLOCK_ELECTION_LEADING) { /* not if on_elected has resigned */
        set_leader(election, election->candidate);
    }
}

/* -- Querying -- */

/* Whether no token has a quorum, even with the silent nodes. */
static bool is_no_leader(const redlock_query *query) {
    redlock_node_holder nodes[REDLOCK_NODES_MAX], next = REDLOCK_NODE_HOLDER_INIT;
    uint32_t n = 0, silent = 0;
    while (redlock_query_node(query, n, &next) == 0) {
        silent |= next.status != 0 ? rl_seat(n) : 0;
        nodes[n++] = next;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t same = silent;
        for (uint32_t j = 0; nodes[i].is_held && j < n; j++) {
            const bool is_same = nodes[j].is_held && strcmp(nodes[j].token, nodes[i].token) == 0;
            same |= is_same ? rl_seat(j) : 0;
        }
        if (redlock_query_lacks(query, same) == 0) {
            return false;
        }
    }
    return true;
}

/* Keys end on all nodes almost at once; a millisecond more lets the last one end. Another program's
 * key may outlive the clock. */
static void note_holder(redlock_election *election, const char *holder, int64_t remaining_ms) {
    election->quick_ms = 0;
    election->expires_ns = RL_NEVER;
    if (remaining_ms >= 0 && remaining_ms <= REDLOCK_TTL_MS_MAX) {
        election->expires_ns = rl_client_now_ns(rl_election_client(election)) +
                               ((uint64_t)remaining_ms + 1) * RL_NS_PER_MS;
    }
    set_leader(election, holder);
}

static void on_looked(redlock_query *query, int status, void *data) {
    redlock_election *election = data;
    const char *token = "", *holder = NULL;
    int64_t remaining_ms = 0;
    assert(election->is_looking);
    assert(election->pending > 0);
    election->is_looking = false;
    election->expires_ns = RL_NEVER;
    bool is_old = election->looks_again; /* something has happened since the query was sent */
    election->looks_again = false;
    if (is_old && wants_to_know(election)) {
        look_at(election, rl_client_now_ns(rl_election_client(election)));
    } else if (status != REDLOCK_ERR_CANCELED && wants_to_know(election)) {
        if (redlock_query_quorum(query, &token, &holder, &remaining_ms) && token[0] != '\0') {
            note_holder(election, holder, remaining_ms);
        } else if (is_no_leader(query)) {
            poll_fast(election);
            rl_recipe_hurry(election->lock);
            set_leader(election, NULL);
        }
        if (wants_to_know(election)) { /* the user may have changed that in on_leader */
            look_later(election);
        }
    }
    rl_election_unref(election);
}

/* A release was notified. */
static void on_notified(struct rl_recipe *recipe) {
    redlock_election *election = RL_CONTAINER(recipe, redlock_election, recipe);
    assert(!election->is_freed); /* else it would have left the watchers */
    poll_fast(election);
    rl_recipe_hurry(election->lock);
    look_now(election);
}

static void on_due(struct rl_recipe *recipe, uint64_t now_ns) {
    redlock_election *election = RL_CONTAINER(recipe, redlock_election, recipe);
    size_t length;
    const void *name = redlock_lock_resource(election->lock, &length);
    if (now_ns >= election->expires_ns) {
        election->expires_ns = RL_NEVER;
        poll_fast(election);
        rl_recipe_hurry(election->lock);
    }
    if (election->is_looking || !wants_to_know(election)) {
        return;
    }
    if (redlock_query_holder(rl_election_client(election), name, length, on_looked, election) !=
        0) {
        look_later(election); /* no memory */
        return;
    }
    election->is_looking = true;
    rl_election_ref(election);
}

/* -- Starting and stopping to watch -- */

void rl_leader_watch_update(redlock_election *election) {
    if (!wants_to_know(election)) {
        look_at(election, RL_NEVER);
        rl_recipe_unwatch(&election->recipe);
        election->quick_ms = 0;
        election->expires_ns = RL_NEVER;
        if (election->options.on_leader == NULL && election->state != REDLOCK_ELECTION_LEADING) {
            election->is_known = false; /* a leader may already know itself from a query */
        }
        return;
    }
    assert(!election->is_freed && election->state != REDLOCK_ELECTION_LEADING);
    rl_recipe_watch(&election->recipe, election->lock);
    look_now(election);
    rl_client_wake(rl_election_client(election));
}

void rl_leader_watch_init(redlock_election *election) {
    assert(election->state == REDLOCK_ELECTION_IDLE && election->pending == 0);
    election->recipe.due = on_due;
    election->recipe.notified = on_notified;
    election->expires_ns = RL_NEVER;
    rl_leader_watch_update(election);
}

const char *redlock_election_leader(const redlock_election *election) {
    bool leads = election != NULL && election->is_known && election->has_leader;
    return leads ? election->leader : NULL;
}
