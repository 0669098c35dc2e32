/* Clients that do not agree (docs/guarantees.md, "What all clients must agree on"). No client can
 * know how another one is configured, so these are assumptions of Safety; the tests show what
 * happens without them, on real nodes.
 *
 * The nodes: with two nodes more two hold one lock; with one node more they do not, so lists are
 * changed node by node (docs/nodes.md). Which lists exclude each other, in all cases:
 * unit/core_quorum.
 *
 * max_ttl_ms: a client with a smaller one lets nodes vote that forgot a valid lock. */
#include "live/live.h"

/* A client of the first n nodes. */
static redlock_client *client_of(struct live *live, size_t n) {
    redlock_client *client = NULL;
    redlock_client_options options = live_options(live);
    options.n_nodes = n;
    LIVE_STATUS(live_open(live, &options, &client), 0);
    return client;
}

/* One client names the first three nodes, and has its lock on two of them, while the third is down;
 * it comes back, and a client of the first n wants the lock. Nothing has been forgotten. */
static int second_of(struct live *live, size_t n) {
    redlock_acquire_options once = live_once(10000);
    redlock_client *three = client_of(live, 3), *other = NULL;
    redlock_lock *first = live_lock(three, "key");
    live_kill(live, 2);
    LIVE_STATUS(live_acquire(live, first, &once), 0);
    live_restart(live, 2);
    other = client_of(live, n);
    LIVE_POLL(live, live_up(other) == n);
    redlock_lock *second = live_lock(other, "key");
    int status = live_acquire(live, second, &once);
    assert_true(redlock_lock_is_valid(first));
    assert_int_equal(redlock_lock_is_valid(second), status == 0);
    live_close(live, three);
    live_close(live, other);
    return status;
}

LIVE_TEST(three_and_five_both_hold) {
    live_start(live, 5, NULL);
    LIVE_STATUS(second_of(live, 5), 0);
}

LIVE_TEST(three_and_four_do_not) {
    live_start(live, 5, NULL);
    LIVE_STATUS(second_of(live, 4), REDLOCK_ERR_HELD);
}

LIVE_TEST(three_and_three_do_not) {
    live_start(live, 5, NULL);
    LIVE_STATUS(second_of(live, 3), REDLOCK_ERR_HELD);
}

#define SMALL_MS 2000 /* a max_ttl that is smaller than that of the holder */

/* One client has its lock on three nodes, for half a minute. Two of them restart empty, and another
 * client that has seen them before wants the lock. */
static int second_after_restarts(struct live *live, int64_t max_ttl_ms, int64_t wait_ms) {
    redlock_acquire_options once = live_once(30000), waits = REDLOCK_ACQUIRE_OPTIONS_INIT;
    redlock_client *other = NULL;
    live_start(live, 3, NULL);
    live->guard = REDLOCK_GUARD_OBSERVED;
    live_open_all(live, NULL);
    redlock_client_options options = live_options(live);
    options.max_ttl_ms = max_ttl_ms;
    LIVE_STATUS(live_open(live, &options, &other), 0);
    LIVE_POLL(live, live_up(other) == 3);
    redlock_lock *first = live_lock(live->client, "key"), *second = live_lock(other, "key");
    LIVE_STATUS(live_acquire(live, first, &once), 0);
    LIVE_UNTIL(live, live_votes(first, 3, REDLOCK_VOTE_GRANTED) == 3);
    for (size_t i = 0; i < 2; i++) {
        live_kill(live, i);
        live_restart(live, i);
    }
    waits.ttl_ms = SMALL_MS;
    waits.wait_ms = wait_ms;
    int status = live_acquire(live, second, &waits);
    assert_true(redlock_lock_is_valid(first));
    assert_int_equal(redlock_lock_is_valid(second), status == 0);
    live_close(live, other);
    return status;
}

LIVE_TEST(a_smaller_max_ttl_lets_both_hold) {
    LIVE_STATUS(second_after_restarts(live, SMALL_MS, 20000), 0);
}

LIVE_TEST(the_same_max_ttl_does_not) {
    LIVE_STATUS(second_after_restarts(live, 30000, 2 * SMALL_MS), REDLOCK_ERR_DEADLINE);
}
