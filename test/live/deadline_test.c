/* An acquire that times out reports the obstacle: another holder, or the nodes. Also if its only
 * attempt was cut short, and if it made none. */
#include <string.h>

#include "live/live.h"

#define TTL_MS 30000

static redlock_acquire_options within(int64_t wait_ms) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = TTL_MS;
    options.wait_ms = wait_ms;
    options.delay_ms = options.jitter_ms = 5;
    return options;
}

/* Two attempts and more. */
static int wait_in_vain(struct live *live, redlock_lock *lock, int64_t wait_ms) {
    redlock_acquire_options options = within(wait_ms);
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_DEADLINE);
    return redlock_lock_attempt_status(lock);
}

static void busy(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    assert_int_equal(redlock_lock_attempt_status(lock), 0);
    live_tell_all(live, "SET key another");
    LIVE_STATUS(wait_in_vain(live, lock, 100), REDLOCK_ERR_HELD);
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_lock_attempt_status(lock), REDLOCK_ERR_HELD);
    live_tell_all(live, "DEL key");
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_STATUS(redlock_lock_attempt_status(lock), 0);
    live_end(live);
}

static void outage(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    live_tell_all(live, "SET key another"); /* that is there, too */
    for (size_t i = 0; i < 3; i++) {
        live_kill(live, i);
    }
    LIVE_UNTIL(live, live_up(live->client) == 2);
    LIVE_STATUS(wait_in_vain(live, lock, 100), REDLOCK_ERR_NO_QUORUM);
    live_end(live);
}

/* The only attempt, cut short before node_timeout_ms: nodes without an answer by then have failed.
 * With two resources, since a client that has just waited for one stands in line before any
 * attempt. */
static void silence(void **state) {
    struct live *live = *state;
    for (size_t n = 2; n <= 3; n++) {
        redlock_lock *lock = live_lock(live->client, n == 2 ? "key" : "other");
        live_tell_all(live, n == 2 ? "SET key another" : "SET other another");
        live_pause(live, 3);
        live_pause(live, 4);
        if (n == 3) {
            live_pause(live, 2);
        }
        int why = wait_in_vain(live, lock, 100);
        if (n == 3) {
            LIVE_STATUS(why, REDLOCK_ERR_NO_QUORUM);
        } else {
            LIVE_STATUS(why, REDLOCK_ERR_HELD); /* by the three that answered, again and again */
        }
        for (size_t i = 2; i < 5; i++) {
            live_resume(live, i);
        }
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    }
    live_end(live);
}

/* The last attempt that ended counts, not one that had no time. It can be seen meanwhile. */
static void last_one_that_ended(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    redlock_acquire_options options = within(200);
    redlock_lock *lock = live_lock(live->client, "key");
    live_tell_all(live, "SET key another");
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    assert_int_equal(redlock_lock_attempt_status(lock), 0);
    LIVE_UNTIL(live, redlock_lock_attempt_status(lock) != 0);
    LIVE_STATUS(redlock_lock_attempt_status(lock), REDLOCK_ERR_HELD);
    for (size_t i = 0; i < 5; i++) {
        live_pause(live, i); /* shorter than node_timeout_ms */
    }
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_DEADLINE);
    LIVE_STATUS(redlock_lock_attempt_status(lock), REDLOCK_ERR_HELD);
    live_end(live);
}

/* Behind a holder, and behind another request: no attempt of its own gives a reason. */
static void in_line(void **state) {
    struct live *live = *state;
    redlock_lock *first = live_lock(live->client, "key");
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = within(REDLOCK_NO_LIMIT);
    LIVE_STATUS(live_acquire(live, first, &options), 0);
    LIVE_STATUS(wait_in_vain(live, lock, 50), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, first), 0);

    live_tell_all(live, "SET key another");
    LIVE_STATUS(redlock_acquire(first, &options, NULL, NULL), 0);
    LIVE_STATUS(wait_in_vain(live, lock, 50), REDLOCK_ERR_HELD);
    for (size_t i = 0; i < 3; i++) {
        live_kill(live, i);
    }
    LIVE_UNTIL(live, live_up(live->client) == 2);
    LIVE_STATUS(wait_in_vain(live, lock, 50), REDLOCK_ERR_NO_QUORUM);
    live_end(live);
}

/* No attempt: shared, cancelled in line. */
static void no_attempt(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    redlock_lock *first = live_lock(live->client, "key");
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = within(50);
    options.owner = 7;
    LIVE_STATUS(live_acquire(live, first, &options), 0);
    live_tell_all(live, "SET other another");
    redlock_lock *other = live_lock(live->client, "other");
    LIVE_STATUS(live_acquire(live, other, &options), REDLOCK_ERR_DEADLINE);
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_STATUS(redlock_lock_attempt_status(lock), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    options.owner = 8;
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_cancel(lock), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(redlock_lock_attempt_status(lock), 0);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(busy),    LIVE_TEST_FIVE(outage),
        LIVE_TEST_FIVE(silence), LIVE_TEST_FIVE(last_one_that_ended),
        LIVE_TEST_FIVE(in_line), LIVE_TEST_FIVE(no_attempt),
    };
    return cmocka_run_group_tests_name("deadline", tests, NULL, NULL);
}
