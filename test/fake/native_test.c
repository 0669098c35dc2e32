/* Releases by DELIFEQ or DELEX, where a node has one of them: detected after the first release,
 * used from then on, replaced by the script if the node refuses it. Home's release is always a
 * script, so four of the five nodes may use the command. */

#include "fake/five.h"
#include "marks.h"

/* Nodes of both kinds. */
static void start(struct five *f) {
    five_start(f);
    f->options.guard = REDLOCK_GUARD_OBSERVED;
    for (size_t i = 0; i < FIVE; i++) {
        struct server *server = fake_node_server(f->nodes[i]);
        server->native = i % 2 == 0 ? SERVER_DELIFEQ : SERVER_DELEX;
        server->words = i % 2 == 0 ? SERVER_VALKEY : SERVER_REDIS_8;
    }
}

#define NATIVE_TEST(name) TEST_ON(name, struct five, f, start, five_stop)
#define NATIVE_EACH(name, times) TEST_ON_EACH(name, times, struct five, f, start, five_stop)

static size_t count(struct five *f, const char *command) {
    size_t n = 0;
    for (size_t i = 0; i < FIVE; i++) {
        n += fake_node_count(f->nodes[i], command);
    }
    return n;
}

/* What each node does with its command. */
static void native_rule(struct five *f, size_t i, struct fake_rule rule) {
    rule.command = i % 2 == 0 ? "DELIFEQ" : "DELEX";
    fake_node_rule(f->nodes[i], rule);
}

static size_t count_native(struct five *f) {
    return count(f, "DELIFEQ") + count(f, "DELEX");
}

/* All have answered, and no node has a key. */
static void cycle(struct five *f) {
    five_cycle(f);
    five_wait_repaid(f);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_keys(f->nodes[i]), 0);
    }
}

static void open_and_try(struct five *f) {
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    cycle(f);
}

static void forbid(struct five *f) {
    for (size_t i = 0; i < FIVE; i++) {
        struct server_user *user = server_add_user(fake_node_server(f->nodes[i]), "default", NULL);
        server_deny(user, "delifeq");
        server_deny(user, "delex");
    }
}

NATIVE_TEST(releases_as_each_node_can) {
    MARK_FROM(RELEASES_NATIVELY);
    open_and_try(f);
    assert_int_equal(count(f, "script"), 5); /* the script first */
    assert_int_equal(count_native(f), 4);
    cycle(f); /* ends when all nodes have answered its acquire and release */
    MARK_TO(RELEASES_NATIVELY);
    const size_t scripts = count(f, "script"), native = count_native(f);
    cycle(f);
    cycle(f);
    assert_int_equal(count(f, "script"), scripts + 2); /* home */
    assert_int_equal(count_native(f), native + 8);
    assert_int_equal(five_stats(f).releases_retried, 0);
}

/* The client does not try the command on a node whose version is older, or unknown. */
NATIVE_EACH(tries_nothing_without_a_promise, 2) {
    f->options.guard = row == 0 ? REDLOCK_GUARD_OBSERVED : REDLOCK_GUARD_OFF;
    for (size_t i = 0; row == 0 && i < FIVE; i++) {
        struct server *server = fake_node_server(f->nodes[i]);
        const bool is_valkey = server->words == SERVER_VALKEY;
        server_set_info(server, is_valkey ? "valkey_version" : "redis_version",
                        is_valkey ? "8.1.9" : "8.3.9");
    }
    open_and_try(f);
    cycle(f);
    assert_int_equal(count(f, "INFO") > 0, row == 0);
    assert_int_equal(count_native(f), 0);
    assert_int_equal(count(f, "script"), 10);
}

/* The user's ACL lists its commands: each connection tries the command once, after a release that
 * has run, and no release is late. */
NATIVE_TEST(stays_with_scripts_where_it_may_not) {
    forbid(f);
    open_and_try(f);
    cycle(f);
    cycle(f);
    assert_int_equal(count_native(f), 4);
    assert_int_equal(count(f, "script"), 15);
    assert_int_equal(five_stats(f).releases_retried, 0);
    for (size_t i = 0; i < FIVE; i++) {
        server_allow_all(server_add_user(fake_node_server(f->nodes[i]), "default", NULL));
        fake_node_drop(f->nodes[i], true);
    }
    for (size_t i = 0; i < FIVE; i++) {
        five_wait_down(f, i, 1, REDLOCK_ERR_NODE_DISCONNECTED);
    }
    five_wait_up(f, FIVE);
    cycle(f);
    cycle(f);
    cycle(f);
    assert_true(count_native(f) > 4 + 4); /* detected again */
}

static const struct {
    const char *bytes;
    bool lasts;
} refusals[] = {
    {"-ERR unknown command 'DELIFEQ', with args beginning with: 'orders' \r\n", true},
    {"-NOPERM User default has no permissions to run the 'delex' command\r\n", true},
    {"-READONLY You can't write against a read only replica.\r\n", false},
    {"-MISCONF Redis is configured to save RDB snapshots\r\n", false},
    {"-NOSCRIPT what?\r\n", true},
};

/* Whatever the error is, the script is sent at once, and its answer counts: no node counts as
 * changed, and no release is pending. Afterwards the command is used again, unless the error is
 * permanent. */
NATIVE_EACH(sends_the_script_when_it_is_refused, COUNT(refusals)) {
    MARK_FROM(NATIVE_REFUSED);
    open_and_try(f);
    cycle(f);
    for (size_t i = 0; i < FIVE; i++) {
        native_rule(
            f, i,
            (struct fake_rule){.times = 1, .action = FAKE_INSTEAD, .bytes = refusals[row].bytes});
    }
    size_t scripts = count(f, "script"), native = count_native(f);
    cycle(f);
    assert_int_equal(count_native(f), native + 4);
    assert_int_equal(count(f, "script"), scripts + 5);
    cycle(f);
    assert_int_equal(count_native(f), native + (refusals[row].lasts ? 4 : 8));
    assert_int_equal(five_stats(f).releases_retried, 0);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(five_info(f, i).connects, 1);
    }
    MARK_TO(NATIVE_REFUSED);
}

/* A key of another type is not ours; either server's error is understood, and nothing is sent
 * again. */
NATIVE_TEST(leaves_a_key_of_another_type) {
    static const char *const rows[] = {
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
        "-ERR Key should be of string type if conditions are specified\r\n"};
    open_and_try(f);
    cycle(f);
    assert_int_equal(five_acquire(f, f->lock), 0);
    for (size_t i = 0; i < FIVE; i++) {
        struct server *server = fake_node_server(f->nodes[i]);
        server_remove(server, 0, FIVE_RESOURCE, strlen(FIVE_RESOURCE));
        native_rule(f, i,
                    (struct fake_rule){.times = 1, .action = FAKE_INSTEAD, .bytes = rows[i % 2]});
    }
    const size_t scripts = count(f, "script"), native = count_native(f);
    five_release(f, f->lock);
    five_wait_repaid(f);
    assert_int_equal(count(f, "script"), scripts + 1);
    assert_int_equal(count_native(f), native + 4);
    cycle(f);
    assert_int_equal(count_native(f), native + 8);
}

static const char *const odd_answers[] = {"+OK\r\n", "$-1\r\n", ":7\r\n", "$2\r\nhi\r\n"};

/* A node whose answer to the trial Redis would not give stays usable. */
NATIVE_EACH(lives_with_an_odd_answer_to_the_trial, COUNT(odd_answers)) {
    for (size_t i = 0; i < FIVE; i++) {
        native_rule(f, i, (struct fake_rule){.action = FAKE_INSTEAD, .bytes = odd_answers[row]});
    }
    open_and_try(f);
    cycle(f);
    assert_int_equal(count_native(f), 4);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(five_info(f, i).connects, 1);
    }
}

static void drop_all(struct five *f) {
    for (size_t i = 0; i < FIVE; i++) {
        const unsigned times = f->downs[i].times + 1;
        fake_node_drop(f->nodes[i], true);
        five_wait_down(f, i, times, REDLOCK_ERR_NODE_DISCONNECTED);
    }
    five_wait_up(f, FIVE);
}

/* Waits until each node but home has gone down for the nth time, now because of the trial. */
static void wait_for_the_trials(struct five *f, unsigned nth) {
    size_t order[FIVE];
    five_homes(f, order);
    for (size_t rank = 1; rank < FIVE; rank++) {
        five_wait_down(f, order[rank], nth, REDLOCK_ERR_NODE_DISCONNECTED);
    }
    five_wait_up(f, FIVE);
}

/* A proxy ends every connection on which it sees an unknown command: that costs a connection now
 * and then, not one for each release. */
NATIVE_TEST(seldom_tries_what_ends_the_connection) {
    for (size_t i = 0; i < FIVE; i++) {
        native_rule(f, i, (struct fake_rule){.action = FAKE_CLOSE});
    }
    MARK_FROM(TRIAL_LOST);
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    five_cycle(f);
    wait_for_the_trials(f, 1);
    for (int i = 0; i < 4; i++) {
        cycle(f);
    }
    assert_int_equal(count_native(f), 4);
    drop_all(f);
    five_cycle(f);
    wait_for_the_trials(f, 3);
    MARK_TO(TRIAL_LOST);
    for (int i = 0; i < 3; i++) {
        cycle(f);
        assert_int_equal(count_native(f), 8);
        drop_all(f);
    }
    assert_int_equal(five_stats(f).releases_retried, 0);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_clear_rules(f->nodes[i]);
    }
    cycle(f);
    cycle(f);
    assert_int_equal(count_native(f), 16);
}
