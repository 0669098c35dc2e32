/* See round.h. The counters could be derived from the ballots; they are kept because a vote must
 * cost the same for 3 nodes and for 31, and the invariant derives them again. */
#include "core/round.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static uint32_t round_pending(const struct rl_round *round) {
    return (uint32_t)round->n - round->granted - round->refused - round->failed;
}

/* Votes that count as a yes. */
static uint32_t round_yes(const struct rl_round *round) {
    bool gone_is_yes = round->kind == RL_ROUND_RELEASE;
    return round->granted + (gone_is_yes ? round->refused : 0u);
}

static void round_invariant(const struct rl_round *round) {
    (void)round; /* without assertions */
#ifndef NDEBUG
    assert(round->n >= 1);
    assert(round->granted + round->refused + round->failed <= round->n);
    uint32_t count[RL_VOTE_FAILED + 1] = {0};
    for (uint32_t i = 0; i < round->n; i++) {
        count[round->ballots[i].vote]++;
    }
    assert(count[RL_VOTE_NONE] == 0);
    assert(count[RL_VOTE_PENDING] == round_pending(round));
    assert(count[RL_VOTE_GRANTED] == round->granted);
    assert(count[RL_VOTE_REFUSED] == round->refused);
    assert(count[RL_VOTE_FAILED] == round->failed);
    assert(round->id != 0);
    assert(round->decision != RL_OPEN || round_pending(round) > 0);
#endif
}

static bool awaits_any(const struct rl_round *round) {
    return (round->awaited & rl_round_mask(round, RL_VOTE_PENDING)) != 0;
}

static void round_decide(struct rl_round *round) {
    if (round->decision != RL_OPEN) {
        return;
    }
    uint32_t quorum = rl_quorum(round->n);
    if (round_yes(round) >= quorum && round_pending(round) > 0 && awaits_any(round)) {
        return;
    }
    if (round_yes(round) >= quorum) {
        round->decision = RL_WON;
    } else if (round_yes(round) + round_pending(round) < quorum) {
        round->decision = RL_DEFEATED;
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
        round->granted++;
    } else if (vote == RL_VOTE_REFUSED) {
        round->refused++;
    } else {
        round->failed++;
    }
}

void rl_round_init(struct rl_round *round, uint32_t n, struct rl_ballot *ballots) {
    assert(n >= 1 && n <= RL_NODES_MAX);
    assert(ballots != NULL);
    *round = (struct rl_round){.ballots = ballots, .n = (uint8_t)n, .decision = RL_DEFEATED};
    for (uint32_t i = 0; i < n; i++) {
        ballots[i] = (struct rl_ballot){.vote = RL_VOTE_NONE};
    }
}

static uint32_t next_id(const struct rl_round *round) {
    return round->id == UINT32_MAX ? 1 : round->id + 1;
}

void rl_round_begin(struct rl_round *round, enum rl_round_kind kind, uint64_t now_ns,
                    uint32_t asked, const int16_t *reasons) {
    assert(round->decision != RL_OPEN); /* one round at a time */
    assert((asked & ~rl_all_nodes(round->n)) == 0);
    round->id = next_id(round);
    round->sent_ns = now_ns;
    round->kind = (uint8_t)kind;
    round->decision = RL_OPEN;
    round->granted = round->refused = round->failed = 0;
    round->awaited = 0;
    for (uint32_t i = 0; i < round->n; i++) {
        round->ballots[i] = (struct rl_ballot){.vote = RL_VOTE_PENDING};
    }
    for (uint32_t i = 0; i < round->n; i++) {
        if (!(asked & UINT32_C(1) << i)) {
            round_record(round, i, RL_VOTE_FAILED, reasons[i], now_ns);
        }
    }
    round_decide(round);
    round_invariant(round);
}

bool rl_round_vote(struct rl_round *round, uint32_t id, uint32_t node, enum rl_vote vote,
                   int16_t reason, uint64_t now_ns) {
    assert(node < round->n);
    assert(vote >= RL_VOTE_GRANTED);
    if (id != round->id || round->ballots[node].vote != RL_VOTE_PENDING) {
        return false;
    }
    round_record(round, node, vote, reason, now_ns);
    round_decide(round);
    round_invariant(round);
    return true;
}

void rl_round_note_latency(struct rl_round *round, uint32_t node, uint32_t latency_us) {
    struct rl_ballot *ballot = &round->ballots[node];
    assert(node < round->n && ballot->vote >= RL_VOTE_GRANTED);
    ballot->latency_us = latency_us < ballot->latency_us ? latency_us : ballot->latency_us;
}

void rl_round_await(struct rl_round *round, uint32_t nodes) {
    round->awaited = nodes;
    round_decide(round);
}

bool rl_round_awaits(const struct rl_round *round) {
    return round->decision == RL_OPEN && round_yes(round) >= rl_quorum(round->n);
}

void rl_round_expire(struct rl_round *round, int16_t reason, uint64_t now_ns) {
    for (uint32_t i = 0; i < round->n; i++) {
        if (round->ballots[i].vote == RL_VOTE_PENDING) {
            round_record(round, i, RL_VOTE_FAILED, reason, now_ns);
        }
    }
    round_decide(round);
    assert(round->decision != RL_OPEN);
    round_invariant(round);
}

void rl_round_excuse(struct rl_round *round, uint32_t nodes, int16_t reason) {
    assert(round->kind != RL_ROUND_RELEASE); /* there a refusal is a yes */
    for (uint32_t i = 0; i < round->n; i++) {
        struct rl_ballot *ballot = &round->ballots[i];
        if (nodes >> i & 1 && ballot->vote == RL_VOTE_REFUSED) {
            ballot->vote = RL_VOTE_FAILED;
            ballot->reason = reason;
            round->refused--;
            round->failed++;
        }
    }
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
    assert(round != from && round->n == from->n);
    assert(round->decision != RL_OPEN);
    assert(from->id != 0);
    *round = *from;
    round->id = id; /* the count of ids goes on: a late vote must never match a reused id */
    round->ballots = ballots;
    memcpy(ballots, from->ballots, from->n * sizeof ballots[0]);
    rl_round_abandon(round);
}

uint32_t rl_round_mask(const struct rl_round *round, enum rl_vote vote) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < round->n; i++) {
        mask |= (uint32_t)(round->ballots[i].vote == vote) << i;
    }
    assert((mask & ~rl_all_nodes(round->n)) == 0);
    return mask;
}

bool rl_round_without_quorum(const struct rl_round *round) {
    return (uint32_t)round->n - round->failed < rl_quorum(round->n);
}

bool rl_round_refused_for_good(const struct rl_round *round) {
    return (uint32_t)round->n - round->refused < rl_quorum(round->n);
}
