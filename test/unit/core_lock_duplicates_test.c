/* Nodes that are one server have one vote in each round, whichever of them answers first, and none
 * of them can take it from the other: 6 in core/lock.h. Nodes 0 and 1 are twins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/lock.h"
#include "marks.h"

#define MS UINT64_C(1000000)
#define NODES 3
#define ALL ((1u << NODES) - 1)
#define TWIN_REASON (-77)
#define TOKEN "0123456789abcdef0123456789abcdef01234567"

enum answer { YES, NO, FAILS };

struct duplicates {
    struct rl_rules rules;
    struct rl_lock lock;
    struct rl_ballot ballots[NODES];
    struct rl_actions out;
    uint64_t now_ns;
    uint32_t voters;
};

static void step(struct duplicates *t, struct rl_event event) {
    static const int16_t reasons[NODES] = {-1, -2, -3};
    static const uint32_t duplicates[NODES] = {2, 1, 0};
    t->now_ns += MS;
    event.now_ns = t->now_ns;
    event.up = ALL;
    event.voters = t->voters;
    event.reasons = reasons;
    event.duplicates = duplicates;
    rl_lock_step(&t->lock, &event, &t->out);
}

static void attempt(struct duplicates *t, bool fences) {
    memset(t, 0, sizeof *t);
    t->rules = (struct rl_rules){.n = NODES,
                                 .node_timeout_ns = 250 * MS,
                                 .not_asked_reason = -9,
                                 .duplicate_reason = TWIN_REASON};
    t->now_ns = 1000 * MS;
    t->voters = ALL;
    rl_lock_init(&t->lock, &t->rules, t->ballots, -10);
    struct rl_event acquire = {.type = RL_EV_ACQUIRE};
    acquire.u.acquire = (struct rl_acquire){.ttl_ms = 10000,
                                            .tries = 1,
                                            .wait_ms = RL_NO_LIMIT,
                                            .min_validity_ms = 1,
                                            .fences = fences};
    step(t, acquire);
    step(t, (struct rl_event){.type = RL_EV_ATTEMPT, .floor = 5, .u.token = TOKEN});
    assert_int_equal(t->out.send, ALL);
}

static void vote(struct duplicates *t, uint32_t node, enum answer answer) {
    static const enum rl_vote votes[] = {RL_VOTE_GRANTED, RL_VOTE_REFUSED, RL_VOTE_FAILED};
    struct rl_event event = {.type = RL_EV_VOTE};
    event.u.vote = (struct rl_ballot_in){.round = t->lock.round.id,
                                         .node = node,
                                         .vote = votes[answer],
                                         .reason = (int16_t)(answer == FAILS ? -20 : 0),
                                         .counter = answer == YES ? 5 : 0,
                                         .may_have_run = true};
    step(t, event);
}

static void hold(struct duplicates *t) {
    attempt(t, false);
    vote(t, 0, YES);
    vote(t, 2, YES);
    assert_true(t->out.tell);
    step(t, (struct rl_event){.type = RL_EV_TELL});
    assert_int_equal(t->out.acquired, RL_RESULT_OK);
}

static void assert_ballot(const struct duplicates *t, uint32_t node, enum rl_vote wanted,
                          int16_t reason) {
    assert_int_equal(t->ballots[node].vote, wanted);
    assert_int_equal(t->ballots[node].reason, reason);
}

/* Two yes are one; the key may be on both. */
static void grants_once(void **state) {
    struct duplicates t;
    (void)state;
    MARK_FROM(TWIN_NOT_COUNTED);
    for (uint32_t first = 0; first < 2; first++) {
        attempt(&t, false);
        vote(&t, first, YES);
        vote(&t, 1 - first, YES);
        assert_int_equal(t.lock.state, RL_TRYING);
        assert_int_equal(t.lock.round.granted, 1);
        assert_ballot(&t, 1 - first, RL_VOTE_FAILED, TWIN_REASON);
        assert_int_equal(t.lock.may_hold, ALL);
        vote(&t, 2, FAILS);
        assert_int_equal(t.out.acquired, RL_RESULT_NO_QUORUM);
        assert_int_equal(t.out.release, ALL);
        attempt(&t, false);
        vote(&t, first, YES);
        vote(&t, 1 - first, YES);
        vote(&t, 2, YES);
        assert_true(t.out.tell);
    }
    MARK_TO(TWIN_NOT_COUNTED);
}

/* The second SET of one server finds the first one's key: no other client holds it. */
static void does_not_take_its_own_key_for_anothers(void **state) {
    struct duplicates t;
    (void)state;
    for (uint32_t first = 0; first < 2; first++) {
        attempt(&t, false);
        vote(&t, 0, first == 0 ? YES : NO);
        vote(&t, 1, first == 0 ? NO : YES);
        assert_ballot(&t, first, RL_VOTE_GRANTED, 0);
        assert_ballot(&t, 1 - first, RL_VOTE_FAILED, TWIN_REASON);
        assert_int_equal(t.lock.round.decision, RL_OPEN);
        vote(&t, 2, FAILS);
        assert_int_equal(t.out.acquired, RL_RESULT_NO_QUORUM);
    }
    attempt(&t, false); /* another's key is on both */
    vote(&t, 0, NO);
    vote(&t, 1, NO);
    assert_int_equal(t.out.acquired, RL_RESULT_HELD);
}

/* Whatever one of them says, first or last: the other's yes and a third one's are a quorum. */
static void copy_shuts_nobody_out(void **state) {
    static const enum answer answers[] = {YES, NO, FAILS};
    struct duplicates t;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t copy = 0; copy < 2; copy++) {
            attempt(&t, false);
            vote(&t, copy, answers[i]);
            vote(&t, 1 - copy, YES);
            vote(&t, 2, YES);
            assert_true(t.out.tell);
            attempt(&t, false);
            vote(&t, 1 - copy, YES);
            vote(&t, copy, answers[i]);
            vote(&t, 2, YES);
            assert_true(t.out.tell);
        }
    }
}

static void extends_once(void **state) {
    struct duplicates t;
    (void)state;
    hold(&t);
    step(&t, (struct rl_event){.type = RL_EV_EXTEND, .u.ttl_ms = 10000});
    vote(&t, 1, YES);
    vote(&t, 0, YES);
    assert_int_equal(t.lock.state, RL_EXTENDING);
    vote(&t, 2, FAILS);
    assert_int_equal(t.out.extended, RL_RESULT_UNKNOWN);
    step(&t, (struct rl_event){.type = RL_EV_EXTEND, .u.ttl_ms = 10000});
    vote(&t, 1, NO); /* a copy that never had it */
    vote(&t, 0, YES);
    assert_int_equal(t.lock.state, RL_EXTENDING);
    vote(&t, 2, YES);
    assert_int_equal(t.out.extended, RL_RESULT_OK);
}

static void raises_a_fence_once(void **state) {
    struct duplicates t;
    (void)state;
    attempt(&t, true);
    vote(&t, 0, YES);
    vote(&t, 1, YES);
    assert_int_equal(t.lock.state, RL_TRYING);
    struct rl_event ahead = {.type = RL_EV_VOTE};
    ahead.u.vote = (struct rl_ballot_in){
        .round = t.lock.round.id, .node = 2, .vote = RL_VOTE_GRANTED, .counter = 9};
    step(&t, ahead);
    assert_int_equal(t.lock.state, RL_FENCING);
    vote(&t, 1, YES);
    vote(&t, 0, YES);
    assert_int_equal(t.lock.state, RL_FENCING);
    vote(&t, 2, YES);
    assert_true(t.out.tell);
    step(&t, (struct rl_event){.type = RL_EV_TELL});
    assert_int_equal(rl_lock_fence(&t.lock), 9);
}

static void releases_once(void **state) {
    static const enum answer answers[] = {YES, NO};
    struct duplicates t;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        hold(&t);
        step(&t, (struct rl_event){.type = RL_EV_RELEASE});
        vote(&t, 0, YES);
        vote(&t, 1, answers[i]);
        assert_int_equal(t.out.released, RL_RESULT_NONE);
        vote(&t, 2, FAILS);
        assert_int_equal(t.out.released, RL_RESULT_NO_QUORUM);
        hold(&t); /* a twin that may not vote takes no node's place */
        t.voters = ALL & ~1u;
        step(&t, (struct rl_event){.type = RL_EV_RELEASE});
        vote(&t, 0, YES);
        vote(&t, 1, answers[i]);
        assert_int_equal(t.out.released, RL_RESULT_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_once),
        cmocka_unit_test(does_not_take_its_own_key_for_anothers),
        cmocka_unit_test(copy_shuts_nobody_out),
        cmocka_unit_test(extends_once),
        cmocka_unit_test(raises_a_fence_once),
        cmocka_unit_test(releases_once),
    };
    return cmocka_run_group_tests_name("core_lock_twins", tests, NULL, NULL);
}
