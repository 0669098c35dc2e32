/* See membership.h. */
#include "nodes/membership.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "client/env.h"

/* -- Reading -- */

static bool is_wanted(const struct rl_membership *membership, const struct rl_config_key *key) {
    const char *id = membership->wanted_id;
    return id[0] == '\0' || strcmp(id, key->id) == 0;
}

/* Compares a node's configuration with the client's. */
static enum rl_config_order order_of(const redlock_client *client,
                                     const struct rl_config_key *theirs) {
    const struct rl_membership *membership = &client->membership;
    if (theirs->epoch != 0 && !is_wanted(membership, theirs)) {
        return RL_CONFIG_FOREIGN;
    }
    if (theirs->epoch == 0 && (membership->wanted_id[0] != '\0' || membership->next != NULL)) {
        return RL_CONFIG_OLDER;
    }
    return rl_config_compare(&membership->key, theirs);
}

/* The index of a member that cannot be used; n: none. */
static uint32_t find_bad_url(const struct rl_config *config, bool has_tls, struct rl_url *url) {
    struct rl_url other;
    for (uint32_t i = 0; i < config->n; i++) {
        const bool is_url = rl_url_parse(config->members[i].url, url, NULL, 0) == 0;
        if (!is_url || url->kind != RL_URL_TCP || url->has_password || url->db != 0 ||
            (url->is_tls && !has_tls)) {
            return i;
        }
        for (uint32_t j = 0; j < i; j++) { /* else one vote would count for two */
            if (rl_url_parse(config->members[j].url, &other, NULL, 0) == 0 &&
                rl_url_same_server(url, &other)) {
                return i;
            }
        }
    }
    return config->n;
}

static bool is_at(const struct rl_client_node *member, const char *text, struct rl_url *url) {
    return rl_url_parse(text, url, NULL, 0) == 0 && rl_url_same_server(url, &member->node.url);
}

/* Whether the node is the member that its text names, as far as names can tell. */
static bool is_itself(const struct rl_client_node *member, const struct rl_config *config,
                      struct rl_url *url) {
    if (is_at(member, config->members[config->self].url, url)) {
        return true;
    }
    for (uint32_t i = 0; i < config->n; i++) {
        if (is_at(member, config->members[i].url, url)) {
            return false;
        }
    }
    return true; /* the options name it differently */
}

/* False: no memory. */
static bool note_next(redlock_client *client, const struct rl_config *config) {
    struct rl_membership *membership = &client->membership;
    const enum rl_config_order order = membership->next != NULL
                                           ? rl_config_compare(&membership->next->key, &config->key)
                                           : RL_CONFIG_NEWER;
    rl_client_wake(client);
    if (order == RL_CONFIG_FOREIGN) { /* the first two texts are of different sets */
        membership->is_divided = true;
    } else if (order == RL_CONFIG_NEWER) {
        if (membership->next == NULL) {
            membership->next = rl_alloc(&client->memory, 1, sizeof *membership->next);
        }
        if (membership->next == NULL) {
            return false;
        }
        *membership->next = *config;
    }
    return true;
}

int16_t rl_membership_read(struct rl_node *node, const struct rl_config *config,
                           char detail[RL_DETAIL_MAX]) {
    const struct rl_client_node *member = RL_CONTAINER(node, struct rl_client_node, node);
    redlock_client *client = member->client;
    struct rl_url url;
    if (config == NULL) {
        return 0;
    }
    /* Skips the check, which is slow with a hundred members, if another node's text was the
     * same. */
    const struct rl_config *next = client->membership.next;
    const bool is_known =
        rl_config_compare(&client->membership.key, &config->key) == RL_CONFIG_SAME ||
        (next != NULL && rl_config_compare(&next->key, &config->key) == RL_CONFIG_SAME);
    const uint32_t bad = is_known ? config->n : find_bad_url(config, client->tls != NULL, &url);
    if (bad < config->n) { /* its URL may contain a password */
        snprintf(detail, RL_DETAIL_MAX, "node %u of its configuration %s", (unsigned)bad + 1,
                 strncmp(config->members[bad].url, "rediss:", 7) == 0 && client->tls == NULL
                     ? "has TLS, and no node of this client's options"
                     : "has no URL of its own, or one that says more than host and port");
        return REDLOCK_ERR_NODE_CONFIG;
    }
    if (!rl_config_fits(config)) {
        snprintf(detail, RL_DETAIL_MAX, "its configuration has %u nodes, and a client at most %u",
                 (unsigned)config->n, (unsigned)RL_NODES_MAX);
        return REDLOCK_ERR_NODE_CONFIG;
    }
    if (!is_itself(member, config, &url)) {
        const bool is_url = rl_url_parse(config->members[config->self].url, &url, NULL, 0) == 0;
        snprintf(detail, RL_DETAIL_MAX, "it is %.80s by its configuration",
                 is_url ? url.name : "another node"); /* a bad text may contain a password */
        return REDLOCK_ERR_NODE_CONFIG;
    }
    if (order_of(client, &config->key) == RL_CONFIG_NEWER && !note_next(client, config)) {
        snprintf(detail, RL_DETAIL_MAX, "no memory for its configuration");
        return REDLOCK_ERR_NOMEM;
    }
    return 0;
}

bool rl_membership_is_ours(const redlock_client *client, const struct rl_config *config) {
    const struct rl_config_key none = {.epoch = 0};
    return order_of(client, config != NULL ? &config->key : &none) == RL_CONFIG_SAME;
}

bool rl_membership_counts(const struct rl_client_node *member) {
    const redlock_client *client = member->client;
    const bool is_elector = rl_sides_all(&client->membership.sides) & rl_bit(member->index);
    return is_elector && !client->membership.is_divided &&
           order_of(client, &member->node.config) == RL_CONFIG_SAME;
}

void rl_membership_explain(const struct rl_client_node *member, char *text, size_t size) {
    const redlock_client *client = member->client;
    const struct rl_membership *membership = &client->membership;
    const struct rl_config_key *ours = &membership->key, *theirs = &member->node.config;
    const uint64_t others =
        ours->epoch == 0 && membership->next != NULL ? membership->next->key.epoch : ours->epoch;
    const enum rl_config_order order = order_of(client, theirs);
    if (membership->is_divided && theirs->epoch != 0) {
        snprintf(text, size,
                 "it belongs to set %s, and other nodes to another: name the nodes of "
                 "one set, or set config_id",
                 theirs->id);
    } else if (order == RL_CONFIG_FOREIGN) {
        snprintf(text, size, "it belongs to set %s, and this client to %s", theirs->id,
                 ours->epoch != 0 ? ours->id : membership->wanted_id);
    } else if (theirs->epoch == 0) {
        snprintf(text, size,
                 "it has no configuration, and others have epoch %llu: run \"redlock "
                 "set resume\"",
                 (unsigned long long)others);
    } else if (order == RL_CONFIG_OLDER || order == RL_CONFIG_RIVAL) {
        snprintf(text, size,
                 "it has configuration epoch %llu, change %s, and others have %llu, %s: "
                 "run \"redlock set resume\"",
                 (unsigned long long)theirs->epoch, theirs->change, (unsigned long long)ours->epoch,
                 ours->change);
    } else if (order == RL_CONFIG_NEWER) {
        snprintf(text, size, "its configuration is being adopted");
    } else {
        snprintf(text, size, "it has left the set");
    }
}
