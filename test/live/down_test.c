/* Nodes that are dead: two of five cost nothing, three of five are no quorum and are named one by
 * one, and when they are back the client is, too. */
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
    check_no_quorum(live, lock); /* known before: nobody is asked in vain */
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

/* What was not asked has not failed to answer: every node has a reason, those that are up too. */
static void each_node_has_an_outcome(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    kill_first(live, 3);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    check_no_quorum(live, lock);
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_PENDING), 0);
    assert_null(strstr(LOCK_MESSAGE(lock), "no answer yet"));
    live_end(live);
}

/* The default is to wait for a quorum, too. */
static void waits_for_a_quorum(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    redlock_lock *lock = live_lock(live->client, "key");
    kill_first(live, 3);
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, live_stats(live->client).attempts >= 3);
    assert_int_equal(done.count, 0);
    restart_first(live, 3);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_up(live->client) == 5 && live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
    live_end(live);
}

/* A client that is opened while there is no quorum says so, and is of use once there is. */
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

static void opened_with_two_down(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    kill_first(live, 2);
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    assert_int_equal(live_up(live->client), 3); /* on_open gave each of them time to join */
    cycle_with_dead(live, live_lock(live->client, "key"), 2);
    live_end(live);
}

static void all_down(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    kill_first(live, 5);
    LIVE_STATUS(live_extend(live, lock, 0), REDLOCK_ERR_UNKNOWN);
    assert_int_equal(redlock_lock_is_valid(lock), 1);
    LIVE_STATUS(live_release(live, lock), REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    LIVE_UNTIL(live, live_up(live->client) == 0);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    check_dead(lock, 5);
    live_end(live);
}

/* What all these tests stand on: nobody else gets the port of a node that is down; it refuses. */
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
        LIVE_TEST_FIVE(two_of_five),
        LIVE_TEST_FIVE(three_of_five),
        LIVE_TEST_FIVE(each_node_has_an_outcome),
        LIVE_TEST_FIVE(waits_for_a_quorum),
        LIVE_TEST(opened_without_quorum),
        LIVE_TEST(opened_with_two_down),
        LIVE_TEST_FIVE_HASTY(all_down),
        LIVE_TEST(keeps_its_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
