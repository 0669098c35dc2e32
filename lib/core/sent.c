/* See sent.h. */
#include "core/sent.h"

#include <assert.h>

void rl_sent_init(struct rl_sent *sent, const struct rl_lock *lock, enum rl_sent_kind kind,
                  uint32_t round) {
    assert(kind < RL_SENT_KINDS);
    sent->round = round;
    sent->kind = (uint8_t)kind;
    sent->repays = false;
    if (kind == RL_SENT_RELEASE) {
        rl_owed_item_init(&sent->owed, lock->rules, lock->life_ms);
    }
}

bool rl_sent_vote(const struct rl_sent *sent, uint32_t node, enum rl_outcome outcome,
                  int16_t reason, uint64_t counter, struct rl_event *event) {
    if (sent->round == 0) {
        return false;
    }
    event->type = RL_EV_VOTE;
    event->u.vote = (struct rl_ballot_in){.round = sent->round,
                                          .node = node,
                                          .vote = rl_outcome_vote(outcome),
                                          .reason = reason,
                                          .counter = counter,
                                          .may_have_run = rl_outcome_may_have_run(outcome)};
    return true;
}

static enum rl_end release_end(const struct rl_sent *sent, enum rl_outcome outcome) {
    switch (rl_outcome_debt(outcome)) {
        case RL_DEBT_REFUSED:
            return RL_END_OWED_AGAIN;
        case RL_DEBT_UNANSWERED:
            return RL_END_OWED;
        case RL_DEBT_NONE:
            break;
    }
    return sent->repays ? RL_END_REPAID : RL_END_DONE;
}

enum rl_end rl_sent_end(const struct rl_sent *sent, enum rl_outcome outcome) {
    assert(!sent->repays || sent->kind == RL_SENT_RELEASE);
    if (sent->kind == RL_SENT_RELEASE) {
        return release_end(sent, outcome);
    }
    bool repairs = sent->kind == RL_SENT_SET && sent->round == 0;
    return repairs && outcome == RL_OUTCOME_YES ? RL_END_REPAIRED : RL_END_DONE;
}

void rl_sent_again(struct rl_sent *sent) {
    assert(sent->kind == RL_SENT_RELEASE);
    sent->repays = true;
    sent->round = 0;
}
