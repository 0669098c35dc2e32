/* Hostile bytes from one or two of five nodes cost these their connection, and do not affect the
 * others. (unit/reply, unit/received and the fuzzers have all forms of such bytes.) Each row is
 * sent while a lock is acquired and released: the healthy majority grants it, no key stays, the
 * loop does not stall, memory is capped. */

#include "fake/five.h"
#include "marks.h"
#include "messages.h"

/* -- Unrequested bytes -- */

static const char *const unsent_nodes[] = {
    "+OK\r\n",
    "-ERR who are you\r\n",
    "$-1\r\n",
    "*2\r\n+OK\r\n+OK\r\n",
    ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n", /* a push */
    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n", /* pub/sub of RESP2 */
    "_\r\n",
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01", /* TLS */
    "*2147483647\r\n",
    ":1x\r\n",
    "*1\r\n*1\r\n*1\r\n+x\r\n",
};

/* One node sends unrequested bytes: it is dropped and comes back; the others are used. */
FIVE_TEST_OPEN(survives_what_nobody_asked_for) {
    for (size_t i = 0; i < COUNT(unsent_nodes); i++) {
        size_t accepted = fake_node_accepted(f->nodes[2]);
        fake_node_send(f->nodes[2], unsent_nodes[i], strlen(unsent_nodes[i]));
        five_wait_down(f, 2, (unsigned)i + 1, REDLOCK_ERR_NODE_PROTOCOL);
        five_cycle(f);
        five_wait_node(f, 2, true);
        assert_int_equal(fake_node_accepted(f->nodes[2]), accepted + 1);
        five_wait_repaid(f);
    }
}

/* hiredis reports a reply that the client refuses as "Out of memory"; the client does not. */
FIVE_TEST(says_that_nobody_asked) {
    f->options.reconnect_min_ms = f->options.reconnect_max_ms = 600000;
    assert_int_equal(five_open(f), 0);
    fake_node_send(f->nodes[2], unsent_nodes[0], strlen(unsent_nodes[0]));
    five_wait_down(f, 2, 1, REDLOCK_ERR_NODE_PROTOCOL);
    assert_string_equal(five_info(f, 2).detail, "unsolicited reply");
}

/* -- Wrong answers -- */

static const char *const wrong_to_set[] = {
    ":1\r\n",  "$2\r\nOK\r\n", /* a bulk string, where Redis sends a status */
    "+ok\r\n", "+QUEUED\r\n",  "*1\r\n+OK\r\n", "*-1\r\n", "_\r\n", ">1\r\n+OK\r\n",
};

static const char *const wrong_to_script[] = {
    "+OK\r\n", "$1\r\n1\r\n", "*-1\r\n", ":2\r\n", "*1\r\n:1\r\n", "_\r\n",
};

static void expect_protocol_failure(struct five *f, const char *wire) {
    redlock_node_outcome outcome = five_outcome(f, 1);
    if (outcome.vote != REDLOCK_VOTE_FAILED || outcome.reason != REDLOCK_ERR_NODE_PROTOCOL) {
        print_error("%s: vote %d, %s\n", wire, outcome.vote, redlock_err_name(outcome.reason));
    }
    assert_int_equal(outcome.vote, REDLOCK_VOTE_FAILED);
    assert_int_equal(outcome.reason, REDLOCK_ERR_NODE_PROTOCOL);
}

static bool has_voted(struct five *f, void *data) {
    return five_outcome(f, *(const size_t *)data).vote != REDLOCK_VOTE_PENDING;
}

/* A wrong answer to SET is a failed vote, whether or not the SET ran; the key is released. */
FIVE_EACH_OPEN(takes_no_wrong_answer_for_a_grant, 2) {
    size_t hostile = 1;
    for (size_t i = 0; i < COUNT(wrong_to_set); i++) {
        five_rule(f, 1, .command = "SET", .times = 1,
                  .action = row == 1 ? FAKE_REPLACE : FAKE_INSTEAD, .bytes = wrong_to_set[i]);
        assert_int_equal(five_acquire(f, f->lock), 0);
        assert_true(five_run_until(f, has_voted, &hostile));
        expect_protocol_failure(f, wrong_to_set[i]);
        assert_int_equal(five_release(f, f->lock), 0);
        five_wait_up(f, FIVE);
        five_wait_repaid(f);
        assert_int_equal(fake_node_keys(f->nodes[1]), 0);
    }
}

/* The same for extend and release. The outcome of the release at the node is unknown: it stays
 * pending. */
FIVE_TEST_OPEN(takes_no_wrong_answer_for_a_renewal) {
    size_t hostile = 1;
    for (size_t i = 0; i < COUNT(wrong_to_script); i++) {
        assert_int_equal(five_acquire(f, f->lock), 0);
        for (int script = 0; script < 2; script++) {
            five_wait_up(f, FIVE);
            five_rule(f, 1, .command = "script", .times = 1, .action = FAKE_INSTEAD,
                      .bytes = wrong_to_script[i]);
            int status = script ? five_release(f, f->lock) : five_extend(f, f->lock);
            assert_int_equal(status, 0);
            assert_true(five_run_until(f, has_voted, &hostile));
            expect_protocol_failure(f, wrong_to_script[i]);
        }
        five_wait_up(f, FIVE);
        five_wait_repaid(f);
        assert_int_equal(fake_node_keys(f->nodes[1]), 0);
    }
}

/* Node 1 runs the first script that takes a lock, and says this. */
static void answers_to_take(struct five *f, const char *answer) {
    five_rule(f, 1, .command = "take", .times = 1, .action = FAKE_REPLACE, .bytes = answer);
}

static void acquire_fenced(struct five *f, struct five_done *done) {
    redlock_acquire_options options = five_one_try(f);
    options.fencing = 1;
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, done), 0);
}

/* A yes without the requested fence, from a node that has the key, is no vote. */
FIVE_TEST_OPEN(takes_no_yes_without_its_fence) {
    struct five_done done = {0, 0};
    size_t hostile = 1;
    answers_to_take(f, "$7\r\n1 0 0 0\r\n");
    acquire_fenced(f, &done);
    assert_int_equal(five_wait(f, &done), 0);
    assert_true(five_run_until(f, has_voted, &hostile));
    expect_protocol_failure(f, "1 0 0 0");
    assert_true(redlock_lock_fence(f->lock) > 0);
    assert_int_equal(five_release(f, f->lock), 0);
    five_wait_repaid(f);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_keys(f->nodes[i]), 1); /* its counter */
        f->may_keep |= 1u << i;
    }
}

/* A script may set its key before it fails. Node 1 disconnects before the attempt ends, so its
 * release stays pending. */
FIVE_TEST_OPEN(owes_a_release_after_an_error) {
    struct five_done done = {0, 0};
    size_t hostile = 1;
    answers_to_take(f, "-ERR half-way\r\n");
    for (size_t i = 2; i < FIVE; i++) {
        five_rule(f, i, .command = "take", .times = 1, .action = FAKE_INSTEAD,
                  .bytes = "-ERR no\r\n", .delay_ms = 200);
    }
    acquire_fenced(f, &done);
    assert_true(five_run_until(f, has_voted, &hostile));
    fake_node_refuse(f->nodes[1]);
    fake_node_drop(f->nodes[1], false);
    assert_int_equal(five_wait(f, &done), REDLOCK_ERR_NO_QUORUM);
    fake_node_listen(f->nodes[1]);
    five_wait_up(f, FIVE);
    five_wait_repaid(f);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_keys(f->nodes[i]), i < 2); /* its counter */
    }
    f->may_keep |= 3;
}

/* -- Too much -- */

static void send_without_end(struct five *f, const char *beginning) {
    f->memory_cap = 1 << 20;
    assert_int_equal(five_open(f), 0);
    for (size_t i = 0; i < 2; i++) {
        five_rule(f, i, .command = "SET", .times = 1, .action = FAKE_ENDLESS, .bytes = beginning);
    }
    assert_int_equal(five_acquire(f, f->lock), 0);
    five_wait_down(f, 0, 1, REDLOCK_ERR_NODE_PROTOCOL);
    assert_int_equal(five_release(f, f->lock), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(fake_node_bytes_out(f->nodes[i]) < 8u << 20); /* the socket's buffers, mostly */
    }
    five_wait_up(f, FIVE);
    five_wait_repaid(f);
}

TEST(caps_what_has_no_end) {
    static const char *const beginnings[] = {
        "$9000000000000000000\r\n", "$2147483647\r\n", "$536870912\r\n", "+", "-", ":1", "$1", "*1",
        "*1\r\n$1000000000\r\n",
    };
    MARK_FROM(REPLY_WITHOUT_END);
    for (size_t i = 0; i < COUNT(beginnings); i++) {
        struct five f;
        five_start(&f);
        send_without_end(&f, beginnings[i]);
        five_stop(&f);
    }
    MARK_TO(REPLY_WITHOUT_END);
}

static const struct {
    const char *text;
    bool says_no;
} floods[] = {
    {"*1\r\n", false},  {"*2\r\n", false}, {"*2147483647\r\n", false},
    {"+OK\r\n", false}, {">1\r\n", false}, {"%1\r\n", false},
    {"\r\n", false},    {"$-1\r\n", true}, {"-\r\n", true},
};

/* The node decides which bytes the client takes as the answer to SET: a node that says no but runs
 * the SET keeps the key until its ttl ends. */
FIVE_EACH(refuses_deep_nesting_and_floods, COUNT(floods)) {
    f->memory_cap = 16 << 20; /* the fake nodes' own text */
    f->may_keep = floods[row].says_no ? 1u << 0 | 1u << 3 : 0;
    assert_int_equal(five_open(f), 0);
    fake_node_send_repeated(f->nodes[0], floods[row].text, 400000);
    fake_node_send_repeated(f->nodes[3], floods[row].text, 400000);
    five_cycle(f);
    five_wait_down(f, 0, 1, REDLOCK_ERR_NODE_PROTOCOL);
    five_wait_down(f, 3, 1, REDLOCK_ERR_NODE_PROTOCOL);
    five_wait_up(f, FIVE);
    five_wait_repaid(f);
}

/* Errors with every kind of byte, and a long one, garble no message. */
FIVE_TEST(keeps_messages_printable) {
    char message[REDLOCK_MESSAGE_MAX];
    static const char error[] =
        "-LOADING \x01\x1b[31m\x7f\xc3\xa9 and a text that goes on and on"
        " and on and on and on and on and on and on and on and on and on"
        " and on and on and on and on and on \0 and on and on and on\r\n";
    f->options.reconnect_min_ms = 60000;
    f->options.reconnect_max_ms = 60000;
    for (size_t i = 0; i < FIVE; i++) {
        five_rule(f, i, .command = "PING", .action = FAKE_INSTEAD, .bytes = error,
                  .length = sizeof(error) - 1);
    }
    assert_int_equal(five_open(f), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(five_info(f, 0).reason, REDLOCK_ERR_NODE_LOADING);
    assert_contains(five_info(f, 0).detail, "LOADING ??[31m??? and a text");
    snprintf(message, sizeof(message), "%s", CLIENT_MESSAGE(f->client));
    assert_int_equal(strlen(message), REDLOCK_MESSAGE_MAX - 1);
    assert_string_equal(message + strlen(message) - 3, "...");
    for (const char *c = message; *c != '\0'; c++) {
        assert_true(*c >= 0x20 && *c < 0x7f);
    }
}
