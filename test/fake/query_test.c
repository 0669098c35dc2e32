/* Queries for the holder of a resource, on nodes that answer, or are silent, late, down or
 * hostile. */

#include "fake/ask.h"

#define SHARED "redlock:shared"
#define TOKEN_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* -- Answers -- */

static const struct {
    const char *values[FIVE]; /* NULL: no key */
    uint64_t ttl_ms[FIVE];    /* 0: for ever */
    const char *token;        /* NULL: no quorum */
    int64_t least_ms, most_ms;
} values[] = {
    {{TOKEN_A ":h", TOKEN_A ":h", TOKEN_A ":h", TOKEN_A ":h", TOKEN_A ":h"},
     {900000, 100000, 500000, 300000, 700000},
     TOKEN_A,
     400000,
     500000},
    {{TOKEN_A ":h", TOKEN_A ":h", NULL, TOKEN_A ":h", NULL},
     {900000, 100000, 0, 300000, 0},
     TOKEN_A,
     50000,
     100000},
    {{TOKEN_A ":h", TOKEN_A ":h", TOKEN_B, TOKEN_A ":h", TOKEN_B},
     {100000, 0, 500000, 0, 0},
     TOKEN_A,
     50000,
     100000},
    {{TOKEN_B, TOKEN_A ":h", TOKEN_A ":h", "x", TOKEN_A ":h"}, {0}, TOKEN_A, -1, -1},
    {{TOKEN_A, TOKEN_A, TOKEN_B, TOKEN_B, NULL}, {0}, NULL, 0, 0}, /* split */
    {{"x", "x", "x", "x", "x"}, {0}, NULL, 0, 0},                  /* a stranger's has no token */
    {{"", "", "", NULL, NULL}, {0}, NULL, 0, 0},
    {{SHARED, SHARED, SHARED, SHARED, TOKEN_A}, {0}, NULL, 0, 0}, /* no single holder's */
    /* reserved: no holder's, in any number */
    {{"reserved", "reserved:shared", "reserved", "reserved", "reserved"}, {0}, NULL, 0, 0},
    {{"reserved:shared", TOKEN_A ":h", TOKEN_A ":h", "reserved", TOKEN_A ":h"},
     {250, 300000, 300000, 250, 300000},
     TOKEN_A,
     200000,
     300000},
};

/* Values that others may have left. The q-th longest ttl counts; a key without a ttl lives
 * longest. */
ASK_EACH(counts_the_quorum, COUNT(values)) {
    struct asked asked;
    f->may_keep = 0x1f;
    for (size_t i = 0; i < FIVE; i++) {
        if (values[row].values[i] != NULL) {
            fake_node_put(f->nodes[i], FIVE_RESOURCE, values[row].values[i], values[row].ttl_ms[i]);
        }
    }
    assert_int_equal(asked_once(&asked, f), 0);
    assert_int_equal(asked.has_quorum, values[row].token != NULL);
    if (values[row].token != NULL) {
        assert_string_equal(asked.token, values[row].token);
        assert_string_equal(asked.holder, "h");
        assert_true(asked.remaining_ms >= values[row].least_ms);
        assert_true(asked.remaining_ms <= values[row].most_ms);
    } else {
        assert_string_equal(asked.token, "none"); /* untouched */
    }
    for (size_t i = 0; i < FIVE; i++) {
        const char *value = values[row].values[i];
        bool is_reserved = value != NULL && strncmp(value, "reserved", 8) == 0;
        assert_int_equal(asked.node_holders[i].is_held, value != NULL && !is_reserved);
        assert_int_equal(asked.node_holders[i].is_reserved, is_reserved);
        assert_int_equal(asked.node_holders[i].is_shared,
                         value != NULL && strcmp(value, SHARED) == 0);
    }
}

/* The callback runs when the last node has answered; the remaining times are reduced by the age of
 * each answer. */
ASK_TEST(takes_the_wait_off) {
    struct asked asked;
    f->may_keep = 1;
    fake_node_put(f->nodes[0], FIVE_RESOURCE, TOKEN_A, 1000000);
    assert_int_equal(asked_once(&asked, f), 0); /* the nodes know the script now */
    five_rule(f, 4, .command = "EVALSHA", .delay_ms = 300);
    uint64_t begin_ns = redlock_now_ns();
    assert_int_equal(asked_once(&asked, f), 0);
    int64_t took_ms = (int64_t)((redlock_now_ns() - begin_ns) / 1000000);
    assert_true(took_ms >= 300);
    assert_true(asked.node_holders[4].latency_us >= 300000);
    assert_true(asked.node_holders[0].latency_us < asked.node_holders[4].latency_us);
    /* bounds of the key's remaining time at the end of the call */
    int64_t waited_ms =
        (int64_t)(asked.node_holders[4].latency_us - asked.node_holders[0].latency_us) / 1000;
    assert_true(asked.node_holders[0].remaining_ms <= 1000000 - waited_ms);
    assert_true(asked.node_holders[0].remaining_ms >= 1000000 - 10000 - took_ms);
}

/* -- Nodes that do not answer -- */

FIVE_TEST(waits_for_the_silent_ones) {
    struct asked asked;
    ask_open(f, ASK_QUICK_MS);
    for (size_t silent = 1; silent <= 3; silent += 2) {
        for (size_t i = 0; i < silent; i++) {
            fake_node_clear_rules(f->nodes[i]);
            five_rule(f, i, .command = "EVALSHA", .action = FAKE_IGNORE);
        }
        uint64_t begin_ns = redlock_now_ns();
        assert_int_equal(asked_once(&asked, f), silent < 3 ? 0 : REDLOCK_ERR_NO_QUORUM);
        assert_true(redlock_now_ns() - begin_ns >= ASK_QUICK_MS * UINT64_C(1000000));
        for (size_t i = 0; i < FIVE; i++) {
            assert_int_equal(asked.node_holders[i].status,
                             i < silent ? REDLOCK_ERR_NODE_TIMEOUT : 0);
            assert_int_equal(asked.node_holders[i].latency_us > 0, i >= silent);
            assert_int_equal(f->downs[i].times, 0); /* the query ended by its own deadline */
        }
    }
}

/* Three nodes answer after the deadline; returns the query's status. If the program stalled, their
 * answers may count as in time; then it returns 1, and the caller tries again. */
static int asked_too_soon(struct asked *asked, struct five *f) {
    struct spent since = spent_begin();
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_put(f->nodes[i], FIVE_RESOURCE, TOKEN_A, 0);
    }
    for (size_t i = 0; i < 3; i++) {
        five_rule(f, i, .command = "EVALSHA", .times = 1,
                  .delay_ms = ASK_QUICK_MS + ASK_QUICK_MS / 2);
    }
    int status = asked_once(asked, f);
    return status == 0 && spent_kept_ns(&since) > ASK_QUICK_MS / 4 * 1000000 ? 1 : status;
}

/* Late answers come when the query is complete, or freed; the next query gets its own answers. */
FIVE_TEST(is_not_touched_by_late_answers) {
    struct asked asked, next;
    ask_open(f, ASK_QUICK_MS);
    f->may_keep = 0x1f;
    assert_int_equal(asked_once(&asked, f), 0);
    int status = 1;
    for (int tries = 0; status == 1 && tries < FIVE_TRIES; tries++) {
        status = asked_too_soon(&asked, f);
    }
    assert_int_equal(status, REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(asked.has_quorum, 0);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(five_info(f, i).up, 1);
        fake_node_put(f->nodes[i], FIVE_RESOURCE, TOKEN_B, 0);
    }
    assert_int_equal(asked_once(&next, f), 0); /* behind the late ones on each connection */
    assert_string_equal(next.token, TOKEN_B);
    assert_int_equal(asked.calls, 1);
}

ASK_TEST(says_why_a_node_is_down) {
    struct asked asked;
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_refuse(f->nodes[i]);
        fake_node_drop(f->nodes[i], true);
        five_wait_node(f, i, false);
        assert_int_equal(asked_once(&asked, f), i < 2 ? 0 : REDLOCK_ERR_NO_QUORUM);
        for (size_t j = 0; j < FIVE; j++) {
            assert_int_equal(asked.node_holders[j].status == 0, j > i);
            assert_true(j > i || asked.node_holders[j].status <= REDLOCK_ERR_NODE_DOWN);
        }
    }
}

/* A connection that ends while the query is outstanding, and answers that Redis does not give. */
ASK_TEST(survives_what_nodes_do) {
    static const struct {
        enum fake_action action;
        const char *bytes;
        int status;
        bool drops;
    } rows[] = {
        {FAKE_CLOSE, NULL, REDLOCK_ERR_NODE_DISCONNECTED, true},
        {FAKE_RESET, NULL, REDLOCK_ERR_NODE_DISCONNECTED, true},
        {FAKE_CUT, NULL, REDLOCK_ERR_NODE_DISCONNECTED, true},
        {FAKE_REPLACE, "+OK\r\n", REDLOCK_ERR_NODE_PROTOCOL, true},
        {FAKE_REPLACE, ":1\r\n", REDLOCK_ERR_NODE_PROTOCOL, true},
        {FAKE_REPLACE, "$5\r\nhello\r\n", REDLOCK_ERR_NODE_PROTOCOL, true},
        {FAKE_REPLACE, "$4\r\n-2 s\r\n", REDLOCK_ERR_NODE_PROTOCOL, true},
        {FAKE_REPLACE, "*1\r\n$4\r\n-1 s\r\n", REDLOCK_ERR_NODE_PROTOCOL, true},
        {FAKE_INSTEAD, "-LOADING Redis is loading\r\n", REDLOCK_ERR_NODE_LOADING, false},
        {FAKE_INSTEAD, "-NOPERM no\r\n", REDLOCK_ERR_NODE_PERMISSION, false},
        {FAKE_INSTEAD, "-BUSY a script\r\n", REDLOCK_ERR_NODE_BUSY, false},
        {FAKE_INSTEAD, "-WRONGTYPE how\r\n", REDLOCK_ERR_NODE_WRONGTYPE, false},
    };
    struct asked asked;
    unsigned drops = 0;
    assert_int_equal(asked_once(&asked, f), 0);
    for (size_t n = 0; n < COUNT(rows); n++) {
        five_rule(f, 2, .command = "EVALSHA", .times = 1, .action = rows[n].action,
                  .bytes = rows[n].bytes);
        assert_int_equal(asked_once(&asked, f), 0);
        for (size_t i = 0; i < FIVE; i++) {
            assert_int_equal(asked.node_holders[i].status, i == 2 ? rows[n].status : 0);
        }
        drops += rows[n].drops;
        if (rows[n].drops) {
            five_wait_down(f, 2, drops, rows[n].status);
        }
        five_wait_up(f, FIVE);
        assert_int_equal(f->downs[2].times, drops);
    }
}
