/* Waiting in line (lib/wait/line.h) on faulty fake nodes: they forbid SUBSCRIBE, answer JOIN with
 * errors and garbage, and forge messages. slow_home_test.c has a silent home; the simulator tests
 * what goes right, and lost messages. */

#include "client/state.h"
#include "fake/waiter.h"
#include "redlock/token.h"

/* long enough for a JOIN that is sent too early to arrive */
#define A_WHILE_MS 30

WAITER_TEST(does_without_where_it_may_not_listen) {
    node_rule(waiter_node(w, 0), .command = "SUBSCRIBE", .action = FAKE_INSTEAD,
              .bytes = "-NOPERM no channels\r\n");
    waiter_ask(w);
    waiter_until_at(w, 1);
    assert_int_equal(waiter_count(w, 0, "join") + waiter_count(w, 0, "leave"), 0);
    waiter_serve(w);
}

/* Without a channel, or without the right to JOIN, the client polls. */
WAITER_EACH(does_without_a_line, 2) {
    for (size_t i = 0; i < FIVE; i++) {
        node_rule(waiter_node(w, i), .command = row == 0 ? "SUBSCRIBE" : "join",
                  .action = FAKE_INSTEAD, .bytes = "-NOPERM no\r\n");
    }
    waiter_ask(w);
    five_wait_count(&w->f, 0, "SET", 3);
    assert_int_equal(w->done.calls, 0);
    waiter_let_go(w);
    assert_int_equal(waiter_wait(w), 0);
    assert_int_equal(waiter_count_all(w, "join") > 0, row == 1);
}

static int home(struct waiter *w, int usual) {
    return redlock_client_home(w->f.client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), usual);
}

WAITER_TEST(tells_where_the_line_is) {
    assert_int_equal(home(w, 0), w->order[0]);
    fake_node_refuse(waiter_node(w, 0));
    fake_node_drop(waiter_node(w, 0), true);
    five_wait_node(&w->f, w->order[0], false);
    assert_int_equal(home(w, 0), w->order[1]);
    assert_int_equal(home(w, 1), w->order[0]);
    assert_int_equal(redlock_client_home(w->f.client, "", 0, 0), REDLOCK_ERR_INVALID);
}

/* -- Answers to JOIN -- */

static void home_says(struct waiter *w, const char *bytes) {
    node_rule(waiter_node(w, 0), .command = "join", .action = FAKE_INSTEAD, .bytes = bytes);
}

static const char *const errors[] = {
    "-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
    "-ERR The user executing the script can't run this command or subcommand script: 1\r\n",
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "-LOADING Redis is loading the dataset in memory\r\n",
    "-BUSY Redis is busy running a script.\r\n",
    "-READONLY You can't write against a read only replica.\r\n",
    "-NOSCRIPT No matching script.\r\n",
    "-ERR unknown command 'EVALSHA'\r\n",
};

/* After an error the next node becomes home, and the old one gets a LEAVE, because the JOIN may
 * have run. */
WAITER_EACH(goes_on_after_an_error, COUNT(errors)) {
    home_says(w, errors[row]);
    waiter_ask(w);
    waiter_until_at(w, 1);
    assert_int_equal(waiter_count(w, 0, "join"), 1); /* it went out whole */
    assert_int_equal(waiter_count(w, 1, "join"), 1);
    five_wait_count(&w->f, w->order[0], "leave", 1);
    assert_int_equal(waiter_count_all(w, "leave"), 1);
    assert_int_equal(w->f.downs[w->order[0]].times, 0);
    waiter_serve(w);
}

static const char *const garbage[] = {
    "$3\r\nyes\r\n",
    "$1\r\n0\r\n",
    "$2\r\n1 \r\n",
    "$1\r\n2\r\n",
    "$5\r\n0 1 x\r\n",
    "$3\r\n0 1\r\n",
    "$7\r\n0 -1 10\r\n",
    "$6\r\n0 1 -2\r\n",
    "$9\r\n1 0 0 0 0\r\n",
    ":1\r\n",
    ":0\r\n",
    "+OK\r\n",
    "$-1\r\n",
    "*0\r\n",
    "*1\r\n$1\r\n1\r\n",
    "\xff\xfe\r\n",
    "$20\r\n0 99999999999 100000\r\n",
};

/* An answer that JOIN cannot have ends only the connection. */
WAITER_EACH(goes_on_after_garbage, COUNT(garbage)) {
    home_says(w, garbage[row]);
    waiter_ask(w);
    waiter_until_elsewhere(w);
    assert_int_equal(waiter_count_all(w, "take"), 0);
    five_wait_down(&w->f, w->order[0], w->f.downs[w->order[0]].times, REDLOCK_ERR_NODE_PROTOCOL);
    waiter_serve(w);
}

/* -- Messages on the channel -- */

/* The stranger holds: a client that took a turn would be refused. */
static void expect_no_turn(struct waiter *w) {
    redlock_stats stats = five_stats(&w->f);
    assert_int_equal(stats.turns, 0);
    assert_int_equal(stats.turns_missed, 0);
    assert_int_equal(w->done.calls, 0);
}

static void expect_one_turn(struct waiter *w) {
    waiter_serve(w);
    redlock_stats stats = five_stats(&w->f);
    assert_int_equal(stats.turns, 1);
    assert_int_equal(stats.turns_missed, 0);
}

WAITER_TEST(takes_no_turn_of_an_old_place) {
    waiter_ask(w);
    waiter_until_at(w, 0);
    uint64_t place = waiter_line(w)->id;
    waiter_cancel(w);
    waiter_ask(w);
    waiter_until_at(w, 0);
    waiter_tell(w, 0, "turn", place);
    waiter_tell(w, 0, "heir", place);
    waiter_tell(w, 0, "turn", waiter_line(w)->id + 1);
    five_run_ms(&w->f, A_WHILE_MS);
    expect_no_turn(w);
    expect_one_turn(w);
}

/* The client ignores other clients' turns and malformed messages. */
WAITER_TEST(takes_no_other_word) {
    char payloads[10][2 * RL_PAYLOAD_MAX];
    waiter_ask(w);
    waiter_until_at(w, 0);
    const char *token = waiter_token(w, waiter_line(w)->id);
    size_t n = 0;
    snprintf(payloads[n++], sizeof payloads[0], "turn fedcba9876543210%s", token + 16);
    snprintf(payloads[n++], sizeof payloads[0], "turn %.39sA", token);
    snprintf(payloads[n++], sizeof payloads[0], "turn %.39s", token);
    snprintf(payloads[n++], sizeof payloads[0], "turn %s ", token);
    snprintf(payloads[n++], sizeof payloads[0], "TURN %s", token);
    snprintf(payloads[n++], sizeof payloads[0], "turns%s", token);
    snprintf(payloads[n++], sizeof payloads[0], "turn %.16s%016x%s", token, 0, token + 32);
    snprintf(payloads[n++], sizeof payloads[0], "turn %.38s%2d", token, 1);
    snprintf(payloads[n++], sizeof payloads[0], "%s", "");
    snprintf(payloads[n++], sizeof payloads[0], "turn %s%0400u", token, 0u);
    assert_int_equal(n, COUNT(payloads));
    for (size_t i = 0; i < n; i++) {
        fake_node_publish(waiter_node(w, 0), w->channel, payloads[i]);
    }
    five_run_ms(&w->f, A_WHILE_MS);
    expect_no_turn(w);
    waiter_until_at(w, 0);
    expect_one_turn(w);
}

/* The client ignores a turn for its place from a node other than its home. */
WAITER_TEST(takes_no_turn_from_another_node) {
    waiter_ask(w);
    waiter_until_at(w, 0);
    five_wait_count(&w->f, w->order[1], "SUBSCRIBE", 1);
    five_run_ms(&w->f, A_WHILE_MS);
    waiter_tell(w, 1, "turn", waiter_line(w)->id);
    five_run_ms(&w->f, A_WHILE_MS);
    expect_no_turn(w);
    expect_one_turn(w);
}

/* After a forged turn the votes decide, and the client waits on, with another token. */
WAITER_TEST(a_forged_turn_takes_nothing) {
    waiter_ask(w);
    waiter_until_at(w, 0);
    for (size_t i = 1; i <= 3; i++) {
        uint64_t place = waiter_line(w)->id;
        waiter_tell(w, 0, "turn", place);
        for (size_t node = 0; node < FIVE; node++) {
            five_wait_count(&w->f, node, "take", i);
        }
        waiter_until_at(w, 0);
        assert_true(waiter_line(w)->id != place);
        assert_int_equal(fake_node_lines(waiter_node(w, 0)), 1);
    }
    for (size_t i = 0; i < FIVE; i++) {
        assert_string_equal(fake_node_get(w->f.nodes[i], FIVE_RESOURCE), WAITER_STRANGER);
    }
    waiter_serve(w);
}

/* A client that is first in line but keeps being refused probes without a turn, and so without its
 * place's token, with which it would take keys that a release has reserved. */
WAITER_TEST(a_probe_has_no_place) {
    waiter_ask(w);
    waiter_until_at(w, 0);
    size_t sets = waiter_count(w, 1, "SET");
    five_wait_count(&w->f, w->order[1], "SET", sets + 1);
    assert_int_equal(waiter_count_all(w, "take"), 0);
    expect_no_turn(w);
    waiter_until_at(w, 0);
    expect_one_turn(w);
}

/* -- The next client -- */

static bool knows_next(struct five *f, void *data) {
    (void)data;
    return rl_ticket_resource(&f->lock->tickets[0])->wait->successor[0] != '\0';
}

/* A lock object that releases another client's token has no part in its client's hold. */
WAITER_TEST(a_released_token_does_not_forget_who_is_next) {
    redlock_lock *other = NULL;
    struct five_done done = {0, 0};
    char payload[128], stranger[RL_TOKEN_LEN + 1];
    memset(stranger, 'a', RL_TOKEN_LEN);
    stranger[RL_TOKEN_LEN] = '\0';
    waiter_ask(w);
    waiter_until_at(w, 0);
    waiter_serve(w);
    snprintf(payload, sizeof payload, "next %s %s", redlock_lock_token(w->f.lock), stranger);
    fake_node_publish(waiter_node(w, 0), w->channel, payload);
    assert_true(five_run_until(&w->f, knows_next, NULL));
    assert_int_equal(redlock_lock_new(w->f.client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), &other),
                     0);
    assert_int_equal(redlock_release_token(other, stranger, five_on_lock, &done), 0);
    assert_int_equal(five_wait(&w->f, &done), 0);
    assert_true(knows_next(&w->f, NULL));
    redlock_lock_free(other);
}
