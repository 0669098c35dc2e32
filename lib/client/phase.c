/* See phase.h. */
#include "client/phase.h"

#include <assert.h>

#include "base/bits.h"
#include "lock/calls.h"
#include "lock/life.h"
#include "nodes/eligibility.h"
#include "nodes/listening.h"
#include "nodes/notification.h"
#include "wait/left.h"
#include "wait/line.h"
#include "wait/line_call.h"

#define JOIN_NS (UINT64_C(50) * 1000000) /* how long on_open waits for more than a quorum */

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

void rl_closing_check(redlock_client *client) {
    if (client->phase != RL_CLIENT_CLOSING) {
        return;
    }
    assert(client->in_turn);
    assert(!client->opening.is_active); /* on_open has run */
    bool answered = !rl_calls_await_answers(client) && !rl_line_awaits_answers(client) &&
                    client->pending_releases == 0;
    if (rl_ready_has_callbacks(client) ||
        (!answered && client->heard_ns < client->closing.until_ns)) {
        return;
    }
    assert(client->ready.first == NULL); /* a lock to be stepped had a callback to come */
    client->phase = RL_CLIENT_TEARDOWN;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_close(&client->nodes[i].node);
        rl_calls_drop(&client->nodes[i]);
    }
    rl_left_drop(client);
    rl_line_calls_drop(client);
    client->up = client->voters = 0;
    assert(!rl_calls_await_answers(client)); /* the end of its connection has answered each */
    assert(client->pending_releases == 0);
    assert(!rl_ready_has_callbacks(client)); /* whatever ended late had no user */
    rl_notification_close(client);
    rl_listening_close(client);
    client->io.world->ops->close(client->io.world);
}
