/* A lock that waits behind others of its client, and one that hears of a release while it pauses:
 * figures worked out by hand. */
#include "unit/lock_world.h"

#define PAUSE_NS (100 * MS)

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
    struct rl_event e = world_event(w, RL_EV_TURN, now_ns, 7);
    e.u.pause = pause;
    world_step(w, &e);
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
    assert_int_equal(w.lock.acquire.attempt, RL_RESULT_NONE); /* it has asked nobody */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pays_a_try_for_each_pause),
        cmocka_unit_test(waits_until_it_is_told),
        cmocka_unit_test(tells_the_deadline_rather_than_the_last_try),
        cmocka_unit_test(waits_again_after_a_loss),
        cmocka_unit_test(may_have_to_pause_at_its_turn),
        cmocka_unit_test(hears_of_a_release),
    };
    return cmocka_run_group_tests_name("core_lock_line", tests, NULL, NULL);
}
