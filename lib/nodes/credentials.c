/* See credentials.h.
 *
 * Happy path: this file checks and copies the user's strings once, gives each node its own copy,
 * and wipes the first one.
 *
 * Failure modes: if memory for a node's copy runs out, that node uses the credentials from its next
 * connection on; the other nodes are not affected. */
#include "nodes/credentials.h"

#include <assert.h>

#include "client/env.h"
#include "nodes/eligibility.h"
#include "redis/credentials.h"

static_assert(REDLOCK_USER_MAX == RL_URL_USER_MAX, "interface and URL agree on users");
static_assert(REDLOCK_PASSWORD_MAX == RL_URL_PASSWORD_MAX, "... and on passwords");

static int offer(redlock_client *client, size_t node, const struct rl_credentials *credentials) {
    int status = 0;
    assert(credentials->has_password);
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if ((node == REDLOCK_ALL_NODES || node == i) &&
            client->nodes[i]->node.state != RL_NODE_CLOSED && /* it has left the set */
            !rl_node_offer(&client->nodes[i]->node, credentials, !client->opening.has_begun)) {
            status = REDLOCK_ERR_NOMEM;
        }
    }
    return status;
}

int redlock_client_set_credentials(redlock_client *client, size_t node, const char *user,
                                   const char *password) {
    struct rl_credentials credentials;
    if (client == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    if (rl_io_is_forked(&client->io)) {
        return REDLOCK_ERR_FORKED;
    }
    if (client->phase != RL_CLIENT_OPEN) {
        return REDLOCK_ERR_CLOSED;
    }
    if (node != REDLOCK_ALL_NODES) {
        node = rl_member_at(client, node);
        if (node == RL_NODES_MAX) {
            return REDLOCK_ERR_INVALID;
        }
    }
    int status = REDLOCK_ERR_INVALID;
    if (rl_credentials_set(&credentials, user, password)) {
        status = offer(client, node, &credentials);
        rl_client_wake(client);
    }
    rl_credentials_wipe(&credentials);
    return status;
}

int16_t rl_credentials_status(const struct rl_client_node *member) {
    const struct rl_auth *auth = &member->node.auth;
    assert(auth->reason == 0 || auth->state != RL_AUTH_SETTLED);
    if (auth->state == RL_AUTH_SETTLED) {
        return 0;
    }
    return (int16_t)(auth->reason != 0 ? auth->reason : REDLOCK_ERR_NODE_DOWN);
}

uint32_t rl_credentials_pending(const redlock_client *client) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        count += client->nodes[i]->node.state != RL_NODE_CLOSED &&
                 rl_credentials_status(client->nodes[i]) != 0;
    }
    return count;
}
