/* Acquiring: every outcome of an attempt in every order, then the cases that a reader would ask
 * about. */
#include "marks.h"
#include "unit/lock_explore.h"

/* -- Everything -- */

static const struct rl_acquire wishes[] = {
    /* ttl, tries, wait, delay, jitter, min_validity */
    {10000, 1, RL_NO_LIMIT, 50, 100, 1, 0, 0, false, false, 0},
    {10000, 2, 1000, 50, 100, 1, 0, 0, false, false, 0},
    /* the wait ends before the node timeout */
    {10000, RL_NO_LIMIT, 200, 50, 100, 0, 0, 0, false, false, 0},
    /* validity ends before the node timeout; no pause */
    {60, 2, RL_NO_LIMIT, 0, 0, 20, 0, 0, false, false, 0},
};

static void explore_attempt(uint32_t n, const struct rl_acquire *wish, uint32_t up,
                            struct exploration *exploration) {
    struct world w;
    world_init(&w, usual_rules(n));
    world_acquire(&w, *wish, START_NS);
    exploration->salt++;
    if (exploration->probes) {
        world_probe(&w);
    }
    world_attempt(&w, START_NS, up);
    world_explore(&w, exploration);
}

static void ends_as_it_must_in_every_order(void **state) {
    (void)state;
    struct exploration exploration = {.probes = true};
    for (size_t i = 0; i < COUNT(wishes); i++) {
        for (uint32_t n = 1; n <= 4; n++) {
            for (uint32_t up = 0; up < 1u << n; up++) {
                explore_attempt(n, &wishes[i], up, &exploration);
            }
        }
    }
    exploration.probes = false;
    for (uint32_t n = 5; n <= 7; n++) {
        explore_attempt(n, &wishes[1], (1u << n) - 1, &exploration);
        explore_attempt(n, &wishes[3], (1u << n) - 2, &exploration);
    }
    assert_true(exploration.states > 50000);
}

static struct exploration second = {.probes = true};

/* The attempt failed and the pause is over: a second one, while votes of the first may still come.
 */
static void try_again(const struct world *w) {
    if (w->lock.state == RL_BACKOFF) {
        struct world next;
        world_copy(&next, w);
        world_tick(&next, world_all(w));
        assert_int_equal(next.lock.state, RL_READY);
        world_attempt(&next, next.lock.now_ns, world_all(w));
        world_explore(&next, &second);
    }
}

static void a_second_attempt_knows_nothing_of_the_first(void **state) {
    (void)state;
    struct exploration first = {.visit = try_again};
    for (uint32_t n = 1; n <= 4; n++) {
        second.salt = first.salt + 1000;
        explore_attempt(n, &wishes[1], (1u << n) - 1, &first);
    }
    assert_true(second.states > 500);
}

/* -- One case each -- */

struct votes_row {
    uint32_t n;
    const char *votes;     /* of node 0, 1, ...: yes, no, error, lost; '.' does not vote */
    enum rl_result wanted; /* RL_RESULT_NONE: not decided by then */
};

/* Feeds the votes and returns how the only try ended. */
static enum rl_result result_of(struct world *w, const struct votes_row *row) {
    struct rl_acquire once = usual_acquire();
    once.tries = 1;
    once.wait_ms = RL_NO_LIMIT;
    world_init(w, usual_rules(row->n));
    world_acquire(w, once, START_NS);
    world_attempt(w, START_NS, world_all(w));
    for (uint32_t node = 0; row->votes[node] != '\0' && w->acquiring; node++) {
        if (row->votes[node] != '.') {
            enum answer answer = (enum answer)(strchr("ynel", row->votes[node]) - "ynel");
            world_vote(w, node, answer, START_NS + MS);
        }
    }
    if (w->lock.state == RL_GRANTED) {
        world_simple(w, RL_EV_TELL, START_NS + 2 * MS, world_all(w));
    }
    return w->out.acquired;
}

static void says_why_it_failed(void **state) {
    (void)state;
    static const struct votes_row rows[] = {
        {1, "y", RL_RESULT_OK},         {1, "n", RL_RESULT_HELD},
        {1, "e", RL_RESULT_NO_QUORUM},  {1, "l", RL_RESULT_NO_QUORUM},
        {2, "yy", RL_RESULT_OK},        {2, "n", RL_RESULT_HELD},
        {2, "yn", RL_RESULT_HELD},      {2, "e", RL_RESULT_NO_QUORUM},
        {3, "yy", RL_RESULT_OK},        {3, "y.y", RL_RESULT_OK},
        {3, "y", RL_RESULT_NONE},       {3, "nn", RL_RESULT_HELD},
        {3, "ne", RL_RESULT_HELD},      {3, "el", RL_RESULT_NO_QUORUM},
        {3, "yne", RL_RESULT_HELD},     {3, "yel", RL_RESULT_NO_QUORUM},
        {4, "yy", RL_RESULT_NONE},      {4, "yyy", RL_RESULT_OK},
        {4, "nn", RL_RESULT_HELD},      {4, "yynn", RL_RESULT_HELD},
        {4, "ee", RL_RESULT_NO_QUORUM}, {4, "en", RL_RESULT_HELD},
        {5, "yyy", RL_RESULT_OK},       {5, "nneey", RL_RESULT_HELD},
        {5, "nyyey", RL_RESULT_OK},     {5, "nnyn", RL_RESULT_HELD},
        {5, "elyn", RL_RESULT_HELD},    {5, "elye", RL_RESULT_NO_QUORUM},
        {5, "yynee", RL_RESULT_HELD},   {7, "yyynnn", RL_RESULT_NONE},
        {7, "yyynnny", RL_RESULT_OK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        enum rl_result got = result_of(&w, &rows[i]);
        if (got != rows[i].wanted) {
            print_error("%u nodes, %s\n", (unsigned)rows[i].n, rows[i].votes);
        }
        assert_int_equal(got, rows[i].wanted);
    }
}

/* ttl 10000 ms less 102 ms of drift, from the moment of sending, whenever the votes came. */
static void is_valid_from_the_sending_on(void **state) {
    (void)state;
    for (uint64_t after_ns = 0; after_ns < 250 * MS; after_ns += 49 * MS) {
        struct world w;
        world_init(&w, usual_rules(3));
        world_acquire(&w, usual_acquire(), START_NS);
        world_attempt(&w, START_NS + 5 * MS, 7);
        assert_string_equal(w.lock.token, w.token);
        world_vote(&w, 0, GRANTS, START_NS + 5 * MS + after_ns / 2);
        assert_int_equal(w.lock.valid_until_ns, 0);
        world_vote(&w, 1, GRANTS, START_NS + 5 * MS + after_ns);
        assert_true(w.out.tell);
        assert_int_equal(w.lock.valid_until_ns, START_NS + (5 + 9898) * MS);
        assert_false(rl_lock_is_valid(&w.lock, w.lock.now_ns)); /* the user does not know yet */
        world_simple(&w, RL_EV_TELL, START_NS + 300 * MS, 7);
        assert_int_equal(w.out.acquired, RL_RESULT_OK);
        assert_int_equal(w.lock.valid_until_ns, START_NS + (5 + 9898) * MS);
        assert_true(rl_lock_is_valid(&w.lock, START_NS + (5 + 9898) * MS - 1));
        assert_false(rl_lock_is_valid(&w.lock, START_NS + (5 + 9898) * MS));
    }
}

/* The quorum's last vote, or the callback, comes so many ns before the end of validity. */
static enum rl_result grant_with_ns_left(uint32_t min_validity_ms, uint64_t at_vote_ns,
                                         uint64_t at_tell_ns) {
    struct world w;
    struct rl_acquire acquire = usual_acquire();
    struct rl_rules rules = usual_rules(3);
    acquire.tries = 1;
    acquire.min_validity_ms = min_validity_ms;
    acquire.wait_ms = RL_NO_LIMIT;
    rules.node_timeout_ns = 60000 * MS;
    world_init(&w, rules);
    world_acquire(&w, acquire, START_NS);
    world_attempt(&w, START_NS, 7);
    world_vote(&w, 0, GRANTS, START_NS + MS);
    world_vote(&w, 2, GRANTS, START_NS + 9898 * MS - at_vote_ns);
    if (w.acquiring) {
        world_simple(&w, RL_EV_TELL, START_NS + 9898 * MS - at_tell_ns, 7);
    }
    return w.out.acquired;
}

static void grants_nothing_that_is_about_to_end(void **state) {
    (void)state;
    MARK_FROM(GRANT_TOO_LATE);
    static const struct {
        uint32_t min_validity_ms;
        uint64_t at_vote_ns, at_tell_ns;
        enum rl_result wanted;
    } rows[] = {
        {0, 1, 1, RL_RESULT_OK}, /* one ns before the end */
        {0, 0, 0, RL_RESULT_EXPIRED},
        {0, 5, 0, RL_RESULT_EXPIRED}, /* the loop was blocked after the last vote */
        {1, MS + 1, MS + 1, RL_RESULT_OK},
        {1, MS, MS, RL_RESULT_EXPIRED},
        {1, 9000 * MS, MS + 1, RL_RESULT_OK},
        {1, 9000 * MS, MS, RL_RESULT_EXPIRED},
        {5000, 5000 * MS + 1, 5000 * MS + 1, RL_RESULT_OK},
        {5000, 5000 * MS, 5000 * MS, RL_RESULT_EXPIRED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(
            grant_with_ns_left(rows[i].min_validity_ms, rows[i].at_vote_ns, rows[i].at_tell_ns),
            rows[i].wanted);
    }
    MARK_TO(GRANT_TOO_LATE);
}

static void tries_as_often_as_it_may(void **state) {
    (void)state;
    for (uint32_t tries = 1; tries <= 5; tries++) {
        struct world w;
        struct rl_acquire acquire = usual_acquire();
        acquire.tries = tries;
        acquire.wait_ms = RL_NO_LIMIT;
        world_init(&w, usual_rules(3));
        world_acquire(&w, acquire, START_NS);
        for (uint32_t try = 1; try <= tries; try++) {
            world_attempt(&w, w.lock.now_ns, 7);
            world_vote(&w, 0, REFUSES, w.lock.now_ns + MS);
            world_vote(&w, 1, REFUSES, w.lock.now_ns + MS);
            assert_int_equal(w.out.release, 7); /* also on those that refused or did not answer */
            if (try < tries) {
                assert_int_equal(w.out.acquired, RL_RESULT_NONE);
                assert_int_equal(w.lock.state, RL_BACKOFF);
                uint64_t pause_ns = rl_lock_wake_ns(&w.lock) - w.lock.now_ns;
                assert_in_range(pause_ns, 50 * MS, 150 * MS);
                world_tick(&w, 7);
                assert_true(w.out.generate_token);
            }
        }
        assert_int_equal(w.out.acquired, RL_RESULT_HELD);
        assert_int_equal(w.lock.state, RL_IDLE);
        assert_int_equal(rl_lock_wake_ns(&w.lock), RL_NEVER);
    }
}

/* Its votes would come in an order that fools a counter that does not look at the round. */
static void counts_no_vote_of_an_earlier_attempt(void **state) {
    (void)state;
    struct world w;
    world_init(&w, usual_rules(3));
    world_acquire(&w, usual_acquire(), START_NS);
    world_attempt(&w, START_NS, 7);
    uint32_t first = w.lock.round.id;
    world_vote(&w, 0, REFUSES, START_NS + MS);
    world_vote(&w, 1, REFUSES, START_NS + MS);
    world_tick(&w, 7);
    world_attempt(&w, w.lock.now_ns, 7);
    assert_int_not_equal(w.lock.round.id, first);
    world_vote_of(&w, first, 2, GRANTS, w.lock.now_ns + MS, 7);
    assert_true(w.out.late);
    world_vote(&w, 0, GRANTS, w.lock.now_ns + MS);
    world_vote_of(&w, first, 1, GRANTS, w.lock.now_ns + MS, 7);
    assert_true(w.out.late);
    assert_int_equal(w.lock.state, RL_TRYING);
    world_vote(&w, 1, GRANTS, w.lock.now_ns + MS);
    assert_int_equal(w.lock.state, RL_GRANTED);
}

static void sends_nothing_that_cannot_win(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire acquire = usual_acquire();
    acquire.tries = 1;
    world_init(&w, usual_rules(5));
    world_acquire(&w, acquire, START_NS);
    world_attempt(&w, START_NS, 0x11);
    assert_int_equal(w.out.send, 0);
    assert_int_equal(w.out.release, 0);
    assert_int_equal(w.out.owe, 0);
    assert_int_equal(w.out.acquired, RL_RESULT_NO_QUORUM);
    assert_int_equal(w.ballots[1].reason, -41);              /* why that node could not be asked */
    assert_int_equal(w.ballots[4].reason, NOT_ASKED_REASON); /* it could, but was not */
    assert_int_equal(rl_round_mask(&w.lock.round, RL_VOTE_FAILED), 31);
    world_acquire(&w, acquire, START_NS);
    world_attempt(&w, START_NS, 0x13);
    assert_int_equal(w.out.send, 0x13);
}

/* -- Deadlines -- */

static void gives_up_at_its_deadline(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire acquire = usual_acquire();
    acquire.wait_ms = 100;
    acquire.tries = RL_NO_LIMIT;
    world_init(&w, usual_rules(3));
    world_acquire(&w, acquire, START_NS);
    world_attempt(&w, START_NS, 7);
    world_vote(&w, 0, GRANTS, START_NS + MS);
    world_vote(&w, 1, ANSWERS_ERROR, START_NS + MS);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 100 * MS);
    world_simple(&w, RL_EV_TICK, START_NS + 100 * MS - 1, 7); /* a timer may be early */
    assert_int_equal(w.lock.state, RL_TRYING);
    world_simple(&w, RL_EV_TICK, START_NS + 100 * MS, 5);
    assert_int_equal(w.out.acquired, RL_RESULT_DEADLINE);
    assert_int_equal(w.out.release, 5);
    assert_int_equal(w.out.owe, 0); /* node 1 answered that it did not set the key */
    assert_int_equal(w.lock.state, RL_IDLE);
}

/* By hand: what the only attempt had come to when it was cut short, with all votes that were not
 * there yet as failed. */
static void says_what_was_cut_short(void **state) {
    (void)state;
    static const struct {
        enum answer answers[2]; /* of three; the others have not come */
        size_t count;
        enum rl_result wanted;
    } rows[] = {
        {{GRANTS}, 0, RL_RESULT_NO_QUORUM},
        {{GRANTS}, 1, RL_RESULT_NO_QUORUM},
        {{REFUSES}, 1, RL_RESULT_NO_QUORUM},
        {{ANSWERS_ERROR}, 1, RL_RESULT_NO_QUORUM},
        {{GRANTS, ANSWERS_ERROR}, 2, RL_RESULT_NO_QUORUM},
        {{GRANTS, REFUSES}, 2, RL_RESULT_HELD},
    };
    struct rl_acquire acquire = usual_acquire();
    acquire.wait_ms = 100;
    acquire.tries = RL_NO_LIMIT;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        world_init(&w, usual_rules(3));
        world_acquire(&w, acquire, START_NS);
        world_attempt(&w, START_NS, 7);
        for (uint32_t node = 0; node < rows[i].count; node++) {
            world_vote(&w, node, rows[i].answers[node], START_NS + MS);
        }
        assert_int_equal(w.lock.acquire.attempt, RL_RESULT_NONE);
        world_simple(&w, RL_EV_TICK, START_NS + 100 * MS, 7);
        assert_int_equal(w.out.acquired, RL_RESULT_DEADLINE);
        assert_int_equal(w.lock.acquire.attempt, rows[i].wanted);
    }
}

static void does_not_pause_past_its_deadline(void **state) {
    (void)state;
    static const struct {
        uint32_t wait_ms;
        enum rl_result wanted;
    } rows[] = {{60, RL_RESULT_DEADLINE}, {61, RL_RESULT_NONE}, {RL_NO_LIMIT, RL_RESULT_NONE}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        struct rl_acquire acquire = usual_acquire();
        acquire.wait_ms = rows[i].wait_ms;
        acquire.jitter_ms = 0; /* so the pause is 50 ms, begun after 10 */
        world_init(&w, usual_rules(1));
        world_acquire(&w, acquire, START_NS);
        world_attempt(&w, START_NS, 1);
        world_vote(&w, 0, REFUSES, START_NS + 10 * MS);
        assert_int_equal(w.out.acquired, rows[i].wanted);
        assert_int_equal(w.out.release, 1);
        assert_int_equal(w.lock.state, w.out.acquired ? RL_IDLE : RL_BACKOFF);
    }
}

static void waits_no_longer_for_votes_than_they_are_good_for(void **state) {
    (void)state;
    static const struct {
        uint32_t ttl_ms;
        uint64_t wanted_ns;
    } rows[] = {
        {10000, 250 * MS}, /* the node timeout */
        {100, 97 * MS},    /* the validity */
        {255, 250 * MS},   /* the validity is 250.45 ms */
        {254, 249460000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        struct rl_acquire acquire = usual_acquire();
        acquire.ttl_ms = rows[i].ttl_ms;
        acquire.wait_ms = RL_NO_LIMIT;
        acquire.tries = 1;
        world_init(&w, usual_rules(3));
        world_acquire(&w, acquire, START_NS);
        world_attempt(&w, START_NS, 7);
        world_vote(&w, 0, GRANTS, START_NS + MS);
        assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + rows[i].wanted_ns);
        world_tick(&w, 7);
        assert_int_equal(w.out.acquired, RL_RESULT_NO_QUORUM);
        assert_int_equal(w.ballots[0].reason, 0);
        assert_int_equal(w.ballots[1].reason, TIMEOUT_REASON);
    }
}

/* A day, tries without end, the largest wait: nothing overflows. */
static void knows_large_numbers(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire acquire = {86400000, RL_NO_LIMIT, RL_NO_LIMIT - 1, 86400000, 86400000, 1,
                                 0,        0,           false,           false,    0};
    world_init(&w, usual_rules(3));
    world_acquire(&w, acquire, START_NS);
    world_attempt(&w, START_NS, 7);
    assert_int_equal(w.lock.give_up_ns, START_NS + UINT64_C(4294967294) * MS);
    world_vote(&w, 0, REFUSES, START_NS);
    world_vote(&w, 1, REFUSES, START_NS);
    assert_int_equal(w.lock.state, RL_BACKOFF);
    assert_int_equal(w.lock.acquire.tries, RL_NO_LIMIT);
    assert_in_range(rl_lock_wake_ns(&w.lock), START_NS + UINT64_C(86400000) * MS,
                    START_NS + UINT64_C(172800000) * MS);
    world_tick(&w, 7);
    world_attempt(&w, w.lock.now_ns, 7);
    uint64_t sent_ns = w.lock.now_ns;
    world_vote(&w, 0, GRANTS, sent_ns);
    world_vote(&w, 1, GRANTS, sent_ns);
    assert_int_equal(w.lock.valid_until_ns, sent_ns + UINT64_C(85535998) * MS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_as_it_must_in_every_order),
        cmocka_unit_test(a_second_attempt_knows_nothing_of_the_first),
        cmocka_unit_test(says_why_it_failed),
        cmocka_unit_test(is_valid_from_the_sending_on),
        cmocka_unit_test(grants_nothing_that_is_about_to_end),
        cmocka_unit_test(tries_as_often_as_it_may),
        cmocka_unit_test(counts_no_vote_of_an_earlier_attempt),
        cmocka_unit_test(sends_nothing_that_cannot_win),
        cmocka_unit_test(gives_up_at_its_deadline),
        cmocka_unit_test(says_what_was_cut_short),
        cmocka_unit_test(does_not_pause_past_its_deadline),
        cmocka_unit_test(waits_no_longer_for_votes_than_they_are_good_for),
        cmocka_unit_test(knows_large_numbers),
    };
    return cmocka_run_group_tests_name("core_lock_acquire", tests, NULL, NULL);
}
