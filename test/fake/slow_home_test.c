/* If home does not answer in time, the next node is home, until the first one answers and its
 * channel is confirmed. */

#include "client/state.h"
#include "fake/waiter.h"
#include "nodes/listening.h"

static void start_quick(struct waiter *w) {
    waiter_start(w, WAITER_QUICK_MS);
}

#define QUICK_TEST(name) TEST_ON(name, struct waiter, w, start_quick, waiter_stop)

static void never_answers(struct waiter *w, const char *command) {
    const struct fake_rule rule = {.command = command, .action = FAKE_ANSWER, .delay_ms = 3600000};
    fake_node_rule(waiter_node(w, 0), rule);
}

/* The client has moved to another home when the first one's answer comes. False if the test shows
 * nothing, since on a busy machine home was dropped, or tried once more. */
static bool leaves_a_slow_home(bool says_yes) {
    struct waiter w;
    waiter_start(&w, 2 * WAITER_QUICK_MS);
    waiter_hear(&w);
    const size_t leaves = waiter_count(&w, 0, "leave"), joins = waiter_count(&w, 0, "join");
    node_rule(waiter_node(&w, 0), .command = "leave", .delay_ms = 3 * WAITER_QUICK_MS);
    fake_node_pause(waiter_node(&w, 0));
    waiter_ask(&w);
    waiter_until_elsewhere(&w);
    if (says_yes) {
        server_forget_keys(fake_node_server(waiter_node(&w, 0)));
    }
    fake_node_resume(waiter_node(&w, 0));
    bool is_told = w.f.downs[w.order[0]].times == 0;
    if (is_told) {
        five_wait_count(&w.f, w.order[0], "leave", leaves + 1);
        five_wait_repaid(&w.f);
        is_told = waiter_count(&w, 0, "join") == joins + 1;
    }
    if (is_told) {
        assert_int_equal(fake_node_lines(waiter_node(&w, 0)), 0);
        assert_int_equal(fake_node_get(waiter_node(&w, 0), FIVE_RESOURCE) == NULL, says_yes);
        assert_int_equal(waiter_count_all(&w, "take"), 0);
    }
    waiter_serve(&w);
    waiter_stop(&w);
    return is_told;
}

/* A slow home's answer is ignored, even a yes, once the client has moved. It gets a LEAVE behind
 * the JOIN, so that nothing is left there. */
TEST(takes_no_late_answer) {
    for (int says_yes = 0; says_yes < 2; says_yes++) {
        int tries = FIVE_TRIES;
        while (!leaves_a_slow_home(says_yes)) {
            assert_true(--tries > 0);
        }
    }
}

/* A home that was slow once answers the LEAVE in time, and is home again, where the others wait. On
 * a machine that is not too busy that is earlier than the second after which it is retried
 * anyway. */
TEST(comes_home_when_it_answers) {
    bool is_ahead = false;
    for (int i = 0; i < FIVE_TRIES && !is_ahead; i++) {
        struct waiter w;
        waiter_start(&w, 3 * WAITER_QUICK_MS);
        waiter_hear(&w);
        fake_node_pause(waiter_node(&w, 0));
        waiter_ask(&w);
        waiter_until_elsewhere(&w);
        fake_node_resume(waiter_node(&w, 0));
        waiter_until_at(&w, 0);
        is_ahead = waiter_line(&w)->firm == 1u << w.order[0];
        five_wait_count(&w.f, w.order[1], "leave", 1);
        assert_int_equal(waiter_count_all(&w, "take"), 0);
        waiter_serve(&w);
        waiter_stop(&w);
    }
    assert_true(is_ahead);
}

/* A node whose channel is not confirmed does not become home, whatever else it answers. */
QUICK_TEST(stays_where_it_is_heard) {
    never_answers(w, "subscribe");
    waiter_ask(w);
    waiter_until_at(w, 1);
    waiter_turn_in_vain(w);
    five_wait_count(&w->f, w->order[1], "join", 2);
    assert_int_equal(waiter_count(w, 1, "leave"), 0);
    waiter_serve(w);
}

static bool is_heard(struct five *f, void *data) {
    return rl_listening_lingers(f->client, *(const uint32_t *)data);
}

/* Another lock of this client waits for home's answer to a release when a node that was passed over
 * as home answers: the lock must not wait for ever. */
WAITER_TEST(another_answer_ends_no_wait) {
    struct five_done done = {0};
    redlock_lock *next = NULL;
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    assert_int_equal(redlock_lock_new(w->f.client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), &next), 0);
    uint32_t passed_over = (uint32_t)w->order[1];
    rl_listening_want(w->f.client, passed_over, true); /* as another line of this client would */
    w->f.client->io.world->ops->wake(w->f.client->io.world);
    assert_true(five_run_until(&w->f, is_heard, &passed_over));
    waiter_let_go(w);
    waiter_ask(w);
    assert_int_equal(waiter_wait(w), 0);
    struct rl_resource *resource = rl_ticket_resource(&w->f.lock->tickets[0]);
    rl_resource_wait(resource)->place.avoid = 1u << passed_over;
    fake_node_pause(waiter_node(w, 0));
    fake_node_pause(waiter_node(w, 1));
    assert_int_equal(five_release(&w->f, w->f.lock), 0);
    assert_int_not_equal(resource->release_until_ns, 0);
    assert_int_equal(redlock_acquire(next, &options, five_on_lock, &done), 0);
    fake_node_resume(waiter_node(w, 1));
    assert_int_equal(five_wait(&w->f, &done), 0); /* else its wait_ms ends, before home's timeout */
    fake_node_resume(waiter_node(w, 0));
    assert_int_equal(five_release(&w->f, next), 0);
}

/* Home stays silent, and its connection is dropped. */
QUICK_TEST(goes_on_after_silence) {
    never_answers(w, "join");
    waiter_ask(w);
    waiter_until_elsewhere(w);
    five_wait_down(&w->f, w->order[0], 1, REDLOCK_ERR_NODE_TIMEOUT);
    waiter_serve(w);
}
