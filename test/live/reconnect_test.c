/* Broken connections and recovery: the client reconnects by itself and restores what a connection
 * needs; a held lock is not affected. (fake/faults tests how often a node that stays down is
 * tried.) */

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000

static void cycle(struct live *live, redlock_client *client, size_t n) {
    live_cycle(live, client);
    LIVE_UNTIL(live, live_is_quiet(client, n));
    assert_true(live_no_keys(live));
}

static void open_with(struct live *live, size_t n, int64_t node_timeout_ms, int64_t pause_min_ms,
                      int64_t pause_max_ms) {
    live_start(live, n, NULL);
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = 100;
    options.node_timeout_ms = node_timeout_ms;
    options.reconnect_min_ms = pause_min_ms;
    options.reconnect_max_ms = pause_max_ms;
    live_open_all(live, &options);
}

/* A node restarts on the same port, without scripts. */
LIVE_TEST(restarted) {
    open_with(live, 1, 250, 5, 20);
    for (uint64_t i = 1; i <= 5; i++) {
        cycle(live, live->client, 1);
        assert_int_equal(live_node(live->client, 0).connects, i);
        live_kill(live, 0);
        LIVE_UNTIL(live, live_up(live->client) == 0);
        live_restart(live, 0);
        LIVE_UNTIL(live, live_up(live->client) == 1);
    }
    assert_true(live_node(live->client, 0).failures >= 5);
    LIVE_STATUS(live_node(live->client, 0).reason, 0);
    assert_string_equal(live_node(live->client, 0).detail, "");
}

/* The connection is killed while an answer is outstanding: CLIENT PAUSE holds writes back. */
LIVE_TEST(killed_with_requests_out) {
    struct live_done done = {0};
    open_with(live, 1, 5000, 5, 20);
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options once = live_once(TTL_MS);
    live_tell(live, 0, "CLIENT PAUSE 100000 WRITE");
    LIVE_STATUS(redlock_acquire(lock, &once, live_lock_cb, &done), 0);
    uv_run(&live->loop, UV_RUN_NOWAIT);
    assert_int_equal(live_node(live->client, 0).outstanding, 1);
    live_tell(live, 0, "CLIENT KILL TYPE normal SKIPME yes");
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(live_outcome(lock, 0).reason, REDLOCK_ERR_NODE_DISCONNECTED);
    assert_contains(LOCK_MESSAGE(lock), "connection lost before the answer");
    live_tell(live, 0, "CLIENT UNPAUSE");
    LIVE_UNTIL(live, live_up(live->client) == 1 && live_is_quiet(live->client, 1));
    assert_int_equal(live_stats(live->client).releases_retried, 1); /* the SET may have run */
    assert_true(live_no_keys(live));
    cycle(live, live->client, 1);
}

/* All five connections break at once; the lock is not lost. */
LIVE_TEST_FIVE(held_across) {
    struct live_done lost = {0};
    redlock_acquire_options options = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    options.on_lost = live_lock_cb;
    options.lost_data = &lost;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    uint64_t until_ns = redlock_lock_valid_until_ns(lock);
    for (uint64_t i = 0; i < 5; i++) {
        live_tell_all(live, "CLIENT KILL TYPE normal SKIPME yes");
        LIVE_UNTIL(live, live_up(live->client) < 5);
        assert_int_equal(redlock_lock_is_valid(lock), 1);
        assert_true(redlock_lock_valid_until_ns(lock) == until_ns);
        LIVE_UNTIL(live, live_up(live->client) == 5);
        LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
        until_ns = redlock_lock_valid_until_ns(lock);
    }
    assert_int_equal(live_stats(live->client).repaired, 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
    assert_int_equal(lost.count, 0);
    live_end(live);
}

/* Idle connections are not dropped: there is no request to answer. */
LIVE_TEST(idle_is_no_stall) {
    open_with(live, 1, 60, 5, 20);
    cycle(live, live->client, 1);
    live_run_for(live, 600);
    assert_int_equal(live_node(live->client, 0).connects, 1);
    assert_int_equal(live_node(live->client, 0).failures, 0);
    cycle(live, live->client, 1);
}

/* A node restarts with the key of a lock that has been released and freed: the pending release
 * deletes it. */
LIVE_TEST(dead_at_the_release) {
    redlock_acquire_options once = live_once(TTL_MS);
    char token[REDLOCK_TOKEN_LENGTH + 1];
    live_start(live, 1,
               (const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
    live_start(live, 2, NULL);
    live_open_all(live, NULL);
    redlock_lock *lock = live_lock(live->client, "key");
    live_hold(live, lock, &once);
    memcpy(token, redlock_lock_token(lock), sizeof(token));
    live_kill(live, 0);
    LIVE_STATUS(live_release(live, lock), 0);
    redlock_lock_free(lock);
    LIVE_UNTIL(live, live_stats(live->client).pending_releases == 1);
    live_restart(live, 0);
    assert_true(live_key_is(live, 0, "key", token));
    assert_int_equal(live_count_keys(live, "key", token), 1);
    LIVE_UNTIL(live, live_stats(live->client).releases_retried == 1);
    assert_int_equal(live_node(live->client, 0).pending_releases, 0);
    assert_true(live_no_keys(live));
}

/* All these tests rely on this: no other process gets the port of a node that is down, and
 * connections to it are refused. */
LIVE_TEST(keeps_its_port) {
    live_start(live, 1, NULL);
    live_kill(live, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)live_port(live, 0)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    live_restart(live, 0);
    live_open_all(live, NULL);
}

/* The client is closed before on_open, in each of the turns that it takes to open. */
LIVE_TEST(while_opening) {
    live_start(live, 5, NULL);
    live_kill(live, 4);
    redlock_client_options options = live_options(live);
    for (int turns = 0; turns < 20; turns++) {
        struct live_done opened = {0};
        struct live_done acquired = {0};
        redlock_client *client;
        LIVE_STATUS(redlock_client_open(&client, &live->loop, &options, live_client_cb, &opened),
                    0);
        LIVE_STATUS(redlock_acquire(live_lock(client, "key"), NULL, live_lock_cb, &acquired), 0);
        for (int i = 0; i < turns; i++) {
            uv_run(&live->loop, UV_RUN_NOWAIT);
        }
        int before = opened.count;
        live_close(live, client);
        assert_int_equal(opened.count, 1);
        LIVE_STATUS(opened.status, before == 1 ? 0 : REDLOCK_ERR_CANCELED);
        assert_int_equal(acquired.count, 1);
        assert_true(live_no_keys(live));
    }
}
