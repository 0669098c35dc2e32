/* Who leads: the nodes are asked, and asked again when something may have changed.
 *
 * Happy path: a query every poll_ms, with a jitter; after a notice of a release one at once, and
 * then quickly again (5 ms, doubling up to poll_ms) until somebody leads. A leader knows by itself.
 *
 * It also hurries a candidate on: when the keys of a leader that does not renew them end, or when
 * nobody leads, its next attempt is drawn forward (rl_notice_wake). That only ever moves an attempt
 * forward that would have come anyway: it decides nothing.
 *
 * Failure modes: too few nodes answer to tell, and nothing is told; there is no memory for a query,
 * and the next one comes after a pause.
 *
 * "Nobody leads" is told only if no token can have a quorum, whatever the silent nodes have: a
 * leader whose nodes are partly down still leads.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "core/quorum.h"
#include "election.h"
#include "redlock/token.h"

#define QUICK_MS_FIRST 5u

static bool wants_to_know(const redlock_election *election) {
    bool campaigns = election->state == REDLOCK_ELECTION_CAMPAIGNING;
    bool leads = election->state == REDLOCK_ELECTION_LEADING;
    bool resigns = election->state == REDLOCK_ELECTION_RESIGNING; /* nodes may not know yet */
    return !election->is_freed && election->client->phase == RL_CLIENT_OPEN && !leads && !resigns &&
           (campaigns || election->options.on_leader != NULL);
}

/* Three quarters to five quarters of it. */
static uint64_t jittered_ns(redlock_election *election, uint64_t ms) {
    uint64_t ns = ms * RL_NS_PER_MS;
    return ns - ns / 4 + rl_loop_random(election->client) % (ns / 2 + 1);
}

static void look_at(redlock_election *election, uint64_t at_ns) {
    rl_deadlines_set(&election->client->deadlines, &election->deadline, at_ns);
}

/* After an answer: poll_ms later, or when the leader's keys end; quickly if nobody leads. */
static void look_later(redlock_election *election) {
    uint64_t now_ns = redlock_now_ns();
    uint64_t pause_ms = (uint64_t)election->options.poll_ms;
    if (election->quick_ms > 0 && election->quick_ms < pause_ms) {
        pause_ms = election->quick_ms;
        election->quick_ms *= 2;
    }
    uint64_t at_ns = now_ns + jittered_ns(election, pause_ms);
    look_at(election, at_ns < election->expires_ns ? at_ns : election->expires_ns);
}

static void look_now(redlock_election *election) {
    if (election->is_looking) {
        election->looks_again = true;
    } else {
        look_at(election, redlock_now_ns());
    }
}

static void look_quickly(redlock_election *election) {
    if (election->quick_ms == 0) {
        election->quick_ms = QUICK_MS_FIRST;
    }
}

/* -- Telling -- */

static void set_leader(redlock_election *election, const char *leader) {
    bool has_leader = leader != NULL;
    bool same = election->is_known && election->has_leader == has_leader &&
                (!has_leader || strcmp(election->leader, leader) == 0);
    if (same) {
        return;
    }
    election->is_known = true;
    election->has_leader = has_leader;
    snprintf(election->leader, sizeof election->leader, "%s", has_leader ? leader : "");
    if (election->options.on_leader != NULL && !election->is_freed &&
        election->client->phase == RL_CLIENT_OPEN) {
        election->options.on_leader(election, redlock_election_leader(election),
                                    election->options.data);
    }
}

void rl_observe_elected(redlock_election *election) {
    if (election->state == REDLOCK_ELECTION_LEADING) { /* not resigned in on_elected */
        set_leader(election, election->candidate);
    }
}

/* -- Looking -- */

/* Whether no token has, or can have by what silent nodes may know, a quorum. */
static bool is_nobody(const redlock_election *election, const redlock_query *query) {
    uint32_t n = election->client->n_nodes, silent = 0, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        redlock_sight sight = REDLOCK_SIGHT_INIT, other = REDLOCK_SIGHT_INIT;
        uint32_t same = 0;
        redlock_query_sight(query, i, &sight);
        silent += sight.status != 0;
        for (uint32_t j = 0; sight.status == 0 && sight.is_held && j < n; j++) {
            redlock_query_sight(query, j, &other);
            same += other.status == 0 && other.is_held && strcmp(other.token, sight.token) == 0;
        }
        most = same > most ? same : most;
    }
    return most + silent < rl_quorum(n);
}

/* Keys end on all nodes within moments of each other: a millisecond more lets the last one end. */
static void note_holder(redlock_election *election, const char *holder, int64_t remaining_ms) {
    election->quick_ms = 0;
    election->expires_ns = RL_NEVER;
    if (remaining_ms >= 0) {
        election->expires_ns = redlock_now_ns() + ((uint64_t)remaining_ms + 1) * RL_NS_PER_MS;
    }
    set_leader(election, holder);
}

static void on_looked(redlock_query *query, int status, void *data) {
    redlock_election *election = data;
    const char *token = "", *holder = NULL;
    int64_t remaining_ms = 0;
    assert(election->is_looking);
    election->is_looking = false;
    election->expires_ns = RL_NEVER;
    bool is_old = election->looks_again; /* something has happened since it was asked */
    election->looks_again = false;
    if (is_old && wants_to_know(election)) {
        look_at(election, redlock_now_ns());
    } else if (status != REDLOCK_ERR_CANCELED && wants_to_know(election)) {
        if (redlock_query_quorum(query, &token, &holder, &remaining_ms) && token[0] != '\0') {
            note_holder(election, holder, remaining_ms);
        } else if (is_nobody(election, query)) {
            look_quickly(election);
            rl_notice_wake(election->lock);
            set_leader(election, NULL);
        }
        if (wants_to_know(election)) { /* after what the user did in on_leader */
            look_later(election);
        }
    }
    rl_election_unref(election);
}

/* Somebody has released. */
static void on_told(struct rl_ear *ear) {
    redlock_election *election = RL_CONTAINER(ear, redlock_election, ear);
    look_quickly(election);
    look_now(election);
}

void rl_observe_tick(redlock_election *election, uint64_t now_ns) {
    const struct rl_resource *name = election->lock->resources[0];
    look_at(election, RL_NEVER);
    if (now_ns >= election->expires_ns) {
        election->expires_ns = RL_NEVER;
        look_quickly(election);
        rl_notice_wake(election->lock);
    }
    if (election->is_looking || !wants_to_know(election)) {
        return;
    }
    if (redlock_query_holder(election->client, name->bytes, name->length, on_looked, election) !=
        0) {
        look_later(election); /* no memory */
        return;
    }
    election->is_looking = true;
    rl_election_ref(election);
}

/* -- Beginning and ending to look -- */

void rl_observe_update(redlock_election *election) {
    redlock_client *client = election->client;
    if (!wants_to_know(election)) {
        look_at(election, RL_NEVER);
        rl_notice_unwatch(client, &election->ear);
        election->quick_ms = 0;
        election->expires_ns = RL_NEVER;
        if (election->state != REDLOCK_ELECTION_LEADING) {
            election->is_known = false; /* a leader may know itself from a query already */
        }
        return;
    }
    if (election->ear.topic == NULL) {
        rl_notice_watch(client, &election->ear, election->lock->resources[0]);
    }
    look_now(election);
    rl_loop_wake(client);
}

void rl_observe_init(redlock_election *election) {
    rl_deadline_init(&election->deadline, RL_TAG_ELECTION);
    election->ear.told = on_told;
    election->expires_ns = RL_NEVER;
    rl_observe_update(election);
}
