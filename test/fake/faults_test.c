/* Faults of the network and of whole nodes: refused, silent, vanished, reset, half-open, in
 * fragments. With a healthy majority every lock is granted. The simulator tests late and lost
 * messages. */

#include <unistd.h>

#include "fake/five.h"
#include "marks.h"
#include "messages.h"

#define MS 1000000u

static bool is_voted(struct five *f, void *data) {
    return five_outcome(f, *(const size_t *)data).vote != REDLOCK_VOTE_PENDING;
}

/* [1] Two nodes refuse from the beginning. The client tries them again, with growing pauses. */
FIVE_TEST(opens_with_two_that_refuse) {
    f->options.reconnect_min_ms = 10;
    f->options.reconnect_max_ms = 500;
    fake_node_refuse(f->nodes[1]);
    fake_node_refuse(f->nodes[3]);
    assert_int_equal(five_open(f), 0);
    five_cycle(f);
    redlock_node_outcome outcome = five_outcome(f, 3);
    assert_int_equal(outcome.vote, REDLOCK_VOTE_FAILED);
    assert_int_equal(outcome.reason, REDLOCK_ERR_NODE_CONNECT);
    assert_contains(CLIENT_MESSAGE(f->client), "3 of 5 nodes up");
    assert_contains(CLIENT_MESSAGE(f->client), "Connection refused");
    assert_contains(CLIENT_MESSAGE(f->client), fake_node_name(f->nodes[3]));
    five_run_ms(f, 300);
    uint64_t failures = five_info(f, 1).failures;
    assert_true(failures >= 3 && failures <= 9); /* 10, 20, 40, 80, 160 ms, less up to half */
    fake_node_listen(f->nodes[1]);
    fake_node_listen(f->nodes[3]);
    five_wait_up(f, FIVE);
    five_cycle(f);
}

/* Three nodes are down: reported as such, each with its own reason. */
FIVE_TEST(tells_each_reason_without_a_quorum) {
    f->options.connect_timeout_ms = 100;
    f->options.reconnect_min_ms = 60000;
    f->options.reconnect_max_ms = 60000;
    fake_node_refuse(f->nodes[0]);
    server_set_password(fake_node_server(f->nodes[2]), NULL, "secret");
    five_rule(f, 4, .action = FAKE_IGNORE);
    assert_int_equal(five_open(f), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(five_acquire(f, f->lock), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(five_outcome(f, 0).reason, REDLOCK_ERR_NODE_CONNECT);
    assert_int_equal(five_outcome(f, 2).reason, REDLOCK_ERR_NODE_AUTH);
    assert_int_equal(five_outcome(f, 4).reason, REDLOCK_ERR_NODE_TIMEOUT);
    for (size_t i = 0; i < FIVE; i += 2) {
        assert_int_equal(five_outcome(f, i).vote, REDLOCK_VOTE_FAILED);
        assert_contains(LOCK_MESSAGE(f->lock), fake_node_name(f->nodes[i]));
    }
    assert_contains(LOCK_MESSAGE(f->lock), "no quorum of nodes");
    assert_contains(LOCK_MESSAGE(f->lock), "Connection refused");
    assert_contains(LOCK_MESSAGE(f->lock), "NOAUTH");
    assert_contains(LOCK_MESSAGE(f->lock), "no answer in time");
    assert_int_equal(fake_node_count(f->nodes[1], "SET"), 0); /* it cannot win */
    assert_null(strstr(LOCK_MESSAGE(f->lock), "secret"));
}

/* [2] The packets to two nodes are dropped: connecting ends by our deadline. */
FIVE_TEST(opens_with_two_behind_a_firewall) {
    MARK_FROM(CONNECT_TIMEOUT);
    f->options.connect_timeout_ms = 150;
    fake_node_vanish(f->nodes[0]);
    fake_node_vanish(f->nodes[1]);
    uint64_t begin_ns = uv_hrtime();
    assert_int_equal(five_open(f), 0);
    assert_int_equal(f->opened.status, 0);
    assert_true(uv_hrtime() - begin_ns < 5000 * (uint64_t)MS); /* the kernel's is two minutes */
    assert_int_equal(five_info(f, 0).reason, REDLOCK_ERR_NODE_TIMEOUT);
    five_cycle(f);
    MARK_TO(CONNECT_TIMEOUT);
}

/* False if the machine stalled for so long that the peer may have been dropped by age. */
static bool is_dropped_as_half_open(struct five *f) {
    unsigned times = f->downs[3].times;
    fake_node_set_deaf(f->nodes[3], true);
    struct spent since = spent_begin();
    while (f->downs[3].times == times) {
        five_cycle(f);
        five_run_ms(f, 1);
        assert_true(spent_ms(&since) < 5000);
    }
    assert_true(uv_hrtime() - since.at_ns >= 199 * (uint64_t)MS);
    assert_int_equal(f->downs[3].status, REDLOCK_ERR_NODE_TIMEOUT);
    fake_node_set_deaf(f->nodes[3], false);
    five_wait_up(f, FIVE);
    five_wait_repaid(f);
    return spent_kept_ns(&since) < 100 * (uint64_t)MS;
}

/* [4] A peer that reads and never answers, while every cycle writes to it: the oldest request ends
 * the connection after four times the timeout. */
FIVE_TEST(drops_a_half_open_peer) {
    MARK_FROM(STALLED);
    f->options.node_timeout_ms = 50;
    assert_int_equal(five_open(f), 0);
    for (int tries = 1; !is_dropped_as_half_open(f) && tries < FIVE_TRIES; tries++) {
    }
    MARK_TO(STALLED);
}

static const struct fake_rule breaks[] = {
    {.action = FAKE_CLOSE},
    {.action = FAKE_EXECUTE_CLOSE},
    {.action = FAKE_RESET},
    {.action = FAKE_EXECUTE_RESET},
    {.action = FAKE_CUT},
    {.action = FAKE_REPLACE, .bytes = "*1\r\n$2\r\nOK\r\n"},
    {.action = FAKE_REPLACE, .bytes = ":1\r\n"},
    {.action = FAKE_REPLACE, .bytes = "$-1\r\n"},
    {.action = FAKE_INSTEAD, .bytes = "HTTP/1.1 400 Bad Request\r\n\r\n"},
    {.action = FAKE_INSTEAD, .bytes = "-LOADING Redis is loading the dataset in memory\r\n"},
    {.action = FAKE_ENDLESS, .bytes = "$2000000000\r\n"},
    {.action = FAKE_REPLACE, .bytes = "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n"},
};

/* A close or a reset at each step of the handshake, and garbage there. Then the node recovers. */
FIVE_EACH(survives_every_way_to_break_the_handshake, 3 * COUNT(breaks)) {
    struct fake_rule rule = breaks[row / 3];
    rule.nth = 1 + (unsigned)row % 3; /* SETNAME, GET, PING */
    rule.times = 2;
    if (rule.nth == 2 && rule.bytes != NULL && strcmp(rule.bytes, "$-1\r\n") == 0) {
        return; /* the node has no configuration */
    }
    fake_node_rule(f->nodes[0], rule);
    fake_node_rule(f->nodes[4], rule);
    assert_int_equal(five_open(f), 0);
    five_cycle(f);
    five_wait_up(f, FIVE);
    assert_true(five_info(f, 0).failures >= 1);
    five_cycle(f);
}

/* A node that has left a request unanswered for the node timeout is skipped in new attempts until
 * it answers. */
FIVE_TEST(leaves_a_silent_node_out) {
    MARK_FROM(SILENT_LEFT_OUT);
    f->options.node_timeout_ms = 1000; /* a connection is dropped after 4000 */
    assert_int_equal(five_open_n(f, 1), 0);
    fake_node_pause(f->nodes[0]);
    assert_int_equal(five_acquire(f, f->lock), REDLOCK_ERR_NO_QUORUM);
    uint64_t sent = five_info(f, 0).requests;
    assert_int_equal(five_acquire(f, f->lock), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(five_outcome(f, 0).reason, REDLOCK_ERR_NODE_TIMEOUT);
    assert_int_equal(five_info(f, 0).requests, sent);
    fake_node_resume(f->nodes[0]);
    five_wait_repaid(f);
    assert_int_equal(fake_node_accepted(f->nodes[0]), 1);
    assert_int_equal(five_acquire(f, f->lock), 0);
    assert_int_equal(five_release(f, f->lock), 0);
    MARK_TO(SILENT_LEFT_OUT);
}

static const size_t pieces[] = {1, 2, 3, 7};

/* [9] Every answer in pieces of 1, 2, 3, 7 bytes: the same outcome as whole. */
FIVE_EACH(reads_answers_in_pieces, COUNT(pieces)) {
    for (size_t j = 0; j < FIVE; j++) {
        fake_node_set_fragment(f->nodes[j], pieces[row]);
    }
    assert_int_equal(five_open(f), 0);
    assert_int_equal(five_acquire(f, f->lock), 0);
    assert_int_equal(five_extend(f, f->lock), 0);
    assert_int_equal(five_release(f, f->lock), 0);
    for (size_t j = 0; j < FIVE; j++) {
        fake_node_put(f->nodes[j], FIVE_RESOURCE, "a stranger's", 0);
    }
    assert_int_equal(five_acquire(f, f->lock), REDLOCK_ERR_HELD);
    assert_int_equal(five_stats(f).nodes_up, FIVE);
    f->may_keep = 31;
}

/* Answers and a reset that arrive together: the answers count, and the rest is reported as a
 * reset. */
FIVE_TEST(tells_a_reset_as_such) {
    size_t node = 0;
    redlock_lock *other = NULL;
    struct five_done first = {0, 0}, second = {0, 0};
    f->options.reconnect_min_ms = 60000; /* so that the detail stays readable */
    f->options.reconnect_max_ms = 60000;
    assert_int_equal(five_open(f), 0);
    assert_int_equal(redlock_lock_new(f->client, "other", 5, &other), 0);
    five_rule(f, 0, .command = "SET", .skip = 1, .times = 1, .action = FAKE_EXECUTE_RESET);
    redlock_acquire_options options = five_one_try(f);
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, &first), 0);
    assert_int_equal(redlock_acquire(other, &options, five_on_lock, &second), 0);
    assert_int_equal(five_wait(f, &first), 0);
    assert_int_equal(five_wait(f, &second), 0);
    five_wait_down(f, 0, 1, REDLOCK_ERR_NODE_DISCONNECTED);
    assert_true(five_run_until(f, is_voted, &node));
    assert_int_equal(five_outcome(f, 0).vote, REDLOCK_VOTE_GRANTED);
    assert_contains(five_info(f, 0).detail, "reset");
    assert_contains(LOCK_MESSAGE(other), "connection lost before the answer");
    f->may_keep = 1u << 0; /* it does not come back within this test */
}
