/* Queries for waiting clients, on nodes that have a line or none, stop in the middle, refuse, or
 * have entries that no client of ours can have written. */

#include "fake/ask.h"

#define CLIENT_A "aaaaaaaaaaaaaaaa"
#define CLIENT_B "bbbbbbbbbbbbbbbb"
#define CLIENT_C "cccccccccccccccc"
#define CLIENT_D "dddddddddddddddd"
#define NUMBER "000000000000000100000000"

static int listen_to(struct asked *listed, struct five *f, size_t max) {
    *listed = (struct asked){.f = f};
    return redlock_query_waiters(f->client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), max, on_asked,
                                 listed);
}

static int list(struct asked *listed, struct five *f, size_t max) {
    assert_int_equal(listen_to(listed, f, max), 0);
    assert_int_equal(listed->calls, 0); /* never inside the call */
    assert_true(five_run_until(f, was_told, listed));
    assert_int_equal(listed->calls, 1);
    assert_int_equal(listed->has_quorum, 0);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(listed->node_holders[i].is_held + listed->node_holders[i].is_reserved, 0);
    }
    return listed->status;
}

static void says_one(struct five *f, size_t node, const char *answer) {
    char bytes[256] = "$-1\r\n";
    if (answer != NULL) {
        snprintf(bytes, sizeof(bytes), "$%zu\r\n%s\r\n", strlen(answer), answer);
    }
    five_rule(f, node, .command = "EVALSHA", .times = 1, .action = FAKE_INSTEAD, .bytes = bytes);
}

/* A node's next answers to scripts; NULL: nil. A query asks for the first place of both lines at
 * once; no client waits to read. */
static void says(struct five *f, size_t node, const char *const *answers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        says_one(f, node, answers[i]);
        if (i == 0) {
            says_one(f, node, NULL);
        }
    }
}

static void says_nothing_of_a_line(struct five *f, size_t but) {
    static const char *const nil[] = {NULL};
    for (size_t i = 0; i < FIVE; i++) {
        if (i != but) {
            says(f, i, nil, 1);
        }
    }
}

static void is_waiter(const struct asked *listed, size_t index, const char *client,
                      const char *holder, int64_t least_ms) {
    assert_string_equal(listed->waiters[index].client, client);
    assert_string_equal(listed->waiters[index].holder, holder);
    assert_true(listed->waiters[index].waited_ms >= least_ms);
    assert_true(listed->waiters[index].waited_ms <= least_ms + FIVE_PATIENCE_MS);
}

/* -- The line -- */

ASK_TEST(nobody_waits) {
    struct asked listed;
    says_nothing_of_a_line(f, FIVE);
    assert_int_equal(list(&listed, f, 10), 0);
    assert_int_equal(listed.n + listed.waiting, 0);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(listed.node_holders[i].status, 0);
        assert_int_equal(fake_node_count(f->nodes[i], "EVALSHA"), 2); /* one for each line */
    }
}

ASK_TEST(lists_them_in_order) {
    static const char *const line[] = {"3 5000 " CLIENT_B NUMBER ":web-2/4711",
                                       "3 900 " CLIENT_A NUMBER, "3 1200 " CLIENT_C NUMBER ":a:b"};
    struct asked listed;
    says_nothing_of_a_line(f, 2);
    says(f, 2, line, COUNT(line));
    assert_int_equal(list(&listed, f, 10), 0);
    assert_int_equal(listed.waiting, 3);
    assert_int_equal(listed.n, 3);
    is_waiter(&listed, 0, CLIENT_B, "web-2/4711", 5000);
    is_waiter(&listed, 1, CLIENT_A, "", 900);
    is_waiter(&listed, 2, CLIENT_C, "a:b", 1200); /* in the node's order, whatever their times */
    for (size_t i = 0; i < 3; i++) {
        char asked[16];
        size_t last = fake_node_count(f->nodes[2], NULL);
        assert_string_equal(listed.waiters[i].node, fake_node_name(f->nodes[2]));
        snprintf(asked, sizeof(asked), FIVE_RESOURCE " %zu", i);
        /* the query of the readers' line comes between the first and the others */
        assert_contains(fake_node_log(f->nodes[2], i == 0 ? last - 4 : last - 3 + i), asked);
    }
}

ASK_TEST(asks_for_no_more_than_wanted) {
    static const char *const line[] = {"500 5000 " CLIENT_A NUMBER, "500 4000 " CLIENT_B NUMBER};
    struct asked listed;
    for (size_t max = 1; max <= 2; max++) {
        says_nothing_of_a_line(f, 4);
        says(f, 4, line, max);
        size_t before = fake_node_count(f->nodes[4], "EVALSHA");
        assert_int_equal(list(&listed, f, max), 0);
        assert_int_equal(listed.waiting, 500);
        assert_int_equal(listed.n, max);
        assert_int_equal(fake_node_count(f->nodes[4], "EVALSHA"), before + 1 + max);
    }
}

/* Clients that disagree about which node is home, and one that has moved. */
ASK_TEST(puts_several_lines_together) {
    static const char *const shorter[] = {"2 9000 " CLIENT_A NUMBER ":moved",
                                          "2 8000 " CLIENT_D NUMBER ":d"};
    static const char *const longer[] = {"3 7000 " CLIENT_B NUMBER, "3 6000 " CLIENT_A NUMBER ":a",
                                         "3 5000 " CLIENT_C NUMBER};
    static const char *const nil[] = {NULL};
    struct asked listed;
    says(f, 0, shorter, COUNT(shorter));
    says(f, 1, nil, 1);
    says(f, 2, nil, 1);
    says(f, 3, longer, COUNT(longer));
    says(f, 4, nil, 1);
    assert_int_equal(list(&listed, f, ASK_LISTED_MAX), 0);
    assert_int_equal(listed.n, 4);
    assert_int_equal(listed.waiting, 4);
    is_waiter(&listed, 0, CLIENT_B, "", 7000);
    is_waiter(&listed, 1, CLIENT_A, "a", 6000);
    is_waiter(&listed, 2, CLIENT_C, "", 5000);
    is_waiter(&listed, 3, CLIENT_D, "d", 8000);
    assert_string_equal(listed.waiters[3].node, fake_node_name(f->nodes[0]));
    says_nothing_of_a_line(f, 0);
    says(f, 0, shorter, 1);
    fake_node_clear_rules(f->nodes[3]);
    says(f, 3, longer, 1);
    assert_int_equal(list(&listed, f, 1), 0); /* the query wants one; each line's first is known */
    assert_int_equal(listed.n, 1);
    assert_int_equal(listed.waiting, 3);
}

/* A node that answers for its line but not for its readers' line. (live/query_readers has both
 * lines.) */
ASK_TEST(half_an_answer_is_none) {
    struct asked listed;
    says_nothing_of_a_line(f, 2);
    says_one(f, 2, NULL);
    five_rule(f, 2, .command = "EVALSHA", .times = 1, .action = FAKE_INSTEAD,
              .bytes = "-BUSY a script\r\n");
    assert_int_equal(list(&listed, f, 10), 0);
    assert_int_equal(listed.node_holders[2].status, REDLOCK_ERR_NODE_BUSY);
    assert_int_equal(listed.n, 0);
}

/* Entries written into a line by hand are shown as they are. */
ASK_TEST(shows_strangers) {
    static const char *const line[] = {"5 0 stranger", "5 0 ", "5 4294967295 " CLIENT_A NUMBER "-x",
                                       "5 0 AAAAAAAAAAAAAAAA" NUMBER, "5 0 " CLIENT_A};
    struct asked listed;
    says_nothing_of_a_line(f, 1);
    says(f, 1, line, COUNT(line));
    assert_int_equal(list(&listed, f, ASK_LISTED_MAX), 0);
    assert_int_equal(listed.n, 5);
    is_waiter(&listed, 0, "", "stranger", 0);
    is_waiter(&listed, 1, "", "", 0);
    is_waiter(&listed, 2, "", CLIENT_A NUMBER "-x", 4294967295);
    is_waiter(&listed, 3, "", "AAAAAAAAAAAAAAAA" NUMBER, 0);
    is_waiter(&listed, 4, "", CLIENT_A, 0);
}

/* -- Nodes that do not answer -- */

FIVE_TEST(ends_when_the_rest_does_not_come) {
    static const char *const line[] = {"3 5000 " CLIENT_A NUMBER, "3 4000 " CLIENT_B NUMBER};
    struct asked listed;
    ask_open(f, ASK_QUICK_MS);
    says_nothing_of_a_line(f, 3);
    says(f, 3, line, COUNT(line));
    five_rule(f, 3, .command = "EVALSHA", .action = FAKE_IGNORE);
    uint64_t begin_ns = redlock_now_ns();
    assert_int_equal(list(&listed, f, 10), 0);
    assert_true(redlock_now_ns() - begin_ns >= ASK_QUICK_MS * UINT64_C(1000000));
    assert_int_equal(listed.waiting, 3);
    assert_int_equal(listed.n, 2);
    is_waiter(&listed, 1, CLIENT_B, "", 4000);
    assert_int_equal(listed.node_holders[3].status, 0);
}

/* Each further request to a node has a node_timeout of its own. */
FIVE_TEST(the_rest_has_its_own_time) {
    static const char *const line[] = {"2 5000 " CLIENT_A NUMBER, "2 4000 " CLIENT_B NUMBER};
    struct asked listed;
    ask_open(f, 2000);
    says_nothing_of_a_line(f, 3);
    for (size_t i = 0; i < COUNT(line); i++) {
        char bytes[128];
        snprintf(bytes, sizeof(bytes), "$%zu\r\n%s\r\n", strlen(line[i]), line[i]);
        five_rule(f, 3, .command = "EVALSHA", .times = 1, .action = FAKE_INSTEAD, .bytes = bytes,
                  .delay_ms = 1100);
        if (i == 0) {
            says_one(f, 3, NULL);
        }
    }
    assert_int_equal(list(&listed, f, 10), 0);
    assert_int_equal(listed.n, 2);
    assert_true(listed.waiters[0].waited_ms >= 5000 + 1100); /* the wait for the rest counts, too */
}

ASK_TEST(says_which_nodes_refuse) {
    static const char *const line[] = {"1 5000 " CLIENT_A NUMBER};
    struct asked listed;
    for (size_t refusing = 2; refusing <= 3; refusing++) {
        for (size_t i = 0; i < FIVE; i++) {
            fake_node_clear_rules(f->nodes[i]);
            if (i < refusing) {
                five_rule(f, i, .command = "EVALSHA", .action = FAKE_INSTEAD,
                          .bytes = "-NOPERM no permissions\r\n");
            } else {
                says(f, i, line, 1);
            }
        }
        assert_int_equal(list(&listed, f, 10), refusing == 2 ? 0 : REDLOCK_ERR_NO_QUORUM);
        assert_int_equal(listed.node_holders[0].status, REDLOCK_ERR_NODE_PERMISSION);
        assert_int_equal(listed.node_holders[4].status, 0);
        assert_int_equal(listed.n, 1); /* the same client on all other nodes */
    }
}

/* The client closes while requests for the rest are outstanding; the query's memory stays until its
 * callback has run. */
ASK_TEST(ends_with_the_client) {
    static const char *const line[] = {"900 5000 " CLIENT_A NUMBER};
    struct asked listed;
    says_nothing_of_a_line(f, 0);
    says(f, 0, line, COUNT(line));
    five_rule(f, 0, .command = "EVALSHA", .action = FAKE_IGNORE);
    assert_int_equal(listen_to(&listed, f, REDLOCK_WAITERS_MAX), 0);
    five_wait_count(f, 0, "EVALSHA", 901);
    assert_int_equal(listed.calls, 0);
    assert_int_equal(redlock_client_close(f->client, five_on_client, &f->closed), 0);
    assert_int_equal(five_wait(f, &f->closed), 0);
    assert_int_equal(listed.calls, 1);
    assert_int_equal(listed.status, REDLOCK_ERR_CANCELED);
    assert_int_equal(listed.n, 1);
    f->client = NULL;
    f->closed.calls = 0;
}

ASK_TEST(refuses_bad_arguments) {
    struct asked listed;
    char name[REDLOCK_RESOURCE_MAX + 1] = "";
    assert_int_equal(listen_to(&listed, f, 0), REDLOCK_ERR_INVALID);
    assert_int_equal(listen_to(&listed, f, REDLOCK_WAITERS_MAX + 1), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_query_waiters(f->client, name, 0, 1, on_asked, &listed),
                     REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_query_waiters(f->client, name, sizeof(name), 1, on_asked, &listed),
                     REDLOCK_ERR_INVALID);
    says_nothing_of_a_line(f, FIVE);
    assert_int_equal(list(&listed, f, REDLOCK_WAITERS_MAX), 0);
}
