/* See reply_class.h. */
#include "core/reply_class.h"

#include <assert.h>

static const struct {
    enum rl_vote vote;
    enum rl_release_left left;
    bool may_have_run;
} meanings[RL_OUTCOMES] = {
    [RL_OUTCOME_YES] = {RL_VOTE_GRANTED, RL_RELEASE_DONE, true},
    [RL_OUTCOME_NO] = {RL_VOTE_REFUSED, RL_RELEASE_DONE, false},
    [RL_OUTCOME_ERROR] = {RL_VOTE_FAILED, RL_RELEASE_REFUSED, false},
    [RL_OUTCOME_NOSCRIPT] = {RL_VOTE_FAILED, RL_RELEASE_REFUSED, false},
    [RL_OUTCOME_PROTOCOL_ERROR] = {RL_VOTE_FAILED, RL_RELEASE_UNANSWERED, true},
    [RL_OUTCOME_UNANSWERED] = {RL_VOTE_FAILED, RL_RELEASE_UNANSWERED, true},
};

enum rl_vote rl_outcome_vote(enum rl_outcome outcome) {
    assert(outcome < RL_OUTCOMES);
    assert(meanings[outcome].vote >= RL_VOTE_GRANTED); /* else a row is missing here */
    return meanings[outcome].vote;
}

bool rl_outcome_may_have_run(enum rl_outcome outcome) {
    assert(outcome < RL_OUTCOMES);
    assert(meanings[outcome].may_have_run || meanings[outcome].vote != RL_VOTE_GRANTED);
    return meanings[outcome].may_have_run;
}

enum rl_release_left rl_outcome_release(enum rl_outcome outcome) {
    assert(outcome < RL_OUTCOMES);
    return meanings[outcome].left;
}
