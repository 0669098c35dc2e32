/* See put_off.h. */
#include "client/put_off.h"

#include "query/query.h"

void rl_put_off(redlock_client *client, uint64_t now_ns) {
    const uint64_t since_ns = client->flushing.flushed_ns;
    const uint64_t connect_ns = client->node_options.connect_timeout_ns;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_put_off(&client->nodes[i].node, since_ns, now_ns);
    }
    RL_EACH(redlock_lock, lock, &client->locks, link) {
        rl_lock_put_off(&lock->core, since_ns, now_ns);
        rl_deadlines_set(&client->deadlines, &lock->deadline, rl_lock_wake_ns(&lock->core));
    }
    rl_query_put_off(client, since_ns, now_ns);
    if (client->phase == RL_CLIENT_CLOSING &&
        client->closing.until_ns >= since_ns + client->rules.node_timeout_ns) {
        client->closing.until_ns = now_ns + client->rules.node_timeout_ns;
        rl_deadlines_set(&client->deadlines, &client->deadline, client->closing.until_ns);
    } else if (client->opening.is_active && client->opening.quorum_ns == RL_NEVER &&
               client->opening.until_ns >= since_ns + connect_ns) {
        client->opening.until_ns = now_ns + connect_ns;
        rl_deadlines_set(&client->deadlines, &client->deadline, client->opening.until_ns);
    }
}
