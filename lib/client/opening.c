/* See opening.h. */
#include "client/opening.h"

#include "base/bits.h"
#include "nodes/eligibility.h"

#define JOIN_NS (UINT64_C(50) * 1000000) /* on_open waits so long for more than a quorum */

bool rl_opening_is_over(redlock_client *client, uint64_t now_ns, int *status) {
    if (!client->opening.is_active) {
        return false;
    }
    if (client->phase == RL_CLIENT_CLOSING) {
        *status = REDLOCK_ERR_CANCELED;
        return true;
    }
    bool quorum = rl_eligibility_are_quorum(client);
    bool settled = true;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        settled = settled && client->nodes[i].is_settled;
    }
    if (quorum && client->opening.quorum_ns == RL_NEVER) {
        client->opening.quorum_ns = now_ns;
        if (now_ns + JOIN_NS < client->opening.until_ns) {
            client->opening.until_ns = now_ns + JOIN_NS;
            rl_deadlines_set(&client->deadlines, &client->deadline, client->opening.until_ns);
        }
    }
    if (!settled && client->heard_ns < client->opening.until_ns) {
        return false;
    }
    rl_deadlines_set(&client->deadlines, &client->deadline, RL_NEVER);
    bool is_twice = rl_bits_count(client->voters) >= rl_quorum(client->n_nodes);
    int missing = is_twice ? REDLOCK_ERR_DUPLICATE : REDLOCK_ERR_NO_QUORUM;
    *status = quorum ? 0 : missing;
    return true;
}
