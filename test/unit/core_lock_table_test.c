/* The table of states: what each event does in each state, written out; what is not allowed aborts.
 * Then releasing, cancelling and abandoning, case by case. */
#include "unit/lock_explore.h"

/* A lock of three nodes in a state, by the shortest way. */
static void world_in(struct world *w, enum rl_lock_state state) {
    world_init(w, usual_rules(3));
    if (state == RL_IDLE) {
        return;
    }
    if (state == RL_HELD || state >= RL_EXTENDING) {
        world_hold(w, usual_acquire(), 7);
    } else {
        struct rl_acquire acquire = usual_acquire();
        acquire.waits = state == RL_WAITING;
        acquire.fences = state == RL_FENCING;
        world_acquire(w, acquire, START_NS);
    }
    if (state == RL_TRYING || state == RL_BACKOFF || state == RL_GRANTED) {
        enum answer answer = state == RL_BACKOFF ? REFUSES : GRANTS;
        world_attempt(w, START_NS, 7);
        world_vote(w, 0, answer, START_NS + MS);
        if (state != RL_TRYING) {
            world_vote(w, 1, answer, START_NS + MS);
        }
    } else if (state == RL_FENCING) {
        world_attempt(w, START_NS, 7);
        for (uint32_t node = 0; node < 2; node++) {
            w->counter = 5 + node; /* they do not agree */
            world_vote(w, node, GRANTS, START_NS + MS);
        }
    } else if (state == RL_EXTENDING) {
        world_extend(w, 0, START_NS + 2 * MS, 7);
    } else if (state == RL_RELEASING) {
        world_simple(w, RL_EV_RELEASE, START_NS + 2 * MS, 7);
    } else if (state == RL_LOST) {
        world_tick(w, 7);
    }
    assert_int_equal(w->lock.state, state);
}

struct row {
    enum rl_lock_state from;
    enum rl_event_type type;
    enum rl_lock_state to;
    enum rl_result acquired, extended, released, lost;
};

#define NO RL_RESULT_NONE

/* With all nodes up, at the time of the last event. TICK and TELL are not due but where it says so.
 */
static const struct row table[] = {
    {RL_IDLE, RL_EV_ACQUIRE, RL_READY, NO, NO, NO, NO},
    {RL_IDLE, RL_EV_VOTE, RL_IDLE, NO, NO, NO, NO},
    {RL_IDLE, RL_EV_TICK, RL_IDLE, NO, NO, NO, NO},
    {RL_IDLE, RL_EV_TELL, RL_IDLE, NO, NO, NO, NO},
    {RL_IDLE, RL_EV_ABANDON, RL_IDLE, NO, NO, NO, NO},
    {RL_IDLE, RL_EV_NOTICE, RL_IDLE, NO, NO, NO, NO},
    {RL_IDLE, RL_EV_ADOPT, RL_TRYING, NO, NO, NO, NO},
    {RL_WAITING, RL_EV_VOTE, RL_WAITING, NO, NO, NO, NO},
    {RL_WAITING, RL_EV_TICK, RL_WAITING, NO, NO, NO, NO},
    {RL_WAITING, RL_EV_TELL, RL_WAITING, NO, NO, NO, NO},
    {RL_WAITING, RL_EV_TURN, RL_READY, NO, NO, NO, NO},
    {RL_WAITING, RL_EV_PERMITS, RL_IDLE, RL_RESULT_PERMITS, NO, NO, NO},
    {RL_WAITING, RL_EV_NOTICE, RL_WAITING, NO, NO, NO, NO},
    {RL_WAITING, RL_EV_CANCEL, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_WAITING, RL_EV_ABANDON, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_READY, RL_EV_ATTEMPT, RL_TRYING, NO, NO, NO, NO},
    {RL_READY, RL_EV_VOTE, RL_READY, NO, NO, NO, NO},
    {RL_READY, RL_EV_TICK, RL_READY, NO, NO, NO, NO},
    {RL_READY, RL_EV_TELL, RL_READY, NO, NO, NO, NO},
    {RL_READY, RL_EV_CANCEL, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_READY, RL_EV_READY, RL_READY, NO, NO, NO, NO},
    {RL_READY, RL_EV_NONE, RL_BACKOFF, NO, NO, NO, NO},
    {RL_READY, RL_EV_PERMITS, RL_IDLE, RL_RESULT_PERMITS, NO, NO, NO},
    {RL_READY, RL_EV_NOTICE, RL_READY, NO, NO, NO, NO},
    {RL_READY, RL_EV_ABANDON, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_TRYING, RL_EV_VOTE, RL_GRANTED, NO, NO, NO, NO},
    {RL_TRYING, RL_EV_TICK, RL_TRYING, NO, NO, NO, NO},
    {RL_TRYING, RL_EV_TELL, RL_TRYING, NO, NO, NO, NO},
    {RL_TRYING, RL_EV_CANCEL, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_TRYING, RL_EV_PERMITS, RL_IDLE, RL_RESULT_PERMITS, NO, NO, NO},
    {RL_TRYING, RL_EV_NOTICE, RL_TRYING, NO, NO, NO, NO},
    {RL_TRYING, RL_EV_ABANDON, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_FENCING, RL_EV_VOTE, RL_FENCING, NO, NO, NO, NO},
    {RL_FENCING, RL_EV_TICK, RL_FENCING, NO, NO, NO, NO},
    {RL_FENCING, RL_EV_TELL, RL_FENCING, NO, NO, NO, NO},
    {RL_FENCING, RL_EV_CANCEL, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_FENCING, RL_EV_NOTICE, RL_FENCING, NO, NO, NO, NO},
    {RL_FENCING, RL_EV_ABANDON, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_BACKOFF, RL_EV_VOTE, RL_BACKOFF, NO, NO, NO, NO},
    {RL_BACKOFF, RL_EV_TICK, RL_BACKOFF, NO, NO, NO, NO},
    {RL_BACKOFF, RL_EV_TELL, RL_BACKOFF, NO, NO, NO, NO},
    {RL_BACKOFF, RL_EV_CANCEL, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_BACKOFF, RL_EV_PERMITS, RL_IDLE, RL_RESULT_PERMITS, NO, NO, NO},
    {RL_BACKOFF, RL_EV_NOTICE, RL_BACKOFF, NO, NO, NO, NO},
    {RL_BACKOFF, RL_EV_ABANDON, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_GRANTED, RL_EV_VOTE, RL_GRANTED, NO, NO, NO, NO},
    {RL_GRANTED, RL_EV_TICK, RL_GRANTED, NO, NO, NO, NO},
    {RL_GRANTED, RL_EV_TELL, RL_HELD, RL_RESULT_OK, NO, NO, NO},
    {RL_GRANTED, RL_EV_CANCEL, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_GRANTED, RL_EV_NOTICE, RL_GRANTED, NO, NO, NO, NO},
    {RL_GRANTED, RL_EV_ABANDON, RL_IDLE, RL_RESULT_CANCELED, NO, NO, NO},
    {RL_HELD, RL_EV_VOTE, RL_HELD, NO, NO, NO, NO},
    {RL_HELD, RL_EV_TICK, RL_HELD, NO, NO, NO, NO},
    {RL_HELD, RL_EV_TELL, RL_HELD, NO, NO, NO, NO},
    {RL_HELD, RL_EV_EXTEND, RL_EXTENDING, NO, NO, NO, NO},
    {RL_HELD, RL_EV_UPGRADE, RL_EXTENDING, NO, NO, NO, NO},
    {RL_HELD, RL_EV_RELEASE, RL_RELEASING, NO, NO, NO, NO},
    {RL_HELD, RL_EV_NOTICE, RL_HELD, NO, NO, NO, NO},
    {RL_HELD, RL_EV_DISOWN, RL_IDLE, NO, NO, NO, NO},
    {RL_HELD, RL_EV_ABANDON, RL_IDLE, NO, NO, NO, NO},
    {RL_EXTENDING, RL_EV_VOTE, RL_EXTENDING, NO, NO, NO, NO},
    {RL_EXTENDING, RL_EV_TICK, RL_EXTENDING, NO, NO, NO, NO},
    {RL_EXTENDING, RL_EV_TELL, RL_EXTENDING, NO, NO, NO, NO},
    {RL_EXTENDING, RL_EV_RELEASE, RL_RELEASING, NO, RL_RESULT_CANCELED, NO, NO},
    {RL_EXTENDING, RL_EV_CANCEL, RL_HELD, NO, RL_RESULT_CANCELED, NO, NO},
    {RL_EXTENDING, RL_EV_NOTICE, RL_EXTENDING, NO, NO, NO, NO},
    {RL_EXTENDING, RL_EV_DISOWN, RL_IDLE, NO, RL_RESULT_CANCELED, NO, NO},
    {RL_EXTENDING, RL_EV_ABANDON, RL_IDLE, NO, RL_RESULT_CANCELED, NO, NO},
    {RL_RELEASING, RL_EV_VOTE, RL_RELEASING, NO, NO, NO, NO},
    {RL_RELEASING, RL_EV_TICK, RL_RELEASING, NO, NO, NO, NO},
    {RL_RELEASING, RL_EV_TELL, RL_RELEASING, NO, NO, NO, NO},
    {RL_RELEASING, RL_EV_NOTICE, RL_RELEASING, NO, NO, NO, NO},
    {RL_RELEASING, RL_EV_ABANDON, RL_IDLE, NO, NO, RL_RESULT_CANCELED, NO},
    {RL_LOST, RL_EV_ACQUIRE, RL_READY, NO, NO, NO, NO},
    {RL_LOST, RL_EV_VOTE, RL_LOST, NO, NO, NO, NO},
    {RL_LOST, RL_EV_TICK, RL_LOST, NO, NO, NO, NO},
    {RL_LOST, RL_EV_TELL, RL_LOST, NO, NO, NO, NO},
    {RL_LOST, RL_EV_EXTEND, RL_LOST, NO, RL_RESULT_EXPIRED, NO, NO},
    {RL_LOST, RL_EV_UPGRADE, RL_LOST, NO, RL_RESULT_EXPIRED, NO, NO},
    {RL_LOST, RL_EV_RELEASE, RL_IDLE, NO, NO, RL_RESULT_LOST, NO},
    {RL_LOST, RL_EV_NOTICE, RL_LOST, NO, NO, NO, NO},
    {RL_LOST, RL_EV_ADOPT, RL_TRYING, NO, NO, NO, NO},
    {RL_LOST, RL_EV_DISOWN, RL_LOST, NO, NO, NO, NO},
    {RL_LOST, RL_EV_ABANDON, RL_IDLE, NO, NO, NO, NO},
};

static void feed(struct world *w, enum rl_event_type type) {
    uint64_t now_ns = w->lock.now_ns;
    if (type == RL_EV_ACQUIRE) {
        world_acquire(w, usual_acquire(), now_ns);
    } else if (type == RL_EV_ATTEMPT) {
        world_attempt(w, now_ns, 7);
    } else if (type == RL_EV_VOTE) {
        world_vote(w, 2, GRANTS, now_ns);
    } else if (type == RL_EV_ADOPT) {
        world_take_over(w, usual_acquire(), now_ns, 7);
    } else {
        world_simple(w, type, now_ns, 7);
    }
}

static void does_what_the_table_says(void **state) {
    (void)state;
    uint32_t seen[RL_LOCK_STATES] = {0};
    for (size_t i = 0; i < COUNT(table); i++) {
        const struct row *row = &table[i];
        struct world w;
        world_in(&w, row->from);
        feed(&w, row->type);
        CHECK(&w, w.lock.state == row->to);
        CHECK(&w, w.out.acquired == row->acquired);
        CHECK(&w, w.out.extended == row->extended);
        CHECK(&w, w.out.released == row->released);
        CHECK(&w, w.out.lost == row->lost);
        seen[row->from] |= 1u << row->type;
    }
    for (uint32_t s = 0; s < RL_LOCK_STATES; s++) {
        assert_int_equal(seen[s], allowed_events[s]);
    }
}

struct illegal {
    enum rl_lock_state state;
    enum rl_event_type type;
};

static void feed_illegal(void *data) {
    const struct illegal *illegal = data;
    struct world w;
    struct rl_actions out;
    world_in(&w, illegal->state);
    struct rl_event e = world_event(&w, illegal->type, w.lock.now_ns, 7);
    if (illegal->type == RL_EV_ACQUIRE) {
        e.u.acquire = usual_acquire();
    } else if (illegal->type == RL_EV_ATTEMPT) {
        e.u.token = w.token;
    } else if (illegal->type == RL_EV_ADOPT) {
        e.u.adopt = (struct rl_adopt){usual_acquire(), w.token};
    }
    rl_lock_step(&w.lock, &e, &out);
}

static void aborts_on_what_is_not_allowed(void **state) {
    (void)state;
    static const enum rl_event_type types[] = {
        RL_EV_ACQUIRE, RL_EV_ATTEMPT, RL_EV_EXTEND, RL_EV_RELEASE, RL_EV_TURN,   RL_EV_ADOPT,
        RL_EV_DISOWN,  RL_EV_READY,   RL_EV_NONE,   RL_EV_PERMITS, RL_EV_UPGRADE};
    for (uint32_t s = 0; s < RL_LOCK_STATES; s++) {
        for (size_t i = 0; i < COUNT(types); i++) {
            struct illegal illegal = {(enum rl_lock_state)s, types[i]};
            if (!(allowed_events[s] >> types[i] & 1)) {
                assert_true(dies(feed_illegal, &illegal));
            }
        }
    }
}

static void step_back_in_time(void *data) {
    struct world *w = data;
    struct rl_actions out;
    struct rl_event e = world_event(w, RL_EV_TICK, 0, 7);
    e.now_ns = w->lock.now_ns - 1;
    rl_lock_step(&w->lock, &e, &out);
}

static void step_with_a_node_too_many(void *data) {
    struct world *w = data;
    struct rl_actions out;
    struct rl_event e = world_event(w, RL_EV_TICK, 0, 15);
    rl_lock_step(&w->lock, &e, &out);
}

static void step_into_the_unknown(void *data) {
    struct world *w = data;
    struct rl_actions out;
    struct rl_event e = world_event(w, RL_EVENT_TYPES, 0, 7);
    rl_lock_step(&w->lock, &e, &out);
}

static void step_with_a_voter_that_is_not_up(void *data) {
    struct world *w = data;
    struct rl_actions out;
    struct rl_event e = world_event(w, RL_EV_TICK, 0, 3);
    e.voters = 7;
    rl_lock_step(&w->lock, &e, &out);
}

static void acquire_without_a_try(void *data) {
    struct world *w = data;
    struct rl_acquire acquire = usual_acquire();
    acquire.tries = 0;
    world_init(w, usual_rules(3));
    world_acquire(w, acquire, START_NS);
}

static void acquire_for_less_than_the_drift(void *data) {
    struct world *w = data;
    struct rl_acquire acquire = usual_acquire();
    acquire.ttl_ms = 2;
    world_init(w, usual_rules(3));
    world_acquire(w, acquire, START_NS);
    world_attempt(w, START_NS, 7);
}

static void extend_by_less_than_the_drift(void *data) {
    world_extend(data, 2, START_NS + 5 * MS, 7);
}

static void aborts_on_wrong_arguments(void **state) {
    (void)state;
    static void (*const wrongs[])(void *) = {
        step_back_in_time,
        step_with_a_node_too_many,
        step_into_the_unknown,
        acquire_without_a_try,
        extend_by_less_than_the_drift,
        step_with_a_voter_that_is_not_up,
        acquire_for_less_than_the_drift,
    };
    struct world w;
    world_in(&w, RL_HELD);
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        assert_true(dies(wrongs[i], &w));
    }
}

static void has_a_name_for_everything(void **state) {
    (void)state;
    for (uint32_t a = 0; a < RL_LOCK_STATES; a++) {
        const char *name = rl_lock_state_name((enum rl_lock_state)a);
        assert_true(strlen(name) > 0);
        for (uint32_t b = 0; b < a; b++) {
            assert_string_not_equal(name, rl_lock_state_name((enum rl_lock_state)b));
        }
    }
    for (uint32_t a = 0; a < RL_EVENT_TYPES; a++) {
        const char *name = rl_event_name((enum rl_event_type)a);
        assert_true(strlen(name) > 0);
        for (uint32_t b = 0; b < a; b++) {
            assert_string_not_equal(name, rl_event_name((enum rl_event_type)b));
        }
    }
}

static void begins_with_nothing(void **state) {
    (void)state;
    struct world w;
    world_in(&w, RL_IDLE);
    assert_string_equal(w.lock.token, "");
    assert_int_equal(w.lock.round.id, 0);
    assert_int_equal(rl_lock_wake_ns(&w.lock), RL_NEVER);
    assert_false(rl_lock_is_valid(&w.lock, 0));
    assert_false(rl_lock_is_acquiring(&w.lock));
}

/* -- Releasing -- */

static void releases_on_every_node(void **state) {
    (void)state;
    static const struct {
        const char *votes;
        enum rl_result wanted;
    } rows[] = {
        {"yy", RL_RESULT_OK}, {"nn", RL_RESULT_OK}, /* it is not there: as good */
        {"yn", RL_RESULT_OK}, {"eyn", RL_RESULT_OK}, {"el", RL_RESULT_NO_QUORUM}, {"y", NO},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        world_in(&w, RL_RELEASING);
        assert_int_equal(w.out.send, 7);
        assert_int_equal(w.out.release, 0);
        assert_int_equal(w.lock.round.kind, RL_ROUND_RELEASE);
        assert_false(rl_lock_is_valid(&w.lock, w.lock.now_ns)); /* from this call on */
        assert_int_equal(rl_lock_wake_ns(&w.lock), w.lock.now_ns + 250 * MS);
        for (uint32_t node = 0; rows[i].votes[node] != '\0'; node++) {
            enum answer answer = (enum answer)(strchr("ynel", rows[i].votes[node]) - "ynel");
            world_vote(&w, node, answer, w.lock.now_ns + MS);
        }
        assert_int_equal(w.out.released, rows[i].wanted);
    }
}

/* Also of those that may not vote, by any way out. */
static void releases_where_nobody_votes(void **state) {
    (void)state;
    static const enum rl_event_type ways[] = {RL_EV_RELEASE, RL_EV_ABANDON};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct world w;
        world_in(&w, RL_HELD);
        w.voters = 0;
        world_simple(&w, ways[i], w.lock.now_ns, 7);
        assert_int_equal(w.out.send | w.out.release, 7);
        assert_int_equal(w.out.owe, 0);
    }
}

static void a_release_that_nobody_answers_ends_too(void **state) {
    (void)state;
    struct world w;
    world_in(&w, RL_RELEASING);
    world_tick(&w, 7);
    assert_int_equal(w.out.released, RL_RESULT_NO_QUORUM);
    assert_int_equal(w.out.release | w.out.owe, 0); /* the requests themselves become pending */
    assert_int_equal(w.lock.state, RL_IDLE);
}

static void owes_a_release_to_nodes_that_are_not_up(void **state) {
    (void)state;
    static const struct {
        uint32_t up, owe;
        enum rl_result released;
    } rows[] = {{7, 0, NO}, {6, 1, NO}, {1, 2, RL_RESULT_NO_QUORUM}, {0, 3, RL_RESULT_NO_QUORUM}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        world_init(&w, usual_rules(3));
        world_hold(&w, usual_acquire(), 3);
        world_vote(&w, 2, REFUSES, START_NS + 2 * MS); /* so it has no key of ours */
        world_simple(&w, RL_EV_RELEASE, START_NS + 3 * MS, rows[i].up);
        assert_int_equal(w.out.send, rows[i].up);
        assert_int_equal(w.out.owe, rows[i].owe);
        assert_int_equal(w.out.released, rows[i].released);
    }
}

/* -- Cancelling and abandoning -- */

static void leaves_nothing_behind(void **state) {
    (void)state;
    static const struct {
        enum rl_lock_state state;
        uint32_t release, owe; /* when only node 0 is up */
    } rows[] = {
        {RL_IDLE, 0, 0},      {RL_TRYING, 1, 6},    {RL_FENCING, 1, 6},
        {RL_GRANTED, 1, 6},   {RL_BACKOFF, 0, 0},   {RL_HELD, 1, 6},
        {RL_EXTENDING, 1, 6}, {RL_RELEASING, 0, 0}, {RL_LOST, 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        world_in(&w, rows[i].state);
        world_simple(&w, RL_EV_ABANDON, w.lock.now_ns, 1);
        assert_int_equal(w.lock.state, RL_IDLE);
        assert_int_equal(w.out.owe, rows[i].owe);
        assert_int_equal(w.out.release & rows[i].release, rows[i].release);
        assert_int_equal(w.lock.may_hold, 0);
        world_hold(&w, usual_acquire(), 7); /* as good as new */
    }
}

/* Also a grant of which the user does not know yet. */
static void releases_what_a_cancelled_acquire_got(void **state) {
    (void)state;
    static const enum rl_lock_state from[] = {RL_TRYING, RL_FENCING, RL_GRANTED};
    for (size_t i = 0; i < COUNT(from); i++) {
        struct world w;
        world_in(&w, from[i]);
        world_simple(&w, RL_EV_CANCEL, w.lock.now_ns + MS, 3);
        assert_int_equal(w.out.acquired, RL_RESULT_CANCELED);
        assert_int_equal(w.out.release, 3);
        assert_int_equal(w.out.owe, 4);
        world_simple(&w, RL_EV_TELL, w.lock.now_ns + MS, 7); /* which was due already */
        assert_int_equal(w.out.acquired, NO);
        assert_int_equal(w.lock.state, RL_IDLE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_what_the_table_says),
        cmocka_unit_test(aborts_on_what_is_not_allowed),
        cmocka_unit_test(aborts_on_wrong_arguments),
        cmocka_unit_test(has_a_name_for_everything),
        cmocka_unit_test(begins_with_nothing),
        cmocka_unit_test(releases_on_every_node),
        cmocka_unit_test(releases_where_nobody_votes),
        cmocka_unit_test(a_release_that_nobody_answers_ends_too),
        cmocka_unit_test(owes_a_release_to_nodes_that_are_not_up),
        cmocka_unit_test(leaves_nothing_behind),
        cmocka_unit_test(releases_what_a_cancelled_acquire_got),
    };
    return cmocka_run_group_tests_name("core_lock_table", tests, NULL, NULL);
}
