/* What the outcome of a command to one node means: for the vote, and for a release.
 *
 * Happy path: the node answered yes or no, and that is its vote.
 *
 * Failure modes: it answered with an error, and did not run the command. Or no answer came, or an
 * unexpected reply: then the command may have run, or may still run.
 *
 * Can a key be orphaned here? Only yes and no end a release: they say that the token is not in the
 * key. After anything else the release stays pending. And only an answer says that a SET did not
 * run.
 */
#ifndef RL_CORE_REPLY_CLASS_H
#define RL_CORE_REPLY_CLASS_H

#include <stdbool.h>

#include "core/round.h"

enum rl_outcome {
    RL_OUTCOME_YES,
    RL_OUTCOME_NO,             /* another's token, or none */
    RL_OUTCOME_ERROR,          /* the node answered that it did not run it */
    RL_OUTCOME_NOSCRIPT,       /* NOSCRIPT, although the node was sent the whole script */
    RL_OUTCOME_PROTOCOL_ERROR, /* an unexpected reply */
    RL_OUTCOME_UNANSWERED,
    RL_OUTCOMES
};

/* What is left of a release. */
enum rl_release_left {
    RL_RELEASE_DONE,
    RL_RELEASE_REFUSED,   /* answered with an error: sent again after a pause */
    RL_RELEASE_UNANSWERED /* or not sent: sent when the node is connected again */
};

enum rl_vote rl_outcome_vote(enum rl_outcome outcome);
bool rl_outcome_may_have_run(enum rl_outcome outcome);
enum rl_release_left rl_outcome_release(enum rl_outcome outcome);

#endif
