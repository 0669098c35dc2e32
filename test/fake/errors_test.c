/* Redis's error replies, which unit/reply maps to reasons: NOSCRIPT where there is no script, and
 * errors that make a node unusable. (Passwords and databases: live/access.) */

#include "fake/five.h"
#include "messages.h"

static bool is_voted(struct five *f, void *data) {
    return five_outcome(f, *(const size_t *)data).vote != REDLOCK_VOTE_PENDING;
}

static void expect_error(struct five *f, size_t index) {
    assert_true(five_run_until(f, is_voted, &index));
    redlock_node_outcome outcome = five_outcome(f, index);
    assert_int_equal(outcome.vote, REDLOCK_VOTE_FAILED);
    assert_int_equal(outcome.reason, REDLOCK_ERR_NODE_ERROR);
}

/* Nodes that answer NOSCRIPT to EVAL as well, or to SET, or that forbid CLIENT: the client does not
 * retry for ever, and loses no node. NOSCRIPT is no vote. */
FIVE_TEST(lives_with_a_node_without_scripts) {
    five_rule(f, 2, .command = "CLIENT", .action = FAKE_INSTEAD,
              .bytes = "-ERR unknown command 'CLIENT'\r\n");
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    five_cycle(f);
    five_wait_repaid(f);
    assert_int_equal(fake_node_count(f->nodes[0], "EVAL"), 1);
    assert_int_equal(fake_node_keys(f->nodes[0]), 0);
    struct fake_rule none = {.action = FAKE_INSTEAD, .bytes = "-NOSCRIPT No matching script.\r\n"};
    none.command = "EVAL";
    fake_node_rule(f->nodes[3], none);
    none.command = "EVALSHA";
    fake_node_rule(f->nodes[3], none);
    const size_t whole = fake_node_count(f->nodes[3], "EVAL"); /* 1 if it is home: the release */
    none.command = "SET";
    none.times = 1;
    fake_node_rule(f->nodes[4], none);
    assert_int_equal(five_acquire(f, f->lock), 0);
    expect_error(f, 4);
    assert_int_equal(five_extend(f, f->lock), 0);
    expect_error(f, 3);
    assert_int_equal(fake_node_count(f->nodes[3], "EVAL"), whole + 1);
    assert_int_equal(five_release(f, f->lock), 0);
    fake_node_clear_rules(f->nodes[3]);
    five_wait_repaid(f);
}

/* -- Unusable nodes -- */

/* Opens the client while one node is scripted, and expects that node to be down for this reason. */
static void expect_kept_out(struct five *f, int reason, const char *detail) {
    assert_int_equal(five_open(f), 0);
    redlock_node_info info = five_info(f, 0);
    assert_int_equal(info.up, 0);
    assert_int_equal(info.connects, 0);
    if (info.reason != reason) {
        print_error("wanted %s, is %s (%s)\n", redlock_err_name(reason),
                    redlock_err_name(info.reason), info.detail);
    }
    assert_int_equal(info.reason, reason);
    assert_contains(info.detail, detail);
    assert_contains(CLIENT_MESSAGE(f->client), redlock_strerror(reason));
    assert_contains(CLIENT_MESSAGE(f->client), detail);
    five_cycle(f);
}

static void keep_retries_apart(
    struct five *f) { /* so that the next try does not replace the reason */
    f->options.reconnect_min_ms = 60000;
    f->options.reconnect_max_ms = 60000;
}

static const struct {
    const char *command, *bytes, *detail;
    int reason;
} handshakes[] = {
    {"PING", "-LOADING Redis is loading\r\n", "LOADING", REDLOCK_ERR_NODE_LOADING},
    {"CLIENT", "-NOAUTH Authentication required.\r\n", "NOAUTH", REDLOCK_ERR_NODE_AUTH},
    {"PING", "-MASTERDOWN Link with MASTER is down\r\n", "MASTERDOWN", REDLOCK_ERR_NODE_READONLY},
    {"PING", "+HELLO\r\n", "HELLO", REDLOCK_ERR_NODE_PROTOCOL},
    {"CLIENT", "HTTP/1.1 400 Bad Request\r\n", "not Redis: an HTTP server",
     REDLOCK_ERR_NODE_PROTOCOL},
};

FIVE_EACH(tells_what_the_handshake_met, COUNT(handshakes)) {
    keep_retries_apart(f);
    five_rule(f, 0, .command = handshakes[row].command, .action = FAKE_INSTEAD,
              .bytes = handshakes[row].bytes);
    expect_kept_out(f, handshakes[row].reason, handshakes[row].detail);
}

static const struct {
    const char *bytes, *detail;
    int reason;
} greetings[] = {
    {"-ERR max number of clients reached\r\n", "max number of clients", REDLOCK_ERR_NODE_BUSY},
    {"-DENIED Redis is running in protected mode because protected mode is enabled and no"
     " password is set for the default user.\r\n",
     "DENIED", REDLOCK_ERR_NODE_PERMISSION},
    {"HTTP/1.1 408 Request Timeout\r\n\r\n", "not Redis: an HTTP server",
     REDLOCK_ERR_NODE_PROTOCOL},
    {"220 mail.example ESMTP\r\n", "not Redis: a mail or an FTP server", REDLOCK_ERR_NODE_PROTOCOL},
    {"\x15\x03\x01", "it is a port that requires TLS: write rediss://", REDLOCK_ERR_NODE_PROTOCOL},
    {"who is there?\r\n", "Protocol error", REDLOCK_ERR_NODE_PROTOCOL},
};

/* Redis greets a client that it will not serve with an error, and closes the connection. */
FIVE_EACH(tells_what_a_greeting_said, COUNT(greetings)) {
    keep_retries_apart(f);
    fake_node_set_greeting(f->nodes[0], greetings[row].bytes, true);
    expect_kept_out(f, greetings[row].reason, greetings[row].detail);
}
