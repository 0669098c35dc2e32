/* Redis's error replies: each mapped to its reason, a failed vote and never a refusal; the fallback
 * from EVALSHA to EVAL; and errors that make a node unusable (password, database, permission, too
 * many clients). */
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

struct error_row {
    const char *bytes;
    int reason;
};

/* As Redis 7.0 words them. */
static const struct error_row to_set[] = {
    {"-LOADING Redis is loading the dataset in memory\r\n", REDLOCK_ERR_NODE_LOADING},
    {"-READONLY You can't write against a read only replica.\r\n", REDLOCK_ERR_NODE_READONLY},
    {"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
     REDLOCK_ERR_NODE_READONLY},
    {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", REDLOCK_ERR_NODE_OOM},
    {"-NOAUTH Authentication required.\r\n", REDLOCK_ERR_NODE_AUTH},
    {"-NOPERM this user has no permissions to run the 'set' command\r\n",
     REDLOCK_ERR_NODE_PERMISSION},
    {"-NOPERM No permissions to access a key\r\n", REDLOCK_ERR_NODE_PERMISSION},
    {"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to"
     " disk.\r\n",
     REDLOCK_ERR_NODE_MISCONF},
    {"-NOREPLICAS Not enough good replicas to write.\r\n", REDLOCK_ERR_NODE_MISCONF},
    {"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n",
     REDLOCK_ERR_NODE_BUSY},
    {"-ERR max number of clients reached\r\n", REDLOCK_ERR_NODE_BUSY},
    {"-ERR max number of clients + cluster connections reached\r\n", REDLOCK_ERR_NODE_BUSY},
    {"-MOVED 3999 127.0.0.1:6381\r\n", REDLOCK_ERR_NODE_CLUSTER},
    {"-ASK 3999 127.0.0.1:6381\r\n", REDLOCK_ERR_NODE_CLUSTER},
    {"-CLUSTERDOWN The cluster is down\r\n", REDLOCK_ERR_NODE_CLUSTER},
    {"-TRYAGAIN Multiple keys request during rehashing of slot\r\n", REDLOCK_ERR_NODE_CLUSTER},
    {"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
     REDLOCK_ERR_NODE_WRONGTYPE},
    {"-ERR unknown command 'SET'\r\n", REDLOCK_ERR_NODE_ERROR},
    {"-ERR syntax error\r\n", REDLOCK_ERR_NODE_ERROR},
    {"-NOSCRIPT No matching script. Please use EVAL.\r\n", REDLOCK_ERR_NODE_ERROR},
    {"-LOADINGX no such word\r\n", REDLOCK_ERR_NODE_ERROR},
    {"-loading is not LOADING\r\n", REDLOCK_ERR_NODE_ERROR},
    {"-\r\n", REDLOCK_ERR_NODE_ERROR},
};

static bool is_voted(struct five *f, void *data) {
    return five_outcome(f, *(const size_t *)data).vote != REDLOCK_VOTE_PENDING;
}

static void expect_reason(struct five *f, size_t index, const struct error_row *row) {
    assert_true(five_run_until(f, is_voted, &index));
    redlock_node_outcome outcome = five_outcome(f, index);
    if (outcome.reason != row->reason) {
        print_error("%s: %s\n", row->bytes, redlock_err_name(outcome.reason));
    }
    assert_int_equal(outcome.vote, REDLOCK_VOTE_FAILED);
    assert_int_equal(outcome.reason, row->reason);
}

/* One node answers with it: the others grant. Three do: no quorum, and not "held by another". */
static void maps_every_error_to_its_reason(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    for (size_t i = 0; i < COUNT(to_set); i++) {
        struct fake_rule rule = {
            .command = "SET", .times = 2, .action = FAKE_INSTEAD, .bytes = to_set[i].bytes};
        fake_node_rule(f.nodes[1], rule);
        rule.times = 1;
        rule.skip = 1;
        fake_node_rule(f.nodes[2], rule);
        fake_node_rule(f.nodes[3], rule);
        assert_int_equal(five_acquire(&f, f.lock), 0);
        expect_reason(&f, 1, &to_set[i]);
        assert_int_equal(five_release(&f, f.lock), 0);
        assert_int_equal(five_acquire(&f, f.lock), REDLOCK_ERR_NO_QUORUM);
        expect_reason(&f, 1, &to_set[i]);
        five_assert_contains(LOCK_MESSAGE(f.lock), redlock_strerror(to_set[i].reason));
        assert_int_equal(five_stats(&f).nodes_up, FIVE);
    }
    assert_int_equal(fake_node_accepted(f.nodes[1]), 1); /* an error costs no connection */
    five_stop(&f);
}

/* Errors to an extension [18]: with one, renewed; with three, unknown, and validity stays. */
static void maps_errors_of_an_extension(void **state) {
    (void)state;
    static const struct error_row rows[] = {
        {"-LOADING Redis is loading the dataset in memory\r\n", REDLOCK_ERR_NODE_LOADING},
        {"-MISCONF Errors writing to the AOF file: No space left on device\r\n",
         REDLOCK_ERR_NODE_MISCONF},
        {"-OOM command not allowed when used memory > 'maxmemory'. script: 3b0001d1, on"
         " @user_script:1.\r\n",
         REDLOCK_ERR_NODE_OOM},
        {"-BUSY Redis is busy running a script.\r\n", REDLOCK_ERR_NODE_BUSY},
        {"-READONLY You can't write against a read only replica. script: 3b0001d1, on"
         " @user_script:1.\r\n",
         REDLOCK_ERR_NODE_READONLY},
        {"-ERR Error running script (call to f_3b0001d1): @user_script:1: -OOM command not allowed"
         " when used memory > 'maxmemory'.\r\n",
         REDLOCK_ERR_NODE_OOM},
        {"-ERR Error running script (call to f_3b0001d1): @user_script:1: WRONGTYPE Operation"
         " against a key holding the wrong kind of value\r\n",
         REDLOCK_ERR_NODE_WRONGTYPE},
        {"-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
         REDLOCK_ERR_NODE_PERMISSION},
    };
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fake_rule rule = {
            .command = "script", .times = 1, .action = FAKE_INSTEAD, .bytes = rows[i].bytes};
        fake_node_rule(f.nodes[4], rule);
        assert_int_equal(five_extend(&f, f.lock), 0);
        expect_reason(&f, 4, &rows[i]);
        fake_node_rule(f.nodes[0], rule);
        fake_node_rule(f.nodes[2], rule);
        fake_node_rule(f.nodes[4], rule);
        uint64_t until_ns = redlock_lock_valid_until_ns(f.lock);
        assert_int_equal(five_extend(&f, f.lock), REDLOCK_ERR_UNKNOWN);
        assert_true(redlock_lock_valid_until_ns(f.lock) == until_ns);
        assert_true(redlock_lock_is_valid(f.lock));
    }
    assert_int_equal(five_release(&f, f.lock), 0);
    assert_int_equal(f.lost.calls, 0);
    five_stop(&f);
}

/* The scripts are forgotten: the same request goes out whole, once, and EVAL loads it again. On a
 * new connection it is whole at once. */
static void falls_back_to_the_whole_script(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    assert_int_equal(five_open(&f), 0);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    assert_int_equal(five_extend(&f, f.lock), 0);
    for (size_t i = 0; i < FIVE; i++) {
        server_forget_scripts(fake_node_server(f.nodes[i]));
    }
    assert_int_equal(five_extend(&f, f.lock), 0);
    assert_int_equal(five_extend(&f, f.lock), 0);
    assert_int_equal(five_release(&f, f.lock), 0);
    five_wait_repaid(&f);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_count(f.nodes[i], "EVALSHA"), 2); /* the other extends */
        assert_int_equal(fake_node_count(f.nodes[i], "EVAL"), 3);    /* two extends, one release */
        assert_int_equal(fake_node_keys(f.nodes[i]), 0);
    }
    fake_node_restart(f.nodes[0]);
    five_wait_node(&f, 0, false);
    five_wait_node(&f, 0, true);
    five_cycle(&f);
    five_wait_repaid(&f);
    assert_int_equal(fake_node_count(f.nodes[0], "EVALSHA"), 2);
    assert_int_equal(fake_node_count(f.nodes[0], "EVAL"), 4);
    five_stop(&f);
}

/* A node that answers NOSCRIPT to EVAL as well, or forbids CLIENT: no loop, no lost node. */
static void lives_with_a_node_without_scripts(void **state) {
    (void)state;
    struct five f;
    five_start(&f);
    fake_node_rule(f.nodes[2], (struct fake_rule){.command = "CLIENT",
                                                  .action = FAKE_INSTEAD,
                                                  .bytes = "-ERR unknown command 'CLIENT'\r\n"});
    assert_int_equal(five_open(&f), 0);
    five_wait_up(&f, FIVE);
    five_cycle(&f);
    five_wait_repaid(&f);
    assert_int_equal(fake_node_count(f.nodes[0], "EVAL"), 1);
    assert_int_equal(fake_node_keys(f.nodes[0]), 0);
    struct fake_rule none = {.action = FAKE_INSTEAD, .bytes = "-NOSCRIPT No matching script.\r\n"};
    none.command = "EVAL";
    fake_node_rule(f.nodes[3], none);
    none.command = "EVALSHA";
    fake_node_rule(f.nodes[3], none);
    const size_t whole = fake_node_count(f.nodes[3], "EVAL"); /* one, if it is home: the release */
    assert_int_equal(five_acquire(&f, f.lock), 0);
    assert_int_equal(five_extend(&f, f.lock), 0);
    expect_reason(&f, 3, &(struct error_row){"NOSCRIPT", REDLOCK_ERR_NODE_ERROR});
    assert_int_equal(fake_node_count(f.nodes[3], "EVAL"), whole + 1);
    assert_int_equal(five_release(&f, f.lock), 0);
    fake_node_clear_rules(f.nodes[3]);
    five_wait_repaid(&f);
    five_stop(&f);
}

/* -- Unusable nodes -- */

/* Opens with one node that is scripted already and expects it to be down for this reason. */
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
    five_assert_contains(info.detail, detail);
    five_assert_contains(CLIENT_MESSAGE(f->client), redlock_strerror(reason));
    five_assert_contains(CLIENT_MESSAGE(f->client), detail);
    five_cycle(f);
}

static void keep_retries_apart(
    struct five *f) { /* so that the reason is seen before the next try */
    f->options.reconnect_min_ms = 60000;
    f->options.reconnect_max_ms = 60000;
}

static void tells_what_the_handshake_met(void **state) {
    (void)state;
    static const struct {
        const char *command, *bytes, *detail;
        int reason;
    } rows[] = {
        {"PING", "-LOADING Redis is loading\r\n", "LOADING", REDLOCK_ERR_NODE_LOADING},
        {"CLIENT", "-NOAUTH Authentication required.\r\n", "NOAUTH", REDLOCK_ERR_NODE_AUTH},
        {"PING", "-MASTERDOWN Link with MASTER is down\r\n", "MASTERDOWN",
         REDLOCK_ERR_NODE_READONLY},
        {"PING", "+HELLO\r\n", "HELLO", REDLOCK_ERR_NODE_PROTOCOL},
        {"CLIENT", "HTTP/1.1 400 Bad Request\r\n", "not Redis: an HTTP server",
         REDLOCK_ERR_NODE_PROTOCOL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct five f;
        five_start(&f);
        keep_retries_apart(&f);
        fake_node_rule(f.nodes[0], (struct fake_rule){.command = rows[i].command,
                                                      .action = FAKE_INSTEAD,
                                                      .bytes = rows[i].bytes});
        expect_kept_out(&f, rows[i].reason, rows[i].detail);
        five_stop(&f);
    }
}

/* Redis greets those whom it will not serve with an error, and closes. */
static void tells_what_a_greeting_said(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *detail;
        int reason;
    } rows[] = {
        {"-ERR max number of clients reached\r\n", "max number of clients", REDLOCK_ERR_NODE_BUSY},
        {"-DENIED Redis is running in protected mode because protected mode is enabled and no"
         " password is set for the default user.\r\n",
         "DENIED", REDLOCK_ERR_NODE_PERMISSION},
        {"HTTP/1.1 408 Request Timeout\r\n\r\n", "not Redis: an HTTP server",
         REDLOCK_ERR_NODE_PROTOCOL},
        {"220 mail.example ESMTP\r\n", "not Redis: a mail or an FTP server",
         REDLOCK_ERR_NODE_PROTOCOL},
        {"\x15\x03\x01", "it is a port that requires TLS: write rediss://",
         REDLOCK_ERR_NODE_PROTOCOL},
        {"who is there?\r\n", "Protocol error", REDLOCK_ERR_NODE_PROTOCOL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct five f;
        five_start(&f);
        keep_retries_apart(&f);
        fake_node_set_greeting(f.nodes[0], rows[i].bytes, true);
        expect_kept_out(&f, rows[i].reason, rows[i].detail);
        five_stop(&f);
    }
}

static void uses_the_urls_password_and_database(void **state) {
    (void)state;
    struct five f;
    char url[128];
    five_start(&f);
    snprintf(url, sizeof(url), "redis://me:p%%40ss@%s/3", fake_node_name(f.nodes[0]));
    f.urls[0] = url;
    server_set_password(fake_node_server(f.nodes[0]), "me", "p@ss");
    assert_int_equal(five_open(&f), 0);
    five_wait_up(&f, FIVE);
    assert_int_equal(five_acquire(&f, f.lock), 0);
    five_wait_count(&f, 0, "SET", 1);
    assert_string_equal(fake_node_log(f.nodes[0], 0), "AUTH me p@ss");
    assert_string_equal(fake_node_log(f.nodes[0], 1), "SELECT 3");
    assert_string_equal(fake_node_log(f.nodes[0], 2), "CLIENT SETNAME redlock");
    assert_string_equal(fake_node_find(f.nodes[0], 3, FIVE_RESOURCE, strlen(FIVE_RESOURCE)),
                        redlock_lock_token(f.lock));
    assert_int_equal(five_release(&f, f.lock), 0);
    five_stop(&f);
}

static void tells_wrong_passwords_and_databases(void **state) {
    (void)state;
    static const struct {
        const char *url, *detail;
        int reason;
        bool password;
    } rows[] = {
        {"redis://%s", "NOAUTH", REDLOCK_ERR_NODE_AUTH, true},
        {"redis://:wrong-one@%s", "WRONGPASS", REDLOCK_ERR_NODE_AUTH, true},
        {"redis://other:wrong-one@%s", "WRONGPASS", REDLOCK_ERR_NODE_AUTH, true},
        {"redis://:wrong-one@%s", "without any password", REDLOCK_ERR_NODE_AUTH, false},
        {"redis://%s/16", "out of range", REDLOCK_ERR_NODE_DATABASE, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct five f;
        char url[128];
        const char *name;
        five_start(&f);
        keep_retries_apart(&f);
        name = fake_node_name(f.nodes[0]);
        const char *hole = strstr(rows[i].url, "%s");
        snprintf(url, sizeof(url), "%.*s%s%s", (int)(hole - rows[i].url), rows[i].url, name,
                 hole + 2);
        f.urls[0] = url;
        server_set_password(fake_node_server(f.nodes[0]), NULL, rows[i].password ? "secret" : NULL);
        expect_kept_out(&f, rows[i].reason, rows[i].detail);
        assert_null(strstr(CLIENT_MESSAGE(f.client), "wrong-one"));
        five_stop(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_every_error_to_its_reason),
        cmocka_unit_test(maps_errors_of_an_extension),
        cmocka_unit_test(falls_back_to_the_whole_script),
        cmocka_unit_test(lives_with_a_node_without_scripts),
        cmocka_unit_test(tells_what_the_handshake_met),
        cmocka_unit_test(tells_what_a_greeting_said),
        cmocka_unit_test(uses_the_urls_password_and_database),
        cmocka_unit_test(tells_wrong_passwords_and_databases),
    };
    return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
