/* See answer.h. */
#include "core/answer.h"

#include <assert.h>

static const struct {
    enum rl_vote vote;
    enum rl_debt debt;
    bool may_have_run;
} meanings[RL_OUTCOMES] = {
    [RL_OUTCOME_YES] = {RL_VOTE_GRANTED, RL_DEBT_NONE, true},
    [RL_OUTCOME_NO] = {RL_VOTE_REFUSED, RL_DEBT_NONE, false},
    [RL_OUTCOME_ERROR] = {RL_VOTE_FAILED, RL_DEBT_REFUSED, false},
    [RL_OUTCOME_NOSCRIPT] = {RL_VOTE_FAILED, RL_DEBT_REFUSED, false},
    [RL_OUTCOME_NONSENSE] = {RL_VOTE_FAILED, RL_DEBT_UNANSWERED, true},
    [RL_OUTCOME_UNANSWERED] = {RL_VOTE_FAILED, RL_DEBT_UNANSWERED, true},
};

enum rl_vote rl_outcome_vote(enum rl_outcome outcome) {
    assert(outcome < RL_OUTCOMES);
    return meanings[outcome].vote;
}

bool rl_outcome_may_have_run(enum rl_outcome outcome) {
    assert(outcome < RL_OUTCOMES);
    return meanings[outcome].may_have_run;
}

enum rl_debt rl_outcome_debt(enum rl_outcome outcome) {
    assert(outcome < RL_OUTCOMES);
    return meanings[outcome].debt;
}
