/* A round, exhaustively: N = 1 to 7 nodes, and old and new nodes side by side; every set of nodes
 * that can be asked, every outcome of every vote, in every order of arrival, for each kind of
 * round. An oracle computes the required result from the votes in their order of arrival, by the
 * words of the specification:
 *
 *     won when so many have said yes that they are a majority of each side; defeated when the votes
 *     that are still out, had they all said yes, would not make one. The first of the two that
 *     becomes true stays.
 *
 * All orders: from every state each pending node votes next, in each way. Two orders that lead to
 * the same ballots and the same decision have the same future, so each such state is gone through
 * once. */
#include "core/round.h"

#include "base/bits.h"
#include "unit/check.h"

#define N_MAX 7u
#define SENT_NS (50 * MS)

struct walk {
    struct rl_round round;
    struct rl_ballot ballots[N_MAX];
    int16_t reasons[N_MAX];
    /* in order of arrival; those of nodes that could not be asked come first */
    enum rl_vote votes[N_MAX];
    uint32_t nodes[N_MAX];
    uint32_t count;
    uint32_t n;
};

static uint8_t seen[3][1u << (2 * N_MAX)]; /* by decision, then two bits of each ballot */
static uint64_t states_walked;

static struct walk walk_copy(const struct walk *from) {
    struct walk copy = *from;
    return copy;
}

static void walk_adopt(struct walk *walk) {
    walk->round.ballots = walk->ballots;
}

/* -- The oracle -- */

static uint32_t majority_of(uint32_t n) {
    uint32_t some = 0;
    while (some + some <= n) {
        some++;
    }
    return some;
}

/* Counts the first votes that came from this side's nodes. */
static uint32_t count_votes(const struct walk *walk, uint32_t first, enum rl_vote vote,
                            uint32_t side) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < first; i++) {
        count += walk->votes[i] == vote && (side >> walk->nodes[i] & 1) != 0;
    }
    return count;
}

static uint32_t votes_in(const struct walk *walk, uint32_t first, uint32_t side) {
    uint32_t count = 0;
    for (enum rl_vote v = RL_VOTE_GRANTED; v <= RL_VOTE_FAILED; v++) {
        count += count_votes(walk, first, v, side);
    }
    return count;
}

/* All votes of nodes that could not be asked count before anything can be decided. */
static enum rl_decision oracle(const struct walk *walk, uint32_t not_asked) {
    for (uint32_t in = not_asked; in <= walk->count; in++) {
        bool wins = true, loses = false;
        for (int i = 0; i < 2; i++) {
            const uint32_t side = walk->round.electorate.sides[i], n = rl_bits_count(side);
            uint32_t yes = count_votes(walk, in, RL_VOTE_GRANTED, side);
            if (walk->round.kind == RL_ROUND_RELEASE) {
                yes += count_votes(walk, in, RL_VOTE_REFUSED, side);
            }
            wins = wins && yes >= majority_of(n);
            loses = loses || yes + (n - votes_in(walk, in, side)) < majority_of(n);
        }
        if (wins || loses) {
            return wins ? RL_WON : RL_DEFEATED;
        }
    }
    return RL_OPEN;
}

/* Could a majority of the old side have granted, if all that did not refuse had? */
static bool oracle_refused_for_good(const struct walk *walk) {
    const uint32_t old = walk->round.electorate.sides[0], n = rl_bits_count(old);
    return n - count_votes(walk, walk->count, RL_VOTE_REFUSED, old) < majority_of(n);
}

/* Has a majority of each side answered, or might it yet? */
static bool oracle_without_quorum(const struct walk *walk) {
    bool without = false;
    for (int i = 0; i < 2; i++) {
        const uint32_t side = walk->round.electorate.sides[i], n = rl_bits_count(side);
        without =
            without || n - count_votes(walk, walk->count, RL_VOTE_FAILED, side) < majority_of(n);
    }
    return without;
}

static enum rl_vote vote_of(const struct walk *walk, uint32_t node) {
    for (uint32_t i = 0; i < walk->count; i++) {
        if (walk->nodes[i] == node) {
            return walk->votes[i];
        }
    }
    return RL_VOTE_PENDING;
}

static void check_against_oracle(const struct walk *walk, uint32_t not_asked) {
    const struct rl_round *round = &walk->round;
    assert_int_equal(round->decision, oracle(walk, not_asked));
    assert_int_equal(rl_bits_count(round->granted),
                     count_votes(walk, walk->count, RL_VOTE_GRANTED, UINT32_MAX));
    assert_int_equal(rl_bits_count(round->refused),
                     count_votes(walk, walk->count, RL_VOTE_REFUSED, UINT32_MAX));
    assert_int_equal(rl_bits_count(round->failed),
                     count_votes(walk, walk->count, RL_VOTE_FAILED, UINT32_MAX));
    assert_int_equal(rl_round_refused_for_good(round), oracle_refused_for_good(walk));
    assert_int_equal(rl_round_without_quorum(round), oracle_without_quorum(walk));
    for (uint32_t node = 0; node < walk->n; node++) {
        enum rl_vote vote = vote_of(walk, node);
        assert_int_equal(walk->ballots[node].vote, vote);
        assert_int_equal(rl_round_pending(round) >> node & 1, vote == RL_VOTE_PENDING);
        assert_int_equal(round->granted >> node & 1, vote == RL_VOTE_GRANTED);
        assert_int_equal(round->refused >> node & 1, vote == RL_VOTE_REFUSED);
        assert_int_equal(round->failed >> node & 1, vote == RL_VOTE_FAILED);
    }
}

/* -- What must change nothing, and what ends a round, tried in every state -- */

static void assert_unchanged(const struct walk *a, const struct walk *b) {
    assert_memory_equal(&a->round.sent_ns, &b->round.sent_ns, sizeof a->round.sent_ns);
    assert_int_equal(a->round.id, b->round.id);
    assert_int_equal(a->round.decision, b->round.decision);
    assert_int_equal(a->round.granted, b->round.granted);
    assert_int_equal(a->round.refused, b->round.refused);
    assert_int_equal(a->round.failed, b->round.failed);
    for (uint32_t i = 0; i < a->n; i++) {
        assert_int_equal(a->ballots[i].vote, b->ballots[i].vote);
        assert_int_equal(a->ballots[i].reason, b->ballots[i].reason);
        assert_int_equal(a->ballots[i].latency_us, b->ballots[i].latency_us);
    }
}

static void try_late_votes(const struct walk *walk) {
    const uint32_t id = walk->round.id;
    const uint32_t ids[] = {id, id - 1, id + 1, 0, UINT32_MAX};
    struct walk copy = walk_copy(walk);
    walk_adopt(&copy);
    for (size_t i = 0; i < COUNT(ids); i++) {
        for (uint32_t node = 0; node < walk->n; node++) {
            for (enum rl_vote v = RL_VOTE_GRANTED; v <= RL_VOTE_FAILED; v++) {
                if (ids[i] != id || vote_of(walk, node) != RL_VOTE_PENDING) {
                    assert_false(rl_round_vote(&copy.round, ids[i], node, v, -9, 3 * SENT_NS));
                }
            }
        }
    }
    assert_unchanged(walk, &copy);
}

static void try_expiry(const struct walk *walk, uint32_t not_asked) {
    struct walk copy = walk_copy(walk);
    walk_adopt(&copy);
    rl_round_expire(&copy.round, -43, SENT_NS + 250 * MS);
    for (uint32_t node = 0; node < walk->n; node++) {
        if (vote_of(walk, node) == RL_VOTE_PENDING) {
            copy.nodes[copy.count] = node;
            copy.votes[copy.count++] = RL_VOTE_FAILED;
            assert_int_equal(copy.ballots[node].reason, -43);
            assert_int_equal(copy.ballots[node].latency_us, 250000);
        }
    }
    check_against_oracle(&copy, not_asked);
    assert_int_not_equal(copy.round.decision, RL_OPEN);
}

static void try_abandoning(const struct walk *walk) {
    struct walk copy = walk_copy(walk);
    walk_adopt(&copy);
    rl_round_abandon(&copy.round);
    bool was_open = walk->round.decision == RL_OPEN;
    assert_int_equal(copy.round.decision, was_open ? RL_DEFEATED : walk->round.decision);
    enum rl_decision decision = copy.round.decision;
    for (uint32_t node = 0; node < walk->n; node++) { /* they are all too late */
        bool pending = vote_of(walk, node) == RL_VOTE_PENDING;
        bool taken =
            rl_round_vote(&copy.round, walk->round.id, node, RL_VOTE_GRANTED, 0, 2 * SENT_NS);
        assert_int_equal(taken, pending);
        assert_int_equal(copy.round.decision, decision);
    }
}

/* -- The walk -- */

static bool was_seen(const struct walk *walk) {
    uint32_t key = 0;
    for (uint32_t i = 0; i < walk->n; i++) {
        key = key << 2 | (walk->ballots[i].vote - (uint32_t)RL_VOTE_PENDING);
    }
    bool before = seen[walk->round.decision][key];
    seen[walk->round.decision][key] = 1;
    return before;
}

static void walk_on(const struct walk *walk, uint32_t not_asked) {
    if (was_seen(walk)) {
        return;
    }
    states_walked++;
    check_against_oracle(walk, not_asked);
    try_late_votes(walk);
    try_expiry(walk, not_asked);
    try_abandoning(walk);
    for (uint32_t node = 0; node < walk->n; node++) {
        if (vote_of(walk, node) != RL_VOTE_PENDING) {
            continue;
        }
        for (enum rl_vote v = RL_VOTE_GRANTED; v <= RL_VOTE_FAILED; v++) {
            struct walk next = walk_copy(walk);
            walk_adopt(&next);
            uint64_t now_ns = SENT_NS + (walk->count + 1) * MS;
            assert_true(rl_round_vote(&next.round, walk->round.id, node, v, -50, now_ns));
            assert_int_equal(next.ballots[node].latency_us, (walk->count + 1) * 1000);
            assert_int_equal(next.ballots[node].reason, v == RL_VOTE_FAILED ? -50 : 0);
            next.nodes[next.count] = node;
            next.votes[next.count++] = v;
            walk_on(&next, not_asked);
        }
    }
}

static void walk_from(const struct rl_electorate *electorate, enum rl_round_kind kind,
                      uint32_t asked) {
    struct walk walk = {.n = rl_bits_count(rl_electors(electorate))};
    assert_int_equal(rl_electors(electorate), rl_all_nodes(walk.n));
    rl_round_init(&walk.round, walk.ballots);
    for (uint32_t i = 0; i < walk.n; i++) {
        walk.reasons[i] = (int16_t)(-100 - (int)i);
    }
    rl_round_begin(&walk.round, electorate, kind, SENT_NS, asked, walk.reasons);
    for (uint32_t i = 0; i < walk.n; i++) {
        if (!(asked >> i & 1)) {
            walk.nodes[walk.count] = i;
            walk.votes[walk.count++] = RL_VOTE_FAILED;
            assert_int_equal(walk.ballots[i].reason, walk.reasons[i]);
            assert_int_equal(walk.ballots[i].latency_us, 0);
        }
    }
    memset(seen, 0, sizeof seen);
    walk_on(&walk, walk.count);
}

TEST(is_decided_as_the_oracle_says) {
    for (uint32_t n = 1; n <= N_MAX; n++) {
        const struct rl_electorate all = rl_electorate_of(n);
        for (uint32_t asked = 0; asked < 1u << n; asked++) {
            walk_from(&all, RL_ROUND_ACQUIRE, asked);
            if (n <= 6 || asked == (1u << n) - 1) { /* as ACQUIRE, but for the sign of a refusal */
                walk_from(&all, RL_ROUND_EXTEND, asked);
                walk_from(&all, RL_ROUND_RELEASE, asked);
            }
        }
    }
    assert_true(states_walked > 100000);
}

/* Old and new nodes: apart, one or more in common, more or fewer than before. */
TEST(needs_both_majorities) {
    static const struct rl_electorate pairs[] = {
        {{1, 2}}, {{1, 6}}, {{7, 56}}, {{7, 28}}, {{7, 14}}, {{31, 7}}, {{7, 127}}, {{15, 60}},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        const uint32_t n = rl_bits_count(rl_electors(&pairs[i]));
        for (uint32_t asked = 0; asked < 1u << n; asked++) {
            walk_from(&pairs[i], RL_ROUND_ACQUIRE, asked);
            if (n <= 5) {
                walk_from(&pairs[i], RL_ROUND_RELEASE, asked);
            }
        }
    }
}

/* -- The rest -- */

static const struct rl_electorate two = {{3, 3}}, three = {{7, 7}};

/* A copy can be read. It accepts no votes, not even with either round's id, and used ids are not
 * reused. */
TEST(copies_what_came_of_another) {
    struct rl_round from, to;
    struct rl_ballot ballots[3], copies[3];
    rl_round_init(&from, ballots);
    rl_round_init(&to, copies);
    for (int i = 0; i < 2; i++) { /* to: id 2, from: id 1, and open */
        rl_round_begin(&to, &three, RL_ROUND_ACQUIRE, 1, 7, NULL);
        rl_round_abandon(&to);
    }
    rl_round_begin(&from, &three, RL_ROUND_EXTEND, 5, 7, NULL);
    rl_round_vote(&from, 1, 0, RL_VOTE_REFUSED, 0, 6);
    rl_round_copy(&to, &from);
    assert_int_equal(to.kind, RL_ROUND_EXTEND);
    assert_int_equal(to.refused, 1);
    assert_int_equal(to.decision, RL_DEFEATED);
    assert_ptr_equal(to.ballots, copies);
    assert_int_equal(copies[0].vote, RL_VOTE_REFUSED);
    assert_int_equal(from.decision, RL_OPEN);
    for (uint32_t id = 1; id <= 2; id++) {
        assert_false(rl_round_vote(&to, id, 1, RL_VOTE_GRANTED, 0, 7));
    }
    rl_round_begin(&to, &three, RL_ROUND_ACQUIRE, 8, 7, NULL);
    assert_int_equal(to.id, 4);
}

TEST(measures_latency) {
    static const struct {
        uint64_t after_ns;
        uint32_t wanted_us;
    } rows[] = {
        {0, 0},
        {999, 0},
        {1000, 1},
        {UINT64_C(4294967295) * 1000 - 1, UINT32_MAX - 1},
        {UINT64_C(4294967295) * 1000, UINT32_MAX},
        {UINT64_C(4294967296) * 1000, UINT32_MAX}, /* 71 minutes and more */
        {UINT64_MAX - SENT_NS, UINT32_MAX},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_round round;
        struct rl_ballot ballots[2];
        rl_round_init(&round, ballots);
        rl_round_begin(&round, &two, RL_ROUND_ACQUIRE, SENT_NS, 3, NULL);
        rl_round_vote(&round, 1, 0, RL_VOTE_GRANTED, -1, SENT_NS + rows[i].after_ns);
        assert_int_equal(ballots[0].latency_us, rows[i].wanted_us);
        assert_int_equal(ballots[0].reason, 0); /* a grant needs none */
    }
}
