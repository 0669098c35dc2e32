/* See nodes.h. */
#include "client/nodes.h"

#include <assert.h>

#include "client/env.h"
#include "lock/answer.h"
#include "lock/calls.h"
#include "nodes/eligibility.h"
#include "nodes/listening.h"
#include "query/query.h"
#include "redis/node_auth.h"
#include "wait/line_call.h"
#include "wait/line_event.h"
#include "watch/metrics.h"

static struct rl_client_node *place_of(struct rl_node *node) {
    struct rl_client_node *place = RL_CONTAINER(node, struct rl_client_node, node);
    assert(place == &place->client->nodes[place->index]);
    return place;
}

static void node_deadline(struct rl_node *node) {
    rl_place_update(place_of(node));
}

static void node_dirty(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    redlock_client *client = place->client;
    if (client->flushing.nodes == 0) {
        client->flushing.dirty_ns = rl_client_now_ns(client);
    }
    client->flushing.nodes |= UINT32_C(1) << place->index;
}

static int16_t node_judge(struct rl_node *node, const struct rl_info *info,
                          char detail[RL_DETAIL_MAX]) {
    return rl_eligibility_judge(place_of(node), info, detail);
}

static void node_up(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    redlock_client *client = place->client;
    assert(client->phase < RL_CLIENT_TEARDOWN);
    assert(!(client->up >> place->index & 1));
    client->up |= UINT32_C(1) << place->index;
    place->is_settled = true;
    rl_trace(client, REDLOCK_EVENT_NODE_UP, NULL, node, 0, 0);
    rl_eligibility_up(place);
    rl_place_update(place);
    rl_listening_node_up(client, place->index);
    rl_calls_retry(place);
    rl_line_calls_retry(client, place->index); /* before any JOIN is sent */
    rl_line_nodes_changed(client);
}

static void node_down(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    redlock_client *client = place->client;
    assert(client->up >> place->index & 1); /* `down` comes once for each `up` */
    assert(node->reason != 0);
    client->up &= ~(UINT32_C(1) << place->index);
    client->reasons[place->index] = node->reason;
    rl_eligibility_down(place);
    rl_trace(client, REDLOCK_EVENT_NODE_DOWN, NULL, node, node->reason, 0);
    place->calibration = (struct rl_calibration){0};
    place->secret = 0;
    rl_listening_node_down(client, place->index);
    rl_line_nodes_changed(client);
}

static void node_failed(struct rl_node *node) {
    struct rl_client_node *place = place_of(node);
    assert(!(place->client->up >> place->index & 1));
    assert(node->reason != 0);
    place->is_settled = true;
    place->client->reasons[place->index] = node->reason;
}

static void node_credentials(struct rl_node *node, int16_t reason) {
    struct rl_client_node *place = place_of(node);
    assert((reason == 0) == (node->auth.reason == 0) || node->auth.state == RL_AUTH_OFFERED);
    rl_trace(place->client,
             reason == 0 ? REDLOCK_EVENT_CREDENTIALS_ACCEPTED : REDLOCK_EVENT_CREDENTIALS_REFUSED,
             NULL, node, reason, 0);
    if (reason == 0) {
        rl_listening_authorized(place->client, place->index);
    }
}

/* Passes an answer to the sender of the command. (NOAUTH on an authenticated connection: a password
 * was set on an old server, or on a server behind a proxy that has switched connections.) */
static void node_answer(struct rl_node *node, struct rl_request *request,
                        const struct rl_answer *answer) {
    if (answer->verdict == RL_ERROR && answer->reason == REDLOCK_ERR_NODE_AUTH) {
        rl_node_offer_again(node);
    }
    if (place_of(node)->client->metrics != NULL && answer->verdict != RL_UNANSWERED) {
        rl_metrics_answered(place_of(node), request);
    }
    if (request->kind == RL_COMMAND_READ || request->kind == RL_COMMAND_READER ||
        request->kind == RL_COMMAND_WAITER || request->kind == RL_COMMAND_SET_PERMITS ||
        request->kind == RL_COMMAND_SLOT) {
        rl_query_answer(node, request, answer);
    } else if (request->kind == RL_COMMAND_JOIN || request->kind == RL_COMMAND_LEAVE) {
        rl_line_answer(node, request, answer);
    } else {
        rl_answer_take(node, request, answer);
    }
}

const struct rl_node_events rl_nodes_events = {
    .judge = node_judge,
    .answer = node_answer,
    .again = rl_calls_again,
    .up = node_up,
    .down = node_down,
    .failed = node_failed,
    .credentials = node_credentials,
    .deadline = node_deadline,
    .dirty = node_dirty,
};

void rl_nodes_due(struct rl_deadline *item, uint64_t now_ns) {
    struct rl_client_node *place = RL_CONTAINER(item, struct rl_client_node, deadline);
    redlock_client *client = place->client;
    const uint32_t voters = client->voters;
    assert(item->at_ns <= now_ns);
    rl_node_tick(&place->node, now_ns);
    if (now_ns >= place->pending_releases.retry_ns) {
        rl_calls_retry(place);
    }
    rl_eligibility_tick(place, now_ns);
    rl_place_update(place);
    if (client->voters != voters) {
        rl_line_nodes_changed(client);
    }
}
