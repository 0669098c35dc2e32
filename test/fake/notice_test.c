/* Notices: a lock that waits is woken by what the nodes publish, and by nothing else. The pause
 * between two attempts is an hour in most of these tests, so that whoever acquires was woken. The
 * nodes' messages are published by hand; that a release publishes is shown by the live tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake/five.h"

#define CHANNEL "redlock:" FIVE_RESOURCE
#define HOUR_MS 3600000
#define QUORUM 3

struct scene {
    struct five f;
    redlock_lock *waiter;
    struct five_done acquired;
    size_t listened, deaf; /* events */
    size_t notices;
    int deaf_status;
};

static void on_event(const redlock_event *event, void *data) {
    struct scene *s = data;
    s->notices += event->type == REDLOCK_EVENT_NOTICE;
    s->listened += event->type == REDLOCK_EVENT_LISTEN_UP;
    if (event->type == REDLOCK_EVENT_LISTEN_DOWN) {
        s->deaf++;
        s->deaf_status = event->status;
    }
}

static redlock_lock *notified(struct scene *s, const char *resource) {
    redlock_lock *lock = NULL;
    redlock_bytes bytes = {resource, strlen(resource)};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    options.resources = &bytes;
    options.n_resources = 1;
    options.notify = 1;
    assert_int_equal(redlock_lock_new_with(s->f.client, &options, &lock, NULL, 0), 0);
    return lock;
}

/* Somebody else holds the lock on n nodes. */
static void hold(struct scene *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fake_node_put(s->f.nodes[i], FIVE_RESOURCE, "somebody", HOUR_MS);
    }
}

static void let_go(struct scene *s) {
    for (size_t i = 0; i < FIVE; i++) {
        fake_redis_forget_keys(fake_node_redis(s->f.nodes[i]));
    }
}

static void publish(struct scene *s, size_t first, size_t last) {
    for (size_t i = first; i <= last; i++) {
        fake_node_publish(s->f.nodes[i], CHANNEL, "");
    }
}

static void start(struct scene *s) {
    memset(s, 0, sizeof(*s));
    five_start(&s->f);
    s->f.options.trace = on_event;
    s->f.options.trace_data = s;
    assert_int_equal(five_open(&s->f), 0);
    five_wait_up(&s->f, FIVE);
    s->waiter = notified(s, FIVE_RESOURCE);
}

static void wait_for_lock(struct scene *s, int64_t delay_ms) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = delay_ms;
    options.jitter_ms = 0;
    options.tie_break = 0; /* ask all nodes each time */
    s->acquired = (struct five_done){0, 0};
    assert_int_equal(redlock_acquire(s->waiter, &options, five_on_lock, &s->acquired), 0);
}

/* -- Conditions -- */

struct count {
    const struct scene *s;
    size_t wanted;
};

static size_t confirmed(const struct scene *s, const char *channel) {
    size_t n = 0;
    for (size_t i = 0; i < FIVE; i++) {
        n += fake_node_listeners(s->f.nodes[i], channel) == 1;
    }
    return n;
}

static bool are_listening(struct five *f, void *data) {
    const struct count *count = data;
    return f != NULL && confirmed(count->s, CHANNEL) == count->wanted;
}

static void until_listening(struct scene *s, size_t n) {
    struct count count = {s, n};
    assert_true(five_run_until(&s->f, are_listening, &count));
}

static bool have_tried(struct five *f, void *data) {
    const struct count *count = data;
    return five_stats(f).attempts >= count->wanted;
}

static void until_tried(struct scene *s, size_t n) {
    struct count count = {s, n};
    assert_true(five_run_until(&s->f, have_tried, &count));
    five_wait_repaid(&s->f);
}

static void must_not_try(struct scene *s) {
    uint64_t before = five_stats(&s->f).attempts;
    five_run_ms(&s->f, 60);
    assert_int_equal(five_stats(&s->f).attempts, before);
    assert_int_equal(s->acquired.calls, 0);
}

/* Held by another; waits, listens everywhere, has tried once more upon the confirmations. */
static void start_waiting(struct scene *s) {
    start(s);
    hold(s, FIVE);
    wait_for_lock(s, HOUR_MS);
    until_listening(s, FIVE);
    until_tried(s, 2);
    must_not_try(s);
}

static void end(struct scene *s) {
    let_go(s);
    five_stop(&s->f);
}

/* -- Waking -- */

static void is_woken_by_a_quorum(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_set_fragment(s.f.nodes[i], 1); /* each byte by itself */
    }
    let_go(&s);
    publish(&s, 0, QUORUM - 2);
    must_not_try(&s); /* a minority is what a failed attempt has, not a holder */
    publish(&s, QUORUM - 1, QUORUM - 1);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    assert_int_equal(five_stats(&s.f).attempts, 3);
    assert_int_equal(s.notices, 2);
    assert_int_equal(five_release(&s.f, s.waiter), 0);
    end(&s);
}

static void counts_a_node_once(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    for (int i = 0; i < 10; i++) {
        publish(&s, 1, 2);
    }
    must_not_try(&s);
    end(&s);
}

static void forgets_what_came_before_an_attempt(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    publish(&s, 0, 1);
    publish(&s, 2, 2); /* still held: the attempt fails */
    until_tried(&s, 3);
    publish(&s, 3, 4);
    must_not_try(&s);
    let_go(&s);
    publish(&s, 0, 0);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    end(&s);
}

/* Released between the failed attempt and the confirmations: nothing is heard of it. */
static void tries_once_more_when_it_begins_to_listen(void **state) {
    struct scene s;
    (void)state;
    start(&s);
    hold(&s, FIVE);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_rule(
            s.f.nodes[i],
            (struct fake_rule){.command = "SUBSCRIBE", .action = FAKE_ANSWER, .delay_ms = 80});
    }
    wait_for_lock(&s, HOUR_MS);
    five_wait_count(&s.f, 4, "SUBSCRIBE", 1);
    let_go(&s);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    assert_int_equal(five_stats(&s.f).attempts, 2);
    end(&s);
}

/* The messages come while the answers to an attempt that was too early are still out. */
static void remembers_what_comes_during_an_attempt(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_rule(s.f.nodes[i],
                       (struct fake_rule){
                           .command = "SET", .times = 1, .action = FAKE_ANSWER, .delay_ms = 100});
    }
    publish(&s, 0, 4);
    five_wait_count(&s.f, 4, "SET", 3); /* refused, and the answer is on its way */
    let_go(&s);
    publish(&s, 0, 4);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    assert_int_equal(five_stats(&s.f).attempts, 4);
    end(&s);
}

static void costs_nothing_without_contention(void **state) {
    struct scene s;
    (void)state;
    start(&s);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(five_acquire(&s.f, s.waiter), 0);
        assert_int_equal(five_release(&s.f, s.waiter), 0);
    }
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_accepted(s.f.nodes[i]), 1);
    }
    assert_int_equal(s.listened, 0);
    end(&s);
}

/* -- Nodes that do not play along -- */

static void forbid(struct scene *s, size_t first, size_t last) {
    for (size_t i = first; i <= last; i++) {
        fake_node_rule(s->f.nodes[i], (struct fake_rule){.command = "SUBSCRIBE",
                                                         .action = FAKE_INSTEAD,
                                                         .bytes = "-NOPERM no channels\r\n"});
    }
}

static void polls_where_it_may_not_listen(void **state) {
    struct scene s;
    (void)state;
    start(&s);
    hold(&s, FIVE);
    forbid(&s, 0, 4);
    wait_for_lock(&s, 10);
    until_tried(&s, 8);
    assert_int_equal(s.deaf, FIVE);
    assert_int_equal(s.deaf_status, REDLOCK_ERR_NODE_PERMISSION);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_accepted(s.f.nodes[i]), 2); /* not again and again */
        assert_int_equal(five_info(&s.f, i).up, 1);
    }
    let_go(&s);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    assert_int_equal(s.notices, 0);
    end(&s);
}

static void makes_do_with_those_that_it_hears(void **state) {
    struct scene s;
    (void)state;
    start(&s);
    hold(&s, FIVE);
    forbid(&s, 0, 2);
    wait_for_lock(&s, HOUR_MS);
    until_listening(&s, 2);
    must_not_try(&s); /* no quorum has confirmed */
    let_go(&s);
    publish(&s, 3, 3);
    must_not_try(&s);
    publish(&s, 4, 4);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    end(&s);
}

static bool has_heard_again(struct five *f, void *data) {
    const struct count *count = data;
    return f != NULL && count->s->listened >= FIVE + count->wanted &&
           confirmed(count->s, CHANNEL) == FIVE;
}

/* Each connection that listens is lost; what was said meanwhile was not heard, so it tries. */
static void listens_again_after_a_loss(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_drop_listeners(s.f.nodes[i], i % 2 == 0);
    }
    until_tried(&s, 3);
    struct count all = {&s, FIVE};
    assert_true(five_run_until(&s.f, has_heard_again, &all));
    assert_int_equal(s.deaf, FIVE);
    assert_int_equal(s.listened, 2 * FIVE);
    must_not_try(&s);
    struct count count = {&s, FIVE + 1};
    fake_node_drop_listeners(s.f.nodes[0], false); /* of a minority: no reason to try */
    assert_true(five_run_until(&s.f, has_heard_again, &count));
    must_not_try(&s);
    let_go(&s);
    publish(&s, 0, 2);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    end(&s);
}

/* What a listening connection says costs that connection and no vote. */
static void hostile_bytes_cost_that_connection_only(void **state) {
    static const char *const payloads[] = {
        "+OK\r\n",
        "*2147483647\r\n",
        "*3\r\n$7\r\nmessage\r\n$15\r\nredlock:another\r\n$0\r\n\r\n",
        "*3\r\n$11\r\nunsubscribe\r\n$14\r\n" CHANNEL "\r\n:0\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$14\r\n" CHANNEL "\r\n:1\r\n",
        "*3\r\n$7\r\nmessage\r\n$8\r\nredlock:\r\n$0\r\n\r\n",
    };
    struct scene s;
    (void)state;
    start_waiting(&s);
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        struct count count = {&s, i + 1};
        fake_node_send_listeners(s.f.nodes[0], payloads[i], strlen(payloads[i]));
        if (!five_run_until(&s.f, has_heard_again, &count)) {
            fail_msg("heard: %s", payloads[i]);
        }
        assert_int_equal(s.deaf_status, REDLOCK_ERR_NODE_PROTOCOL);
    }
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(five_info(&s.f, i).connects, 1);
        assert_int_equal(s.f.downs[i].times, 0);
    }
    assert_int_equal(s.deaf, sizeof(payloads) / sizeof(payloads[0]));
    let_go(&s);
    publish(&s, 0, 2);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    end(&s);
}

/* A node that goes takes its listening connection along, and is listened to when it is back. */
static void follows_the_nodes(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    fake_node_refuse(s.f.nodes[0]);
    fake_node_drop(s.f.nodes[0], true);
    five_wait_up(&s.f, FIVE - 1);
    must_not_try(&s);
    fake_node_listen(s.f.nodes[0]);
    until_listening(&s, FIVE);
    let_go(&s);
    publish(&s, 2, 4);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    end(&s);
}

/* -- Coming and going -- */

static bool nobody_listens(struct five *f, void *data) {
    const struct scene *s = data;
    size_t connections = 0;
    for (size_t i = 0; i < FIVE; i++) {
        connections += fake_node_connections(f->nodes[i]);
    }
    return confirmed(s, NULL) == 0 && connections == FIVE;
}

/* A loop of acquires finds its connections in place; seconds after the last they are closed. */
static void lingers(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(redlock_cancel(s.waiter), 0);
        assert_int_equal(five_wait(&s.f, &s.acquired), REDLOCK_ERR_CANCELED);
        wait_for_lock(&s, HOUR_MS);
        until_tried(&s, 3 + i);
        must_not_try(&s);
    }
    assert_int_equal(redlock_cancel(s.waiter), 0);
    assert_int_equal(five_wait(&s.f, &s.acquired), REDLOCK_ERR_CANCELED);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_accepted(s.f.nodes[i]), 2);
        assert_int_equal(fake_node_count(s.f.nodes[i], "SUBSCRIBE"), 1);
    }
    assert_int_equal(confirmed(&s, CHANNEL), FIVE);
    assert_true(five_run_until(&s.f, nobody_listens, &s));
    assert_int_equal(fake_node_count(s.f.nodes[0], "UNSUBSCRIBE"), 0);
    wait_for_lock(&s, HOUR_MS); /* and again from the beginning */
    until_listening(&s, FIVE);
    let_go(&s);
    publish(&s, 0, 2);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    end(&s);
}

static bool is_left(struct five *f, void *data) {
    return f != NULL && confirmed(data, CHANNEL) == 0;
}

/* With another resource waited for, only the channel is given up; and it can be had again at any
 * time, also while the answer to UNSUBSCRIBE is out. */
static void unsubscribes(void **state) {
    struct scene s;
    struct five_done other_done = {0, 0};
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    (void)state;
    start(&s);
    redlock_lock *other = notified(&s, "other");
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_put(s.f.nodes[i], "other", "somebody", HOUR_MS);
        fake_node_rule(
            s.f.nodes[i],
            (struct fake_rule){
                .command = "UNSUBSCRIBE", .times = 1, .action = FAKE_ANSWER, .delay_ms = 50});
    }
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = HOUR_MS;
    assert_int_equal(redlock_acquire(other, &options, five_on_lock, &other_done), 0);
    hold(&s, FIVE);
    wait_for_lock(&s, HOUR_MS);
    until_listening(&s, FIVE);
    until_tried(&s, 4);
    assert_int_equal(redlock_cancel(s.waiter), 0);
    assert_int_equal(five_wait(&s.f, &s.acquired), REDLOCK_ERR_CANCELED);
    assert_true(five_run_until(&s.f, is_left, &s));
    assert_int_equal(fake_node_connections(s.f.nodes[0]), 2);
    wait_for_lock(&s, HOUR_MS);
    until_listening(&s, FIVE);
    assert_int_equal(s.deaf, 0);
    until_tried(&s, 6);
    let_go(&s);
    publish(&s, 0, 2);
    assert_int_equal(five_wait(&s.f, &s.acquired), 0);
    redlock_lock_free(other);
    assert_int_equal(five_wait(&s.f, &other_done), REDLOCK_ERR_CANCELED);
    end(&s);
}

static void is_freed_while_it_listens(void **state) {
    struct scene s;
    (void)state;
    start_waiting(&s);
    redlock_lock_free(s.waiter);
    assert_int_equal(five_wait(&s.f, &s.acquired), REDLOCK_ERR_CANCELED);
    publish(&s, 0, 4); /* nobody is there any more */
    five_run_ms(&s.f, 20);
    assert_int_equal(s.deaf, 0);
    end(&s);
}

/* At each stage of beginning to listen: five_stop() looks for what is left. */
static void closes_at_every_moment(void **state) {
    (void)state;
    for (int turns = 0; turns < 12; turns++) {
        struct scene s;
        start(&s);
        hold(&s, FIVE);
        wait_for_lock(&s, HOUR_MS);
        for (int i = 0; i < turns; i++) {
            uv_run(&s.f.loop, UV_RUN_NOWAIT);
        }
        end(&s);
        assert_int_equal(s.acquired.calls, 1);
        assert_int_equal(s.acquired.status, REDLOCK_ERR_CANCELED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_woken_by_a_quorum),
        cmocka_unit_test(counts_a_node_once),
        cmocka_unit_test(forgets_what_came_before_an_attempt),
        cmocka_unit_test(tries_once_more_when_it_begins_to_listen),
        cmocka_unit_test(remembers_what_comes_during_an_attempt),
        cmocka_unit_test(costs_nothing_without_contention),
        cmocka_unit_test(polls_where_it_may_not_listen),
        cmocka_unit_test(makes_do_with_those_that_it_hears),
        cmocka_unit_test(listens_again_after_a_loss),
        cmocka_unit_test(hostile_bytes_cost_that_connection_only),
        cmocka_unit_test(follows_the_nodes),
        cmocka_unit_test(lingers),
        cmocka_unit_test(unsubscribes),
        cmocka_unit_test(is_freed_while_it_listens),
        cmocka_unit_test(closes_at_every_moment),
    };
    return cmocka_run_group_tests_name("notice", tests, NULL, NULL);
}
