/* See closing.h. */
#include "client/closing.h"

#include <assert.h>

#include "lock/calls.h"
#include "lock/ready.h"
#include "nodes/listening.h"
#include "nodes/notification.h"
#include "wait/line.h"
#include "wait/line_call.h"

void rl_closing_check(redlock_client *client) {
    if (client->phase != RL_CLIENT_CLOSING) {
        return;
    }
    assert(client->in_turn);
    assert(!client->opening.is_active); /* on_open has run */
    bool answered = client->calls.outstanding == 0 && client->lines.outstanding == 0 &&
                    client->pending_releases == 0;
    if (rl_ready_has_callbacks(client) ||
        (!answered && client->heard_ns < client->closing.until_ns)) {
        return;
    }
    assert(client->ready.first == NULL); /* who was to be stepped had a callback to come */
    client->phase = RL_CLIENT_TEARDOWN;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_close(&client->nodes[i].node);
        rl_calls_drop(&client->nodes[i]);
    }
    rl_line_drop_left(client);
    rl_line_calls_drop(client);
    client->up = client->voters = 0;
    assert(client->calls.outstanding == 0); /* each was answered by the end of its connection */
    assert(client->pending_releases == 0);
    assert(!rl_ready_has_callbacks(client)); /* what still ended had no user */
    rl_notification_close(client);
    rl_listening_close(client);
    client->io.world->ops->close(client->io.world);
}
