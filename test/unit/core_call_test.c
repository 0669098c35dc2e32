/* The meaning of all outcomes, and the next step of each kind of command after each. */
#include "core/call.h"

#include "unit/check.h"

#define NODE 2u
#define ROUND 7u
#define REASON (-42)
#define COUNTER UINT64_C(1753000000000001)

static const struct rl_rules rules = {.drift_ppm = 10000, .drift_ns = 2 * MS};

static bool is_answered(enum rl_outcome outcome) {
    return outcome != RL_OUTCOME_PROTOCOL_ERROR && outcome != RL_OUTCOME_UNANSWERED;
}

static struct rl_call make(enum rl_call_kind kind, uint32_t round) {
    struct rl_lock lock = {.rules = &rules, .ttl_ms = 100, .life_ms = 5000};
    struct rl_call sent;
    memset(&sent, 0xa5, sizeof sent);
    rl_call_init(&sent, &lock, kind, round);
    return sent;
}

static void votes_in_its_round_only(void **state) {
    (void)state;
    static const enum rl_vote votes[RL_OUTCOMES] = {RL_VOTE_GRANTED, RL_VOTE_REFUSED,
                                                    RL_VOTE_FAILED,  RL_VOTE_FAILED,
                                                    RL_VOTE_FAILED,  RL_VOTE_FAILED};
    for (enum rl_outcome o = RL_OUTCOME_YES; o < RL_OUTCOMES; o++) {
        for (enum rl_call_kind kind = RL_CALL_SET; kind < RL_CALL_KINDS; kind++) {
            struct rl_event event = {.type = RL_EV_TICK};
            struct rl_call sent = make(kind, 0);
            assert_false(rl_call_vote(&sent, NODE, o, REASON, COUNTER, &event));
            assert_int_equal(event.type, RL_EV_TICK);
            sent = make(kind, ROUND);
            assert_true(rl_call_vote(&sent, NODE, o, REASON, COUNTER, &event));
            assert_int_equal(event.type, RL_EV_VOTE);
            assert_int_equal(event.u.vote.round, ROUND);
            assert_int_equal(event.u.vote.node, NODE);
            assert_int_equal(event.u.vote.vote, votes[o]);
            assert_int_equal(event.u.vote.reason, REASON);
            assert_int_equal(event.u.vote.counter, COUNTER);
            assert_int_equal(event.u.vote.may_have_run, o == RL_OUTCOME_YES || !is_answered(o));
        }
    }
}

static enum rl_end expected_end(const struct rl_call *sent, bool is_retry, enum rl_outcome o) {
    if (sent->kind != RL_CALL_RELEASE) {
        bool repaired = sent->kind == RL_CALL_SET && sent->round == 0 && o == RL_OUTCOME_YES;
        return repaired ? RL_END_REPAIRED : RL_END_DONE;
    }
    if (o == RL_OUTCOME_YES || o == RL_OUTCOME_NO) {
        return is_retry ? RL_END_RETRIED : RL_END_DONE;
    }
    return is_answered(o) ? RL_END_REFUSED : RL_END_UNANSWERED;
}

static void ends_or_stays_owed(void **state) {
    (void)state;
    for (enum rl_outcome o = RL_OUTCOME_YES; o < RL_OUTCOMES; o++) {
        for (enum rl_call_kind kind = RL_CALL_SET; kind < RL_CALL_KINDS; kind++) {
            for (uint32_t round = 0; round <= ROUND; round += ROUND) {
                struct rl_call sent = make(kind, round);
                assert_int_equal(rl_call_end(&sent, o), expected_end(&sent, false, o));
            }
        }
        struct rl_call again = make(RL_CALL_RELEASE, ROUND);
        rl_call_again(&again);
        assert_int_equal(again.round, 0); /* the round that waited for this vote has given up */
        assert_int_equal(rl_call_end(&again, o), expected_end(&again, true, o));
    }
}

/* Not of the present ttl: an extension may have given a key a longer one. */
static void owes_for_the_longest_life(void **state) {
    (void)state;
    struct rl_call sent = make(RL_CALL_RELEASE, 0);
    assert_int_equal(sent.pending.life_ns, 5000 * MS + 50 * MS + 2 * MS);
    assert_int_equal(sent.pending.until_ns, RL_NEVER);
    assert_false(sent.is_retry);
}

static void repeat_a_set(void *data) {
    struct rl_call *sent = data;
    rl_call_again(sent);
}

static void repeats_releases_only(void **state) {
    (void)state;
    struct rl_call sent = make(RL_CALL_SET, ROUND);
    assert_true(dies(repeat_a_set, &sent));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(votes_in_its_round_only),
        cmocka_unit_test(ends_or_stays_owed),
        cmocka_unit_test(owes_for_the_longest_life),
        cmocka_unit_test(repeats_releases_only),
    };
    return cmocka_run_group_tests_name("core_call", tests, NULL, NULL);
}
