/* One command fanned out to the nodes, and their votes.
 *
 * Happy path: begin, a vote from each node, a decision as soon as the votes allow one. Failure
 * modes: a node that cannot be asked has failed from the start; rl_round_expire() fails the votes
 * that do not come; a vote of an earlier round is recognised by its id and not counted.
 *
 * Decided means: won as soon as a quorum said yes, lost as soon as the outstanding votes cannot
 * bring one. A round is decided once. Later votes are recorded for the caller to read, and change
 * nothing. A round keeps the electorate that it began with.
 */
#ifndef RL_CORE_ROUND_H
#define RL_CORE_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/quorum.h"

enum rl_vote {
    RL_VOTE_NONE = 0, /* no round was begun yet */
    RL_VOTE_PENDING,
    RL_VOTE_GRANTED, /* ran the command */
    RL_VOTE_REFUSED, /* answered that it cannot: another's token, or none */
    RL_VOTE_FAILED   /* could not be asked, did not answer, or answered with an error */
};

enum rl_round_kind {
    RL_ROUND_ACQUIRE,
    RL_ROUND_FENCE, /* raises the counters of nodes that granted, see fence.h */
    RL_ROUND_EXTEND,
    RL_ROUND_UPGRADE, /* a reader becomes the writer, see lock.h */
    RL_ROUND_RELEASE  /* a refusal is as good as a grant: the token is not there */
};

enum rl_decision { RL_OPEN, RL_WON, RL_DEFEATED };

struct rl_ballot {
    uint32_t latency_us;
    int16_t reason; /* of a failed vote; the driver's code, not used here */
    uint8_t vote;   /* enum rl_vote */
};

/* Masks have a bit for each node. */
struct rl_round {
    struct rl_ballot *ballots; /* one for each node, the caller's memory */
    uint64_t sent_ns;
    uint32_t id; /* never 0 once begun; 0 marks requests that belong to no round */
    struct rl_electorate electorate;
    uint32_t granted;
    uint32_t refused;
    uint32_t failed;
    uint32_t awaited; /* nodes whose vote must be in before the round can be won */
    uint8_t kind;     /* enum rl_round_kind */
    uint8_t decision; /* enum rl_decision */
};

/* ballots: room for each node, zero. */
void rl_round_init(struct rl_round *round, struct rl_ballot *ballots);

/* Begins a new round with a new id. Electors outside `asked` fail at once, with reasons[node].
 * `asked` may contain nodes that are no electors; they have no vote. */
void rl_round_begin(struct rl_round *round, const struct rl_electorate *electorate,
                    enum rl_round_kind kind, uint64_t now_ns, uint32_t asked,
                    const int16_t *reasons);

/* Records a vote. Returns false, and changes nothing, if it is late: of an earlier round, of a node
 * without a vote, or of one whose vote is in already (perhaps as failed). */
bool rl_round_vote(struct rl_round *round, uint32_t id, uint32_t node, enum rl_vote vote,
                   int16_t reason, uint64_t now_ns);

/* Sets, for a recorded vote, the node's own latency, which is less than the time since the round
 * began. Only informative: validity counts from the round's beginning. */
void rl_round_note_latency(struct rl_round *round, uint32_t node, uint32_t latency_us);

/* Keeps a round that has just begun from being won until these nodes have voted, or until
 * rl_round_await() is called with none. */
void rl_round_await(struct rl_round *round, uint32_t nodes);
/* Whether a quorum has said yes, and only the awaited votes keep the round open. */
bool rl_round_awaits(const struct rl_round *round);

/* Fails every outstanding vote. */
void rl_round_expire(struct rl_round *round, int16_t reason, uint64_t now_ns);

/* Ends an open round as lost: its votes no longer matter. */
void rl_round_abandon(struct rl_round *round);

/* Copies the outcome of another round under a new id, for reading only: no vote can match that
 * id. */
void rl_round_copy(struct rl_round *round, const struct rl_round *from);

/* Turns the refusals of these nodes into failures with this reason. */
void rl_round_excuse(struct rl_round *round, uint32_t nodes, int16_t reason);

/* Electors that have not voted, as a mask. */
static inline uint32_t rl_round_pending(const struct rl_round *round) {
    return rl_electors(&round->electorate) & ~(round->granted | round->refused | round->failed);
}

/* Whether too many nodes failed for a quorum, whatever the others answered. */
bool rl_round_without_quorum(const struct rl_round *round);

/* Whether so many nodes refused that no quorum can have granted, now or later. While the nodes are
 * being changed, only the old ones count: the new ones may not have been asked before. */
bool rl_round_refused_for_good(const struct rl_round *round);

#endif
