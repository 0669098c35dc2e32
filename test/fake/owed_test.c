/* Pending releases: the node could not be reached, did not answer, or answered with an error. They
 * are retried until it answers or the key must have expired there; their number is bounded. So is
 * the LEAVE of a place in line: its turn would go to this client, which no longer wants it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake/five.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_dropped(struct five *f, void *data) {
    return five_stats(f).releases_dropped >= *(const uint64_t *)data;
}

/* The node goes away while the lock is held, and comes back with its key. */
static void repays_after_reconnecting(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    five_wait_count(&f, 2, "SET", 1);
    fake_node_refuse(f.nodes[2]);
    fake_node_drop(f.nodes[2], true);
    five_wait_node(&f, 2, false);
    assert_int_equal(five_release(&f, f.lock), 0);
    assert_int_equal(five_stats(&f).pending_releases, 1);
    assert_int_equal(five_info(&f, 2).pending_releases, 1);
    assert_int_equal(fake_node_keys(f.nodes[2]), 1);
    fake_node_listen(f.nodes[2]);
    five_wait_up(&f, FIVE);
    five_wait_repaid(&f);
    assert_int_equal(fake_node_keys(f.nodes[2]), 0);
    assert_int_equal(five_stats(&f).releases_retried, 1);
    assert_int_equal(five_stats(&f).releases_dropped, 0);
    five_stop(&f);
}

/* The release is on its way when the connection ends, before or after the node obeyed it. */
static void repays_what_was_not_answered(void **state) {
    (void)state;
    static const enum fake_action actions[] = {FAKE_RESET, FAKE_EXECUTE_RESET, FAKE_CLOSE,
                                               FAKE_EXECUTE_CLOSE, FAKE_CUT};
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    for (size_t i = 0; i < COUNT(actions); i++) {
        assert_int_equal(five_acquire(&f, f.lock), 0);
        five_wait_up(&f, FIVE);
        fake_node_rule(f.nodes[0],
                       (struct fake_rule){.command = "script", .times = 1, .action = actions[i]});
        assert_int_equal(five_release(&f, f.lock), 0);
        five_wait_down(&f, 0, (unsigned)i + 1, REDLOCK_ERR_NODE_DISCONNECTED);
        five_wait_up(&f, FIVE);
        five_wait_repaid(&f);
        assert_int_equal(five_stats(&f).releases_retried, i + 1);
        assert_int_equal(fake_node_keys(f.nodes[0]), 0);
    }
    five_stop(&f);
}

/* A retried release is harmless: by then another client may hold the lock. */
static void repays_without_touching_a_stranger(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    five_wait_count(&f, 4, "SET", 1);
    fake_node_refuse(f.nodes[4]);
    fake_node_drop(f.nodes[4], false);
    five_wait_node(&f, 4, false);
    assert_int_equal(five_release(&f, f.lock), 0);
    fake_node_put(f.nodes[4], FIVE_RESOURCE, "a stranger's", 0);
    fake_node_listen(f.nodes[4]);
    five_wait_up(&f, FIVE);
    five_wait_repaid(&f);
    assert_int_equal(fake_node_count(f.nodes[4], "script"), 1);
    assert_string_equal(fake_node_get(f.nodes[4], FIVE_RESOURCE), "a stranger's");
    f.may_keep = 1u << 4;
    five_stop(&f);
}

/* An error is no answer: again after a pause, on the same connection. */
static void repeats_after_an_error(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    five_wait_count(&f, 1, "SET", 1);
    fake_node_rule(f.nodes[1], (struct fake_rule){.command = "script",
                                                  .times = 2,
                                                  .action = FAKE_INSTEAD,
                                                  .bytes = "-MISCONF disk is full\r\n"});
    assert_int_equal(five_release(&f, f.lock), 0);
    five_wait_count(&f, 1, "script", 1);
    five_run_ms(&f, 20);
    assert_int_equal(five_stats(&f).pending_releases, 1);
    five_wait_repaid(&f);
    assert_int_equal(fake_node_count(f.nodes[1], "script"), 4); /* the third by a hash not known */
    assert_int_equal(fake_node_keys(f.nodes[1]), 0);
    assert_int_equal(fake_node_accepted(f.nodes[1]), 1);
    five_stop(&f);
}

/* A node that never obeys: given up when the key must have expired there, not asked for ever. */
static void gives_up_at_the_end_of_the_ttl(void **state) {
    (void)state;
    struct five f;
    struct five_done done = {0, 0};
    uint64_t one = 1;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    fake_node_rule(f.nodes[1], (struct fake_rule){.command = "script",
                                                  .action = FAKE_INSTEAD,
                                                  .bytes = "-NOPERM no permissions\r\n"});
    redlock_acquire_options options = five_one_try(&f);
    options.ttl_ms = 2500;
    assert_int_equal(redlock_acquire(f.lock, &options, five_on_lock, &done), 0);
    assert_int_equal(five_wait(&f, &done), 0);
    assert_int_equal(five_release(&f, f.lock), 0);
    assert_true(five_run_until(&f, is_dropped, &one));
    assert_int_equal(five_stats(&f).pending_releases, 0);
    assert_int_equal(fake_node_keys(f.nodes[1]), 0); /* its ttl is over there, too */
    size_t asked = fake_node_count(f.nodes[1], "script");
    assert_true(asked >= 2 && asked <= 8);
    five_run_ms(&f, 600);
    assert_int_equal(fake_node_count(f.nodes[1], "script"), asked);
    five_stop(&f);
}

/* However many are pending: the oldest are dropped, so memory is bounded. */
static void keeps_a_bounded_number(void **state) {
    (void)state;
    struct five f;
    enum { LOCKS = 4400, KEPT = 4096 };
    static redlock_lock *locks[LOCKS];
    five_start(&f);
    f.memory_cap = 24 << 20; /* the locks, and their keys on the fake nodes */
    assert_int_equal(five_open(&f), 0);
    for (int i = 0; i < LOCKS; i++) {
        char resource[16];
        int length = snprintf(resource, sizeof(resource), "r%d", i);
        assert_int_equal(redlock_lock_new(f.client, resource, (size_t)length, &locks[i]), 0);
        assert_int_equal(five_acquire(&f, locks[i]), 0);
    }
    five_wait_count(&f, 3, "SET", LOCKS);
    fake_node_refuse(f.nodes[3]);
    fake_node_drop(f.nodes[3], true);
    five_wait_node(&f, 3, false);
    for (int i = 0; i < LOCKS; i++) {
        redlock_lock_free(locks[i]); /* releases in the background */
    }
    assert_int_equal(five_stats(&f).pending_releases, KEPT);
    assert_int_equal(five_stats(&f).releases_dropped, LOCKS - KEPT);
    fake_node_listen(f.nodes[3]);
    five_wait_up(&f, FIVE);
    five_wait_repaid(&f);
    assert_int_equal(five_stats(&f).releases_retried, KEPT);
    assert_int_equal(fake_node_keys(f.nodes[3]), LOCKS - KEPT);
    assert_int_equal(five_stats(&f).locks, 1);
    f.may_keep = 1u << 3; /* those that were given up end by their ttl */
    five_stop(&f);
}

/* Closing waits for pending releases and for answers at most for node_timeout_ms. */
static void closes_with_debts(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    f.options.node_timeout_ms = 100;
    assert_int_equal(five_open(&f), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    five_wait_count(&f, 0, "SET", 1);
    fake_node_refuse(f.nodes[0]);
    fake_node_drop(f.nodes[0], true);
    five_wait_node(&f, 0, false);
    fake_node_pause(f.nodes[1]);
    f.may_keep = 1u << 0 | 1u << 1;
    struct spent since = spent_begin();
    five_stop(&f);
    assert_true(uv_hrtime() - since.at_ns >= 99000000);
    assert_true(spent_ms(&since) < 2000);
}

/* Closing with a lock held releases it everywhere first. */
static void closes_with_a_held_lock(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    five_stop(&f);
    assert_int_equal(f.lost.calls, 0);
}

/* -- A place in line -- */

#define STRANGER "a stranger's"

static bool has_line(const struct five *f, size_t node) {
    static const char line[] = "libredlock:line:{" FIVE_RESOURCE "}";
    const struct server *server = fake_node_server(f->nodes[node]);
    struct server_member member;
    return server_line_at(server_keys_find(&server->keys, 0, line, sizeof(line) - 1), 0, &member);
}

/* On the node that is wanted, or on any: FIVE. */
static bool stands(struct five *f, void *data) {
    size_t *node = data;
    size_t end = *node < FIVE ? *node + 1 : FIVE;
    for (size_t i = *node < FIVE ? *node : 0; i < end; i++) {
        if (has_line(f, i)) {
            *node = i;
            return true;
        }
    }
    return false;
}

static bool stands_nowhere(struct five *f, void *data) {
    size_t any = FIVE;
    (void)data;
    return !stands(f, &any);
}

/* The lock is another client's; ours waits. Returns its home. */
static size_t begin_to_wait(struct five *f, struct five_done *done) {
    size_t home = FIVE;
    redlock_acquire_options options = five_one_try(f);
    options.tries = options.wait_ms = REDLOCK_NO_LIMIT;
    five_start(f);
    f->may_keep = (1u << FIVE) - 1; /* the stranger's */
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_put(f->nodes[i], FIVE_RESOURCE, STRANGER, 0);
    }
    assert_int_equal(five_open(f), 0);
    *done = (struct five_done){0, 0};
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, done), 0);
    assert_true(five_run_until(f, stands, &home));
    return home;
}

static void give_up(struct five *f, const struct five_done *done) {
    assert_int_equal(redlock_cancel(f->lock), 0);
    assert_int_equal(five_wait(f, done), REDLOCK_ERR_CANCELED);
}

/* Home goes, the client waits at the next one, and gives up there. */
static size_t lose_home_and_give_up(struct five *f, struct five_done *done) {
    size_t home = begin_to_wait(f, done);
    fake_node_refuse(f->nodes[home]);
    fake_node_drop(f->nodes[home], true);
    five_wait_node(f, home, false);
    give_up(f, done);
    return home;
}

static void leaves_its_place_after_reconnecting(void **state) {
    (void)state;
    struct five f;
    struct five_done done;
    size_t home = lose_home_and_give_up(&f, &done);
    assert_true(has_line(&f, home));
    fake_node_listen(f.nodes[home]);
    five_wait_up(&f, FIVE);
    assert_true(five_run_until(&f, stands_nowhere, NULL));
    five_stop(&f);
}

/* The LEAVE is on its way when the connection ends, before or after the node obeyed it. */
static void leaves_a_place_again_that_may_stand(void **state) {
    (void)state;
    static const enum fake_action actions[] = {FAKE_RESET, FAKE_EXECUTE_RESET};
    for (size_t i = 0; i < COUNT(actions); i++) {
        struct five f;
        struct five_done done;
        size_t home = begin_to_wait(&f, &done);
        fake_node_rule(f.nodes[home],
                       (struct fake_rule){.command = "script", .times = 1, .action = actions[i]});
        give_up(&f, &done);
        five_wait_down(&f, home, 1, REDLOCK_ERR_NODE_DISCONNECTED);
        size_t asked = fake_node_count(f.nodes[home], "script");
        five_wait_up(&f, FIVE);
        five_wait_count(&f, home, "script", asked + 1);
        assert_true(five_run_until(&f, stands_nowhere, NULL));
        five_stop(&f);
    }
}

/* A lock that is gone, and a client that goes, while the LEAVE is pending: it is dropped, since
 * nobody hears of a turn any more. */
static void closes_with_a_place_that_was_left(void **state) {
    (void)state;
    struct five f;
    struct five_done done;
    size_t home = lose_home_and_give_up(&f, &done);
    redlock_lock_free(f.lock);
    f.lock = NULL;
    assert_true(has_line(&f, home));
    five_stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repays_after_reconnecting),
        cmocka_unit_test(repays_what_was_not_answered),
        cmocka_unit_test(repays_without_touching_a_stranger),
        cmocka_unit_test(repeats_after_an_error),
        cmocka_unit_test(gives_up_at_the_end_of_the_ttl),
        cmocka_unit_test(keeps_a_bounded_number),
        cmocka_unit_test(closes_with_debts),
        cmocka_unit_test(closes_with_a_held_lock),
        cmocka_unit_test(leaves_its_place_after_reconnecting),
        cmocka_unit_test(leaves_a_place_again_that_may_stand),
        cmocka_unit_test(closes_with_a_place_that_was_left),
    };
    return cmocka_run_group_tests_name("owed", tests, NULL, NULL);
}
