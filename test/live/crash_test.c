/* Nodes that die or lose their data while a lock is held: what is left on them when they are back,
 * and what the next extension comes to. */
#include <string.h>

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000

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
    assert_int_equal(live_count_keys(live, "key", h->token), live->n);
}

static void for_first(struct live *live, size_t count, void (*act)(struct live *, size_t)) {
    for (size_t i = 0; i < count; i++) {
        act(live, i);
    }
}

static void flush(struct live *live, size_t i) {
    live_tell(live, i, "FLUSHALL");
}

static void finish(struct live *live) {
    LIVE_UNTIL(live, live_up(live->client) == live->n && live_is_quiet(live->client, live->n));
    assert_true(live_no_keys(live));
    live_end(live);
}

/* -- Between SET and release -- */

static void start_with_aof(struct live *live) {
    static const char *const args[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    live_start(live, 1, args);
    live_start(live, 2, NULL);
    live_open_all(live, NULL);
}

/* The node comes back with our key, which nobody holds any more: the owed release takes it away. */
static void dead_at_the_release(void **state) {
    struct live *live = *state;
    struct held h;
    start_with_aof(live);
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

/* Killed with the release on its way, or perhaps done: either way nothing is left. */
static void killed_in_the_release(void **state) {
    struct live *live = *state;
    struct held h;
    struct live_done done = {0};
    start_with_aof(live);
    hold(&h, live);
    live_pause(live, 0);
    LIVE_STATUS(redlock_release(h.lock, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    live_kill(live, 0);
    LIVE_UNTIL(live, live_stats(live->client).pending_releases == 1);
    live_restart(live, 0);
    assert_true(live_key_is(live, 0, "key", h.token));
    assert_int_equal(live_count_keys(live, "key", h.token), 1);
    finish(live);
}

/* Killed with the SET on its way: nobody knows whether it ran. */
static void killed_in_the_attempt(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    start_with_aof(live);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), 0);
    uv_run(&live->loop, UV_RUN_NOWAIT);
    live_kill(live, 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    live_restart(live, 0);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    LIVE_STATUS(live_release(live, lock), 0);
    finish(live);
}

/* Freed while the node is down: the debt outlives the lock object. */
static void freed_while_down(void **state) {
    struct live *live = *state;
    struct held h;
    start_with_aof(live);
    hold(&h, live);
    live_kill(live, 0);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    redlock_lock_free(h.lock);
    assert_int_equal(live_stats(live->client).pending_releases, 1);
    assert_int_equal(live_stats(live->client).locks, 0);
    live_restart(live, 0);
    assert_true(live_key_is(live, 0, "key", h.token));
    finish(live);
}

/* -- While it is held -- */

/* Two come back empty. The extension finds that, and gives them the key back. */
static void killed_while_held(void **state) {
    struct live *live = *state;
    struct held h;
    hold(&h, live);
    for_first(live, 2, live_kill);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    assert_int_equal(redlock_lock_is_valid(h.lock), 1);
    LIVE_STATUS(live_extend(live, h.lock, 0), 0);
    for_first(live, 2, live_restart);
    LIVE_UNTIL(live, live_up(live->client) == 5);
    assert_int_equal(live_count_keys(live, "key", h.token), 3);
    LIVE_STATUS(live_extend(live, h.lock, 0), 0);
    LIVE_UNTIL(live, live_stats(live->client).repaired == 2);
    assert_int_equal(live_count_keys(live, "key", h.token), 5);
    LIVE_STATUS(live_release(live, h.lock), 0);
    assert_int_equal(h.lost.count, 0);
    finish(live);
}

/* With three silent the outcome is unknown, and validity is what it was. */
static void extend_without_quorum(struct live *live, void (*hit)(struct live *, size_t)) {
    struct held h;
    hold(&h, live);
    uint64_t until_ns = redlock_lock_valid_until_ns(h.lock);
    for_first(live, 2, hit);
    LIVE_STATUS(live_extend(live, h.lock, 2 * TTL_MS), 0);
    assert_true(redlock_lock_valid_until_ns(h.lock) > until_ns);
    until_ns = redlock_lock_valid_until_ns(h.lock);
    hit(live, 2);
    LIVE_STATUS(live_extend(live, h.lock, 2 * TTL_MS), REDLOCK_ERR_UNKNOWN);
    assert_true(redlock_lock_valid_until_ns(h.lock) == until_ns);
    assert_int_equal(redlock_lock_is_valid(h.lock), 1);
    LIVE_STATUS(live_extend(live, h.lock, 2 * TTL_MS), REDLOCK_ERR_UNKNOWN);
    assert_true(redlock_lock_valid_until_ns(h.lock) == until_ns);
    assert_int_equal(live_stats(live->client).extend_failed, 2);
    assert_int_equal(h.lost.count, 0);
    LIVE_STATUS(live_release(live, h.lock), REDLOCK_ERR_NO_QUORUM);
}

static void extend_with_dead(void **state) {
    struct live *live = *state;
    extend_without_quorum(live, live_kill);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    assert_true(live_no_keys(live));
    for_first(live, 3, live_restart);
    finish(live);
}

static void extend_with_stopped(void **state) {
    struct live *live = *state;
    extend_without_quorum(live, live_pause);
    for_first(live, 3, live_resume);
    finish(live);
}

/* ... and when they speak again it can be extended after all. */
static void extend_after_silence(void **state) {
    struct live *live = *state;
    struct held h;
    hold(&h, live);
    for_first(live, 3, live_pause);
    LIVE_STATUS(live_extend(live, h.lock, 0), REDLOCK_ERR_UNKNOWN);
    for_first(live, 3, live_resume);
    LIVE_UNTIL(live, live_up(live->client) == 5 && live_is_quiet(live->client, 5));
    LIVE_STATUS(live_extend(live, h.lock, 0), 0);
    LIVE_STATUS(live_release(live, h.lock), 0);
    finish(live);
}

/* -- The data are gone -- */

struct order {
    int step;
    int lost_at;
    int extended_at;
    int extended;
};

static void order_lost(redlock_lock *lock, int status, void *data) {
    struct order *order = data;
    LIVE_STATUS(status, REDLOCK_ERR_LOST);
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    assert_int_equal(order->lost_at, 0); /* once */
    order->lost_at = ++order->step;
    live_wake();
}

static void order_extended(redlock_lock *lock, int status, void *data) {
    struct order *order = data;
    (void)lock;
    order->extended = status;
    order->extended_at = ++order->step;
    live_wake();
}

static void lost_on_three(void **state) {
    struct live *live = *state;
    struct order order = {0};
    redlock_acquire_options options = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    options.on_lost = order_lost;
    options.lost_data = &order;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for_first(live, 3, flush);
    LIVE_STATUS(redlock_extend(lock, 0, order_extended, &order), 0);
    LIVE_UNTIL(live, order.extended_at != 0);
    LIVE_STATUS(order.extended, REDLOCK_ERR_LOST);
    assert_int_equal(order.lost_at, 1);
    assert_int_equal(order.extended_at, 2);
    assert_int_equal(live_votes(lock, 3, REDLOCK_VOTE_REFUSED), 3);
    assert_non_null(strstr(LOCK_MESSAGE(lock), "the token is gone"));
    assert_int_equal(live_stats(live->client).lost, 1);
    assert_int_equal(live_stats(live->client).repaired, 0); /* it is not taken back */
    LIVE_STATUS(redlock_extend(lock, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));                    /* the other two have been told */
    LIVE_STATUS(live_acquire(live, lock, &options), 0); /* and it can be acquired again */
    LIVE_STATUS(live_release(live, lock), 0);
    assert_int_equal(order.step, 2);
    finish(live);
}

static void repaired_on_one(void **state) {
    struct live *live = *state;
    struct held h;
    hold(&h, live);
    flush(live, 3);
    LIVE_STATUS(live_extend(live, h.lock, TTL_MS), 0);
    LIVE_UNTIL(live, live_stats(live->client).repaired == 1);
    assert_true(live_key_is(live, 3, "key", h.token));
    assert_in_range(live_pttl(live, 3, "key"), TTL_MS / 2, TTL_MS);
    LIVE_STATUS(live_extend(live, h.lock, TTL_MS), 0);
    LIVE_UNTIL(live, live_votes(h.lock, 5, REDLOCK_VOTE_GRANTED) == 5);
    LIVE_STATUS(live_release(live, h.lock), 0);
    assert_int_equal(h.lost.count, 0);
    finish(live);
}

/* Two lose it, and are released before the repair is answered: nothing stays. */
static void released_during_the_repair(void **state) {
    struct live *live = *state;
    struct held h;
    hold(&h, live);
    for_first(live, 2, flush);
    LIVE_STATUS(live_extend(live, h.lock, TTL_MS), 0);
    LIVE_STATUS(live_release(live, h.lock), 0);
    finish(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(dead_at_the_release),
        LIVE_TEST(killed_in_the_release),
        LIVE_TEST(killed_in_the_attempt),
        LIVE_TEST(freed_while_down),
        LIVE_TEST_FIVE(killed_while_held),
        LIVE_TEST_FIVE(extend_with_dead),
        LIVE_TEST_FIVE_HASTY(extend_with_stopped),
        LIVE_TEST_FIVE_HASTY(extend_after_silence),
        LIVE_TEST_FIVE(lost_on_three),
        LIVE_TEST_FIVE(repaired_on_one),
        LIVE_TEST_FIVE(released_during_the_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
