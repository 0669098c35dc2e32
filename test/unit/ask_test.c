/* Wake-ups in the blocking interface: see ask_scene.h. */
#include "unit/ask_scene.h"

TEST_WITH(one_wakes_it_for_all, begin, end) {
    start(&calls[0]);
    wait_for(wakes, 1);
    start(&calls[1]);
    wait_for(listed, 2);
    rl_ask_after_wait(&client);
    assert_int_equal(n_ran, 2);
    assert_ptr_equal(ran[0], &calls[0]);
    assert_ptr_equal(ran[1], &calls[1]);
    assert_ptr_equal(client.answers.first, &calls[0].ask.queued); /* kept back */
    assert_ptr_equal(client.answers.last, &calls[1].ask.queued);
    rl_ask_before_wait(&client);
    assert_null(client.answers.first);
    returns(&calls[0], -10);
    returns(&calls[1], -11);
    assert_int_equal(wakes(), 1);
}

TEST_WITH(nobody_wakes_it_while_it_works, begin, end) {
    rl_ask_after_wait(&client);
    start(&calls[0]);
    wait_for(listed, 1);
    start(&calls[1]);
    wait_for(listed, 2);
    rl_ask_before_wait(&client);
    returns(&calls[0], -10);
    returns(&calls[1], -11);
    assert_int_equal(wakes(), 0);
    start(&calls[2]); /* and then it waits */
    wait_for(wakes, 1);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    returns(&calls[2], -12);
}

/* A call is put into the list between the last look at it and the wait. */
TEST_WITH(one_comes_when_it_is_about_to_wait, begin, end) {
    rl_ask_after_wait(&client);
    start(&calls[0]);
    wait_for(listed, 1);
    asks_meanwhile = &calls[1];
    rl_ask_before_wait(&client);
    returns(&calls[0], -10);
    wait_for(wakes, 1);
    assert_int_equal(n_ran, 1);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    returns(&calls[1], -11);
}

TEST_WITH(one_comes_when_it_has_just_waited, begin, end) {
    start(&calls[0]);
    wait_for(wakes, 1);
    asks_meanwhile = &calls[1];
    rl_ask_after_wait(&client);
    assert_int_equal(n_ran, 1);
    rl_ask_before_wait(&client);
    assert_int_equal(n_ran, 2);
    returns(&calls[0], -10);
    returns(&calls[1], -11);
    assert_int_equal(wakes(), 1);
}

/* The loop has other work meanwhile, and answers the call; the next call must not rely on that
 * wake-up. */
TEST_WITH(a_wake_up_is_late, begin, end) {
    atomic_store(&loop.holds, true);
    start(&calls[0]);
    wait_for(wakes, 1);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    assert_int_equal(n_ran, 1);
    start(&calls[1]);
    wait_for(wakes, 2);
    sem_post(&loop.go_on);
    returns(&calls[0], -10);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    returns(&calls[1], -11);
}

TEST_WITH(an_answer_comes_later, begin, end) {
    calls[0].answer = 1;
    start(&calls[0]);
    wait_for(wakes, 1);
    rl_ask_after_wait(&client);
    rl_ask_before_wait(&client);
    rl_ask_answer(&calls[0].ask,
                  0); /* while it reads, say: nothing comes that would tell it later */
    returns(&calls[0], 0);
    assert_int_equal(wakes(), 1);
}

TEST_WITH(the_last_one, begin, end) {
    struct rl_ask last = {.run = run};
    assert_int_equal(rl_ask_send_last(&client, &last), 0);
    assert_int_equal(wakes(), 1);
    assert_int_equal(rl_ask_send_last(&client, &last), REDLOCK_ERR_CLOSED);
    start(&calls[0]);
    returns(&calls[0], REDLOCK_ERR_CLOSED);
    assert_int_equal(wakes(), 1);
    assert_ptr_equal(client.asks.first, &last.queued);
    assert_ptr_equal(client.asks.last, &last.queued);
}
