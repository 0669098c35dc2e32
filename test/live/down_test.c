/* Nodes that are dead: two of five cost nothing, three of five are no quorum and are named one by
 * one, and when they are back the client is, too. The keys of a held lock that are left on them,
 * and the result of its next extension. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000

static void kill_first(struct live *live, size_t count) {
    for (size_t i = 0; i < count; i++) {
        live_kill(live, i);
    }
}

static void restart_first(struct live *live, size_t count) {
    for (size_t i = 0; i < count; i++) {
        live_restart(live, i);
    }
}

static bool is_reason_of_a_dead_node(int reason) {
    return reason == REDLOCK_ERR_NODE_DOWN || reason == REDLOCK_ERR_NODE_CONNECT ||
           reason == REDLOCK_ERR_NODE_DISCONNECTED;
}

static void check_dead(redlock_lock *lock, size_t count) {
    for (size_t i = 0; i < count; i++) {
        redlock_node_outcome outcome = live_outcome(lock, i);
        assert_int_equal(outcome.vote, REDLOCK_VOTE_FAILED);
        assert_true(is_reason_of_a_dead_node(outcome.reason));
        assert_non_null(strstr(LOCK_MESSAGE(lock), outcome.node));
    }
}

/* The same cycle, whether or not the client has noticed by now that nodes are dead. */
static void cycle_with_dead(struct live *live, redlock_lock *lock, size_t dead) {
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_PENDING) == 0);
    check_dead(lock, dead);
    assert_int_equal(live_count_keys(live, "key", redlock_lock_token(lock)), 5 - dead);
    LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_PENDING) == 0);
    check_dead(lock, dead);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_PENDING) == 0);
    assert_true(live_no_keys(live));
}

static void two_of_five(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    kill_first(live, 2);
    cycle_with_dead(live, lock, 2); /* noticed while asked */
    LIVE_UNTIL(live, live_up(live->client) == 3);
    cycle_with_dead(live, lock, 2); /* known before */
    restart_first(live, 2);
    LIVE_UNTIL(live, live_up(live->client) == 5);
    cycle_with_dead(live, lock, 0);
    assert_true(live_node(live->client, 0).connects == 2);
    live_end(live);
}

static void check_no_quorum(struct live *live, redlock_lock *lock) {
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    assert_non_null(strstr(LOCK_MESSAGE(lock), "no quorum of nodes: "));
    check_dead(lock, 3);
    LIVE_UNTIL(live, live_is_quiet(live->client, 3) || live_up(live->client) == 2);
    LIVE_STATUS(redlock_extend(lock, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
}

static void three_of_five(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    kill_first(live, 3);
    check_no_quorum(live, lock); /* noticed while asked */
    LIVE_UNTIL(live, live_up(live->client) == 2);
    uint64_t sent = live_node(live->client, 4).requests;
    check_no_quorum(live, lock); /* known before: no node is asked in vain */
    /* And a node that was not asked has not failed to answer: nodes that are up have a reason,
     * too. */
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_PENDING), 0);
    assert_null(strstr(LOCK_MESSAGE(lock), "no answer yet"));
    assert_int_equal(live_node(live->client, 4).requests, sent);
    LIVE_UNTIL(live, live_node(live->client, 0).reason == REDLOCK_ERR_NODE_CONNECT);
    const char *message = CLIENT_MESSAGE(live->client);
    assert_non_null(strstr(message, "2 of 5 nodes up; "));
    assert_non_null(strstr(message, "connection refused or unreachable (Connection refused)"));
    LIVE_UNTIL(live, live_node(live->client, 4).outstanding == 0);
    assert_true(live_no_keys(live));

    restart_first(live, 3);
    LIVE_UNTIL(live, live_up(live->client) == 5);
    cycle_with_dead(live, lock, 0);
    LIVE_UNTIL(live, live_stats(live->client).pending_releases == 0);
    live_end(live);
}

/* A client that is opened while there is no quorum reports it, and works once there is one. */
static void opened_without_quorum(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    kill_first(live, 3);
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &live->client), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(live_up(live->client), 2);
    assert_non_null(strstr(CLIENT_MESSAGE(live->client), "2 of 5 nodes up; "));
    redlock_lock *lock = live_lock(live->client, "key");
    check_no_quorum(live, lock);
    restart_first(live, 3);
    LIVE_UNTIL(live, live_up(live->client) == 5);
    cycle_with_dead(live, lock, 0);
    live_end(live);
}

/* -- While a lock is held -- */

struct held {
    redlock_lock *lock;
    struct live_done lost;
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

/* Acquires "key" and waits until every node has it. */
static void hold(struct held *h, struct live *live) {
    redlock_acquire_options options = live_once(TTL_MS);
    memset(h, 0, sizeof(*h));
    options.on_lost = live_lock_cb;
    options.lost_data = &h->lost;
    h->lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, h->lock, &options), 0);
    LIVE_UNTIL(live, live_votes(h->lock, live->n, REDLOCK_VOTE_GRANTED) == live->n);
    memcpy(h->token, redlock_lock_token(h->lock), sizeof(h->token));
}

static void finish(struct live *live) {
    LIVE_UNTIL(live, live_up(live->client) == live->n && live_is_quiet(live->client, live->n));
    assert_true(live_no_keys(live));
    live_end(live);
}

/* The node comes back with our key, which has no holder any more, and whose lock object is gone:
 * the pending release deletes it. */
static void dead_at_the_release(void **state) {
    struct live *live = *state;
    struct held h;
    live_start(live, 1,
               (const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
    live_start(live, 2, NULL);
    live_open_all(live, NULL);
    hold(&h, live);
    live_kill(live, 0);
    LIVE_STATUS(live_release(live, h.lock), 0);
    redlock_lock_free(h.lock);
    LIVE_UNTIL(live, live_stats(live->client).pending_releases == 1);
    live_restart(live, 0);
    assert_true(live_key_is(live, 0, "key", h.token));
    assert_int_equal(live_count_keys(live, "key", h.token), 1);
    LIVE_UNTIL(live, live_stats(live->client).releases_retried == 1);
    assert_int_equal(live_node(live->client, 0).pending_releases, 0);
    finish(live);
}

/* With two dead it is extended. They come back empty: the next extension detects that, and restores
 * the key. With three dead the outcome is unknown, and validity is what it was. */
static void killed_while_held(void **state) {
    struct live *live = *state;
    struct held h;
    hold(&h, live);
    kill_first(live, 2);
    LIVE_STATUS(live_extend(live, h.lock, 0), 0);
    restart_first(live, 2);
    LIVE_UNTIL(live, live_up(live->client) == 5);
    assert_int_equal(live_count_keys(live, "key", h.token), 3);
    LIVE_STATUS(live_extend(live, h.lock, 0), 0);
    LIVE_UNTIL(live, live_stats(live->client).repaired == 2);
    assert_int_equal(live_count_keys(live, "key", h.token), 5);
    uint64_t until_ns = redlock_lock_valid_until_ns(h.lock);
    kill_first(live, 3);
    LIVE_STATUS(live_extend(live, h.lock, 2 * TTL_MS), REDLOCK_ERR_UNKNOWN);
    assert_true(redlock_lock_valid_until_ns(h.lock) == until_ns);
    assert_int_equal(redlock_lock_is_valid(h.lock), 1);
    assert_int_equal(live_stats(live->client).extend_failed, 1);
    restart_first(live, 3);
    LIVE_UNTIL(live, live_up(live->client) == 5);
    LIVE_STATUS(live_release(live, h.lock), 0);
    assert_int_equal(h.lost.count, 0);
    finish(live);
}

struct order {
    int step;
    int lost_at;
    int extended_at;
};

static void order_lost(redlock_lock *lock, int status, void *data) {
    struct order *order = data;
    LIVE_STATUS(status, REDLOCK_ERR_LOST);
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    assert_int_equal(order->lost_at, 0); /* once */
    order->lost_at = ++order->step;
}

static void order_extended(redlock_lock *lock, int status, void *data) {
    struct order *order = data;
    (void)lock;
    LIVE_STATUS(status, REDLOCK_ERR_LOST);
    order->extended_at = ++order->step;
    live_wake();
}

/* Three nodes have lost their data: on_lost runs before the extension's callback. */
static void lost_on_three(void **state) {
    struct live *live = *state;
    struct order order = {0};
    redlock_acquire_options options = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    options.on_lost = order_lost;
    options.lost_data = &order;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "FLUSHALL");
    }
    LIVE_STATUS(redlock_extend(lock, 0, order_extended, &order), 0);
    LIVE_UNTIL(live, order.extended_at != 0);
    assert_int_equal(order.lost_at, 1);
    assert_int_equal(order.extended_at, 2);
    assert_int_equal(live_votes(lock, 3, REDLOCK_VOTE_REFUSED), 3);
    assert_non_null(strstr(LOCK_MESSAGE(lock), "the token is gone"));
    assert_int_equal(live_stats(live->client).lost, 1);
    assert_int_equal(live_stats(live->client).repaired, 0); /* it is not taken back */
    LIVE_STATUS(redlock_extend(lock, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    finish(live); /* the other two have been told */
}

/* All these tests rely on this: no other process gets the port of a node that is down; it refuses
 * connections. */
static void keeps_its_port(void **state) {
    struct live *live = *state;
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
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(two_of_five),       LIVE_TEST_FIVE(three_of_five),
        LIVE_TEST(opened_without_quorum),  LIVE_TEST(dead_at_the_release),
        LIVE_TEST_FIVE(killed_while_held), LIVE_TEST_FIVE(lost_on_three),
        LIVE_TEST(keeps_its_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
