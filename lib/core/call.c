/* See call.h. */
#include "core/call.h"

#include <assert.h>
#include <stddef.h>

void rl_call_init(struct rl_call *call, const struct rl_lock *lock, enum rl_call_kind kind,
                  uint32_t round) {
    assert(kind < RL_CALL_KINDS);
    call->round = round;
    call->kind = (uint8_t)kind;
    call->is_retry = false;
    if (kind == RL_CALL_RELEASE) {
        rl_pending_release_init(&call->pending, lock->rules, lock->life_ms);
    }
}

bool rl_call_vote(const struct rl_call *call, uint32_t node, enum rl_outcome outcome,
                  int16_t reason, uint64_t counter, struct rl_event *event) {
    assert(node < RL_NODES_MAX);
    if (call->round == 0) {
        return false;
    }
    assert(!call->is_retry);
    event->type = RL_EV_VOTE;
    event->u.vote = (struct rl_ballot_in){.round = call->round,
                                          .node = node,
                                          .vote = rl_outcome_vote(outcome),
                                          .reason = reason,
                                          .counter = counter,
                                          .may_have_run = rl_outcome_may_have_run(outcome)};
    return true;
}

static enum rl_end release_end(const struct rl_call *call, enum rl_outcome outcome) {
    switch (rl_outcome_release(outcome)) {
        case RL_RELEASE_REFUSED:
            return RL_END_PENDING_AGAIN;
        case RL_RELEASE_UNANSWERED:
            return RL_END_PENDING;
        case RL_RELEASE_DONE:
            break;
    }
    return call->is_retry ? RL_END_RETRIED : RL_END_DONE;
}

enum rl_end rl_call_end(const struct rl_call *call, enum rl_outcome outcome) {
    assert(!call->is_retry || call->kind == RL_CALL_RELEASE);
    if (call->kind == RL_CALL_RELEASE) {
        return release_end(call, outcome);
    }
    bool repairs = call->kind == RL_CALL_SET && call->round == 0;
    return repairs && outcome == RL_OUTCOME_YES ? RL_END_REPAIRED : RL_END_DONE;
}

void rl_call_again(struct rl_call *call) {
    assert(call->kind == RL_CALL_RELEASE);
    assert(call->pending.next == NULL); /* it was taken out of the pending releases */
    call->is_retry = true;
    call->round = 0;
}
