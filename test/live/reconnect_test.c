/* Broken connections: a held lock is not affected, and a silent one is not dropped. The
 * simulator tests restarted nodes, unanswered requests, pending releases and clients that close
 * while they open; fake/faults, how often a client tries a node that stays down. */

#include "live/live.h"

#define TTL_MS 30000

static void cycle(struct live *live, redlock_client *client, size_t n) {
    live_cycle(live, client);
    LIVE_UNTIL(live, live_is_quiet(client, n));
    assert_true(live_no_keys(live));
}

/* All five connections at once. Losing them is not losing the lock. */
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
    live_start(live, 1, NULL);
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = 60;
    live_open_all(live, &options);
    cycle(live, live->client, 1);
    live_run_for(live, 600);
    assert_int_equal(live_node(live->client, 0).connects, 1);
    assert_int_equal(live_node(live->client, 0).failures, 0);
    cycle(live, live->client, 1);
}

/* All these tests rely on this: no other process gets the port of a node that is down; it refuses
 * connections. */
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
