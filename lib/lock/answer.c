/* See answer.h. */
#include "lock/answer.h"

#include <assert.h>
#include <stdio.h>

#include "base/require.h"
#include "lock/calls.h"
#include "lock/step.h"
#include "mode/mode.h"
#include "nodes/seats.h"
#include "wait/line_call.h"
#include "wait/line_release.h"

/* Whether the fence leaves no room to count on, or is missing although it was requested. */
static bool has_bad_fence(const struct rl_request *request, const struct rl_answer *answer) {
    const bool asks = request->counter > 0 &&
                      (request->kind == RL_COMMAND_TAKE || request->kind == RL_COMMAND_UPGRADE);
    return answer->counter > RL_FENCE_VOTE_MAX ||
           (asks && answer->verdict == RL_YES && answer->counter == 0);
}

/* The outcome of an answer, for the core. is_bad: has_bad_fence(). */
static enum rl_outcome outcome_of(const struct rl_request *request, const struct rl_answer *answer,
                                  bool is_bad) {
    static const enum rl_outcome outcomes[] = {
        [RL_YES] = RL_OUTCOME_YES,
        [RL_NO] = RL_OUTCOME_NO,
        [RL_ERROR] = RL_OUTCOME_ERROR,
        [RL_NOSCRIPT] = RL_OUTCOME_NOSCRIPT,
        [RL_NOT_REDIS] = RL_OUTCOME_PROTOCOL_ERROR,
        [RL_UNANSWERED] = RL_OUTCOME_UNANSWERED,
    };
    bool sets_by_script =
        rl_command_acquires((enum rl_command_kind)request->kind) && request->kind != RL_COMMAND_SET;
    assert((size_t)answer->verdict < sizeof outcomes / sizeof outcomes[0]);
    assert(answer->counter == 0 || answer->verdict == RL_YES);
    if (answer->verdict == RL_ERROR && sets_by_script) {
        return RL_OUTCOME_PROTOCOL_ERROR; /* it may have stopped half-way, with a key set */
    }
    if (is_bad) {
        return RL_OUTCOME_PROTOCOL_ERROR; /* its key is set */
    }
    return outcomes[answer->verdict];
}

static uint32_t latency_us(const struct rl_node *node, const struct rl_request *request) {
    const uint64_t us = rl_request_latency_ns(request, rl_io_step_ns(node->io)) / 1000;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void rl_answer_take(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer) {
    struct rl_client_node *place = RL_CONTAINER(node, struct rl_client_node, node);
    struct rl_lock_call *call = RL_CONTAINER(request, struct rl_lock_call, request);
    const bool has_bad = has_bad_fence(request, answer);
    const enum rl_outcome outcome = outcome_of(request, answer, has_bad);
    int16_t reason = answer->reason;
    struct rl_event event;
    RL_REQUIRE(call->lock != NULL); /* answered once: a call that was given back has none */
    assert(call->lock->client == place->client);
    assert(request->kind != RL_COMMAND_READ); /* only queries send it */
    assert(answer->verdict != RL_ERROR || reason != 0);
    assert(place->client->calls.outstanding > 0);
    place->client->calls.outstanding--;
    if (answer->verdict == RL_ERROR) {
        place->error = reason;
        snprintf(place->words, sizeof place->words, "%s", answer->text);
    } else if (has_bad) {
        reason = REDLOCK_ERR_NODE_PROTOCOL;
    }
    if (answer->line.time_us != 0) {
        place->calibration = (struct rl_calibration){request->began_ns, answer->line.time_us};
        place->secret = answer->line.secret;
    }
    call->lock->mode->learn(call->lock, place->index, request, answer);
    rl_line_learn(call->lock, place, request, answer);
    const uint32_t seat = rl_seats_of(call->lock, place->index);
    if (seat == RL_SEATS_MAX) { /* the lock has moved to other nodes */
        place->client->stats.late_votes += call->sent.round != 0;
    } else if (rl_call_vote(&call->sent, seat, outcome, reason, answer->counter, &event)) {
        event.u.vote.latency_us = latency_us(node, request);
        place->client->stats.late_votes += rl_step_event(call->lock, &event);
    }
    if (answer->verdict != RL_YES && rl_command_releases((enum rl_command_kind)request->kind)) {
        rl_left_gone(place->client, place->index, rl_line_place_of(place->client, request->token));
    }
    rl_calls_settle(place, call, outcome);
}
