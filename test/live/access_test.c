/* Access rights: passwords, ACL users, databases. Each refusal is reported with the node's reason,
 * and none of them shows a password. */

#include "live/live.h"
#include "messages.h"

#define PASSWORD "p@ss/w:rd %41"
#define ENCODED "p%40ss%2Fw:rd%20%2541"
#define TTL_MS 30000

/* One client of one node under a URL of its own. */
struct access {
    struct live *live;
    redlock_client *client;
    redlock_lock *lock;
    char url[256];
    int opened;
};

/* before: the text before the host, "user:password@" or ""; after: the text after the port. */
static void open_at(struct access *a, struct live *live, size_t node, const char *before,
                    const char *after) {
    const char *urls[] = {a->url};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    a->live = live;
    snprintf(a->url, sizeof(a->url), "redis://%s127.0.0.1:%d%s", before, live_port(live, node),
             after);
    options.nodes = urls;
    options.n_nodes = 1;
    options.reconnect_max_ms = 50;
    options.guard = live->guard;
    a->opened = live_open(live, &options, &a->client);
    a->lock = live_lock(a->client, "key");
}

static void open_as(struct access *a, struct live *live, const char *before, const char *after) {
    open_at(a, live, 0, before, after);
}

static void check_refused(struct access *a, int reason, const char *detail) {
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(a->opened, REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(live_node(a->client, 0).reason, reason);
    LIVE_STATUS(live_acquire(a->live, a->lock, &once), REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(live_outcome(a->lock, 0).reason, reason);
    const char *messages[] = {LOCK_MESSAGE(a->lock), CLIENT_MESSAGE(a->client)};
    for (size_t i = 0; i < 2; i++) {
        assert_contains(messages[i], redlock_strerror(reason));
        assert_contains(messages[i], detail);
        assert_null(strstr(messages[i], "p@ss"));
        assert_null(strstr(messages[i], "p%40ss"));
    }
    live_close(a->live, a->client);
}

/* The results of acquire, extend and release, and their reasons. */
static void check_cycle(struct access *a, int extended, int released, int reason) {
    LIVE_STATUS(a->opened, 0);
    LIVE_STATUS(live_acquire(a->live, a->lock, NULL), 0);
    LIVE_STATUS(live_extend(a->live, a->lock, 0), extended);
    LIVE_STATUS(live_outcome(a->lock, 0).reason, extended == 0 ? 0 : reason);
    LIVE_STATUS(live_release(a->live, a->lock), released);
    LIVE_STATUS(live_outcome(a->lock, 0).reason, released == 0 ? 0 : reason);
    if (reason != 0) {
        assert_contains(LOCK_MESSAGE(a->lock), redlock_strerror(reason));
    }
    live_close(a->live, a->client);
}

static void check_works(struct access *a) {
    check_cycle(a, 0, 0, 0);
}

/* -- Passwords -- */

static void start_with_password(struct live *live) {
    static const char *const args[] = {"--requirepass", PASSWORD, NULL};
    live->password = PASSWORD;
    live_start(live, 1, args);
}

LIVE_TEST(right_password) {
    struct access a;
    start_with_password(live);
    open_as(&a, live, ":" ENCODED "@", "");
    check_works(&a);
    open_as(&a, live, "default:" ENCODED "@", "/2");
    check_works(&a);
}

LIVE_TEST(refused) {
    static const struct {
        size_t node; /* 1: with a password */
        const char *before, *after;
        int reason;
        const char *detail;
    } rows[] = {
        {1, ":p%40ssWRONG@", "", REDLOCK_ERR_NODE_AUTH, "WRONGPASS"},
        {1, "nobody:" ENCODED "@", "", REDLOCK_ERR_NODE_AUTH, "WRONGPASS"},
        {1, "", "", REDLOCK_ERR_NODE_AUTH, "NOAUTH"},
        {0, ":" ENCODED "@", "", REDLOCK_ERR_NODE_AUTH, "without any password configured"},
        {0, "", "/99", REDLOCK_ERR_NODE_DATABASE, "DB index is out of range"},
    };
    live_start(live, 1, NULL);
    start_with_password(live);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct access a;
        open_at(&a, live, rows[i].node, rows[i].before, rows[i].after);
        check_refused(&a, rows[i].reason, rows[i].detail);
    }
}

/* Once the operator has fixed the password, the client connects by itself. */
LIVE_TEST(password_put_right) {
    struct access a;
    start_with_password(live);
    open_as(&a, live, ":other@", "");
    LIVE_STATUS(a.opened, REDLOCK_ERR_NO_QUORUM);
    live_tell(live, 0, "CONFIG SET requirepass other");
    live->password = "other";
    LIVE_UNTIL(live, live_up(a.client) == 1);
    assert_true(live_node(a.client, 0).failures >= 1);
    LIVE_STATUS(live_node(a.client, 0).reason, 0);
    a.opened = 0;
    check_works(&a);
}

/* -- ACL users -- */

static void let_in(struct live *live, const char *rules) {
    char command[256];
    snprintf(command, sizeof(command), "ACL SETUSER lo:ck on >secret %s", rules);
    live_tell(live, 0, command);
}

static void open_as_user(struct access *a, struct live *live, const char *rules) {
    live_start(live, 1, NULL);
    let_in(live, rules);
    open_as(a, live, "lo%3Ack:secret@", "");
}

LIVE_TEST(user_with_all_it_needs) {
    static const char *const rules[] = {
        /* neither CLIENT nor SCRIPT */
        "~key ~libredlock:config +set +get +del +pttl +pexpire +evalsha +eval +ping",
        "~* +@all -ping", "~* +@all -client", "~* +@all -script|load", /* by EVAL */
    };
    live_start(live, 1, NULL);
    for (size_t i = 0; i < COUNT(rules); i++) {
        struct access a;
        let_in(live, rules[i]);
        open_as(&a, live, "lo%3Ack:secret@", "");
        check_works(&a);
        live_tell(live, 0, "ACL DELUSER lo:ck");
        live_tell(live, 0, "SCRIPT FLUSH");
    }
}

/* A node that refuses a command stays connected. */
LIVE_TEST(users_who_may_not_acquire) {
    static const char *const rules[] = {"~* +@all -set", "~other:* ~libredlock:config +@all"};
    redlock_acquire_options once = live_once(TTL_MS);
    live_start(live, 1, NULL);
    for (size_t i = 0; i < COUNT(rules); i++) {
        struct access a;
        let_in(live, rules[i]);
        open_as(&a, live, "lo%3Ack:secret@", "");
        LIVE_STATUS(a.opened, 0);
        LIVE_STATUS(live_acquire(live, a.lock, &once), REDLOCK_ERR_NO_QUORUM);
        LIVE_STATUS(live_outcome(a.lock, 0).reason, REDLOCK_ERR_NODE_PERMISSION);
        assert_contains(LOCK_MESSAGE(a.lock), "permission denied by an ACL");
        assert_int_equal(live_up(a.client), 1);
        live_close(live, a.client);
        live_tell(live, 0, "ACL DELUSER lo:ck");
    }
}

/* A user who may not run scripts cannot release; the key expires with its ttl. */
LIVE_TEST(user_without_scripts) {
    struct access a;
    open_as_user(&a, live, "~* +@all -eval -evalsha");
    check_cycle(&a, REDLOCK_ERR_UNKNOWN, REDLOCK_ERR_NO_QUORUM, REDLOCK_ERR_NODE_PERMISSION);
    assert_in_range(live_pttl(live, 0, "key"), 1, 10000);
}

/* The user may run scripts, but not the commands in them. */
LIVE_TEST(user_without_get) {
    struct access a;
    open_as_user(&a, live, "~* +@all -get");
    check_refused(&a, REDLOCK_ERR_NODE_PERMISSION, "+get of ~libredlock:config");
}

/* A release stays pending and is retried for as long as the key can live; then it is dropped. */
LIVE_TEST(owed_until_the_ttl) {
    struct access a;
    redlock_acquire_options once = live_once(2500);
    open_as_user(&a, live, "~* +@all -eval -evalsha");
    LIVE_STATUS(live_acquire(live, a.lock, &once), 0);
    LIVE_STATUS(live_release(live, a.lock), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(live_stats(a.client).pending_releases, 1);
    LIVE_UNTIL(live, live_stats(a.client).releases_dropped == 1);
    assert_int_equal(live_stats(a.client).pending_releases, 0);
    assert_in_range(live_node(a.client, 0).requests, 3, 9);
    assert_true(live_no_keys(live));
    live_close(live, a.client);
}

/* The permission is granted before the ttl ends: the retry succeeds. */
LIVE_TEST(owed_until_allowed) {
    struct access a;
    open_as_user(&a, live, "~* +@all -eval -evalsha");
    LIVE_STATUS(live_acquire(live, a.lock, NULL), 0);
    LIVE_STATUS(live_release(live, a.lock), REDLOCK_ERR_NO_QUORUM);
    live_tell(live, 0, "ACL SETUSER lo:ck +eval +evalsha");
    LIVE_UNTIL(live, live_stats(a.client).releases_retried == 1);
    assert_true(live_no_keys(live));
    live_close(live, a.client);
}

/* -- Databases -- */

/* A reconnection selects the database too. */
LIVE_TEST(right_database) {
    static const char look[] = "redis.call('select', 3) return redis.call('exists', KEYS[1])";
    struct access a;
    live_start(live, 1, NULL);
    open_as(&a, live, "", "/3");
    for (uint64_t connects = 1; connects <= 2; connects++) {
        LIVE_UNTIL(live, live_node(a.client, 0).connects == connects);
        LIVE_STATUS(live_acquire(live, a.lock, NULL), 0);
        assert_int_equal(live_keys(live, 0), 0);
        assert_int_equal(live_integer(live, 0, "EVAL %s 1 key", look), 1);
        LIVE_STATUS(live_release(live, a.lock), 0);
        assert_int_equal(live_integer(live, 0, "EVAL %s 1 key", look), 0);
        live_tell(live, 0, "CLIENT KILL TYPE normal");
    }
    live_close(live, a.client);
}
