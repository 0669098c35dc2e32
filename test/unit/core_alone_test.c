/* An attempt that asks one node first, and what becomes of the others meanwhile: nodes that lost
 * their vote, or their connection, while the first was asked take no part any more. */
#include "core/first.h"
#include "core/lock.h"

#include "marks.h"
#include "unit/check.h"

#define N 5u
#define NOW_NS (1000 * MS)
#define GONE_REASON (-40)
#define ALL ((UINT32_C(1) << N) - 1)
#define BIT(node) (UINT32_C(1) << (node))

struct scene {
    struct rl_rules rules;
    struct rl_lock lock;
    struct rl_ballot ballots[N];
    struct rl_actions out;
    uint64_t hashes[N];
    int16_t reasons[N];
    uint32_t up, voters;
};

static void step(struct scene *s, struct rl_event event) {
    for (uint32_t i = 0; i < N; i++) {
        s->reasons[i] = s->voters & BIT(i) ? 0 : GONE_REASON;
    }
    event.now_ns = event.now_ns != 0 ? event.now_ns : s->lock.now_ns;
    event.up = s->up;
    event.voters = s->voters;
    event.reasons = s->reasons;
    event.floor = 0; /* as a wall clock may show it */
    rl_lock_step(&s->lock, &event, &s->out);
}

static void vote(struct scene *s, uint32_t node, enum rl_vote vote) {
    struct rl_event event = {.type = RL_EV_VOTE};
    event.u.vote = (struct rl_ballot_in){.round = s->lock.round.id,
                                         .node = node,
                                         .vote = vote,
                                         .counter = 1,
                                         .reason = vote == RL_VOTE_FAILED ? -43 : 0};
    step(s, event);
}

static void attempt(struct scene *s) {
    struct rl_event event = {.type = RL_EV_ATTEMPT};
    event.u.token = "0123456789012345678901234567890123456789";
    step(s, event);
}

/* Comes to an attempt that asks one node alone. Returns that node. */
static uint32_t go_alone(struct scene *s, bool fences) {
    *s = (struct scene){
        .rules = {.n = N, .drift_ppm = 10000, .node_timeout_ns = 50 * MS, .not_asked_reason = -57},
        .up = ALL,
        .voters = ALL};
    for (uint32_t i = 0; i < N; i++) {
        s->hashes[i] = rl_first_hash(&i, sizeof i);
    }
    s->rules.node_hashes = s->hashes;
    rl_lock_init(&s->lock, &s->rules, s->ballots, -43, 7);
    struct rl_event event = {.type = RL_EV_ACQUIRE, .now_ns = NOW_NS};
    event.u.acquire = (struct rl_acquire){.ttl_ms = 1000,
                                          .tries = RL_NO_LIMIT,
                                          .wait_ms = RL_NO_LIMIT,
                                          .delay_ms = 1,
                                          .breaks_ties = true,
                                          .fences = fences};
    step(s, event);
    attempt(s);
    for (uint32_t i = 0; i < 3; i++) {
        vote(s, i, RL_VOTE_REFUSED);
    }
    assert_int_equal(s->lock.state, RL_BACKOFF);
    step(s, (struct rl_event){.type = RL_EV_TICK, .now_ns = s->lock.retry_ns});
    attempt(s);
    assert_int_equal(s->lock.state, RL_TRYING);
    for (uint32_t i = 0; i < N; i++) {
        if (s->out.send == BIT(i)) {
            return i;
        }
    }
    fail_msg("nobody is asked alone: %x", (unsigned)s->out.send);
    return 0;
}

static uint32_t other_than(uint32_t node) {
    return node == 0 ? 1 : 0;
}

/* It restarted without memory meanwhile and is up again: its grant would be worth nothing. */
static void who_lost_its_vote_is_not_asked(void **state) {
    (void)state;
    struct scene s;
    MARK_FROM(PASSED_OVER);
    uint32_t first = go_alone(&s, false), lost = other_than(first);
    s.voters &= ~BIT(lost);
    vote(&s, first, RL_VOTE_GRANTED);
    MARK_TO(PASSED_OVER);
    assert_int_equal(s.lock.state, RL_TRYING);
    assert_int_equal(s.out.send, ALL & ~BIT(first) & ~BIT(lost));
    assert_int_equal(s.lock.round.ballots[lost].vote, RL_VOTE_FAILED);
    assert_int_equal(s.lock.round.ballots[lost].reason, GONE_REASON);
}

static void too_few_are_left_to_ask(void **state) {
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct scene s;
        uint32_t first = go_alone(&s, false);
        s.voters = BIT(first) | BIT(other_than(first));
        if (how == 2) {
            MARK_FROM(SILENT_ALONE);
            step(&s, (struct rl_event){.type = RL_EV_TICK, .now_ns = s.lock.round_until_ns});
            MARK_TO(SILENT_ALONE);
        } else {
            vote(&s, first, how == 0 ? RL_VOTE_GRANTED : RL_VOTE_FAILED);
        }
        assert_int_equal(s.lock.state, RL_BACKOFF);
        assert_int_equal(s.out.send, 0);
        assert_true(s.out.release & BIT(first));
    }
}

static void the_next_is_asked_if_the_first_fails(void **state) {
    (void)state;
    struct scene s;
    uint32_t first = go_alone(&s, false), lost = other_than(first);
    s.voters &= ~BIT(lost);
    vote(&s, first, RL_VOTE_FAILED);
    assert_int_equal(s.lock.state, RL_TRYING);
    assert_int_equal(s.out.send & (s.out.send - 1), 0);
    assert_int_not_equal(s.out.send & ~(BIT(first) | BIT(lost)), 0);
}

static void the_others_are_asked_if_the_first_is_silent(void **state) {
    (void)state;
    struct scene s;
    uint32_t first = go_alone(&s, false), lost = other_than(first);
    s.voters &= ~BIT(lost);
    step(&s, (struct rl_event){.type = RL_EV_TICK, .now_ns = s.lock.round_until_ns});
    assert_int_equal(s.lock.state, RL_TRYING);
    assert_int_equal(s.out.send, ALL & ~BIT(first) & ~BIT(lost));
}

static void a_refusal_ends_the_attempt(void **state) {
    (void)state;
    struct scene s;
    MARK_FROM(REFUSED_ALONE);
    uint32_t first = go_alone(&s, false);
    vote(&s, first, RL_VOTE_REFUSED);
    MARK_TO(REFUSED_ALONE);
    assert_int_equal(s.lock.state, RL_BACKOFF);
    assert_int_equal(s.out.release & ~BIT(first), 0);
}

/* The scene's wall clock shows zero, which must not mean that no fence is wanted. */
static void a_wall_clock_of_zero_still_fences(void **state) {
    (void)state;
    struct scene s;
    uint32_t first = go_alone(&s, true);
    vote(&s, first, RL_VOTE_GRANTED);
    for (uint32_t i = 0, votes = 1; votes < N / 2 + 1; i++) {
        if (i != first) {
            vote(&s, i, RL_VOTE_GRANTED);
            votes++;
        }
    }
    assert_int_equal(s.lock.state, RL_GRANTED);
    step(&s, (struct rl_event){.type = RL_EV_TELL});
    assert_int_equal(rl_lock_fence(&s.lock), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lost_its_vote_is_not_asked),
        cmocka_unit_test(too_few_are_left_to_ask),
        cmocka_unit_test(the_next_is_asked_if_the_first_fails),
        cmocka_unit_test(the_others_are_asked_if_the_first_is_silent),
        cmocka_unit_test(a_refusal_ends_the_attempt),
        cmocka_unit_test(a_wall_clock_of_zero_still_fences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
