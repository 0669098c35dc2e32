/* A command to one node on behalf of a lock, from the sending to its end.
 *
 * Happy path: rl_call_init(), the driver sends it, rl_call_vote() when its outcome is known, and
 * rl_call_end() says that the driver is done with it. The node answered yes or no, and that is its
 * vote.
 *
 * Failure modes: it answered with an error, and did not run the command. Or no answer came, or an
 * unexpected reply: then the command may have run, or may still run. rl_call_end() may say that a
 * release is pending, and the driver adds it to the node's pending releases (rl_pending_add). From
 * there rl_pending_retry() sends it again, after rl_call_again().
 *
 * Can a key be orphaned here? Only yes and no end a release: they say that the token is not in the
 * key. After anything else the release stays pending. And only an answer says that a SET did not
 * run.
 */
#ifndef RL_CORE_CALL_H
#define RL_CORE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lock.h"
#include "core/pending.h"
#include "core/round.h"

enum rl_call_kind {
    RL_CALL_SET,
    RL_CALL_TAKE, /* a SET that may take reserved keys, see line.h */
    RL_CALL_RAISE,
    RL_CALL_EXTEND,
    RL_CALL_UPGRADE,
    RL_CALL_RELEASE,
    RL_CALL_KINDS
};

struct rl_call {
    struct rl_pending_release pending; /* of a release that was not answered */
    uint32_t round;                    /* 0: of no round */
    uint8_t kind;                      /* enum rl_call_kind */
    bool is_retry;                     /* a pending release that was sent again */
};

enum rl_outcome {
    RL_OUTCOME_YES,
    RL_OUTCOME_NO,             /* another's token, or none */
    RL_OUTCOME_ERROR,          /* the node answered that it did not run it */
    RL_OUTCOME_NOSCRIPT,       /* NOSCRIPT, although the node was sent the whole script */
    RL_OUTCOME_PROTOCOL_ERROR, /* an unexpected reply */
    RL_OUTCOME_UNANSWERED,
    RL_OUTCOMES
};

/* How a call ended. */
enum rl_end {
    RL_END_DONE,
    RL_END_REPAIRED,  /* done: a node that had lost the key has it again */
    RL_END_RETRIED,   /* done: a release that was pending */
    RL_END_REFUSED,   /* a release is pending: the node answered with an error */
    RL_END_UNANSWERED /* ... or it did not answer */
};

/* Initialises a command with the lock's present token. A pending release has the life of the
 * longest ttl that a key of this token was given. */
void rl_call_init(struct rl_call *call, const struct rl_lock *lock, enum rl_call_kind kind,
                  uint32_t round);

/* Fills in the vote to feed; false if the command belongs to no round. counter: the answer to a
 * fenced SET, if the outcome is yes. */
bool rl_call_vote(const struct rl_call *call, uint32_t node, enum rl_outcome outcome,
                  int16_t reason, uint64_t counter, struct rl_event *event);

enum rl_end rl_call_end(const struct rl_call *call, enum rl_outcome outcome);

/* A pending release is sent again. No round counts its vote: that round is over. */
void rl_call_again(struct rl_call *call);

#endif
