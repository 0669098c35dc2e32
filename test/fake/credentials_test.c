/* Credentials that are set while a client lives, against servers that answer AUTH oddly, late, not
 * at all, or by hanging up. Each test holds a lock meanwhile, which must not be lost. What real
 * servers do is in test/live/rotation_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake/five.h"
#include "messages.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WRONGPASS "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

/* -- Five nodes that want a password -- */

static char urls[FIVE][64];

static void know(struct five *f, size_t index, const char *password) {
    server_add_user(fake_node_server(f->nodes[index]), "app", password);
}

/* A client that says app:old to nodes that know it, and holds a lock. */
static void start(struct five *f, const char *old) {
    five_start(f);
    for (size_t i = 0; i < FIVE; i++) {
        server_set_password(fake_node_server(f->nodes[i]), "app", "old");
        snprintf(urls[i], sizeof urls[i], "redis://app:%s@%s", old, fake_node_name(f->nodes[i]));
        f->urls[i] = urls[i];
    }
}

static void open_and_hold(struct five *f) {
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    assert_int_equal(five_acquire(f, f->lock), 0);
}

static void end(struct five *f) {
    assert_int_equal(f->lost.calls, 0);
    assert_int_equal(five_extend(f, f->lock), 0);
    assert_int_equal(five_release(f, f->lock), 0);
    five_stop(f);
}

static void set(struct five *f, size_t index, const char *password) {
    assert_int_equal(redlock_client_set_credentials(f->client, index, "app", password), 0);
}

struct wanted {
    size_t index;
    int credentials;
    uint64_t connects; /* at least */
};

static bool is_so(struct five *f, void *data) {
    const struct wanted *wanted = data;
    redlock_node_info info = five_info(f, wanted->index);
    return info.up && info.credentials == wanted->credentials && info.connects >= wanted->connects;
}

/* Waits until a node is up, after so many connects, and this is what has become of what was set. */
static void wait_for(struct five *f, size_t index, int credentials, uint64_t connects) {
    struct wanted wanted = {index, credentials, connects};
    assert_true(five_run_until(f, is_so, &wanted));
}

/* -- Answers -- */

static void every_refusal_leaves_the_connection(void **state) {
    (void)state;
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
    struct five f;
    start(&f, "old");
    open_and_hold(&f);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fake_rule rule = {
            .command = "AUTH", .times = 1, .action = FAKE_INSTEAD, .bytes = rows[i].bytes};
        fake_node_rule(f.nodes[1], rule);
        set(&f, 1, "new-and-secret");
        assert_int_equal(five_info(&f, 1).credentials, REDLOCK_ERR_NODE_DOWN); /* not answered */
        assert_int_equal(five_stats(&f).credentials_pending, 1);
        wait_for(&f, 1, rows[i].reason, 1);
        five_assert_contains(CLIENT_MESSAGE(f.client), "new credentials refused");
        five_assert_contains(CLIENT_MESSAGE(f.client), rows[i].shown);
        assert_null(strstr(CLIENT_MESSAGE(f.client), "new-and"));
        assert_null(strstr(five_info(&f, 1).credentials_detail, "new-and"));
    }
    assert_int_equal(fake_node_accepted(f.nodes[1]), 1);
    know(&f, 1, "new-and-secret"); /* and then it is right */
    set(&f, 1, "new-and-secret");
    wait_for(&f, 1, 0, 1);
    assert_int_equal(five_stats(&f).credentials_pending, 0);
    assert_null(strstr(CLIENT_MESSAGE(f.client), "refused"));
    end(&f);
}

/* What Redis does not answer costs the connection, and the next one is made with what is good. */
static void an_odd_answer_costs_the_connection(void **state) {
    (void)state;
    static const char *const odd[] = {"+QUEUED\r\n", ":1\r\n",    "$-1\r\n",
                                      "*0\r\n",      "what?\r\n", "+OK\r\n+OK\r\n"};
    struct five f;
    start(&f, "old");
    open_and_hold(&f);
    for (size_t i = 0; i < COUNT(odd); i++) {
        struct fake_rule rule = {
            .command = "AUTH", .times = 1, .action = FAKE_INSTEAD, .bytes = odd[i]};
        fake_node_rule(f.nodes[1], rule);
        set(&f, 1, i % 2 == 0 ? "new" : "newer");
        five_wait_down(&f, 1, (unsigned)i + 1, REDLOCK_ERR_NODE_PROTOCOL);
        if (i + 1 < COUNT(odd)) { /* the last one has said OK before */
            wait_for(&f, 1, REDLOCK_ERR_NODE_AUTH, i + 2);
        }
    }
    fake_node_clear_rules(f.nodes[1]);
    know(&f, 1, "newest");
    set(&f, 1, "newest");
    wait_for(&f, 1, 0, COUNT(odd) + 1);
    end(&f);
}

/* No answer: as for any other command. The commands before and behind it are answered in order. */
static void no_answer_is_a_stall(void **state) {
    (void)state;
    struct five f;
    struct fake_rule rule = {.command = "AUTH", .times = 1, .action = FAKE_IGNORE};
    start(&f, "old");
    f.options.node_timeout_ms = 500;
    open_and_hold(&f);
    know(&f, 1, "new");
    fake_node_rule(f.nodes[1], rule);
    set(&f, 1, "new");
    five_wait_down(&f, 1, 1, REDLOCK_ERR_NODE_TIMEOUT);
    wait_for(&f, 1, 0, 2);
    end(&f);
}

/* -- Orders -- */

/* Others are set while AUTH is out: the last ones are what counts, whatever the first come to. */
static void the_last_ones_count(void **state) {
    (void)state;
    struct five f;
    start(&f, "old");
    open_and_hold(&f);
    fake_node_pause(f.nodes[1]);
    set(&f, 1, "first");
    set(&f, 1, "second");
    set(&f, 1, "third");
    five_run_ms(&f, 20);
    know(&f, 1, "third");
    fake_node_resume(f.nodes[1]);
    wait_for(&f, 1, 0, 1);
    assert_int_equal(fake_node_count(f.nodes[1], "AUTH"), 3); /* old, first, third */
    fake_node_pause(f.nodes[1]);
    know(&f, 1, "fourth");
    set(&f, 1, "fourth");
    set(&f, 1, "fifth"); /* wrong: what the node has accepted is the fourth */
    fake_node_resume(f.nodes[1]);
    wait_for(&f, 1, REDLOCK_ERR_NODE_AUTH, 1);
    fake_node_drop(f.nodes[1], false);
    wait_for(&f, 1, REDLOCK_ERR_NODE_AUTH, 2);
    end(&f);
}

/* The connection ends before the answer: the next one tries again. */
static void the_connection_ends_meanwhile(void **state) {
    (void)state;
    static const enum fake_action actions[] = {FAKE_CLOSE, FAKE_RESET, FAKE_EXECUTE_RESET};
    struct five f;
    start(&f, "old");
    open_and_hold(&f);
    for (size_t i = 0; i < COUNT(actions); i++) {
        char password[16];
        struct fake_rule rule = {.command = "AUTH", .times = 1, .action = actions[i]};
        snprintf(password, sizeof password, "new%zu", i);
        fake_node_rule(f.nodes[1], rule);
        know(&f, 1, password);
        set(&f, 1, password);
        wait_for(&f, 1, 0, i + 2);
    }
    end(&f);
}

/* Set while the handshake is under way, on a node that knows only the new one. */
static void set_in_a_handshake(void **state) {
    (void)state;
    struct five f;
    start(&f, "old");
    open_and_hold(&f);
    fake_node_pause(f.nodes[1]);
    fake_node_drop(f.nodes[1], true);
    five_wait_node(&f, 1, false);
    size_t accepted = fake_node_accepted(f.nodes[1]);
    know(&f, 1, "new");
    five_run_ms(&f, 50); /* connected, and it does not answer */
    set(&f, 1, "new");
    fake_node_resume(f.nodes[1]);
    wait_for(&f, 1, 0, 2);
    assert_true(fake_node_accepted(f.nodes[1]) >= accepted);
    end(&f);
}

/* Before the first connection; with a URL that has none; and for a node that wants none. */
static void set_before_the_first_connection(void **state) {
    (void)state;
    struct five f;
    start(&f, "wrong");
    f.urls[1] = fake_node_url(f.nodes[1]);
    f.urls[2] = fake_node_url(f.nodes[2]);
    server_set_password(fake_node_server(f.nodes[2]), NULL, NULL);
    for (size_t i = 0; i < FIVE; i++) {
        know(&f, i, "new");
    }
    server_set_password(fake_node_server(f.nodes[2]), NULL, NULL);
    f.options.nodes = f.urls;
    f.options.n_nodes = FIVE;
    f.memory_cap = SIZE_MAX; /* five_open() did not measure */
    assert_int_equal(redlock_client_open(&f.client, &f.loop, &f.options, five_on_client, &f.opened),
                     0);
    set(&f, REDLOCK_ALL_NODES, "new");
    assert_int_equal(five_wait(&f, &f.opened), 0);
    five_wait_up(&f, FIVE);
    assert_int_equal(five_stats(&f).credentials_pending, 0);
    assert_int_equal(redlock_lock_new(f.client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), &f.lock), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    end(&f);
}

/* A node that is down because it refused is not waited for: it is tried as soon as it is set. */
static void a_refusing_node_is_tried_at_once(void **state) {
    (void)state;
    struct five f;
    start(&f, "wrong");
    f.options.reconnect_min_ms = f.options.reconnect_max_ms = 600000;
    assert_int_equal(five_open(&f), REDLOCK_ERR_NO_QUORUM);
    five_assert_contains(CLIENT_MESSAGE(f.client), "WRONGPASS");
    assert_int_equal(five_info(&f, 0).reason, REDLOCK_ERR_NODE_AUTH);
    set(&f, REDLOCK_ALL_NODES, "old");
    five_wait_up(&f, FIVE);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    end(&f);
}

/* Both are wrong: down, for what was said of the newer ones; none is said to be accepted. */
static void both_are_wrong(void **state) {
    (void)state;
    struct five f;
    start(&f, "old");
    open_and_hold(&f);
    know(&f, 1, "other");
    set(&f, 1, "hunter2");
    wait_for(&f, 1, REDLOCK_ERR_NODE_AUTH, 1);
    fake_node_drop(f.nodes[1], false);
    five_wait_count(&f, 1, "AUTH", 6); /* twice with both */
    redlock_node_info info = five_info(&f, 1);
    assert_false(info.up);
    assert_int_equal(info.reason, REDLOCK_ERR_NODE_AUTH);
    assert_int_equal(info.credentials, REDLOCK_ERR_NODE_AUTH);
    assert_null(strstr(CLIENT_MESSAGE(f.client), "hunter"));
    know(&f, 1, "old"); /* the operator takes it back */
    wait_for(&f, 1, REDLOCK_ERR_NODE_AUTH, 2);
    end(&f);
}

/* -- Servers that hang up on a refusal -- */

/* It is asked again on the next connection, which it ends; and not on the one after that. */
static void hangs_up_on_the_newer_ones(void **state) {
    (void)state;
    static const enum fake_action actions[] = {FAKE_CLOSE, FAKE_RESET};
    for (size_t i = 0; i < COUNT(actions); i++) {
        struct five f;
        struct fake_rule twice = {.command = "AUTH",
                                  .times = 2,
                                  .action = actions[i],
                                  .bytes = i == 0 ? WRONGPASS : NULL};
        start(&f, "old");
        open_and_hold(&f);
        fake_node_rule(f.nodes[1], twice);
        set(&f, 1, "new");
        wait_for(&f, 1, i == 0 ? REDLOCK_ERR_NODE_AUTH : REDLOCK_ERR_NODE_DOWN, 2);
        five_run_ms(&f, 20);
        assert_int_equal(five_info(&f, 1).connects, 2); /* and stays, with those before */
        know(&f, 1, "new");
        set(&f, 1, "new");
        wait_for(&f, 1, 0, 2);
        end(&f);
    }
}

/* AUTH is not written before all that was sent before it is answered: some servers do not answer a
 * refused one then, and each answer that follows would be taken for another command's. */
static void waits_for_what_was_sent_before(void **state) {
    (void)state;
    struct five f;
    struct five_done done = {0, 0};
    struct fake_rule rule = {.command = "extend", .times = 1, .action = FAKE_IGNORE};
    start(&f, "old");
    f.options.node_timeout_ms = 500;
    open_and_hold(&f);
    fake_node_rule(f.nodes[1], rule);
    assert_int_equal(redlock_extend(f.lock, 0, five_on_lock, &done), 0);
    five_wait_count(&f, 1, "extend", 1);
    set(&f, 1, "new");
    assert_int_equal(five_wait(&f, &done), 0);
    five_run_ms(&f, 50);
    know(&f, 1, "new");
    five_wait_down(&f, 1, 1, REDLOCK_ERR_NODE_TIMEOUT); /* the extend was never answered */
    assert_int_equal(fake_node_count(f.nodes[1], "AUTH"), 1);
    wait_for(&f, 1, 0, 2);
    assert_int_equal(fake_node_count(f.nodes[1], "AUTH"), 2);
    end(&f);
}

/* -- The call itself -- */

static void refuses_what_cannot_be(void **state) {
    (void)state;
    struct five f;
    char long_one[REDLOCK_PASSWORD_MAX + 2];
    memset(long_one, 'p', sizeof long_one);
    long_one[sizeof long_one - 1] = '\0';
    start(&f, "old");
    open_and_hold(&f);
    static const size_t nodes[] = {FIVE, REDLOCK_ALL_NODES - 1};
    for (size_t i = 0; i < COUNT(nodes); i++) {
        assert_int_equal(redlock_client_set_credentials(f.client, nodes[i], "app", "new"),
                         REDLOCK_ERR_INVALID);
    }
    assert_int_equal(redlock_client_set_credentials(f.client, 0, "app", ""), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_client_set_credentials(f.client, 0, "app", long_one),
                     REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_client_set_credentials(f.client, 0, long_one, "new"),
                     REDLOCK_ERR_INVALID);
    assert_int_equal(five_stats(&f).credentials_pending, 0);
    assert_int_equal(five_release(&f, f.lock), 0);
    assert_int_equal(redlock_client_close(f.client, five_on_client, &f.closed), 0);
    assert_int_equal(redlock_client_set_credentials(f.client, 0, "app", "new"), REDLOCK_ERR_CLOSED);
    assert_int_equal(five_wait(&f, &f.closed), 0);
    f.client = NULL; /* five_stop() would close it */
    f.closed.calls = 0;
    f.memory_cap = SIZE_MAX;
    five_stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refusal_leaves_the_connection),
        cmocka_unit_test(an_odd_answer_costs_the_connection),
        cmocka_unit_test(no_answer_is_a_stall),
        cmocka_unit_test(the_last_ones_count),
        cmocka_unit_test(the_connection_ends_meanwhile),
        cmocka_unit_test(set_in_a_handshake),
        cmocka_unit_test(set_before_the_first_connection),
        cmocka_unit_test(a_refusing_node_is_tried_at_once),
        cmocka_unit_test(both_are_wrong),
        cmocka_unit_test(hangs_up_on_the_newer_ones),
        cmocka_unit_test(waits_for_what_was_sent_before),
        cmocka_unit_test(refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
