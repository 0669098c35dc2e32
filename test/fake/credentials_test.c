/* Credentials that are set on an open client, with servers that answer AUTH oddly, late, not at
 * all, or by hanging up (credentials_odd_test.c has servers that keep doing so). Each test holds a
 * lock, which must not be lost. test/live/rotation_test.c uses real servers. */

#include "fake/rotating.h"
#include "messages.h"
#include "seed.h"

#define WRONGPASS "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

/* -- Answers -- */

ROTATING_TEST(every_refusal_leaves_the_connection) {
    static const struct {
        const char *bytes;
        int reason;
        const char *shown;
    } rows[] = {
        {WRONGPASS, REDLOCK_ERR_NODE_AUTH, "WRONGPASS invalid"},
        {"-NOPERM this user has no permissions to run the 'auth' command\r\n",
         REDLOCK_ERR_NODE_PERMISSION, "NOPERM"},
        {"-ERR AUTH <password> called without any password configured\r\n", REDLOCK_ERR_NODE_AUTH,
         "without any password"},
        {"-ERR unknown command 'AUTH', with args beginning with: 'app' 'new-and-secret' \r\n",
         REDLOCK_ERR_NODE_AUTH, "(ERR)"},
        {"-LOADING Redis is loading the dataset in memory\r\n", REDLOCK_ERR_NODE_LOADING,
         "LOADING"},
        {"-BUSY Redis is busy running a script.\r\n", REDLOCK_ERR_NODE_BUSY, "BUSY"},
        {"-\r\n", REDLOCK_ERR_NODE_AUTH, "()"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        five_rule(f, 1, .command = "AUTH", .times = 1, .action = FAKE_INSTEAD,
                  .bytes = rows[i].bytes);
        rotating_set(f, 1, "new-and-secret");
        assert_int_equal(five_info(f, 1).credentials, REDLOCK_ERR_NODE_DOWN); /* not answered */
        assert_int_equal(five_stats(f).credentials_pending, 1);
        rotating_wait(f, 1, rows[i].reason, 1);
        assert_contains(CLIENT_MESSAGE(f->client), "new credentials refused");
        assert_contains(CLIENT_MESSAGE(f->client), rows[i].shown);
        assert_null(strstr(CLIENT_MESSAGE(f->client), "new-and"));
        assert_null(strstr(five_info(f, 1).credentials_detail, "new-and"));
    }
    assert_int_equal(fake_node_accepted(f->nodes[1]), 1);
    rotating_know(f, 1, "new-and-secret"); /* now they are valid */
    rotating_set(f, 1, "new-and-secret");
    rotating_wait(f, 1, 0, 1);
    assert_int_equal(five_stats(f).credentials_pending, 0);
    assert_null(strstr(CLIENT_MESSAGE(f->client), "refused"));
}

/* A reply that Redis would not give ends the connection; the next one uses valid credentials. */
ROTATING_TEST(an_odd_answer_costs_the_connection) {
    static const char *const odd[] = {"+QUEUED\r\n", ":1\r\n",    "$-1\r\n",
                                      "*0\r\n",      "what?\r\n", "+OK\r\n+OK\r\n"};
    for (size_t i = 0; i < COUNT(odd); i++) {
        five_rule(f, 1, .command = "AUTH", .times = 1, .action = FAKE_INSTEAD, .bytes = odd[i]);
        rotating_set(f, 1, i % 2 == 0 ? "new" : "newer");
        five_wait_down(f, 1, (unsigned)i + 1, REDLOCK_ERR_NODE_PROTOCOL);
        if (i + 1 < COUNT(odd)) { /* the last row has answered OK already */
            rotating_wait(f, 1, REDLOCK_ERR_NODE_AUTH, i + 2);
        }
    }
    fake_node_clear_rules(f->nodes[1]);
    rotating_know(f, 1, "newest");
    rotating_set(f, 1, "newest");
    rotating_wait(f, 1, 0, COUNT(odd) + 1);
}

/* An unanswered AUTH is a stall, as for any other command. The commands before and after it are
 * answered in order. */
FIVE_TEST(no_answer_is_a_stall) {
    rotating_prepare(f, "old");
    f->options.node_timeout_ms = 500;
    rotating_open(f);
    rotating_know(f, 1, "new");
    five_rule(f, 1, .command = "AUTH", .times = 1, .action = FAKE_IGNORE);
    rotating_set(f, 1, "new");
    five_wait_down(f, 1, 1, REDLOCK_ERR_NODE_TIMEOUT);
    rotating_wait(f, 1, 0, 2);
    rotating_check(f);
}

/* -- Orders -- */

/* Credentials change while AUTH is outstanding: the last ones count, whatever the answer to the
 * first. */
ROTATING_TEST(the_last_ones_count) {
    fake_node_pause(f->nodes[1]);
    rotating_set(f, 1, "first");
    rotating_set(f, 1, "second");
    rotating_set(f, 1, "third");
    five_run_ms(f, 20);
    rotating_know(f, 1, "third");
    fake_node_resume(f->nodes[1]);
    rotating_wait(f, 1, 0, 1);
    assert_int_equal(fake_node_count(f->nodes[1], "AUTH"), 3); /* old, first, third */
    fake_node_pause(f->nodes[1]);
    rotating_know(f, 1, "fourth");
    rotating_set(f, 1, "fourth");
    rotating_set(f, 1, "fifth"); /* wrong: the node has accepted the fourth */
    fake_node_resume(f->nodes[1]);
    rotating_wait(f, 1, REDLOCK_ERR_NODE_AUTH, 1);
    fake_node_drop(f->nodes[1], false);
    rotating_wait(f, 1, REDLOCK_ERR_NODE_AUTH, 2);
}

/* The connection ends before AUTH is answered: the next one tries again. */
ROTATING_TEST(the_connection_ends_meanwhile) {
    static const enum fake_action actions[] = {FAKE_CLOSE, FAKE_RESET, FAKE_EXECUTE_RESET};
    for (size_t i = 0; i < COUNT(actions); i++) {
        char password[16];
        snprintf(password, sizeof password, "new%zu", i);
        five_rule(f, 1, .command = "AUTH", .times = 1, .action = actions[i]);
        rotating_know(f, 1, password);
        rotating_set(f, 1, password);
        rotating_wait(f, 1, 0, i + 2);
    }
}

static bool has_failed_often(struct five *f, void *data) {
    return five_info(f, 1).failures >= 11; /* the next pause is half a second at the least */
}

static bool is_accepted(struct five *f, void *data) {
    return fake_node_accepted(f->nodes[1]) > *(const size_t *)data;
}

/* Set during the handshake, on a node that knows only the new password. */
ROTATING_TEST(set_in_a_handshake) {
    fake_node_pause(f->nodes[1]);
    fake_node_drop(f->nodes[1], true);
    five_wait_node(f, 1, false);
    size_t accepted = fake_node_accepted(f->nodes[1]);
    rotating_know(f, 1, "new");
    five_run_ms(f, 50); /* connected, and it does not answer */
    rotating_set(f, 1, "new");
    fake_node_resume(f->nodes[1]);
    rotating_wait(f, 1, 0, 2);
    assert_true(fake_node_accepted(f->nodes[1]) >= accepted);
}

/* After many failures, credentials are set in a handshake that fails with the former ones: the next
 * connection does not wait for the full reconnect pause. */
FIVE_TEST(set_after_many_failures) {
    rotating_prepare(f, "old");
    f->options.reconnect_min_ms = 1;
    f->options.reconnect_max_ms = 600000;
    rotating_open(f);
    fake_node_refuse(f->nodes[1]);
    fake_node_drop(f->nodes[1], true);
    assert_true(five_run_until(f, has_failed_often, NULL));
    rotating_know(f, 1, "new");
    fake_node_pause(f->nodes[1]);
    size_t accepted = fake_node_accepted(f->nodes[1]);
    fake_node_listen(f->nodes[1]);
    assert_true(five_run_until(f, is_accepted, &accepted));
    rotating_set(f, 1, "new");
    struct spent since = spent_begin();
    fake_node_resume(f->nodes[1]);
    rotating_wait(f, 1, 0, 2);
    assert_true(spent_ms(&since) < 500);
    rotating_check(f);
}

/* As five_open(), without a turn of the loop. */
static void begin_to_open(struct five *f) {
    f->options.nodes = f->urls;
    f->options.n_nodes = FIVE;
    f->memory_cap = SIZE_MAX; /* five_open() did not measure */
    assert_int_equal(
        redlock_client_open(&f->client, &f->loop, &f->options, five_on_client, &f->opened), 0);
}

static void acquire_as_opened(struct five *f) {
    five_wait_up(f, FIVE);
    assert_int_equal(redlock_lock_new(f->client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), &f->lock),
                     0);
    assert_int_equal(five_acquire(f, f->lock), 0);
}

/* Before the first connection; with a URL that has none; and for a node that wants none. */
FIVE_TEST(set_before_the_first_connection) {
    rotating_prepare(f, "wrong");
    f->urls[1] = fake_node_url(f->nodes[1]);
    f->urls[2] = fake_node_url(f->nodes[2]);
    server_set_password(fake_node_server(f->nodes[2]), NULL, NULL);
    for (size_t i = 0; i < FIVE; i++) {
        rotating_know(f, i, "new");
    }
    server_set_password(fake_node_server(f->nodes[2]), NULL, NULL);
    begin_to_open(f);
    rotating_set(f, REDLOCK_ALL_NODES, "new");
    assert_int_equal(five_wait(f, &f->opened), 0);
    five_wait_up(f, FIVE);
    assert_int_equal(five_stats(f).credentials_pending, 0);
    acquire_as_opened(f);
    rotating_check(f);
}

/* Wrong credentials before the first connection: nothing else is tried, neither the URL's, even if
 * valid, nor the user `default`, which needs no password here. With valid ones it connects at
 * once. */
FIVE_EACH(wrong_before_the_first_connection, 2) {
    const bool is_in_url = row == 1;
    rotating_prepare(f, "old");
    for (size_t i = 0; i < FIVE; i++) {
        server_set_password(fake_node_server(f->nodes[i]), NULL, NULL);
        f->urls[i] = is_in_url ? f->urls[i] : fake_node_url(f->nodes[i]);
    }
    f->options.reconnect_min_ms = f->options.reconnect_max_ms = 600000;
    begin_to_open(f);
    rotating_set(f, REDLOCK_ALL_NODES, "wrong");
    assert_int_equal(five_wait(f, &f->opened), REDLOCK_ERR_NO_QUORUM);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(five_info(f, i).reason, REDLOCK_ERR_NODE_AUTH);
        assert_int_equal(fake_node_count(f->nodes[i], "AUTH"), 1);
    }
    assert_contains(CLIENT_MESSAGE(f->client), "WRONGPASS");
    rotating_set(f, REDLOCK_ALL_NODES, "old");
    five_wait_up(f, FIVE);
    acquire_as_opened(f);
    rotating_check(f);
}

static bool first_has_failed(struct five *f, void *data) {
    return five_info(f, 0).failures > 0;
}

/* Set while the client opens, after the loop has run: this is a rotation, so the URL's credentials
 * stay in use. */
FIVE_TEST(wrong_after_the_first_attempt) {
    rotating_prepare(f, "old");
    five_rule(f, 0, .nth = 1, .times = 1, .action = FAKE_CLOSE);
    for (size_t i = 1; i < FIVE; i++) {
        fake_node_pause(f->nodes[i]);
    }
    begin_to_open(f);
    assert_true(five_run_until(f, first_has_failed, NULL));
    assert_int_equal(f->opened.calls, 0);
    rotating_set(f, 0, "not-yet-known");
    for (size_t i = 1; i < FIVE; i++) {
        fake_node_resume(f->nodes[i]);
    }
    five_wait_up(f, FIVE);
    rotating_wait(f, 0, REDLOCK_ERR_NODE_AUTH, 1);
}

/* Both are wrong: the node is down, with the reason for the newer ones, and none is reported as
 * accepted. */
ROTATING_TEST(both_are_wrong) {
    rotating_know(f, 1, "other");
    rotating_set(f, 1, "hunter2");
    rotating_wait(f, 1, REDLOCK_ERR_NODE_AUTH, 1);
    fake_node_drop(f->nodes[1], false);
    five_wait_count(f, 1, "AUTH", 6); /* twice with both */
    redlock_node_info info = five_info(f, 1);
    assert_false(info.up);
    assert_int_equal(info.reason, REDLOCK_ERR_NODE_AUTH);
    assert_int_equal(info.credentials, REDLOCK_ERR_NODE_AUTH);
    assert_null(strstr(CLIENT_MESSAGE(f->client), "hunter"));
    rotating_know(f, 1, "old"); /* the operator restores the old password */
    rotating_wait(f, 1, REDLOCK_ERR_NODE_AUTH, 2);
}

/* -- Any order -- */

static unsigned draw(uint64_t *random, unsigned count) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (unsigned)(*random % count);
}

/* Does one random thing to one of two nodes; the others are a quorum. */
static void strike(struct five *f, uint64_t *random) {
    static const char *const users[] = {"app", "app2", "nobody"};
    static const char *const passwords[] = {"a", "b", "c"};
    const size_t index = draw(random, 2);
    struct fake_node *node = f->nodes[index];
    const char *password = passwords[draw(random, 3)];
    switch (draw(random, 7)) {
        case 0:
        case 1:
            assert_int_equal(
                redlock_client_set_credentials(f->client, index, users[draw(random, 3)], password),
                0);
            break;
        case 2:
            server_add_user(fake_node_server(node), users[draw(random, 2)], password);
            break;
        case 3:
            fake_node_drop(node, draw(random, 2) == 0);
            break;
        case 4:
            fake_node_pause(node);
            break;
        case 5:
            fake_node_resume(node);
            break;
        default:
            node_rule(node, .command = "AUTH", .times = 1,
                      .action = draw(random, 2) == 0 ? FAKE_CLOSE : FAKE_EXECUTE_RESET);
            break;
    }
}

/* Whatever came before, the last credentials, which are valid, are used, and no lock was lost. */
ROTATING_EACH(in_any_order, 10) {
    uint64_t random =
        (random_seed() + row) * UINT64_C(0x9e3779b97f4a7c15) | 1; /* xorshift stays at 0 */
    for (int i = 0; i < 40; i++) {
        strike(f, &random);
        if (draw(&random, 2) == 0) {
            five_run_ms(f, draw(&random, 4));
        }
    }
    for (size_t i = 0; i < 2; i++) {
        fake_node_clear_rules(f->nodes[i]);
        fake_node_resume(f->nodes[i]);
        rotating_know(f, i, "last");
        rotating_set(f, i, "last");
        rotating_wait(f, i, 0, 1);
        uint64_t connects = five_info(f, i).connects;
        fake_node_drop(f->nodes[i], false);
        rotating_wait(f, i, 0, connects + 1);
    }
    assert_int_equal(five_stats(f).credentials_pending, 0);
}

/* -- The call itself -- */

struct candidates { /* for the trace hook: each is set when the one before it is refused */
    redlock_client *client;
    const char *const *passwords;
    unsigned refused, accepted;
};

static void on_event(const redlock_event *event, void *data) {
    struct candidates *candidates = data;
    candidates->accepted += event->type == REDLOCK_EVENT_CREDENTIALS_ACCEPTED;
    if (event->type == REDLOCK_EVENT_CREDENTIALS_REFUSED) {
        assert_non_null(*candidates->passwords);
        assert_int_equal(
            redlock_client_set_credentials(candidates->client, 1, "app", *candidates->passwords++),
            0);
        candidates->refused++;
    }
}

/* Credentials are set inside the event that reports a refusal, on a live connection and in a
 * handshake. */
FIVE_EACH(set_in_the_trace_hook, 2) {
    static const char *const passwords[] = {"b", "c", "d", "e", NULL};
    static struct candidates candidates; /* the client is closed later */
    candidates = (struct candidates){.passwords = passwords};
    rotating_prepare(f, "old");
    f->options.trace = on_event;
    f->options.trace_data = &candidates;
    rotating_open(f);
    candidates.client = f->client;
    if (row == 1) {
        fake_node_drop(f->nodes[1], true);
        five_wait_node(f, 1, false);
    }
    rotating_set(f, 1, "a");
    rotating_know(f, 1, "e");
    rotating_wait(f, 1, 0, 1);
    assert_int_equal(candidates.refused, 4);
    assert_int_equal(candidates.accepted, 1);
    rotating_check(f);
}

FIVE_TEST(refuses_what_cannot_be) {
    char long_one[REDLOCK_PASSWORD_MAX + 2];
    memset(long_one, 'p', sizeof long_one);
    long_one[sizeof long_one - 1] = '\0';
    rotating_prepare(f, "old");
    rotating_open(f);
    static const size_t nodes[] = {FIVE, REDLOCK_ALL_NODES - 1};
    for (size_t i = 0; i < COUNT(nodes); i++) {
        assert_int_equal(redlock_client_set_credentials(f->client, nodes[i], "app", "new"),
                         REDLOCK_ERR_INVALID);
    }
    assert_int_equal(redlock_client_set_credentials(f->client, 0, "app", ""), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_client_set_credentials(f->client, 0, "app", long_one),
                     REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_client_set_credentials(f->client, 0, long_one, "new"),
                     REDLOCK_ERR_INVALID);
    assert_int_equal(five_stats(f).credentials_pending, 0);
    assert_int_equal(five_release(f, f->lock), 0);
    assert_int_equal(redlock_client_close(f->client, five_on_client, &f->closed), 0);
    assert_int_equal(redlock_client_set_credentials(f->client, 0, "app", "new"),
                     REDLOCK_ERR_CLOSED);
    assert_int_equal(five_wait(f, &f->closed), 0);
    f->client = NULL; /* five_stop() would close it */
    f->closed.calls = 0;
    f->memory_cap = SIZE_MAX;
}
