/* See voters.h. */
#include "voters.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

static_assert((int)REDLOCK_GUARD_OFF == (int)RL_GUARD_OFF, "the interface's modes are the core's");
static_assert((int)REDLOCK_GUARD_OBSERVED == (int)RL_GUARD_OBSERVED, "... and so is this one");
static_assert((int)REDLOCK_GUARD_STRICT == (int)RL_GUARD_STRICT, "... and this one");
static_assert(RL_INFO_ID_LEN == RL_GUARD_ID_LEN, "core and redis agree on the length of an id");

static uint32_t bit_of(const struct rl_client_node *place) {
    return UINT32_C(1) << place->index;
}

/* -- Judging -- */

/* Why it is not used, and why it is in quarantine when it is of use again. */
static const struct {
    int16_t refused, waits;
} reasons[RL_STANDINGS] = {
    [RL_STANDING_RESTARTED] = {.waits = REDLOCK_ERR_NODE_RESTARTED},
    [RL_STANDING_REPLACED] = {.waits = REDLOCK_ERR_NODE_REPLACED},
    [RL_STANDING_YOUNG] = {.waits = REDLOCK_ERR_NODE_YOUNG},
    [RL_STANDING_REPLICA] = {REDLOCK_ERR_NODE_READONLY, REDLOCK_ERR_NODE_PROMOTED},
    [RL_STANDING_LOADING] = {.refused = REDLOCK_ERR_NODE_LOADING},
    [RL_STANDING_EVICTS] = {REDLOCK_ERR_NODE_EVICTS, REDLOCK_ERR_NODE_MENDED},
};

/* The seconds of an uptime are those of two clock readings that were cut: it may be one less. */
static uint64_t uptime_ns(uint64_t uptime_s) {
    uint64_t sure_s = uptime_s > 0 ? uptime_s - 1 : 0;
    return sure_s < UINT64_MAX / NS_PER_S ? sure_s * NS_PER_S : UINT64_MAX;
}

static struct rl_server server_of(const struct rl_info *info) {
    struct rl_server server = {
        .uptime_ns = uptime_ns(info->uptime_s),
        .is_replica = info->is_replica,
        .is_loading = info->is_loading,
        .evicts = info->evicts,
    };
    memcpy(server.run_id, info->run_id, sizeof server.run_id);
    memcpy(server.replid, info->replid, sizeof server.replid);
    return server;
}

/* Who is the same server, by what all have said last. */
static void find_twins(struct rl_client_node *place) {
    redlock_client *client = place->client;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_client_node *other = &client->nodes[i];
        bool same = strcmp(other->guard.run_id, place->guard.run_id) == 0;
        if (other != place && same) {
            client->twins[place->index] |= bit_of(other);
            client->twins[i] |= bit_of(place);
        }
    }
}

/* The node votes: who says something else by now, and is in no quarantine either, is its twin no
 * longer. */
static void part_twins(struct rl_client_node *place, uint64_t now_ns) {
    redlock_client *client = place->client;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_client_node *other = &client->nodes[i];
        bool same = strcmp(other->guard.run_id, place->guard.run_id) == 0;
        if (!same && rl_guard_may_vote(&other->guard, now_ns)) {
            client->twins[place->index] &= ~bit_of(other);
            client->twins[i] &= ~bit_of(place);
        }
    }
}

int16_t rl_voters_judge(struct rl_client_node *place, const struct rl_info *info,
                        char detail[RL_DETAIL_MAX]) {
    redlock_client *client = place->client;
    struct rl_server server = server_of(info);
    assert(info->problem == NULL);
    assert(!(client->up & bit_of(place)));
    enum rl_standing standing =
        rl_guard_see(&place->guard, &client->guard_rules, &server, redlock_now_ns());
    if (standing == RL_STANDING_REPLICA) {
        snprintf(detail, RL_DETAIL_MAX, "a replica cannot vote; give the URL of a primary");
    } else if (standing == RL_STANDING_EVICTS) {
        snprintf(detail, RL_DETAIL_MAX, "set maxmemory-policy to noeviction, or maxmemory to 0");
    }
    assert(standing == RL_STANDING_VOTES || standing >= RL_STANDING_REPLICA);
    if (standing == RL_STANDING_VOTES) {
        find_twins(place);
    }
    return reasons[standing].refused;
}

/* -- Coming and going -- */

static void trace(struct rl_client_node *place, enum redlock_event_type type, int status,
                  int64_t votes_in_ms) {
    redlock_client *client = place->client;
    if (client->trace != NULL) {
        redlock_event event = {.type = type,
                               .status = status,
                               .now_ns = redlock_now_ns(),
                               .node = place->node.url.name,
                               .votes_in_ms = votes_in_ms};
        client->trace(&event, client->trace_data);
    }
}

void rl_voters_up(struct rl_client_node *place) {
    redlock_client *client = place->client;
    uint64_t now_ns = redlock_now_ns();
    assert(client->up & bit_of(place));
    if (rl_guard_may_vote(&place->guard, now_ns)) {
        client->voters |= bit_of(place);
        client->reasons[place->index] = 0;
        part_twins(place, now_ns); /* the quarantine may have ended while it was away */
        return;
    }
    int16_t why = reasons[place->guard.standing].waits;
    assert(rl_voters_is_quarantine(why));
    client->reasons[place->index] = why;
    rl_client_node_deadline(place);
    trace(place, REDLOCK_EVENT_NODE_QUARANTINED, why, rl_voters_wait_ms(place, now_ns));
}

void rl_voters_down(struct rl_client_node *place) {
    place->client->voters &= ~bit_of(place);
}

uint64_t rl_voters_deadline_ns(const struct rl_client_node *place) {
    const redlock_client *client = place->client;
    bool waits = client->up & ~client->voters & bit_of(place);
    return waits ? place->guard.votes_ns : RL_NEVER;
}

void rl_voters_tick(struct rl_client_node *place, uint64_t now_ns) {
    redlock_client *client = place->client;
    if (now_ns >= rl_voters_deadline_ns(place)) {
        assert(rl_guard_may_vote(&place->guard, now_ns));
        client->voters |= bit_of(place);
        client->reasons[place->index] = 0;
        part_twins(place, now_ns);
        trace(place, REDLOCK_EVENT_NODE_VOTES, 0, 0);
    }
}

/* -- Telling -- */

uint32_t rl_voters_count(const redlock_client *client) {
    uint32_t counted = 0;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        bool is_first = (client->twins[i] & counted) == 0;
        counted |= is_first ? client->voters & UINT32_C(1) << i : 0;
    }
    return rl_client_count(counted);
}

bool rl_voters_are_quorum(const redlock_client *client) {
    return rl_voters_count(client) >= rl_quorum(client->n_nodes);
}

uint32_t rl_voters_twins(const struct rl_client_node *place) {
    const redlock_client *client = place->client;
    return client->up & bit_of(place) ? client->twins[place->index] & client->up : 0;
}

int64_t rl_voters_wait_ms(const struct rl_client_node *place, uint64_t now_ns) {
    uint64_t votes_ns = place->guard.votes_ns;
    uint64_t left_ns = votes_ns > now_ns ? votes_ns - now_ns : 0;
    return (int64_t)((left_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS);
}

bool rl_voters_is_quarantine(int reason) {
    for (enum rl_standing standing = RL_STANDING_VOTES; standing < RL_STANDINGS; standing++) {
        if (reason != 0 && reasons[standing].waits == reason) {
            return true;
        }
    }
    return false;
}

static const char *what_happened(int why) {
    switch (why) {
        case REDLOCK_ERR_NODE_RESTARTED:
            return "restarted";
        case REDLOCK_ERR_NODE_REPLACED:
            return "got another replication id";
        case REDLOCK_ERR_NODE_PROMOTED:
            return "was found not to be a replica any more";
        case REDLOCK_ERR_NODE_MENDED:
            return "was found not to evict keys any more";
        default:
            assert(why == REDLOCK_ERR_NODE_YOUNG);
            return "started";
    }
}

void rl_voters_explain(const struct rl_client_node *place, int why, uint64_t now_ns, char *text,
                       size_t size) {
    double ago_s = (double)(now_ns - place->guard.since_ns) / 1e9;
    int64_t left_ms = rl_voters_wait_ms(place, now_ns);
    int used = snprintf(text, size, "%.60s %s %.1f s ago, votes%s", place->node.url.name,
                        what_happened(why), ago_s, why == REDLOCK_ERR_NODE_YOUNG ? "" : " again");
    assert(used > 0 && (size_t)used < size);
    if (left_ms == 0) {
        snprintf(text + used, size - (size_t)used, " now");
    } else {
        snprintf(text + used, size - (size_t)used, " in %.1f s", (double)left_ms / 1e3);
    }
}
