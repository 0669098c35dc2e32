/* Credentials that are set on an open client, and servers that do more than refuse them: they hang
 * up, send unrequested replies, forget a connection, or are stopped while AUTH is outstanding. Each
 * test holds a lock, which must not be lost. */

#include "client/state.h"
#include "fake/rotating.h"
#include "nodes/listening.h"

#define WRONGPASS "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

/* -- Servers that hang up on a refusal -- */

static const enum fake_action hang_ups[] = {FAKE_CLOSE, FAKE_RESET};

/* The server hangs up on the newer credentials, and again on the next connection; the one after
 * that uses the old ones and stays. */
ROTATING_EACH(hangs_up_on_the_newer_ones, COUNT(hang_ups)) {
    struct fake_rule twice = {.command = "AUTH",
                              .times = 2,
                              .action = hang_ups[row],
                              .bytes = row == 0 ? WRONGPASS : NULL};
    fake_node_rule(f->nodes[1], twice);
    rotating_set(f, 1, "new");
    rotating_wait(f, 1, row == 0 ? REDLOCK_ERR_NODE_AUTH : REDLOCK_ERR_NODE_DOWN, 2);
    five_run_ms(f, 20);
    assert_int_equal(five_info(f, 1).connects, 2); /* it stays up with the old ones */
    rotating_know(f, 1, "new");
    rotating_set(f, 1, "new");
    rotating_wait(f, 1, 0, 2);
}

/* AUTH is not written until everything sent before it is answered: behind an unanswered command
 * some servers do not answer a refused AUTH, and each later answer would be matched to the wrong
 * command. */
FIVE_TEST(waits_for_what_was_sent_before) {
    struct five_done done = {0, 0};
    rotating_prepare(f, "old");
    f->options.node_timeout_ms = 500;
    rotating_open(f);
    five_rule(f, 1, .command = "extend", .times = 1, .action = FAKE_IGNORE);
    assert_int_equal(redlock_extend(f->lock, 0, five_on_lock, &done), 0);
    five_wait_count(f, 1, "extend", 1);
    rotating_set(f, 1, "new");
    assert_int_equal(five_wait(f, &done), 0);
    five_run_ms(f, 50);
    rotating_know(f, 1, "new");
    five_wait_down(f, 1, 1, REDLOCK_ERR_NODE_TIMEOUT); /* the extend was never answered */
    assert_int_equal(fake_node_count(f->nodes[1], "AUTH"), 1);
    rotating_wait(f, 1, 0, 2);
    assert_int_equal(fake_node_count(f->nodes[1], "AUTH"), 2);
    rotating_check(f);
}

/* -- Servers that were only stopped -- */

/* The node's commands of this name, the nth from the end: "AUTH app new". */
static const char *nth_last(struct five *f, size_t index, const char *command, size_t nth) {
    size_t at = fake_node_count(f->nodes[index], NULL);
    while (at > 0) {
        const char *line = fake_node_log(f->nodes[index], --at);
        if (strncmp(line, command, strlen(command)) == 0 && --nth == 0) {
            return line;
        }
    }
    return "";
}

static const enum fake_action cuts[] = {FAKE_CLOSE, FAKE_RESET, FAKE_IGNORE};

/* A handshake happens to be cut while the newer credentials are outstanding: the next handshake
 * uses the old ones, and the newer ones are sent once it is up. The old ones stay valid, so nothing
 * else would cause that. */
FIVE_EACH(a_cut_by_chance, COUNT(cuts)) {
    rotating_prepare(f, "old");
    f->options.connect_timeout_ms = 500;
    rotating_open(f);
    server_add_user(fake_node_server(f->nodes[1]), "app2", "two");
    fake_node_refuse(f->nodes[1]);
    fake_node_drop(f->nodes[1], false);
    five_wait_node(f, 1, false);
    assert_int_equal(redlock_client_set_credentials(f->client, 1, "app2", "two"), 0);
    five_rule(f, 1, .command = "AUTH", .times = 1, .action = cuts[row]);
    fake_node_listen(f->nodes[1]);
    rotating_wait(f, 1, 0, 2);
    assert_string_equal(nth_last(f, 1, "AUTH", 3), "AUTH app2 two");
    assert_string_equal(nth_last(f, 1, "AUTH", 2), "AUTH app old");
    assert_string_equal(nth_last(f, 1, "AUTH", 1), "AUTH app2 two");
    assert_int_equal(five_info(f, 1).connects, 2);
    rotating_check(f);
}

static bool has_accepted(struct five *f, void *data) {
    return fake_node_accepted(f->nodes[1]) >= *(const size_t *)data;
}

/* The server sends an unrequested OK, which ends the connection. Once it behaves, valid credentials
 * are tried again. */
ROTATING_TEST(says_ok_before_it_is_asked) {
    fake_node_set_greeting(f->nodes[1], "+OK\r\n", false);
    fake_node_drop(f->nodes[1], true);
    rotating_set(f, 1, "new");
    size_t accepted = fake_node_accepted(f->nodes[1]) + 3;
    assert_true(five_run_until(f, has_accepted, &accepted));
    assert_false(five_info(f, 1).up);
    fake_node_set_greeting(f->nodes[1], NULL, false);
    rotating_know(f, 1, "newest");
    rotating_set(f, 1, "newest");
    rotating_wait(f, 1, 0, 2);
}

/* -- The node does not know the connection any more -- */

static void fail_extensions(struct five *f, unsigned times) {
    five_rule(f, 1, .command = "extend", .times = times, .action = FAKE_INSTEAD,
              .bytes = "-NOAUTH Authentication required.\r\n");
    for (unsigned i = 0; i < times; i++) {
        assert_int_equal(five_extend(f, f->lock), 0);
        five_wait_repaid(f);
    }
}

/* After NOAUTH, credentials that were refused and are valid by now are sent again, but not after
 * every NOAUTH. */
FIVE_TEST(noauth_on_a_connection_that_was_let_in) {
    rotating_prepare(f, "old");
    f->options.reconnect_max_ms = 600000;
    rotating_open(f);
    rotating_set(f, 1, "new");
    rotating_wait(f, 1, REDLOCK_ERR_NODE_AUTH, 1);
    rotating_know(f, 1, "new");
    fail_extensions(f, 1);
    rotating_wait(f, 1, 0, 1);
    assert_int_equal(fake_node_count(f->nodes[1], "AUTH"), 3); /* old, new, new */
    fail_extensions(f, 1);                                     /* there are no newer ones */
    rotating_set(f, 1, "wrong");
    rotating_wait(f, 1, REDLOCK_ERR_NODE_AUTH, 1);
    fail_extensions(f, 5);
    assert_int_equal(fake_node_count(f->nodes[1], "AUTH"), 4);
    assert_int_equal(five_info(f, 1).connects, 1);
    rotating_check(f);
}

/* -- The connection that listens -- */

/* New credentials make a refused listener, which would wait for minutes, connect at once. */
FIVE_TEST(a_listener_is_let_in_at_once) {
    rotating_prepare(f, "old");
    f->options.reconnect_min_ms = f->options.reconnect_max_ms = 600000;
    rotating_open(f);
    rotating_know(f, 1, "new");
    rl_listening_want(f->client, 1, true);
    f->client->io.world->ops->wake(f->client->io.world); /* as any call of the user does */
    five_wait_count(f, 1, "AUTH", 2);
    five_run_ms(f, 20);
    rotating_set(f, 1, "new");
    five_wait_count(f, 1, "SUBSCRIBE", 1);
    rotating_check(f);
}
