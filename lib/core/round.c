/* See round.h. The masks repeat the ballots, so that a vote costs the same for 3 nodes as for 31;
 * the invariant compares both. */
#include "core/round.h"

#include <assert.h>
#include <stddef.h>

#include "base/bits.h"

/* Nodes whose vote counts as a yes. */
static uint32_t round_yes(const struct rl_round *round) {
    bool gone_is_yes = round->kind == RL_ROUND_RELEASE;
    return round->granted | (gone_is_yes ? round->refused : 0u);
}

static void round_invariant(const struct rl_round *round) {
    (void)round; /* without assertions */
#ifndef NDEBUG
    uint32_t votes[RL_VOTE_FAILED + 1] = {0};
    const uint32_t electors = rl_electors(&round->electorate);
    for (uint32_t i = 0; electors >> i != 0; i++) {
        votes[round->ballots[i].vote] |= electors & rl_seat(i);
    }
    assert(votes[RL_VOTE_NONE] == 0);
    assert(votes[RL_VOTE_PENDING] == rl_round_pending(round));
    assert(votes[RL_VOTE_GRANTED] == round->granted);
    assert(votes[RL_VOTE_REFUSED] == round->refused);
    assert(votes[RL_VOTE_FAILED] == round->failed);
    assert(round->id != 0);
    assert(round->decision != RL_OPEN || rl_round_pending(round) != 0);
#endif
}

static void round_decide(struct rl_round *round) {
    if (round->decision != RL_OPEN) {
        return;
    }
    const uint32_t yes = round_yes(round), pending = rl_round_pending(round);
    const bool has_no = (yes | pending) != rl_electors(&round->electorate); /* seldom */
    if (has_no && !rl_is_quorum(&round->electorate, yes | pending)) {
        round->decision = RL_DEFEATED;
    } else if (yes != 0 && (round->awaited & pending) == 0 &&
               rl_is_quorum(&round->electorate, yes)) {
        round->decision = RL_WON;
    }
}

static void round_record(struct rl_round *round, uint32_t node, enum rl_vote vote, int16_t reason,
                         uint64_t now_ns) {
    struct rl_ballot *ballot = &round->ballots[node];
    assert(ballot->vote == RL_VOTE_PENDING);
    assert(now_ns >= round->sent_ns);
    uint64_t latency_us = (now_ns - round->sent_ns) / 1000;
    ballot->vote = (uint8_t)vote;
    ballot->reason = vote == RL_VOTE_FAILED ? reason : 0;
    ballot->latency_us = latency_us > UINT32_MAX ? UINT32_MAX : (uint32_t)latency_us;
    if (vote == RL_VOTE_GRANTED) {
        round->granted |= rl_seat(node);
    } else if (vote == RL_VOTE_REFUSED) {
        round->refused |= rl_seat(node);
    } else {
        round->failed |= rl_seat(node);
    }
}

void rl_round_init(struct rl_round *round, struct rl_ballot *ballots) {
    assert(ballots != NULL);
    *round = (struct rl_round){.ballots = ballots, .decision = RL_DEFEATED};
}

static uint32_t next_id(const struct rl_round *round) {
    return round->id == UINT32_MAX ? 1 : round->id + 1;
}

void rl_round_begin(struct rl_round *round, const struct rl_electorate *electorate,
                    enum rl_round_kind kind, uint64_t now_ns, uint32_t asked,
                    const int16_t *reasons) {
    const uint32_t electors = rl_electors(electorate);
    assert(round->decision != RL_OPEN); /* one round at a time */
    round->id = next_id(round);
    round->sent_ns = now_ns;
    round->kind = (uint8_t)kind;
    round->decision = RL_OPEN;
    round->electorate = *electorate;
    round->granted = round->refused = round->failed = 0;
    round->awaited = 0;
    for (uint32_t i = 0; electors >> i != 0; i++) {
        const bool votes = electors & rl_seat(i);
        round->ballots[i] =
            (struct rl_ballot){.vote = (uint8_t)(votes ? RL_VOTE_PENDING : RL_VOTE_NONE)};
        if (votes && !(asked & rl_seat(i))) {
            round_record(round, i, RL_VOTE_FAILED, reasons[i], now_ns);
        }
    }
    round_decide(round);
    round_invariant(round);
}

bool rl_round_vote(struct rl_round *round, uint32_t id, uint32_t node, enum rl_vote vote,
                   int16_t reason, uint64_t now_ns) {
    assert(vote >= RL_VOTE_GRANTED);
    if (id != round->id || !(rl_round_pending(round) & rl_seat(node))) {
        return false;
    }
    round_record(round, node, vote, reason, now_ns);
    round_decide(round);
    round_invariant(round);
    return true;
}

void rl_round_note_latency(struct rl_round *round, uint32_t node, uint32_t latency_us) {
    struct rl_ballot *ballot = &round->ballots[node];
    assert(ballot->vote >= RL_VOTE_GRANTED);
    ballot->latency_us = latency_us < ballot->latency_us ? latency_us : ballot->latency_us;
}

void rl_round_await(struct rl_round *round, uint32_t nodes) {
    round->awaited = nodes;
    round_decide(round);
}

bool rl_round_awaits(const struct rl_round *round) {
    return round->decision == RL_OPEN && (round->awaited & rl_round_pending(round)) != 0 &&
           rl_is_quorum(&round->electorate, round_yes(round));
}

void rl_round_expire(struct rl_round *round, int16_t reason, uint64_t now_ns) {
    const uint32_t pending = rl_round_pending(round);
    RL_EACH_BIT(i, pending) {
        round_record(round, i, RL_VOTE_FAILED, reason, now_ns);
    }
    round_decide(round);
    assert(round->decision != RL_OPEN);
    round_invariant(round);
}

void rl_round_excuse(struct rl_round *round, uint32_t nodes, int16_t reason) {
    assert(round->kind != RL_ROUND_RELEASE); /* there a refusal is a yes */
    nodes &= round->refused;
    RL_EACH_BIT(i, nodes) {
        round->ballots[i].vote = RL_VOTE_FAILED;
        round->ballots[i].reason = reason;
    }
    round->refused &= ~nodes;
    round->failed |= nodes;
    round_invariant(round);
}

void rl_round_abandon(struct rl_round *round) {
    if (round->decision == RL_OPEN) {
        round->decision = RL_DEFEATED;
    }
}

void rl_round_copy(struct rl_round *round, const struct rl_round *from) {
    struct rl_ballot *ballots = round->ballots;
    uint32_t id = next_id(round);
    const uint32_t electors = rl_electors(&from->electorate);
    assert(round != from && round->decision != RL_OPEN);
    assert(from->id != 0);
    *round = *from;
    round->id = id; /* ids are never reused, or a late vote could match */
    round->ballots = ballots;
    for (uint32_t i = 0; electors >> i != 0; i++) {
        ballots[i] = from->ballots[i];
    }
    rl_round_abandon(round);
}

bool rl_round_without_quorum(const struct rl_round *round) {
    return !rl_is_quorum(&round->electorate, ~round->failed);
}

bool rl_round_refused_for_good(const struct rl_round *round) {
    return !rl_is_majority(round->electorate.sides[0], ~round->refused);
}
