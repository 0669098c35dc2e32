/* A lock that waits behind others of its client, and one that hears of a release while it pauses:
 * figures worked out by hand. Then all that can happen to one that waits in line behind other
 * clients, and has turns. */
#include "unit/lock_explore.h"

#define PAUSE_NS (100 * MS)
#define PLACE_OF_ATTEMPT UINT64_C(9)

static void wait_in_line(struct world *w, uint32_t tries, uint32_t wait_ms) {
    struct rl_acquire acquire = usual_acquire();
    acquire.waits = true;
    acquire.tries = tries;
    acquire.wait_ms = wait_ms;
    acquire.delay_ms = 100;
    acquire.jitter_ms = 0;
    world_init(w, usual_rules(3));
    world_acquire(w, acquire, START_NS);
}

static void turn(struct world *w, bool pause, uint64_t now_ns) {
    world_turn(w, 0, pause, now_ns, 7);
}

/* As if the nodes had been asked, and had refused. */
static void pays_a_try_for_each_pause(void **state) {
    (void)state;
    for (uint32_t tries = 1; tries <= 4; tries++) {
        struct world w;
        wait_in_line(&w, tries, RL_NO_LIMIT);
        for (uint32_t pause = 1; pause < tries; pause++) {
            assert_int_equal(w.out.acquired, RL_RESULT_NONE);
            assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + pause * PAUSE_NS);
            world_simple(&w, RL_EV_TICK, START_NS + pause * PAUSE_NS - 1, 7); /* too early */
            assert_int_equal(w.lock.state, RL_WAITING);
            world_simple(&w, RL_EV_TICK, START_NS + pause * PAUSE_NS, 7);
        }
        assert_int_equal(w.out.acquired, RL_RESULT_HELD);
        assert_int_equal(w.lock.acquire.attempt, RL_RESULT_HELD);
        assert_int_equal(w.lock.state, RL_IDLE);
    }
}

static void waits_until_it_is_told(void **state) {
    (void)state;
    struct world w;
    wait_in_line(&w, RL_NO_LIMIT, RL_NO_LIMIT);
    assert_int_equal(rl_lock_wake_ns(&w.lock), RL_NEVER);
    turn(&w, false, START_NS + 500 * MS);
    assert_true(w.out.generate_token);
    wait_in_line(&w, RL_NO_LIMIT, 100);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 100 * MS);
    world_tick(&w, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_DEADLINE);
    assert_int_equal(w.lock.acquire.attempt, RL_RESULT_NONE); /* it has asked no node */
}

/* In line a pause costs a try, and the deadline comes at the same moment. */
static void tells_the_deadline_rather_than_the_last_try(void **state) {
    (void)state;
    struct world w;
    wait_in_line(&w, 2, 100);
    world_simple(&w, RL_EV_TICK, START_NS + PAUSE_NS - 1, 7);
    assert_int_equal(w.lock.state, RL_WAITING);
    world_simple(&w, RL_EV_TICK, START_NS + PAUSE_NS, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_DEADLINE);
}

static void waits_again_after_a_loss(void **state) {
    (void)state;
    struct world w;
    struct rl_acquire acquire = usual_acquire();
    world_init(&w, usual_rules(3));
    world_hold(&w, acquire, 7);
    world_tick(&w, 7);
    assert_int_equal(w.lock.state, RL_LOST);
    acquire.waits = true;
    world_acquire(&w, acquire, w.lock.now_ns);
    assert_int_equal(w.lock.state, RL_WAITING);
}

/* Others are let go first, and then it asks, without a wait for another turn. */
static void may_have_to_pause_at_its_turn(void **state) {
    (void)state;
    struct world w;
    wait_in_line(&w, RL_NO_LIMIT, RL_NO_LIMIT);
    turn(&w, true, START_NS + 20 * MS);
    assert_int_equal(w.lock.state, RL_BACKOFF);
    assert_int_equal(w.out.release, 0);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 20 * MS + PAUSE_NS);
    world_tick(&w, 7);
    assert_true(w.out.generate_token);
}

/* Within 3 ms, but not later than it would have. */
static void hears_of_a_release(void **state) {
    (void)state;
    static const struct {
        uint64_t at_ns, random, wanted_ns; /* the pause ends after 100 ms */
    } rows[] = {
        {10 * MS, 0, 10 * MS},           {10 * MS, 3 * MS - 1, 13 * MS - 1},
        {10 * MS, 3 * MS, 10 * MS},      {98 * MS, 2 * MS - 1, 100 * MS - 1},
        {98 * MS, 2 * MS + 1, 100 * MS},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        wait_in_line(&w, RL_NO_LIMIT, RL_NO_LIMIT);
        turn(&w, true, START_NS);
        w.random = rows[i].random;
        world_simple(&w, RL_EV_NOTICE, START_NS + rows[i].at_ns, 7);
        assert_int_equal(w.lock.state, RL_BACKOFF);
        assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + rows[i].wanted_ns);
    }
}

/* -- In line behind other clients -- */

#define PLACE UINT64_C(5)

static const struct rl_acquire wishes[] = {
    /* ttl, tries, wait, delay, jitter, min_validity */
    {10000, 1, RL_NO_LIMIT, 50, 100, 1, 0, 0, false, false, 0},
    {10000, 2, 1000, 50, 100, 1, 0, 0, false, false, 0},
    {10000, 3, 400, 50, 0, 1, 0, 0, false, true, 0},
    {10000, RL_NO_LIMIT, 200, 50, 100, 0, 0, 0, false, false, 0}, /* less than the node timeout */
    {60, RL_NO_LIMIT, RL_NO_LIMIT, 0, 0, 20, 0, 0, true, false, 0},
};

static struct exploration turns = {.probes = true};
static uint32_t turns_left;

/* It was refused, and has its turn: its votes come while those of the last attempt may come too. It
 * may be refused again. */
static void has_its_turn(const struct world *w) {
    if (w->lock.state != RL_WAITING || turns_left == 0) {
        return;
    }
    turns_left--;
    for (uint64_t place = PLACE; place <= PLACE + 1; place++) {
        struct world next;
        world_copy(&next, w);
        world_turn(&next, place, false, next.lock.now_ns, world_all(w));
        assert_int_equal(next.lock.state, RL_READY);
        world_attempt(&next, next.lock.now_ns, world_all(w));
        world_explore(&next, &turns);
    }
    turns_left++;
}

static void line_up(const struct rl_acquire *wish, uint32_t n, uint32_t counters) {
    struct exploration first = {.visit = has_its_turn, .salt = ++turns.salt + 1000};
    struct world w;
    world_init(&w, usual_rules(n));
    w.lines = true;
    turns.visit = has_its_turn;
    turns.counters = first.counters = wish->fences ? counters : 0;
    turns_left = 2;
    world_acquire(&w, *wish, START_NS);
    if (wish->waits) {
        has_its_turn(&w);
        return;
    }
    world_attempt(&w, START_NS, world_all(&w));
    world_explore(&w, &first);
}

static void ends_as_it_must_whatever_turns_it_has(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(wishes); i++) {
        for (uint32_t n = 1; n <= 3; n++) {
            line_up(&wishes[i], n, 2);
        }
    }
}

/* -- Until it is known what to ask the nodes for -- */

static void ask_later(struct world *w, uint32_t tries, uint32_t wait_ms) {
    struct rl_acquire acquire = usual_acquire();
    acquire.tries = tries;
    acquire.wait_ms = wait_ms;
    acquire.delay_ms = 100;
    acquire.jitter_ms = 0;
    world_init(w, usual_rules(3));
    world_acquire(w, acquire, START_NS);
    assert_int_equal(w->lock.state, RL_READY);
}

/* Validity counts from when it is known, not from before. */
static void asks_when_it_knows(void **state) {
    (void)state;
    struct world w;
    ask_later(&w, 1, 1000);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 250 * MS); /* a node's time to answer */
    world_simple(&w, RL_EV_READY, START_NS + 20 * MS, 7);
    assert_true(w.out.generate_token);
    assert_int_equal(w.lock.state, RL_READY);
    w.turn = PLACE_OF_ATTEMPT;
    struct rl_event e = world_event(&w, RL_EV_ATTEMPT, START_NS + 20 * MS, 7);
    memset(w.token, 'b', RL_TOKEN_LEN);
    e.u.token = w.token;
    e.place = PLACE_OF_ATTEMPT;
    world_step(&w, &e);
    assert_int_equal(w.lock.place, PLACE_OF_ATTEMPT);
    assert_int_equal(w.lock.set_ns, START_NS + 20 * MS);
}

static void asks_without_when_it_took_too_long(void **state) {
    (void)state;
    struct world w;
    ask_later(&w, 1, 1000);
    world_simple(&w, RL_EV_TICK, START_NS + 250 * MS - 1, 7);
    assert_false(w.out.generate_token);
    world_simple(&w, RL_EV_TICK, START_NS + 250 * MS, 7);
    assert_true(w.out.generate_token);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 500 * MS);
}

/* A try is used up as if the nodes had refused; without a line it pauses, in line it waits. */
static void finds_nothing(void **state) {
    (void)state;
    struct world w;
    ask_later(&w, 1, 1000);
    world_simple(&w, RL_EV_NONE, START_NS + MS, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_HELD);
    assert_int_equal(w.lock.acquire.attempt, RL_RESULT_HELD);
    assert_int_equal(w.out.release, 0); /* of which token? */

    ask_later(&w, 2, 1000);
    world_simple(&w, RL_EV_NONE, START_NS + MS, 7);
    assert_int_equal(w.lock.state, RL_BACKOFF);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + MS + PAUSE_NS);
    world_tick(&w, 7);
    assert_true(w.out.generate_token);
    world_simple(&w, RL_EV_NONE, w.lock.now_ns, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_HELD);

    ask_later(&w, RL_NO_LIMIT, 1000);
    w.lines = true;
    world_simple(&w, RL_EV_NONE, START_NS + MS, 7);
    assert_int_equal(w.lock.state, RL_WAITING);
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 1000 * MS);
}

static void gives_up_before_it_knows(void **state) {
    (void)state;
    struct world w;
    ask_later(&w, RL_NO_LIMIT, 100); /* less than a node's time to answer */
    assert_int_equal(rl_lock_wake_ns(&w.lock), START_NS + 100 * MS);
    world_tick(&w, 7);
    assert_int_equal(w.out.acquired, RL_RESULT_DEADLINE);
    assert_int_equal(w.out.release, 0);
    for (size_t i = 0; i < 3; i++) {
        static const enum rl_event_type ends[] = {RL_EV_CANCEL, RL_EV_ABANDON, RL_EV_PERMITS};
        ask_later(&w, RL_NO_LIMIT, 1000);
        world_simple(&w, ends[i], START_NS + MS, 7);
        assert_int_equal(w.lock.state, RL_IDLE);
        assert_int_equal(w.out.release, 0);
        assert_int_equal(w.out.acquired, i < 2 ? RL_RESULT_CANCELED : RL_RESULT_PERMITS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pays_a_try_for_each_pause),
        cmocka_unit_test(waits_until_it_is_told),
        cmocka_unit_test(tells_the_deadline_rather_than_the_last_try),
        cmocka_unit_test(waits_again_after_a_loss),
        cmocka_unit_test(may_have_to_pause_at_its_turn),
        cmocka_unit_test(hears_of_a_release),
        cmocka_unit_test(ends_as_it_must_whatever_turns_it_has),
        cmocka_unit_test(asks_when_it_knows),
        cmocka_unit_test(asks_without_when_it_took_too_long),
        cmocka_unit_test(finds_nothing),
        cmocka_unit_test(gives_up_before_it_knows),
    };
    return cmocka_run_group_tests_name("core_lock_line", tests, NULL, NULL);
}
