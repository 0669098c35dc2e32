/* A command that one node was sent on behalf of a lock, from the sending to its end.
 *
 * Happy path: rl_sent_init(), the driver sends it, rl_sent_vote() when its outcome is known, and
 * rl_sent_end() says that the driver is done with it.
 *
 * Failure modes: of a release, rl_sent_end() may say that it is owed, and the driver puts it to
 * the node's debts (rl_owed_add). From there it is sent again by rl_owed_repay(), after
 * rl_sent_again().
 */
#ifndef RL_CORE_SENT_H
#define RL_CORE_SENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/answer.h"
#include "core/lock.h"
#include "core/owed.h"

enum rl_sent_kind { RL_SENT_SET, RL_SENT_RAISE, RL_SENT_EXTEND, RL_SENT_RELEASE, RL_SENT_KINDS };

struct rl_sent {
    struct rl_owed_item owed; /* of a release that is owed */
    uint32_t round;           /* 0: of no round */
    uint8_t kind;             /* enum rl_sent_kind */
    bool repays;              /* an owed release that was sent again */
};

/* What becomes of it. */
enum rl_end {
    RL_END_DONE,
    RL_END_REPAIRED,  /* done: a node that had lost the key has it again */
    RL_END_REPAID,    /* done: a release that was owed */
    RL_END_OWED,      /* RL_DEBT_UNANSWERED */
    RL_END_OWED_AGAIN /* RL_DEBT_REFUSED */
};

/* A command of the lock's present token. A debt has the life of the longest ttl that a key of this
 * token was given. */
void rl_sent_init(struct rl_sent *sent, const struct rl_lock *lock, enum rl_sent_kind kind,
                  uint32_t round);

/* Fills in the vote to feed; false if the command belongs to no round. counter: what a fenced SET
 * was answered, if the outcome is yes. */
bool rl_sent_vote(const struct rl_sent *sent, uint32_t node, enum rl_outcome outcome,
                  int16_t reason, uint64_t counter, struct rl_event *event);

enum rl_end rl_sent_end(const struct rl_sent *sent, enum rl_outcome outcome);

/* An owed release is sent again. No round counts its vote: that round is over. */
void rl_sent_again(struct rl_sent *sent);

#endif
