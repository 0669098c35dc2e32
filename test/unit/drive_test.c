/* The thread that runs the loop of the blocking interface: the loop thread, or a caller. See
 * ask_scene.h. */
#include "unit/ask_scene.h"

/* The loop thread rests, and the test is a caller. */
static void rest(void) {
    memset(&loop.self, 0, sizeof loop.self);
    client.wheel = RL_WHEEL_FREE;
    atomic_store(&client.driver, NULL);
}

/* The test is the loop thread again, which has been woken. */
static void take_over(void) {
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
    loop.self = pthread_self();
    rl_wheel_take(&client);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
}

static void wait_run(struct rl_ask *ask) {
    assert_null(waiting);
    waiting = ask;
}

static int wheel(void) {
    rl_gate_close(&client);
    int now = (int)client.wheel;
    rl_gate_open(&client);
    return now;
}

TEST_WITH(it_pauses_for_callers_that_come_one_by_one, begin, end) {
    for (int i = 0; i < 9; i++) {
        struct call *call = &calls[0];
        *call = (struct call){.ask.run = run};
        n_ran = 0;
        assert_int_equal(loop.pauses, i > 7);
        start(call);
        wait_for(wakes, i + 1);
        rl_ask_after_wait(&client);
        rl_ask_before_wait(&client);
        returns(call, 0);
        rl_ask_after_wait(&client); /* no change: it is not counted again */
        rl_ask_before_wait(&client);
    }
    int pauses = loop.pauses;
    assert_int_equal(pauses, 2);
    n_ran = 0;
    calls[1].answer = 1; /* from now on a caller waits */
    start(&calls[1]);
    wait_for(wakes, 10);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    start(&calls[2]);
    wait_for(wakes, 11);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    returns(&calls[2], -12);
    rl_ask_answer(&calls[1].ask, 0);
    returns(&calls[1], 0);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    assert_int_equal(loop.pauses, pauses);
}

TEST_WITH(it_does_not_pause_where_code_of_the_program_runs, begin, end) {
    client.alone = 8;
    client.has_own_code = true;
    client.answered = client.sent = 1;
    rl_ask_before_wait(&client);
    client.answered = client.sent = 2;
    client.has_own_code = false;
    client.listeners = 1;
    rl_ask_before_wait(&client);
    assert_int_equal(loop.pauses, 0);
    client.answered = client.sent = 3;
    client.listeners = 0;
    rl_ask_before_wait(&client);
    assert_int_equal(loop.pauses, 1);
}

TEST_WITH(a_caller_drives, begin, end) {
    rest();
    for (int i = 0; i < 3; i++) {
        struct rl_ask ask = {.run = wait_run};
        assert_int_equal(rl_ask_send(&client, &ask), 0);
        assert_int_equal(loop.turns, i + 1);
        assert_int_equal(client.wheel, RL_WHEEL_FREE);
        assert_int_equal(client.stints, i + 1);
        assert_null(atomic_load(&client.driver));
    }
    assert_int_equal(wakes(), 0);
    struct rl_ask ask = {.run = wait_run};
    loop.timeout_ms = 0; /* there is work at once; then there is none */
    assert_int_equal(rl_ask_send(&client, &ask), 0);
    assert_int_equal(client.wheel, RL_WHEEL_FREE);
}

TEST_WITH(a_timer_is_near, begin, end) {
    struct rl_ask ask = {.run = wait_run};
    rest();
    loop.timeout_ms = 1;
    assert_int_equal(rl_ask_send(&client, &ask), 0);
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
}

static void listen_run(struct rl_ask *ask) {
    client.listeners = 1; /* a mutex with on_lost */
    rl_ask_answer(ask, 0);
}

TEST_WITH(code_of_the_program_came, begin, end) {
    struct rl_ask ask = {.run = listen_run};
    rest();
    assert_int_equal(rl_ask_send(&client, &ask), 0);
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
}

/* It arrives during another caller's call; the driving caller must not run the next call of
 * that. */
static void listen_meanwhile(struct rl_ask *ask) {
    wait_run(ask);
    client.listeners = 1;
    start(&calls[0]);
    wait_for(listed, 1);
}

TEST_WITH(code_of_the_program_comes_while_one_drives, begin, end) {
    struct rl_ask ask = {.run = listen_meanwhile};
    rest();
    assert_int_equal(rl_ask_send(&client, &ask), 0);
    assert_int_equal(n_ran, 0);
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
    assert_int_equal(wakes(), 1); /* it does not wait then */
    take_over();
    returns(&calls[0], -10);
}

TEST_WITH(it_takes_too_long, begin, end) {
    rest();
    loop.is_slow = true;
    calls[0].answer = 1;
    start(&calls[0]);
    wait_for(wheel, RL_WHEEL_THREAD);
    assert_int_equal(loop.turns, 1);
    assert_int_equal(n_ran, 1);
    take_over();
    rl_ask_answer(&calls[0].ask, 0);
    returns(&calls[0], 0);
}

/* The driving caller has its answer; the other one must not be forgotten. */
TEST_WITH(another_one_waits, begin, end) {
    rest();
    calls[0].answer = 0;
    asks_meanwhile = &calls[1];
    start(&calls[0]);
    returns(&calls[0], 0);
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
    assert_int_equal(client.alone, 0);
    take_over();
    returns(&calls[1], -11);
    assert_int_equal(wakes(), 0);
}

TEST_WITH(the_stack_is_small, begin, end) {
    pthread_attr_t small;
    rest();
    pthread_attr_init(&small);
    assert_int_equal(pthread_attr_setstacksize(&small, 120 * 1024), 0);
    assert_int_equal(pthread_create(&calls[0].thread, &small, send, &calls[0]), 0);
    pthread_attr_destroy(&small);
    wait_for(wheel, RL_WHEEL_THREAD);
    assert_int_equal(loop.turns, 0);
    take_over();
    returns(&calls[0], -10);
}

TEST_WITH(it_is_closed_while_nobody_drives, begin, end) {
    struct rl_ask last = {.run = run};
    rest();
    assert_int_equal(rl_ask_send_last(&client, &last), 0);
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
    assert_int_equal(loop.turns, 0);
    assert_ptr_equal(client.asks.first, &last.queued);
}

static void close_meanwhile(struct rl_ask *ask) {
    static struct rl_ask last = {.run = run};
    wait_run(ask);
    assert_int_equal(rl_ask_send_last(&client, &last), 0);
    assert_ptr_equal(client.asks.first, &last.queued);
}

/* Only the loop thread runs closing calls. */
TEST_WITH(it_is_closed_while_one_drives, begin, end) {
    struct rl_ask ask = {.run = close_meanwhile};
    rest();
    assert_int_equal(rl_ask_send(&client, &ask), 0);
    assert_int_equal(n_ran, 0);
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
    assert_non_null(client.asks.first);
    assert_int_equal(wakes(), 1); /* it does not wait then */
}

TEST_WITH(it_takes_the_loop_back, begin, end) {
    client.due_ns = UINT64_MAX;
    rl_drive_rest(&client); /* no caller arrives */
    assert_int_equal(client.wheel, RL_WHEEL_THREAD);
    assert_true(rl_wheel_is_mine(&client));
    loop.timeout_ms = 0; /* it does not rest at all */
    rl_drive_rest(&client);
    assert_true(rl_wheel_is_mine(&client));
}
