/* Holding: extending in every way that the votes allow, losing, restoring keys on nodes that lost
 * them. All outcomes of an extension in every order first, then the cases that a reader would ask
 * about. */
#include "marks.h"
#include "unit/lock_explore.h"

#define VALID_NS (9898 * MS) /* of the usual ttl of 10000 ms, from the sending on */

/* -- Everything -- */

static struct exploration extending = {.probes = true};

/* Every extension that can be begun on a lock that is held. */
static void extend_it(const struct world *w) {
    static const uint32_t ttls_ms[] = {0, 40, 60000};
    const uint32_t ups[] = {world_all(w), world_all(w) & 0x16};
    for (size_t i = 0; i < COUNT(ttls_ms); i++) {
        for (size_t j = 0; j < COUNT(ups); j++) {
            struct world next;
            world_copy(&next, w);
            world_extend(&next, ttls_ms[i], w->lock.now_ns + 5 * MS, ups[j]);
            world_explore(&next, &extending);
        }
    }
}

static void hold_it(const struct world *w) {
    struct exploration holding = {.visit = extend_it, .salt = 2, .probes = w->rules.n <= 3};
    if (w->lock.state == RL_GRANTED) {
        struct world next;
        world_copy(&next, w);
        world_simple(&next, RL_EV_TELL, w->lock.now_ns + MS, world_all(w));
        world_explore(&next, &holding);
    }
}

static void is_extended_as_it_must_in_every_order(void **state) {
    (void)state;
    struct exploration acquiring = {.visit = hold_it, .salt = 1};
    extending.salt = 3;
    for (uint32_t n = 1; n <= 4; n++) {
        struct world w;
        world_init(&w, usual_rules(n));
        world_acquire(&w, usual_acquire(), START_NS);
        world_attempt(&w, START_NS, world_all(&w));
        world_explore(&w, &acquiring);
    }
    extending.probes = false;
    for (uint32_t n = 5; n <= 7; n++) {
        struct world w;
        world_init(&w, usual_rules(n));
        world_hold(&w, usual_acquire(), world_all(&w));
        extend_it(&w);
    }
    assert_true(extending.states > 20000);
}

/* -- Validity -- */

static void runs_from_the_sending_of_the_extension(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(5));
    world_hold(&w, usual_acquire(), 7);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    world_extend(&w, 0, START_NS + 4000 * MS, 31);
    assert_int_equal(w.out.send, 31);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS); /* nothing is certain yet */
    world_vote(&w, 4, GRANTS, START_NS + 4100 * MS);
    world_vote(&w, 3, GRANTS, START_NS + 4200 * MS);
    assert_true(rl_lock_is_valid(&w.lock, w.lock.now_ns));
    world_vote(&w, 2, GRANTS, START_NS + 4249 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 4000 * MS + VALID_NS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 3998 * MS + VALID_NS);
}

/* A node that forgot has our token, perhaps because it forgot another's: see guard.h. */
static void counts_no_yes_of_who_may_not_vote(void **state) {
    (void)state;
    struct world w;
    MARK_FROM(YES_NOT_COUNTED);
    world_init(&w, usual_rules(3));
    world_hold(&w, usual_acquire(), 7);
    w.voters = 3;
    world_extend(&w, 0, START_NS + 1000 * MS, 7);
    assert_int_equal(w.out.send, 7); /* it is asked, and may be given the key back */
    world_vote(&w, 2, GRANTS, START_NS + 1010 * MS);
    assert_int_equal(w.ballots[2].reason, -42); /* why it may not vote */
    world_vote(&w, 0, GRANTS, START_NS + 1020 * MS);
    assert_int_equal(w.lock.state, RL_EXTENDING);
    world_vote(&w, 1, BREAKS, START_NS + 1030 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    w.voters = 7;
    world_extend(&w, 0, START_NS + 2000 * MS, 5);
    world_vote(&w, 2, GRANTS, START_NS + 2010 * MS);
    world_vote(&w, 0, GRANTS, START_NS + 2020 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.lock.valid_until_ns, START_NS + 2000 * MS + VALID_NS);
    MARK_TO(YES_NOT_COUNTED);
}

/* A node may obey at once, although the round fails. */
static void is_shortened_at_once(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    world_hold(&w, usual_acquire(), 7);
    world_extend(&w, 1000, START_NS + 50 * MS, 7);
    uint64_t short_ns = START_NS + 50 * MS + 988 * MS;
    assert_int_equal(w.lock.valid_until_ns, short_ns);
    world_tick(&w, 7); /* no node answers */
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(w.lock.state, RL_HELD);
    assert_int_equal(w.lock.valid_until_ns, short_ns);
    world_extend(&w, 0, START_NS + 500 * MS, 7); /* longer again, but no node has confirmed it
                                                    yet */
    assert_int_equal(w.lock.valid_until_ns, short_ns);
    world_simple(&w, RL_EV_CANCEL, START_NS + 501 * MS, 7);
    assert_int_equal(w.lock.valid_until_ns, short_ns);
    world_tick(&w, 7);
    assert_int_equal(w.out.lost, RL_RESULT_EXPIRED);
    assert_in_range(w.lock.now_ns, short_ns - 2 * MS, short_ns);
}

static void is_kept_when_the_outcome_is_unknown(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    world_hold(&w, usual_acquire(), 7);
    world_extend(&w, 60000, START_NS + MS, 7);
    world_vote(&w, 0, BREAKS, START_NS + 2 * MS);
    world_vote(&w, 1, GRANTS, START_NS + 2 * MS);
    world_vote(&w, 2, REFUSES, START_NS + 2 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(w.out.lost, RL_RESULT_NONE);
    assert_int_equal(w.out.repair, 0); /* not before a quorum renewed it */
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    world_extend(&w, 60000, START_NS + 3 * MS, 0); /* no node is up: reported at once */
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(w.out.send, 0);
    world_extend(&w, 60000, START_NS + 4 * MS, 2); /* a minority is: it is asked all the same */
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(w.out.send, 2);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    assert_int_equal(w.lock.life_ms, 60000); /* so long a key may live there now */
}

static void counts_no_vote_of_an_earlier_extension(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    world_hold(&w, usual_acquire(), 7);
    world_extend(&w, 0, START_NS + 10 * MS, 7);
    uint32_t first = w.lock.round.id;
    world_simple(&w, RL_EV_CANCEL, START_NS + 20 * MS, 7);
    assert_int_equal(w.out.extended, RL_RESULT_CANCELED);
    assert_int_equal(w.lock.state, RL_HELD);
    world_extend(&w, 0, START_NS + 30 * MS, 7);
    for (uint32_t node = 0; node < 3; node++) {
        world_vote_of(&w, first, node, GRANTS, START_NS + 40 * MS, 7);
        assert_true(w.out.late);
        world_vote_of(&w, first - 1, node, GRANTS, START_NS + 40 * MS, 7);
        assert_true(w.out.late);
    }
    assert_int_equal(w.lock.state, RL_EXTENDING);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
}

/* -- Losing -- */

/* The quorum of a renewal comes so many ns before the old validity ends. */
static void a_renewal_after_the_end_comes_too_late(void **state) {
    (void)state;
    for (uint64_t left_ns = 0; left_ns < 3; left_ns++) {
        struct rl_rules rules = usual_rules(3);
        struct world w;
        rules.node_timeout_ns = 20000 * MS;
        world_init(&w, rules);
        world_hold(&w, usual_acquire(), 7);
        world_extend(&w, 0, START_NS + 100 * MS, 7);
        world_vote(&w, 0, GRANTS, START_NS + 200 * MS);
        world_vote(&w, 1, GRANTS, START_NS + VALID_NS - left_ns); /* no timer fired in time */
        if (left_ns > 0) {
            assert_int_equal(w.out.extended, RL_RESULT_OK);
            assert_int_equal(w.lock.valid_until_ns, START_NS + 100 * MS + VALID_NS);
        } else {
            assert_int_equal(w.out.extended, RL_RESULT_EXPIRED);
            assert_int_equal(w.out.lost, RL_RESULT_EXPIRED);
            assert_int_equal(w.out.release, 7);
            assert_true(w.out.late);
        }
    }
}

static void is_told_before_the_end(void **state) {
    (void)state;
    static const struct {
        uint32_t ttl_ms;
        uint64_t margin_ns, wanted_ns; /* after START_NS */
    } rows[] = {
        {10000, 2 * MS, 9896 * MS},
        {10000, 0, 9898 * MS},
        {10000, 1000 * MS, 8898 * MS},
        {10000, 4900 * MS, 4998 * MS},
        {10000, 60000 * MS, MS + 9897 * MS / 2}, /* half of what was left at most */
        {10, 2 * MS, 5900000},
        {10, 20 * MS, 4450000}, /* 7.9 ms valid, 6.9 when it was reported */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_rules rules = usual_rules(3);
        struct rl_acquire acquire = usual_acquire();
        struct world w;
        rules.lost_margin_ns = rows[i].margin_ns;
        acquire.ttl_ms = rows[i].ttl_ms;
        world_init(&w, rules);
        world_hold(&w, acquire, 7);
        uint64_t lost_ns = rl_lock_wake_ns(&w.lock);
        assert_int_equal(rl_lock_lost_ns(&w.lock), lost_ns);
        assert_in_range(lost_ns, START_NS + rows[i].wanted_ns, START_NS + rows[i].wanted_ns + 1);
        world_simple(&w, RL_EV_TICK, lost_ns - 1, 7);
        assert_int_equal(w.out.lost, RL_RESULT_NONE);
        assert_true(rl_lock_is_valid(&w.lock, lost_ns - 1));
        world_simple(&w, RL_EV_TICK, lost_ns, 3);
        assert_int_equal(w.out.lost, RL_RESULT_EXPIRED);
        assert_int_equal(w.out.release, 3);
        assert_int_equal(w.out.owe, 4);
        assert_int_equal(w.lock.state, RL_LOST);
        assert_int_equal(rl_lock_wake_ns(&w.lock), RL_NEVER);
        assert_int_equal(rl_lock_lost_ns(&w.lock), RL_NEVER);
    }
}

/* An extension that would end where the validity does is not a shorter one. */
static void is_told_no_later_for_an_extension_to_the_same_end(void **state) {
    (void)state;
    struct rl_rules rules = usual_rules(3);
    struct world w;
    rules.lost_margin_ns = 60000 * MS; /* half of what was left at most */
    world_init(&w, rules);
    world_hold(&w, usual_acquire(), 7);
    uint64_t lost_ns = rl_lock_wake_ns(&w.lock);
    world_extend(&w, 9000, START_NS + (9898 - 8908) * MS, 7);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS);
    world_vote(&w, 0, BREAKS, w.lock.now_ns);
    world_vote(&w, 1, BREAKS, w.lock.now_ns);
    assert_int_equal(w.out.extended, RL_RESULT_UNKNOWN);
    assert_int_equal(rl_lock_wake_ns(&w.lock), lost_ns);
}

static void a_majority_that_is_gone_loses_it(void **state) {
    (void)state;
    static const struct {
        uint32_t n;
        const char *votes; /* of node 0, 1, ... to the extension */
        enum rl_result wanted;
    } rows[] = {
        {1, "n", RL_RESULT_LOST},       {1, "l", RL_RESULT_UNKNOWN},  {2, "n", RL_RESULT_LOST},
        {2, "yl", RL_RESULT_UNKNOWN},   {3, "nn", RL_RESULT_LOST},    {3, "nl", RL_RESULT_UNKNOWN},
        {3, "ynn", RL_RESULT_LOST},     {3, "ln", RL_RESULT_UNKNOWN}, {4, "nn", RL_RESULT_LOST},
        {4, "nyl", RL_RESULT_UNKNOWN},  {4, "ynyn", RL_RESULT_LOST},  {5, "nnn", RL_RESULT_LOST},
        {5, "nnel", RL_RESULT_UNKNOWN}, {5, "nnyyy", RL_RESULT_OK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        world_init(&w, usual_rules(rows[i].n));
        world_hold(&w, usual_acquire(), world_all(&w));
        world_extend(&w, 0, START_NS + 10 * MS, world_all(&w));
        for (uint32_t node = 0; w.extending; node++) {
            enum answer answer = (enum answer)(strchr("ynel", rows[i].votes[node]) - "ynel");
            world_vote(&w, node, answer, START_NS + 20 * MS);
        }
        assert_int_equal(w.out.extended, rows[i].wanted);
        bool lost = rows[i].wanted == RL_RESULT_LOST;
        assert_int_equal(w.out.lost, lost ? RL_RESULT_LOST : RL_RESULT_NONE);
        assert_int_equal(w.out.release, lost ? world_all(&w) : 0);
        assert_int_equal(w.lock.state, lost ? RL_LOST : RL_HELD);
    }
}

static void can_be_acquired_again_after_a_loss(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    world_hold(&w, usual_acquire(), 7);
    world_tick(&w, 7);
    assert_int_equal(w.lock.state, RL_LOST);
    world_hold(&w, usual_acquire(), 7);
    world_tick(&w, 7);
    world_simple(&w, RL_EV_RELEASE, w.lock.now_ns, 7);
    assert_int_equal(w.out.released, RL_RESULT_LOST);
    assert_int_equal(w.out.send | w.out.release | w.out.owe, 0); /* the loss has released it */
    assert_int_equal(w.lock.state, RL_IDLE);
}

/* Everything that is asked of a lock whose time is over finds it lost, whether a timer fired or
 * not. */
static void is_lost_whatever_comes_first(void **state) {
    (void)state;
    static const enum rl_event_type types[] = {RL_EV_TICK, RL_EV_TELL, RL_EV_EXTEND, RL_EV_RELEASE};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct world w;
        world_init(&w, usual_rules(3));
        world_hold(&w, usual_acquire(), 7);
        world_simple(&w, types[i], START_NS + VALID_NS, 7);
        assert_int_equal(w.out.lost, RL_RESULT_EXPIRED);
        assert_int_equal(w.out.release, 7);
        assert_int_equal(w.out.send, 0);
        assert_int_equal(w.out.extended,
                         types[i] == RL_EV_EXTEND ? RL_RESULT_EXPIRED : RL_RESULT_NONE);
        assert_int_equal(w.out.released,
                         types[i] == RL_EV_RELEASE ? RL_RESULT_LOST : RL_RESULT_NONE);
    }
}

/* -- Giving keys back -- */

static void gives_the_key_back_after_a_renewal(void **state) {
    (void)state;
    MARK_FROM(LATE_REPAIR);
    struct world w;
    world_init(&w, usual_rules(5));
    world_hold(&w, usual_acquire(), 7);
    world_extend(&w, 20000, START_NS + 100 * MS, 31);
    world_vote(&w, 0, REFUSES, START_NS + 101 * MS);
    assert_int_equal(w.out.repair, 0); /* not before a quorum renewed it */
    world_vote(&w, 1, GRANTS, START_NS + 102 * MS);
    world_vote(&w, 2, GRANTS, START_NS + 103 * MS);
    world_vote(&w, 3, GRANTS, START_NS + 104 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.out.repair, 1);
    assert_int_equal(w.lock.ttl_ms, 20000); /* the ttl of the repair */
    world_vote(&w, 4, REFUSES, START_NS + 105 * MS);
    assert_int_equal(w.out.repair, 16); /* also when the answer is late */
    assert_true(w.out.late);
    world_simple(&w, RL_EV_ABANDON, START_NS + 106 * MS, 14);
    assert_int_equal(w.out.release, 14);
    assert_int_equal(w.out.owe, 17); /* the SETs of the repair may have been run */
    MARK_TO(LATE_REPAIR);
}

/* It may have lost the key by a restart, and is in quarantine for that. */
static void gives_the_key_back_to_who_may_not_vote(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    world_hold(&w, usual_acquire(), 7);
    w.voters = 3;
    world_extend(&w, 0, START_NS + 100 * MS, 7);
    world_vote(&w, 2, REFUSES, START_NS + 101 * MS);
    world_vote(&w, 0, GRANTS, START_NS + 102 * MS);
    world_vote(&w, 1, GRANTS, START_NS + 103 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(w.out.repair, 4);
}

static void gives_no_key_back_otherwise(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(5));
    world_hold(&w, usual_acquire(), 31);
    world_extend(&w, 0, START_NS + 100 * MS, 31);
    for (uint32_t node = 0; node < 3; node++) {
        world_vote(&w, node, GRANTS, START_NS + 101 * MS);
    }
    struct world after;
    world_copy(&after, &w);
    world_vote_of(&after, w.lock.round.id, 3, REFUSES, START_NS + 102 * MS, 7); /* it is not up */
    assert_int_equal(after.out.repair, 0);
    world_copy(&after, &w);
    world_vote(&after, 3, ANSWERS_ERROR, START_NS + 102 * MS); /* it did not say that */
    assert_int_equal(after.out.repair, 0);
    world_copy(&after, &w); /* validity is over: that would be a silent second acquisition */
    world_vote(&after, 3, REFUSES, START_NS + 100 * MS + VALID_NS);
    assert_int_equal(after.out.lost, RL_RESULT_EXPIRED);
    assert_int_equal(after.out.repair, 0);
    world_copy(&after, &w); /* the next extension is under way, and will say so itself */
    world_extend(&after, 0, START_NS + 103 * MS, 31);
    world_vote_of(&after, w.lock.round.id, 3, REFUSES, START_NS + 104 * MS, 31);
    assert_int_equal(after.out.repair, 0);
    world_copy(&after, &w); /* a refusal of a SET is another's key */
    world_init(&after, usual_rules(3));
    world_hold(&after, usual_acquire(), 3);
    world_vote(&after, 2, REFUSES, START_NS + 2 * MS);
    assert_int_equal(after.out.repair, 0);
    assert_true(after.out.late);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_extended_as_it_must_in_every_order),
        cmocka_unit_test(runs_from_the_sending_of_the_extension),
        cmocka_unit_test(counts_no_yes_of_who_may_not_vote),
        cmocka_unit_test(is_shortened_at_once),
        cmocka_unit_test(is_kept_when_the_outcome_is_unknown),
        cmocka_unit_test(counts_no_vote_of_an_earlier_extension),
        cmocka_unit_test(a_renewal_after_the_end_comes_too_late),
        cmocka_unit_test(is_told_before_the_end),
        cmocka_unit_test(is_told_no_later_for_an_extension_to_the_same_end),
        cmocka_unit_test(a_majority_that_is_gone_loses_it),
        cmocka_unit_test(can_be_acquired_again_after_a_loss),
        cmocka_unit_test(is_lost_whatever_comes_first),
        cmocka_unit_test(gives_the_key_back_after_a_renewal),
        cmocka_unit_test(gives_the_key_back_to_who_may_not_vote),
        cmocka_unit_test(gives_no_key_back_otherwise),
    };
    return cmocka_run_group_tests_name("core_lock_hold", tests, NULL, NULL);
}
