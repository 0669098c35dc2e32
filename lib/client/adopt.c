/* See adopt.h. */
#include "client/adopt.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "client/env.h"
#include "lock/calls.h"
#include "lock/life.h"
#include "lock/step.h"
#include "nodes/eligibility.h"
#include "nodes/listening.h"
#include "nodes/membership.h"
#include "nodes/notification.h"
#include "nodes/seats.h"
#include "nodes/sets.h"
#include "nodes/tls.h"
#include "redis/credentials.h"
#include "redis/node.h"
#include "wait/line_call.h"
#include "wait/line_event.h"
#include "watch/metrics.h"

/* The index of the member's node; if the client does not know it yet, n_nodes or a closed node. */
static uint32_t find_place(const redlock_client *client, const struct rl_url *url) {
    uint32_t free = client->n_nodes;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_node *node = &client->nodes[i]->node;
        if (node->state == RL_NODE_CLOSED) {
            free = i < free ? i : free;
        } else if (rl_url_same_server(&node->url, url)) {
            return i;
        }
    }
    return free;
}

/* The first node that is not closed, which has the current credentials. */
static const struct rl_node *any_node(const redlock_client *client) {
    uint32_t i = 0;
    while (i + 1 < client->n_nodes && client->nodes[i]->node.state == RL_NODE_CLOSED) {
        i++;
    }
    return &client->nodes[i]->node;
}

/* Adds a node of the set that the client does not know yet, with another node's credentials. */
static bool add_place(redlock_client *client, uint32_t i, struct rl_url *url) {
    const struct rl_node *like = any_node(client);
    if (i == RL_NODES_MAX) {
        return false;
    }
    url->has_password = like->url.has_password;
    memcpy(url->user, like->url.user, sizeof url->user);
    memcpy(url->password, like->url.password, sizeof url->password);
    url->db = like->url.db;
    if (!rl_member_init(client, i, url, client->nodes[0]->node.events)) {
        return false;
    }
    rl_auth_offer_same(&client->nodes[i]->node.auth, &like->auth);
    if (!rl_client_tls_join(client, i) || !rl_listening_join(client, i)) {
        client->nodes[i]->node.state = RL_NODE_CLOSED;
        rl_client_tls_leave(client, i);
        return false;
    }
    client->n_nodes = i == client->n_nodes ? i + 1 : client->n_nodes;
    rl_metrics_joined(client, i);
    rl_node_start(&client->nodes[i]->node);
    return true;
}

/* False: no memory, or no room. Nodes that were added before the failure have no vote. */
static bool find_sides(redlock_client *client, const struct rl_config *config,
                       struct rl_sides *sides, struct rl_sets *sets) {
    struct rl_url url;
    bool found = true;
    *sides = (struct rl_sides){{0, 0}};
    for (uint32_t j = 0; j < config->n && found; j++) {
        int status = rl_url_parse(config->members[j].url, &url, NULL, 0);
        assert(status == 0); /* rl_membership_read() */
        (void)status;
        const uint32_t i = find_place(client, &url);
        const bool is_known = i < client->n_nodes && client->nodes[i]->node.state != RL_NODE_CLOSED;
        found = is_known || add_place(client, i, &url);
        if (found && (config->members[j].sides & RL_CONFIG_OLD || !config->is_joint)) {
            sides->of[0] |= rl_bit(i);
        }
        if (found && config->members[j].sides & RL_CONFIG_NEW) {
            sides->of[1] |= rl_bit(i);
        }
        if (found) {
            rl_sets_place(sets, config, j, i);
        }
    }
    rl_wipe(&url, sizeof url);
    return found;
}

static void leave_others(redlock_client *client, uint64_t now_ns) {
    const uint64_t longest_ns = client->guard_rules.quarantine_ns;
    const rl_mask electors = rl_sides_all(&client->membership.sides);
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        struct rl_client_node *member = client->nodes[i];
        const bool is_left = !(electors & rl_bit(i)) && member->node.state != RL_NODE_CLOSED;
        member->left_ns = !is_left                      ? RL_NEVER
                          : member->left_ns != RL_NEVER ? member->left_ns
                                                        : now_ns + longest_ns;
        rl_member_update(member);
    }
}

/* Withdraws the vote of nodes that have lost it. */
static void review(redlock_client *client) {
    const rl_mask before = client->voters;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if (client->voters & rl_bit(i) && !rl_membership_counts(client->nodes[i])) {
            rl_eligibility_suspend(client->nodes[i]);
        }
    }
    if (client->voters != before) {
        rl_line_nodes_changed(client);
    }
}

static void drop_next(redlock_client *client) {
    rl_free(&client->memory, client->membership.next);
    client->membership.next = NULL;
}

static void adopt(redlock_client *client) {
    struct rl_membership *membership = &client->membership;
    struct rl_sides sides;
    struct rl_sets *sets;
    const uint64_t now_ns = rl_client_now_ns(client);
    if (!rl_sets_make(client, membership->next, &sets) ||
        !find_sides(client, membership->next, &sides, sets) || !rl_sets_adopt(client, sets)) {
        rl_sets_drop(client, sets);
        for (uint32_t i = 0; i < client->n_nodes; i++) { /* and reads them again */
            struct rl_node *node = &client->nodes[i]->node;
            if (rl_config_compare(&membership->key, &node->config) == RL_CONFIG_NEWER) {
                rl_node_restart(node, REDLOCK_ERR_NOMEM,
                                "no memory, or no room, for its configuration");
            }
        }
        drop_next(client);
        return;
    }
    membership->key = membership->next->key;
    membership->max_ttl_ms = membership->next->max_ttl_ms;
    drop_next(client);
    membership->sides = sides; /* first, since an operation that ends may begin a round */
    if (sets == NULL) {
        client->rules.electorate = (struct rl_electorate){
            {rl_seats_at(NULL, sides.of[0]), rl_seats_at(NULL, sides.of[1])}};
    }
    review(client);
    rl_step_changed(client, membership->max_ttl_ms);
    leave_others(client, now_ns);
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if (client->up & ~client->voters & rl_bit(i)) {
            rl_eligibility_up(client->nodes[i]);
            rl_member_update(client->nodes[i]);
        }
    }
    rl_notification_nodes_changed(client);
    rl_line_nodes_changed(client);
}

/* The sides of the next configuration that the node is on. */
static int sides_in_next(const redlock_client *client, const struct rl_url *theirs) {
    const struct rl_config *next = client->membership.next;
    struct rl_url url;
    int sides = 0;
    for (uint32_t i = 0; i < next->n && sides == 0; i++) {
        if (rl_url_parse(next->members[i].url, &url, NULL, 0) == 0 &&
            rl_url_same_server(&url, theirs)) {
            sides = next->members[i].sides;
        }
    }
    return sides;
}

/* Whether to adopt without waiting for the nodes that have neither been reached nor failed: they
 * are members of the next configuration, and a majority of each side has it. A node that is not a
 * member may belong to another set. */
static bool is_certain(const redlock_client *client) {
    const struct rl_config *next = client->membership.next;
    int all[2] = {0, 0}, having[2] = {0, 0};
    for (uint32_t i = 0; i < next->n; i++) {
        all[0] += (next->members[i].sides & RL_CONFIG_OLD) != 0;
        all[1] += (next->members[i].sides & RL_CONFIG_NEW) != 0;
    }
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_client_node *member = client->nodes[i];
        const int sides = sides_in_next(client, &member->node.url);
        if (!member->is_settled && sides == 0) {
            return false;
        }
        if (rl_config_compare(&next->key, &member->node.config) == RL_CONFIG_SAME) {
            having[0] += (sides & RL_CONFIG_OLD) != 0;
            having[1] += (sides & RL_CONFIG_NEW) != 0;
        }
    }
    return (!next->is_joint || having[0] > all[0] / 2) && having[1] > all[1] / 2;
}

/* After nodes of two sets were named: whether the last reports of all nodes are of one set, or have
 * no configuration. Then the nodes are asked again. */
static bool is_united(redlock_client *client) {
    struct rl_membership *membership = &client->membership;
    const struct rl_config_key *first = NULL;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_config_key *key = &client->nodes[i]->node.config;
        if (key->epoch != 0 && first != NULL && strcmp(first->id, key->id) != 0) {
            return false;
        }
        first = key->epoch != 0 ? key : first;
    }
    membership->is_divided = false;
    drop_next(client);
    for (uint32_t i = 0; i < client->n_nodes; i++) { /* also those without one: they had no vote */
        if (rl_node_is_up(&client->nodes[i]->node)) {
            rl_node_restart(&client->nodes[i]->node, REDLOCK_ERR_NODE_CONFIG,
                            "is asked again for its configuration");
        }
    }
    return true;
}

void rl_adopt_turn(redlock_client *client) {
    const struct rl_membership *membership = &client->membership;
    bool is_settled = true;
    if (client->phase != RL_CLIENT_OPEN || (membership->is_divided && !is_united(client)) ||
        membership->next == NULL) {
        return;
    }
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        is_settled = is_settled && client->nodes[i]->is_settled;
    }
    if (membership->key.epoch != 0 || is_settled || !client->opening.is_active ||
        is_certain(client) || client->heard_ns >= client->opening.until_ns) {
        adopt(client);
    } else {
        review(client); /* nodes without a configuration have no vote meanwhile */
    }
}

/* -- Leaving -- */

void rl_adopt_tick(struct rl_client_node *member, uint64_t now_ns) {
    redlock_client *client = member->client;
    if (now_ns < member->left_ns) {
        return;
    }
    member->left_ns = RL_NEVER;
    rl_node_restart(&member->node, REDLOCK_ERR_NODE_CONFIG, "it has left the set");
    rl_calls_drop(member);
    rl_line_calls_drop(client, rl_bit(member->index));
    rl_node_close(&member->node);
    rl_client_tls_leave(client, member->index);
    client->reasons[member->index] = REDLOCK_ERR_NODE_CONFIG;
    rl_guard_init(&member->guard); /* it is no node's duplicate any more */
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        client->duplicates[i] &= ~rl_bit(member->index);
    }
    client->duplicates[member->index] = 0;
}
