/* See eligibility.h. */
#include "nodes/eligibility.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "client/env.h"
#include "core/home.h"
#include "nodes/membership.h"

#define NS_PER_S UINT64_C(1000000000)

static_assert((int)REDLOCK_GUARD_OFF == (int)RL_GUARD_OFF, "the interface's modes are the core's");
static_assert((int)REDLOCK_GUARD_OBSERVED == (int)RL_GUARD_OBSERVED, "... and so is this one");
static_assert((int)REDLOCK_GUARD_STRICT == (int)RL_GUARD_STRICT, "... and this one");
static_assert(RL_INFO_ID_LEN == RL_GUARD_ID_LEN, "core and redis agree on the length of an id");

static rl_mask bit_of(const struct rl_client_node *member) {
    assert(member->index < member->client->n_nodes);
    return rl_bit(member->index);
}

/* -- Judging -- */

/* Why a node is refused, and why it is in quarantine when it becomes usable. */
static const struct {
    int16_t refused, waits;
} reasons[RL_STANDINGS] = {
    [RL_STANDING_RESTARTED] = {.waits = REDLOCK_ERR_NODE_RESTARTED},
    [RL_STANDING_REPLACED] = {.waits = REDLOCK_ERR_NODE_REPLICATION_CHANGED},
    [RL_STANDING_RECENTLY_STARTED] = {.waits = REDLOCK_ERR_NODE_RECENTLY_STARTED},
    [RL_STANDING_FLUSHED] = {.waits = REDLOCK_ERR_NODE_FLUSHED},
    [RL_STANDING_REPLICA] = {REDLOCK_ERR_NODE_READONLY, REDLOCK_ERR_NODE_WAS_REPLICA},
    [RL_STANDING_LOADING] = {.refused = REDLOCK_ERR_NODE_LOADING},
    [RL_STANDING_EVICTS] = {REDLOCK_ERR_NODE_EVICTS, REDLOCK_ERR_NODE_WAS_EVICTING},
};

/* An uptime is the difference of two clock readings in whole seconds: the true value may be one
 * second less. */
static uint64_t uptime_ns(uint64_t uptime_s) {
    uint64_t sure_s = uptime_s > 0 ? uptime_s - 1 : 0;
    return sure_s < UINT64_MAX / NS_PER_S ? sure_s * NS_PER_S : UINT64_MAX;
}

static struct rl_server server_of(const struct rl_info *info) {
    struct rl_server server = {
        .uptime_ns = uptime_ns(info->uptime_s),
        .flushes = info->flushes,
        .is_replica = info->is_replica,
        .is_loading = info->is_loading,
        .evicts = info->evicts,
    };
    memcpy(server.run_id, info->run_id, sizeof server.run_id);
    memcpy(server.replid, info->replid, sizeof server.replid);
    return server;
}

/* Finds the nodes that are the same server, by each node's last report. */
static void find_duplicates(struct rl_client_node *member) {
    redlock_client *client = member->client;
    assert(member->guard.run_id[0] != '\0'); /* else all nodes that were never seen would match */
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_client_node *other = client->nodes[i];
        bool same = strcmp(other->guard.run_id, member->guard.run_id) == 0;
        if (other != member && same) {
            client->duplicates[member->index] |= bit_of(other);
            client->duplicates[i] |= bit_of(member);
            client->has_duplicates = true;
        }
    }
}

/* The node may vote. Another node that now reports a different identity, and is not in quarantine
 * either, is no longer its duplicate. */
static void part_duplicates(struct rl_client_node *member, uint64_t now_ns) {
    redlock_client *client = member->client;
    assert(rl_guard_may_vote(&member->guard, now_ns));
    assert(client->voters & bit_of(member));
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_client_node *other = client->nodes[i];
        bool same = strcmp(other->guard.run_id, member->guard.run_id) == 0;
        if (!same && rl_guard_may_vote(&other->guard, now_ns)) {
            client->duplicates[member->index] &= ~bit_of(other);
            client->duplicates[i] &= ~bit_of(member);
        }
    }
}

int16_t rl_eligibility_judge(struct rl_node *node, const struct rl_info *info,
                             char detail[RL_DETAIL_MAX]) {
    struct rl_client_node *member = RL_CONTAINER(node, struct rl_client_node, node);
    redlock_client *client = member->client;
    struct rl_server server = server_of(info);
    assert(info->problem == NULL);
    assert(!(client->up & bit_of(member)));
    assert(client->guard_rules.mode != RL_GUARD_OFF); /* else its identity is not requested */
    enum rl_standing standing =
        rl_guard_see(&member->guard, &client->guard_rules, &server, rl_client_now_ns(client));
    if (standing == RL_STANDING_REPLICA) {
        snprintf(detail, RL_DETAIL_MAX, "a replica cannot vote; give the URL of a primary");
    } else if (standing == RL_STANDING_EVICTS) {
        snprintf(detail, RL_DETAIL_MAX, "set maxmemory-policy to noeviction, or maxmemory to 0");
    }
    assert(standing == RL_STANDING_VOTES || standing >= RL_STANDING_REPLICA);
    if (standing == RL_STANDING_VOTES) {
        find_duplicates(member);
        client->node_hashes[member->index] =
            rl_home_hash(info->run_id, (uint32_t)strlen(info->run_id));
    }
    return reasons[standing].refused;
}

void rl_eligibility_flushed(struct rl_node *node) {
    rl_guard_flushed(&RL_CONTAINER(node, struct rl_client_node, node)->guard);
}

/* -- Nodes come up and go down -- */

static void trace(struct rl_client_node *member, enum redlock_event_type type, int status,
                  int64_t votes_in_ms) {
    redlock_client *client = member->client;
    if (client->trace != NULL) {
        redlock_event event = {.type = type,
                               .status = status,
                               .now_ns = rl_client_now_ns(client),
                               .node = member->node.url.name,
                               .votes_in_ms = votes_in_ms};
        client->trace(&event, client->trace_data);
    }
}

void rl_eligibility_up(struct rl_client_node *member) {
    redlock_client *client = member->client;
    uint64_t now_ns = rl_client_now_ns(client);
    assert(client->up & bit_of(member));
    assert(!(client->voters & bit_of(member))); /* cleared when it went down */
    if (!rl_membership_counts(member)) {
        client->reasons[member->index] = REDLOCK_ERR_NODE_CONFIG;
        return;
    }
    if (rl_guard_may_vote(&member->guard, now_ns)) {
        client->voters |= bit_of(member);
        client->reasons[member->index] = 0;
        part_duplicates(member, now_ns); /* the quarantine may have ended while it was down */
        return;
    }
    int16_t why = reasons[member->guard.standing].waits;
    assert(rl_eligibility_is_quarantine(why));
    client->reasons[member->index] = why;
    trace(member, REDLOCK_EVENT_NODE_QUARANTINED, why, rl_eligibility_wait_ms(member, now_ns));
}

void rl_eligibility_suspend(struct rl_client_node *member) {
    assert(member->client->up & bit_of(member));
    member->client->voters &= ~bit_of(member);
    member->client->reasons[member->index] = REDLOCK_ERR_NODE_CONFIG;
}

void rl_eligibility_down(struct rl_client_node *member) {
    assert(!(member->client->up & bit_of(member)));
    assert(member->client->reasons[member->index] != 0);
    member->client->voters &= ~bit_of(member);
}

/* When the quarantine of a node that is up ends; RL_NEVER: it is in none. */
static uint64_t deadline_ns(const struct rl_client_node *member) {
    const redlock_client *client = member->client;
    bool waits = client->up & ~client->voters & bit_of(member) && rl_membership_counts(member);
    return waits ? member->guard.votes_ns : RL_NEVER;
}

void rl_eligibility_tick(struct rl_client_node *member, uint64_t now_ns) {
    redlock_client *client = member->client;
    if (now_ns >= deadline_ns(member)) {
        assert(rl_guard_may_vote(&member->guard, now_ns));
        client->voters |= bit_of(member);
        client->reasons[member->index] = 0;
        part_duplicates(member, now_ns);
        trace(member, REDLOCK_EVENT_NODE_VOTES, 0, 0);
    }
}

/* -- Reporting -- */

rl_mask rl_eligibility_servers(const redlock_client *client) {
    rl_mask counted = 0;
    if (!client->has_duplicates) {
        return client->voters;
    }
    RL_EACH_BIT(i, client->voters) {
        counted |= (client->duplicates[i] & counted) == 0 ? rl_bit(i) : 0;
    }
    assert((counted == 0) == (client->voters == 0)); /* duplicates count once */
    return counted;
}

rl_mask rl_eligibility_duplicates(const struct rl_client_node *member) {
    const redlock_client *client = member->client;
    return client->up & bit_of(member) ? client->duplicates[member->index] & client->up : 0;
}

int64_t rl_eligibility_wait_ms(const struct rl_client_node *member, uint64_t now_ns) {
    uint64_t votes_ns = member->guard.votes_ns;
    uint64_t left_ns = votes_ns > now_ns ? votes_ns - now_ns : 0;
    return (int64_t)((left_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS);
}

bool rl_eligibility_is_quarantine(int reason) {
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
        case REDLOCK_ERR_NODE_REPLICATION_CHANGED:
            return "changed its replication ID";
        case REDLOCK_ERR_NODE_FLUSHED:
            return "was flushed";
        case REDLOCK_ERR_NODE_WAS_REPLICA:
            return "was found to be no longer a replica";
        case REDLOCK_ERR_NODE_WAS_EVICTING:
            return "was found to no longer evict keys";
        default:
            assert(why == REDLOCK_ERR_NODE_RECENTLY_STARTED);
            return "started";
    }
}

void rl_eligibility_explain(const struct rl_client_node *member, int why, uint64_t now_ns,
                            char *text, size_t size) {
    assert(now_ns >= member->guard.since_ns);
    double ago_s = (double)(now_ns - member->guard.since_ns) / 1e9;
    int64_t left_ms = rl_eligibility_wait_ms(member, now_ns);
    int used = snprintf(text, size, "%.60s %s %.1f s ago, votes%s", member->node.url.name,
                        what_happened(why), ago_s,
                        why == REDLOCK_ERR_NODE_RECENTLY_STARTED ? "" : " again");
    assert(used > 0 && (size_t)used < size);
    if (left_ms == 0) {
        snprintf(text + used, size - (size_t)used, " now");
    } else {
        snprintf(text + used, size - (size_t)used, " in %.1f s", (double)left_ms / 1e3);
    }
}

uint32_t rl_member_at(const redlock_client *client, size_t index) {
    const uint32_t node = rl_bits_nth(rl_sides_all(&client->membership.sides), index);
    return node < client->n_nodes ? node : RL_NODES_MAX;
}

bool rl_member_init(redlock_client *client, uint32_t i, const struct rl_url *url,
                    const struct rl_node_events *events) {
    struct rl_client_node *member = client->nodes[i];
    assert(i < RL_NODES_MAX);
    if (member == NULL) {
        member = client->nodes[i] = rl_alloc(&client->memory, 1, sizeof *member);
    }
    if (member == NULL) {
        return false;
    }
    *member = (struct rl_client_node){.listener = member->listener, /* of a node that has left */
                                      .client = client,
                                      .index = (uint8_t)i,
                                      .left_ns = RL_NEVER};
    rl_node_init(&member->node, &client->io, url, &client->node_options, events,
                 client->random + i * UINT64_C(0x9e3779b97f4a7c15));
    rl_pending_init(&member->pending_releases, RL_PENDING_MAX);
    rl_deadline_init(&member->deadline, RL_WAITS_NODE);
    client->node_hashes[i] = rl_home_hash(url->name, (uint32_t)strlen(url->name));
    client->reasons[i] = REDLOCK_ERR_NODE_DOWN;
    return true;
}

void rl_member_update(struct rl_client_node *member) {
    uint64_t at_ns = rl_node_deadline_ns(&member->node);
    if (rl_node_is_up(&member->node) && member->pending_releases.retry_ns < at_ns) {
        at_ns = member->pending_releases.retry_ns;
    }
    if (member->left_ns < at_ns) {
        at_ns = member->left_ns;
    }
    if (deadline_ns(member) < at_ns) {
        at_ns = deadline_ns(member);
    }
    rl_deadlines_set(&member->client->deadlines, &member->deadline, at_ns);
}
