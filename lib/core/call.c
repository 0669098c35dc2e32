/* See call.h. */
#include "core/call.h"

#include <assert.h>
#include <stddef.h>

/* What the outcome of a command means for its vote, and of a release for its end. */
static const struct {
    enum rl_vote vote;
    enum rl_end release;
    bool may_have_run;
} meanings[RL_OUTCOMES] = {
    [RL_OUTCOME_YES] = {RL_VOTE_GRANTED, RL_END_DONE, true},
    [RL_OUTCOME_NO] = {RL_VOTE_REFUSED, RL_END_DONE, false},
    [RL_OUTCOME_ERROR] = {RL_VOTE_FAILED, RL_END_REFUSED, false},
    [RL_OUTCOME_NOSCRIPT] = {RL_VOTE_FAILED, RL_END_REFUSED, false},
    [RL_OUTCOME_PROTOCOL_ERROR] = {RL_VOTE_FAILED, RL_END_UNANSWERED, true},
    [RL_OUTCOME_UNANSWERED] = {RL_VOTE_FAILED, RL_END_UNANSWERED, true},
};

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
    assert(node < RL_SEATS_MAX && outcome < RL_OUTCOMES);
    assert(meanings[outcome].vote >= RL_VOTE_GRANTED); /* else a row is missing */
    if (call->round == 0) {
        return false;
    }
    assert(!call->is_retry);
    event->type = RL_EV_VOTE;
    event->u.vote = (struct rl_ballot_in){.round = call->round,
                                          .node = node,
                                          .vote = meanings[outcome].vote,
                                          .reason = reason,
                                          .counter = counter,
                                          .may_have_run = meanings[outcome].may_have_run};
    return true;
}

enum rl_end rl_call_end(const struct rl_call *call, enum rl_outcome outcome) {
    assert(!call->is_retry || call->kind == RL_CALL_RELEASE);
    assert(outcome < RL_OUTCOMES);
    if (call->kind == RL_CALL_RELEASE) {
        const enum rl_end end = meanings[outcome].release;
        return end == RL_END_DONE && call->is_retry ? RL_END_RETRIED : end;
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
