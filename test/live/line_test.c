/* Locks of one client that want one resource: they are served in order, at the cost of one; a turn
 * comes too late for a lock that has left; and a shared hold ends before a join was reported. */

#include "live/live.h"
#include "marks.h"

#define TTL_MS 30000
#define CROWD 200

struct crowd {
    struct live *live;
    redlock_lock *locks[CROWD];
    int served[CROWD]; /* in this order */
    size_t count;
    size_t gone; /* released */
};

static struct crowd *crowd; /* of the test that runs */

static size_t number_of(const redlock_lock *lock) {
    size_t i = 0;
    while (crowd->locks[i] != lock) {
        i++;
    }
    return i;
}

static void make_crowd(struct crowd *c, struct live *live, size_t n, const char *name) {
    memset(c, 0, sizeof(*c));
    c->live = live;
    crowd = c;
    for (size_t i = 0; i < n; i++) {
        c->locks[i] = live_lock(live->client, name);
    }
}

static uint64_t requests(const struct live *live) {
    return live_node(live->client, 0).requests;
}

/* -- In order -- */

static void gone(redlock_lock *lock, int status, void *data) {
    LIVE_STATUS(status, 0);
    crowd->gone++;
    live_wake();
}

static void served(redlock_lock *lock, int status, void *data) {
    LIVE_STATUS(status, 0);
    crowd->served[crowd->count++] = (int)number_of(lock);
    for (size_t i = 0; i < CROWD && crowd->locks[i] != NULL; i++) {
        assert_int_equal(redlock_lock_is_valid(crowd->locks[i]), crowd->locks[i] == lock);
    }
    LIVE_STATUS(redlock_release(lock, gone, NULL), 0);
    live_wake();
}

/* First come, first served; each lock costs a node one SET and one release. */
LIVE_TEST_FIVE(serves_in_order_at_the_cost_of_one) {
    static struct crowd c;
    redlock_acquire_options options = live_patient(TTL_MS);
    make_crowd(&c, live, CROWD, "key");
    uint64_t before = requests(live);
    for (size_t i = 0; i < CROWD; i++) {
        LIVE_STATUS(redlock_acquire(c.locks[i], &options, served, NULL), 0);
    }
    assert_int_equal(live_stats(live->client).waiting, CROWD - 1);
    LIVE_UNTIL(live, c.count == CROWD && c.gone == CROWD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(c.served[i], i);
    }
    redlock_stats s = live_stats(live->client);
    assert_int_equal(s.attempts, CROWD);
    assert_int_equal(s.handoffs, CROWD - 1);
    assert_int_equal(s.waiting, 0);
    assert_int_equal(requests(live) - before, 2 * CROWD);
    assert_true(live_no_keys(live));
}

/* A lock whose turn has come leaves before it sends a request, and comes back behind the next
 * one. */
LIVE_TEST_FIVE(has_its_turn_no_more) {
    MARK_FROM(TURN_TAKEN_BACK);
    static struct crowd c;
    struct live_done done = {0};
    redlock_acquire_options options = live_patient(TTL_MS);
    make_crowd(&c, live, 3, "key");
    for (int i = 0; i < 20; i++) {
        done.count = 0;
        c.count = c.gone = 0;
        LIVE_STATUS(live_acquire(live, c.locks[0], &options), 0);
        LIVE_STATUS(redlock_acquire(c.locks[1], &options, live_lock_cb, &done), 0);
        LIVE_STATUS(redlock_acquire(c.locks[2], &options, served, NULL), 0);
        LIVE_STATUS(redlock_release(c.locks[0], NULL, NULL), 0); /* the turn is given */
        LIVE_STATUS(redlock_cancel(c.locks[1]), 0);
        LIVE_UNTIL(live, done.count == 1);
        LIVE_STATUS(done.status, REDLOCK_ERR_CANCELED);
        LIVE_STATUS(redlock_acquire(c.locks[1], &options, served, NULL), 0);
        LIVE_UNTIL(live, c.gone == 2);
        assert_int_equal(c.served[0], 2);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    }
    MARK_TO(TURN_TAKEN_BACK);
}

/* An owner's second object joins, and the hold is lost before its callback could run: it never
 * held, so there is nothing to lose. */
LIVE_TEST_FIVE(is_lost_before_it_was_told) {
    MARK_FROM(LOST_BEFORE_TOLD);
    struct live_done done = {0}, lost[2] = {{0}};
    redlock_lock *first = live_lock(live->client, "key"), *second = live_lock(live->client, "key");
    redlock_acquire_options options = live_patient(2000);
    options.owner = 7;
    options.on_lost = live_lock_cb;
    options.lost_data = &lost[0];
    LIVE_STATUS(live_acquire(live, first, &options), 0);
    options.lost_data = &lost[1];
    LIVE_STATUS(redlock_acquire(second, &options, live_lock_cb, &done), 0);
    live_block_until(redlock_lock_valid_until_ns(first) + LIVE_MS);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_EXPIRED);
    assert_int_equal(lost[0].count, 1);
    assert_int_equal(lost[1].count, 0);
    MARK_TO(LOST_BEFORE_TOLD);
    live_end(live);
}
