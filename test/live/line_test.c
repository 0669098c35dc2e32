/* Locks of one client that want one resource stand in line: in order, at the cost of one, and every
 * way out of the line lets the next one go on. */
#include <stdio.h>
#include <string.h>

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
    (void)lock;
    (void)data;
    LIVE_STATUS(status, 0);
    crowd->gone++;
    live_wake();
}

static void served(redlock_lock *lock, int status, void *data) {
    (void)data;
    LIVE_STATUS(status, 0);
    crowd->served[crowd->count++] = (int)number_of(lock);
    for (size_t i = 0; i < CROWD && crowd->locks[i] != NULL; i++) {
        assert_int_equal(redlock_lock_is_valid(crowd->locks[i]), crowd->locks[i] == lock);
    }
    LIVE_STATUS(redlock_release(lock, gone, NULL), 0);
    live_wake();
}

/* First come, first served, and a node sees one SET and one release for each of them. */
static void serves_in_order_at_the_cost_of_one(void **state) {
    struct live *live = *state;
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
    live_end(live);
}

/* While the first one holds, the others ask the nodes nothing at all. */
static void waits_in_silence(void **state) {
    struct live *live = *state;
    static struct crowd c;
    struct live_done done = {0};
    redlock_acquire_options options = live_patient(TTL_MS);
    make_crowd(&c, live, 20, "key");
    LIVE_STATUS(live_acquire(live, c.locks[0], &options), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    uint64_t before = requests(live);
    for (size_t i = 1; i < 20; i++) {
        LIVE_STATUS(redlock_acquire(c.locks[i], &options, live_lock_cb, &done), 0);
    }
    live_run_for(live, 400);
    assert_int_equal(requests(live), before);
    assert_int_equal(done.count, 0);
    live_end(live);
    assert_int_equal(done.count, 19); /* closing ends them all */
    LIVE_STATUS(done.status, REDLOCK_ERR_CANCELED);
}

/* -- Every way out of the line -- */

static void leave_by_cancel(redlock_lock *lock) {
    LIVE_STATUS(redlock_cancel(lock), 0);
}

static void leave_by_free(redlock_lock *lock) {
    crowd->locks[number_of(lock)] = crowd->locks[3]; /* so that no lock polls it */
    redlock_lock_free(lock);
}

/* One that waits, or asks, leaves: those behind it go on. */
static void lets_the_next_go_on(struct live *live, size_t who, void (*leave)(redlock_lock *)) {
    static struct crowd c;
    struct live_done left = {0};
    redlock_acquire_options options = live_patient(TTL_MS);
    make_crowd(&c, live, 4, "key");
    if (who > 0) {
        LIVE_STATUS(live_acquire(live, c.locks[0], &options), 0);
    }
    for (size_t i = who > 0; i < 4; i++) {
        if (i == who) {
            LIVE_STATUS(redlock_acquire(c.locks[i], &options, live_lock_cb, &left), 0);
        } else {
            LIVE_STATUS(redlock_acquire(c.locks[i], &options, served, NULL), 0);
        }
    }
    leave(c.locks[who]);
    if (who > 0) {
        LIVE_STATUS(live_release(live, c.locks[0]), 0);
    }
    size_t others = who > 0 ? 2 : 3;
    LIVE_UNTIL(live, c.count == others && left.count == 1);
    LIVE_STATUS(left.status, REDLOCK_ERR_CANCELED);
    LIVE_UNTIL(live, c.gone == others && live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
}

static void leaves_from_every_place(void **state) {
    struct live *live = *state;
    for (size_t who = 0; who < 4; who++) {
        lets_the_next_go_on(live, who, leave_by_cancel);
        if (who < 3) {
            lets_the_next_go_on(live, who, leave_by_free);
        }
    }
    live_end(live);
}

/* Its turn has come, but before it can ask it leaves, and comes back behind the next one. */
static void has_its_turn_no_more(void **state) {
    struct live *live = *state;
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
    live_end(live);
}

/* A deadline and the number of tries also apply in line; an acquire with one try does not stand in
 * line. */
static void runs_out_of_patience(void **state) {
    struct live *live = *state;
    static struct crowd c;
    redlock_acquire_options options = live_patient(TTL_MS);
    make_crowd(&c, live, 4, "key");
    LIVE_STATUS(live_acquire(live, c.locks[0], &options), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    uint64_t before = requests(live);
    uint64_t start_ns = redlock_now_ns();
    options.wait_ms = 150;
    LIVE_STATUS(live_acquire(live, c.locks[1], &options), REDLOCK_ERR_DEADLINE);
    assert_true(redlock_now_ns() - start_ns >= 149 * LIVE_MS);
    options = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, c.locks[2], &options), REDLOCK_ERR_HELD);
    options = live_patient(TTL_MS);
    options.tries = 3;
    options.delay_ms = 20;
    options.jitter_ms = 0;
    start_ns = redlock_now_ns();
    LIVE_STATUS(live_acquire(live, c.locks[3], &options), REDLOCK_ERR_HELD);
    assert_true(redlock_now_ns() - start_ns >= 39 * LIVE_MS);
    assert_int_equal(requests(live), before);
    LIVE_STATUS(live_release(live, c.locks[0]), 0);
    LIVE_STATUS(live_acquire(live, c.locks[3], &options), 0);
    live_end(live);
}

/* The holder loses it: the next one need not wait for anything. */
static void goes_on_after_a_loss(void **state) {
    struct live *live = *state;
    static struct crowd c;
    struct live_done lost = {0};
    redlock_acquire_options options = live_patient(TTL_MS);
    make_crowd(&c, live, 2, "key");
    options.ttl_ms = 200;
    options.on_lost = live_lock_cb;
    options.lost_data = &lost;
    LIVE_STATUS(live_acquire(live, c.locks[0], &options), 0);
    options.ttl_ms = TTL_MS;
    LIVE_STATUS(live_acquire(live, c.locks[1], &options), 0);
    assert_int_equal(lost.count, 1);
    LIVE_STATUS(lost.status, REDLOCK_ERR_EXPIRED);
    live_end(live);
}

/* -- Strangers -- */

static bool is_over;

static void round_again(redlock_lock *lock, int status, void *data);

static void hold_shortly(redlock_lock *lock, int status, void *data) {
    (void)data;
    if (status == 0) {
        crowd->count++;
        LIVE_STATUS(redlock_release(lock, round_again, NULL), 0);
    }
}

static void round_again(redlock_lock *lock, int status, void *data) {
    redlock_acquire_options options = live_patient(TTL_MS);
    (void)data;
    if (status == 0 && !is_over) {
        LIVE_STATUS(redlock_acquire(lock, &options, hold_shortly, NULL), 0);
    }
}

/* A line that never ends hands the lock on without a gap; a stranger gets it all the same. */
static void is_fair_to_strangers(void **state) {
    struct live *live = *state;
    static struct crowd c;
    struct live_done done = {0};
    redlock_client *stranger;
    redlock_acquire_options options = live_patient(TTL_MS);
    make_crowd(&c, live, 3, "key");
    redlock_client_options client_options = live_options(live);
    LIVE_STATUS(live_open(live, &client_options, &stranger), 0);
    redlock_lock *lock = live_lock(stranger, "key");
    is_over = false;
    for (size_t i = 0; i < 3; i++) {
        LIVE_STATUS(redlock_acquire(c.locks[i], &options, hold_shortly, NULL), 0);
    }
    LIVE_UNTIL(live, c.count > 100);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    is_over = true;
    live_close(live, stranger);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(serves_in_order_at_the_cost_of_one),
        LIVE_TEST_FIVE(waits_in_silence),
        LIVE_TEST_FIVE(leaves_from_every_place),
        LIVE_TEST_FIVE(has_its_turn_no_more),
        LIVE_TEST_FIVE(runs_out_of_patience),
        LIVE_TEST_FIVE(goes_on_after_a_loss),
        LIVE_TEST_FIVE(is_fair_to_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
