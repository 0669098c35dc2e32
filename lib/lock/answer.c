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

/* Whether the fence is too large to keep counting, or is missing although it was requested. */
static bool has_bad_fence(const struct rl_request *request, const struct rl_answer *answer) {
    const bool asks = request->counter > 0 &&
                      (request->kind == RL_COMMAND_TAKE || request->kind == RL_COMMAND_UPGRADE);
    return answer->counter > RL_FENCE_VOTE_MAX ||
           (asks && answer->verdict == RL_YES && answer->counter == 0);
}

/* What an answer means for its command. No answer proves that a script that may set a key did not
 * run. is_bad: has_bad_fence(). */
static enum rl_verdict verdict_of(const struct rl_request *request, const struct rl_answer *answer,
                                  bool is_bad) {
    const bool sets_by_script =
        rl_command_acquires((enum rl_command_kind)request->kind) && request->kind != RL_COMMAND_SET;
    const bool has_stopped = answer->verdict == RL_ERROR && sets_by_script; /* half-way */
    assert(answer->counter == 0 || answer->verdict == RL_YES);
    return has_stopped || is_bad ? RL_NOT_REDIS : answer->verdict;
}

static enum rl_vote vote_of(enum rl_verdict verdict) {
    return verdict == RL_YES  ? RL_VOTE_GRANTED
           : verdict == RL_NO ? RL_VOTE_REFUSED
                              : RL_VOTE_FAILED;
}

static uint32_t latency_us(const struct rl_node *node, const struct rl_request *request) {
    const uint64_t us = rl_request_latency_ns(request, rl_io_step_ns(node->io)) / 1000;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void rl_answer_take(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer) {
    struct rl_client_node *member = RL_CONTAINER(node, struct rl_client_node, node);
    struct rl_lock_call *call = RL_CONTAINER(request, struct rl_lock_call, request);
    const bool has_bad = has_bad_fence(request, answer);
    const enum rl_verdict verdict = verdict_of(request, answer, has_bad);
    int16_t reason = answer->reason;
    struct rl_event event = {.type = RL_EV_VOTE};
    RL_REQUIRE(call->lock != NULL); /* answered once: a call that was given back has no lock */
    assert(call->lock->client == member->client);
    assert(request->kind != RL_COMMAND_READ); /* only queries send it */
    assert(answer->verdict != RL_ERROR || reason != 0);
    assert(member->client->calls.outstanding > 0);
    member->client->calls.outstanding--;
    if (answer->verdict == RL_ERROR) {
        member->error = reason;
        snprintf(member->words, sizeof member->words, "%s", answer->text);
    } else if (has_bad) {
        reason = REDLOCK_ERR_NODE_PROTOCOL;
    }
    if (answer->line.time_us != 0) {
        member->calibration = (struct rl_calibration){request->began_ns, answer->line.time_us};
        member->secret = answer->line.secret;
    }
    call->lock->mode->learn(call->lock, member->index, request, answer);
    rl_line_learn(call->lock, member, request, answer);
    const uint32_t seat = rl_seats_of(call->lock, member->index);
    if (seat == RL_SEATS_MAX) { /* the lock has moved to other nodes */
        member->client->stats.late_votes += call->round != 0;
    } else if (call->round != 0) {
        assert(!call->is_retry); /* its round is over */
        event.u.vote = (struct rl_ballot_in){.round = call->round,
                                             .node = seat,
                                             .vote = vote_of(verdict),
                                             .reason = reason,
                                             .counter = answer->counter,
                                             .may_have_run = rl_calls_may_have_run(verdict),
                                             .latency_us = latency_us(node, request)};
        member->client->stats.late_votes += rl_step_event(call->lock, &event);
    }
    if (answer->verdict != RL_YES && rl_command_releases((enum rl_command_kind)request->kind)) {
        rl_left_gone(member->client, member->index,
                     rl_line_place_of(member->client, request->token));
    }
    rl_calls_settle(member, call, verdict);
}
