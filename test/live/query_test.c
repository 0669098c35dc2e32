/* Queries on real nodes: an operator's view of a lock that is held or free, and of keys that are
 * not ours. (Split locks and nodes that are down or silent: fake/query.) */

#include "live/seen.h"

#define TTL_MS 30000
#define TOKEN_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static int look_at(struct live *live, const void *name, size_t length, struct seen *seen) {
    memset(seen, 0, sizeof(*seen));
    seen->live = live;
    return seen_wait(seen, redlock_query_holder(live->client, name, length, seen_cb, seen));
}

static int look(struct live *live, struct seen *seen) {
    return look_at(live, "key", 3, seen);
}

static redlock_lock *named_lock(redlock_client *client, const char *holder) {
    return live_lock_with(client, "key", (redlock_lock_options){.holder = holder});
}

/* Another client looks, first at a free lock, then at a held one, then at a free one again. */
LIVE_TEST_FIVE(held_and_free) {
    struct seen seen;
    redlock_client *other = NULL;
    redlock_client_options client_options = live_options(live);
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(live_open(live, &client_options, &other), 0);
    redlock_lock *lock = named_lock(other, "cron@host-1/4711");
    LIVE_STATUS(look(live, &seen), 0);
    assert_int_equal(seen.has_quorum, 0);
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_UNTIL(live, live_is_quiet(other, 5));
    LIVE_STATUS(look(live, &seen), 0);
    assert_int_equal(seen.has_quorum, 1);
    assert_string_equal(seen.token, redlock_lock_token(lock));
    assert_string_equal(seen.holder, "cron@host-1/4711");
    assert_in_range(seen.remaining_ms, TTL_MS / 2, TTL_MS);
    for (size_t i = 0; i < 5; i++) {
        char value[128];
        assert_int_equal(seen.nodes[i].is_held, 1);
        LIVE_STATUS(seen.nodes[i].status, 0);
        assert_string_equal(seen.nodes[i].node, live_node(live->client, i).node);
        assert_string_equal(seen.of_node[i].token, redlock_lock_token(lock));
        assert_in_range(seen.nodes[i].remaining_ms, TTL_MS / 2, TTL_MS);
        /* as an operator sees it with GET */
        snprintf(value, sizeof(value), "%s:cron@host-1/4711", redlock_lock_token(lock));
        assert_true(live_key_is(live, i, "key", value));
    }
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(other, 5));
    LIVE_STATUS(look(live, &seen), 0);
    assert_int_equal(seen.has_quorum, 0);
    for (size_t i = 0; i < 5; i++) {
        LIVE_STATUS(seen.nodes[i].status, 0);
        assert_int_equal(seen.nodes[i].is_held, 0);
    }
    live_close(live, other);
}

/* Keys that are not this library's, and how a query reports them. */
LIVE_TEST_FIVE(foreign) {
    struct seen seen;
    live_tell(live, 0, "SET key stranger PX 60000");
    live_tell(live, 1, "RPUSH key a b");
    live_tell(live, 2, "SETRANGE key 100000000 x"); /* 100 MB: cut on the node */
    live_tell(live, 3, "SET key %b", "a\0\r\n\xff", (size_t)5);
    live_tell(live, 4, "SET key %s", ""); /* an empty one without an end */
    LIVE_STATUS(look(live, &seen), 0);
    assert_int_equal(seen.has_quorum, 0);
    static const char *const holders[] = {"stranger", "(list)", NULL, "a????", "(empty string)"};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(seen.nodes[i].is_held, 1);
        assert_string_equal(seen.of_node[i].token, "");
        assert_true(holders[i] == NULL || strcmp(seen.of_node[i].holder, holders[i]) == 0);
    }
    assert_int_equal(strlen(seen.of_node[2].holder), 106);
    assert_string_equal(seen.of_node[2].holder + 102, "?...");
    assert_in_range(seen.nodes[0].remaining_ms, 30000, 60000);
    assert_int_equal(seen.nodes[1].remaining_ms, -1);
    static const char *const types[] = {"HSET key a b", "SADD key a", "ZADD key 1 a",
                                        "XADD key * a b", "PFADD key a"};
    static const char *const names[] = {"(hash)", "(set)", "(zset)", "(stream)", NULL};
    for (size_t i = 0; i < 5; i++) {
        live_tell(live, i, "DEL key");
        live_tell(live, i, types[i]);
    }
    live_tell(live, 4, "PEXPIREAT key 9223372036854775807"); /* the longest life that there is */
    LIVE_STATUS(look(live, &seen), 0);
    for (size_t i = 0; i < 5; i++) {
        assert_true(names[i] == NULL || strcmp(seen.of_node[i].holder, names[i]) == 0);
        assert_int_equal(seen.nodes[i].is_held, 1);
    }
    assert_true(seen.nodes[4].remaining_ms > INT64_MAX / 2);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_node(live->client, i).connects, 1); /* no connection was dropped */
    }
    live_tell_all(live, "FLUSHALL");
}

/* Names of any bytes and length; the buffer grows with the longest. */
LIVE_TEST_FIVE(any_name) {
    struct seen seen;
    char name[REDLOCK_RESOURCE_MAX];
    memset(name, '\n', sizeof(name));
    name[7] = '\0';
    for (size_t i = 0; i < 5; i++) {
        live_tell(live, i, "SET %b %s", name, sizeof(name), TOKEN_A ":x");
        live_tell(live, i, "SET %b %s", name, (size_t)8, TOKEN_B);
    }
    LIVE_STATUS(look_at(live, name, sizeof(name), &seen), 0);
    assert_string_equal(seen.token, TOKEN_A);
    assert_string_equal(seen.holder, "x");
    LIVE_STATUS(look_at(live, name, 8, &seen), 0);
    assert_string_equal(seen.token, TOKEN_B);
    live_tell_all(live, "FLUSHALL");
}

/* A query changes neither keys nor their ttls, and works on a replica. */
LIVE_TEST_FIVE(changes_nothing) {
    struct seen seen;
    LIVE_STATUS(look(live, &seen), 0);
    for (size_t i = 0; i < 5; i++) {
        live_tell(live, i, "SET key %s", TOKEN_A);
        live_tell(live, i, "REPLICAOF 127.0.0.1 1");
    }
    LIVE_STATUS(look(live, &seen), 0);
    assert_string_equal(seen.token, TOKEN_A);
    assert_int_equal(seen.remaining_ms, -1);
    for (size_t i = 0; i < 5; i++) {
        live_tell(live, i, "REPLICAOF NO ONE");
        assert_int_equal(live_keys(live, i), 1);
    }
    live_tell_all(live, "FLUSHALL");
}
