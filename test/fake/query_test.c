/* Queries for the holder of a resource, at nodes that answer, are silent, late, down or hostile. */

#include "fake/ask.h"

#define SHARED "redlock:shared"
#define TOKEN_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* -- Answers -- */

/* Values as others may have left them. The q-th longest life counts, and one without end is the
 * longest of all. */
static void counts_the_quorum(void **state) {
    static const struct {
        const char *values[FIVE]; /* NULL: no key */
        uint64_t ttl_ms[FIVE];    /* 0: for ever */
        const char *token;        /* NULL: no quorum */
        int64_t least_ms, most_ms;
    } rows[] = {
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
        {{"x", "x", "x", "x", "x"}, {0}, NULL, 0, 0}, /* a stranger's has no token */
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
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct five f;
        struct asked asked;
        ask_begin(&f, ASK_PATIENT_MS);
        f.may_keep = 0x1f;
        for (size_t i = 0; i < FIVE; i++) {
            if (rows[row].values[i] != NULL) {
                fake_node_put(f.nodes[i], FIVE_RESOURCE, rows[row].values[i], rows[row].ttl_ms[i]);
            }
        }
        assert_int_equal(asked_once(&asked, &f), 0);
        assert_int_equal(asked.has_quorum, rows[row].token != NULL);
        if (rows[row].token != NULL) {
            assert_string_equal(asked.token, rows[row].token);
            assert_string_equal(asked.holder, "h");
            assert_true(asked.remaining_ms >= rows[row].least_ms);
            assert_true(asked.remaining_ms <= rows[row].most_ms);
        } else {
            assert_string_equal(asked.token, "none"); /* untouched */
        }
        for (size_t i = 0; i < FIVE; i++) {
            const char *value = rows[row].values[i];
            bool is_reserved = value != NULL && strncmp(value, "reserved", 8) == 0;
            assert_int_equal(asked.node_holders[i].is_held, value != NULL && !is_reserved);
            assert_int_equal(asked.node_holders[i].is_reserved, is_reserved);
            assert_int_equal(asked.node_holders[i].is_shared,
                             value != NULL && strcmp(value, SHARED) == 0);
        }
        five_stop(&f);
    }
}

/* A node's answer is older when the callback runs, which is when the last node has answered. */
static void takes_the_wait_off(void **state) {
    struct five f;
    struct asked asked;
    ask_begin(&f, ASK_PATIENT_MS);
    f.may_keep = 1;
    fake_node_put(f.nodes[0], FIVE_RESOURCE, TOKEN_A, 1000000);
    assert_int_equal(asked_once(&asked, &f), 0); /* the script is known from now on */
    fake_node_rule(f.nodes[4], (struct fake_rule){.command = "EVALSHA", .delay_ms = 300});
    uint64_t begin_ns = redlock_now_ns();
    assert_int_equal(asked_once(&asked, &f), 0);
    int64_t took_ms = (int64_t)((redlock_now_ns() - begin_ns) / 1000000);
    assert_true(took_ms >= 300);
    assert_true(asked.node_holders[4].latency_us >= 300000);
    assert_true(asked.node_holders[0].latency_us < asked.node_holders[4].latency_us);
    /* by the end of the call it lived on for so long at least, and at most */
    int64_t waited_ms =
        (int64_t)(asked.node_holders[4].latency_us - asked.node_holders[0].latency_us) / 1000;
    assert_true(asked.node_holders[0].remaining_ms <= 1000000 - waited_ms);
    assert_true(asked.node_holders[0].remaining_ms >= 1000000 - 10000 - took_ms);
    five_stop(&f);
}

/* -- Nodes that do not answer -- */

static void waits_for_the_silent_ones(void **state) {
    struct five f;
    struct asked asked;
    ask_begin(&f, ASK_QUICK_MS);
    for (size_t silent = 1; silent <= 3; silent += 2) {
        for (size_t i = 0; i < silent; i++) {
            fake_node_clear_rules(f.nodes[i]);
            fake_node_rule(f.nodes[i],
                           (struct fake_rule){.command = "EVALSHA", .action = FAKE_IGNORE});
        }
        uint64_t begin_ns = redlock_now_ns();
        assert_int_equal(asked_once(&asked, &f), silent < 3 ? 0 : REDLOCK_ERR_NO_QUORUM);
        assert_true(redlock_now_ns() - begin_ns >= ASK_QUICK_MS * UINT64_C(1000000));
        for (size_t i = 0; i < FIVE; i++) {
            assert_int_equal(asked.node_holders[i].status,
                             i < silent ? REDLOCK_ERR_NODE_TIMEOUT : 0);
            assert_int_equal(asked.node_holders[i].latency_us > 0, i >= silent);
            assert_int_equal(f.downs[i].times, 0); /* it ended by its own deadline */
        }
    }
    five_stop(&f);
}

/* Three nodes answer when it is too late. Nothing is late for a program that stood still itself;
 * then it is asked again. */
static int asked_too_soon(struct asked *asked, struct five *f) {
    struct spent since = spent_begin();
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_put(f->nodes[i], FIVE_RESOURCE, TOKEN_A, 0);
    }
    for (size_t i = 0; i < 3; i++) {
        fake_node_rule(
            f->nodes[i],
            (struct fake_rule){
                .command = "EVALSHA", .times = 1, .delay_ms = ASK_QUICK_MS + ASK_QUICK_MS / 2});
    }
    int status = asked_once(asked, f);
    return status == 0 && spent_kept_ns(&since) > ASK_QUICK_MS / 4 * 1000000 ? 1 : status;
}

/* Late answers find the query completed, and then gone; the next one gets its own. */
static void is_not_touched_by_late_answers(void **state) {
    struct five f;
    struct asked asked, next;
    ask_begin(&f, ASK_QUICK_MS);
    f.may_keep = 0x1f;
    assert_int_equal(asked_once(&asked, &f), 0);
    int status = 1;
    for (int tries = 0; status == 1 && tries < FIVE_TRIES; tries++) {
        status = asked_too_soon(&asked, &f);
    }
    assert_int_equal(status, REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(asked.has_quorum, 0);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(five_info(&f, i).up, 1);
        fake_node_put(f.nodes[i], FIVE_RESOURCE, TOKEN_B, 0);
    }
    assert_int_equal(asked_once(&next, &f), 0); /* behind the late ones on each connection */
    assert_string_equal(next.token, TOKEN_B);
    assert_int_equal(asked.calls, 1);
    five_stop(&f);
}

static void says_why_a_node_is_down(void **state) {
    struct five f;
    struct asked asked;
    ask_begin(&f, ASK_PATIENT_MS);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_refuse(f.nodes[i]);
        fake_node_drop(f.nodes[i], true);
        five_wait_node(&f, i, false);
        assert_int_equal(asked_once(&asked, &f), i < 2 ? 0 : REDLOCK_ERR_NO_QUORUM);
        for (size_t j = 0; j < FIVE; j++) {
            assert_int_equal(asked.node_holders[j].status == 0, j > i);
            assert_true(j > i || asked.node_holders[j].status <= REDLOCK_ERR_NODE_DOWN);
        }
    }
    five_stop(&f);
}

/* A connection that ends while the question is out, and answers that Redis does not give. */
static void survives_what_nodes_do(void **state) {
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
    struct five f;
    struct asked asked;
    unsigned drops = 0;
    ask_begin(&f, ASK_PATIENT_MS);
    assert_int_equal(asked_once(&asked, &f), 0);
    for (size_t row = 0; row < COUNT(rows); row++) {
        fake_node_rule(f.nodes[2], (struct fake_rule){.command = "EVALSHA",
                                                      .times = 1,
                                                      .action = rows[row].action,
                                                      .bytes = rows[row].bytes});
        assert_int_equal(asked_once(&asked, &f), 0);
        for (size_t i = 0; i < FIVE; i++) {
            assert_int_equal(asked.node_holders[i].status, i == 2 ? rows[row].status : 0);
        }
        drops += rows[row].drops;
        if (rows[row].drops) {
            five_wait_down(&f, 2, drops, rows[row].status);
        }
        five_wait_up(&f, FIVE);
        assert_int_equal(f.downs[2].times, drops);
    }
    five_stop(&f);
}

/* EVAL goes where the script is not known, again and again. */
static void survives_forgotten_scripts(void **state) {
    struct five f;
    struct asked asked;
    ask_begin(&f, ASK_PATIENT_MS);
    for (size_t round = 1; round <= 3; round++) {
        assert_int_equal(asked_once(&asked, &f), 0);
        for (size_t i = 0; i < FIVE; i++) {
            assert_int_equal(asked.node_holders[i].status, 0);
            assert_int_equal(fake_node_count(f.nodes[i], "EVAL"), round);
            server_forget_scripts(fake_node_server(f.nodes[i]));
        }
    }
    five_stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_the_quorum),
        cmocka_unit_test(takes_the_wait_off),
        cmocka_unit_test(waits_for_the_silent_ones),
        cmocka_unit_test(is_not_touched_by_late_answers),
        cmocka_unit_test(says_why_a_node_is_down),
        cmocka_unit_test(survives_what_nodes_do),
        cmocka_unit_test(survives_forgotten_scripts),
    };
    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
