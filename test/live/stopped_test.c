/* Nodes that are stopped (SIGSTOP): connected, silent, and with all our commands in their sockets,
 * which they run as soon as they go on. Two of five are not waited for, and whenever they go on,
 * nothing of ours stays on them. */
#include "live/live.h"

#define TTL_MS 30000
#define LONG_MS 10000   /* a node_timeout_ms that a test would notice */
#define PATIENT_MS 1000 /* longer than a node that runs is silent on a busy machine */

static void pause_first(struct live *live, size_t count) {
    for (size_t i = 0; i < count; i++) {
        live_pause(live, i);
    }
}

static void resume_first(struct live *live, size_t count) {
    for (size_t i = 0; i < count; i++) {
        live_resume(live, i);
    }
}

static void open_with_timeout(struct live *live, int64_t node_timeout_ms) {
    live_start(live, 5, NULL);
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = node_timeout_ms;
    options.connect_timeout_ms = 200;
    options.reconnect_max_ms = 50;
    live_open_all(live, &options);
}

/* All commands have been answered, and still there is nothing. */
static void check_nothing_stays(struct live *live) {
    LIVE_UNTIL(live, live_up(live->client) == 5 && live_is_quiet(live->client, 5));
    LIVE_POLL(live, live_no_keys(live));
    assert_int_equal(live_stats(live->client).pending_releases, 0);
    assert_int_equal(live_stats(live->client).releases_dropped, 0);
}

/* A whole cycle takes less than waiting for one of the two once. */
static void two_are_not_waited_for(void **state) {
    struct live *live = *state;
    open_with_timeout(live, LONG_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    pause_first(live, 2);
    uint64_t before_ns = redlock_now_ns();
    for (int i = 0; i < 10; i++) {
        LIVE_STATUS(live_acquire(live, lock, NULL), 0);
        assert_int_equal(live_votes(lock, 2, REDLOCK_VOTE_PENDING), 2);
        LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
        LIVE_STATUS(live_release(live, lock), 0);
    }
    assert_true(redlock_now_ns() - before_ns < LONG_MS * LIVE_MS / 2);
    assert_int_equal(live_node(live->client, 0).outstanding, 30);
    resume_first(live, 2);
    check_nothing_stays(live);
    assert_int_equal(live_node(live->client, 0).connects, 1); /* it was pipelined, not owed */
    assert_int_equal(live_stats(live->client).releases_retried, 0);
    assert_true(live_stats(live->client).late_votes >= 40); /* SET and extend of two nodes */
    live_end(live);
}

/* Held while they go on: their late votes count for the lock, and the release reaches them. */
static void late_grants_count(void **state) {
    struct live *live = *state;
    open_with_timeout(live, LONG_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    pause_first(live, 2);
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    resume_first(live, 2);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_GRANTED) == 5);
    assert_int_equal(live_count_keys(live, "key", redlock_lock_token(lock)), 5);
    LIVE_STATUS(live_release(live, lock), 0);
    check_nothing_stays(live);
    live_end(live);
}

/* Three of five: each vote is waited for as long as node_timeout_ms says, and no longer. */
static void three_time_out(void **state) {
    struct live *live = *state;
    open_with_timeout(live, PATIENT_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options once = live_once(TTL_MS);
    pause_first(live, 3);
    uint64_t before_ns = redlock_now_ns();
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    uint64_t took_ns = redlock_now_ns() - before_ns;
    assert_in_range(took_ns / LIVE_MS, PATIENT_MS, 10 * PATIENT_MS);
    for (size_t i = 0; i < 5; i++) {
        redlock_node_outcome outcome = live_outcome(lock, i);
        assert_int_equal(outcome.vote, i < 3 ? REDLOCK_VOTE_FAILED : REDLOCK_VOTE_GRANTED);
        LIVE_STATUS(outcome.reason, i < 3 ? REDLOCK_ERR_NODE_TIMEOUT : 0);
    }
    resume_first(live, 3);
    check_nothing_stays(live);
    live_end(live);
}

/* So long that their connections are dropped: what they are owed is repeated on new ones. */
static void dropped_and_owed(void **state) {
    struct live *live = *state;
    open_with_timeout(live, 50);
    redlock_lock *lock = live_lock(live->client, "key");
    pause_first(live, 2);
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    redlock_lock_free(lock);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    LIVE_STATUS(live_node(live->client, 0).reason, REDLOCK_ERR_NODE_TIMEOUT);
    assert_int_equal(live_stats(live->client).pending_releases, 2);
    assert_int_equal(live_node(live->client, 1).pending_releases, 1);
    resume_first(live, 2);
    check_nothing_stays(live);
    assert_int_equal(live_stats(live->client).releases_retried, 2);
    live_end(live);
}

/* The connections are dropped while the lock is held. */
static void dropped_while_held(void **state) {
    struct live *live = *state;
    open_with_timeout(live, 50);
    redlock_lock *lock = live_lock(live->client, "key");
    pause_first(live, 2);
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    LIVE_STATUS(live_release(live, lock), 0); /* they are down, but may have the key */
    assert_int_equal(live_stats(live->client).pending_releases, 2);
    resume_first(live, 2);
    check_nothing_stays(live);
    live_end(live);
}

/* An attempt that fails while three are silent, and is given up before they speak. */
static void attempts_under_silence(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    open_with_timeout(live, 50);
    redlock_lock *lock = live_lock(live->client, "key");
    pause_first(live, 3);
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, live_stats(live->client).attempts >= 3);
    LIVE_STATUS(redlock_cancel(lock), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_CANCELED);
    resume_first(live, 3);
    check_nothing_stays(live);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(two_are_not_waited_for), LIVE_TEST(late_grants_count),
        LIVE_TEST(three_time_out),         LIVE_TEST(dropped_and_owed),
        LIVE_TEST(dropped_while_held),     LIVE_TEST(attempts_under_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
