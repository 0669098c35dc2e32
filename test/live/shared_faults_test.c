/* Readers and writers when commands are refused or lost, and when an owner waits in both modes. */
#include "live/readers.h"
#include "live/waiters.h"

#define TTL_MS 60000 /* no hold ends while it is waited for */

static redlock_acquire_options patient(uint64_t owner) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = TTL_MS;
    options.tries = options.wait_ms = REDLOCK_NO_LIMIT;
    options.owner = owner;
    return options;
}

/* -- Conversions that fail -- */

/* The nodes answer with an error: what they did not convert, the next extension does. */
static void a_refused_downgrade_is_made_good(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *a = live_lock(live->client, "key");
    live_hold(live, a, &once);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "CONFIG SET maxmemory 1");
    }
    LIVE_STATUS(readers_change(live, a, redlock_downgrade), REDLOCK_ERR_UNKNOWN);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "CONFIG SET maxmemory 0");
    }
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    LIVE_STATUS(live_extend(live, a, TTL_MS), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "key", "redlock:shared"), 5);
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), 0); /* an error has come to an end */
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* The commands are lost with their connections. The next extension converts; but no upgrade counts
 * on nodes that might run the lost ones still. */
static void a_lost_downgrade_is_made_good(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *a = live_lock(live->client, "key");
    struct live_done done = {0};
    live_hold(live, a, &once);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "CLIENT PAUSE 60000 WRITE");
    }
    LIVE_STATUS(redlock_downgrade(a, live_lock_cb, &done), 0);
    live_run_for(live, 50);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "CLIENT KILL TYPE normal");
        live_tell(live, i, "CLIENT UNPAUSE");
    }
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_UNKNOWN);
    LIVE_POLL(live, live_up(live->client) == 5);
    assert_int_equal(live_count_keys(live, "key", "redlock:shared"), 2);
    LIVE_STATUS(live_extend(live, a, TTL_MS), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "key", "redlock:shared"), 5);
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), REDLOCK_ERR_UNKNOWN);
    assert_int_equal(live_count_keys(live, "key", "redlock:shared"), 5); /* not even asked for */
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* A hold that was extended for longer than it was acquired is given back as well. */
static void an_upgrade_in_vain_of_a_long_hold_lets_go(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(other, "key", REDLOCK_SHARED);
    readers_hold(live, a, TTL_MS);
    readers_hold(live, b, TTL_MS);
    LIVE_STATUS(live_extend(live, a, 2 * TTL_MS), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    /* A node that did not have the script runs it behind what converts back. */
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < 2; i++) {
        live_tell(live, i, "ZREM libredlock:readers:{key} %s", redlock_lock_token(b));
    }
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "key", "redlock:shared"), 5);
    assert_true(redlock_lock_remaining_ms(a) > TTL_MS);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_STATUS(live_release(live, b), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* -- An owner that waits in both modes -- */

/* Readers are let in first: the owner's writer would wait for its own reader. */
static void an_owner_does_not_wait_for_itself(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_acquire_options once = live_once(TTL_MS), owned = patient(7);
    redlock_lock *held = live_lock(other, "key"), *writer = live_lock(live->client, "key");
    redlock_lock *reader = readers_lock(live->client, "key", REDLOCK_SHARED);
    struct live_done wrote = {0}, read = {0};
    live_hold(live, held, &once);
    LIVE_STATUS(redlock_acquire(writer, &owned, live_lock_cb, &wrote), 0);
    LIVE_POLL(live, waiters_standing(live, "key") == 1);
    LIVE_STATUS(redlock_acquire(reader, &owned, live_lock_cb, &read), 0);
    LIVE_POLL(live, readers_waiting(live, "key") == 1);
    LIVE_STATUS(live_release(live, held), 0);
    LIVE_UNTIL(live, read.count == 1 && wrote.count == 1);
    LIVE_STATUS(read.status, 0);
    LIVE_STATUS(wrote.status, REDLOCK_ERR_WOULD_DEADLOCK);
    LIVE_STATUS(live_release(live, reader), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* The writer comes first: its owner's reader that waits shares the hold. */
static void a_writers_owner_reads_along(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_acquire_options owned = patient(7);
    redlock_lock *held = readers_lock(other, "key", REDLOCK_SHARED);
    redlock_lock *writer = live_lock(live->client, "key");
    redlock_lock *reader = readers_lock(live->client, "key", REDLOCK_SHARED);
    struct live_done wrote = {0}, read = {0};
    readers_hold(live, held, TTL_MS);
    LIVE_STATUS(redlock_acquire(writer, &owned, live_lock_cb, &wrote), 0);
    LIVE_POLL(live, waiters_standing(live, "key") == 1);
    LIVE_STATUS(redlock_acquire(reader, &owned, live_lock_cb, &read), 0);
    LIVE_POLL(live, readers_waiting(live, "key") == 1);
    LIVE_STATUS(live_release(live, held), 0);
    LIVE_UNTIL(live, read.count == 1 && wrote.count == 1);
    LIVE_STATUS(read.status, 0);
    LIVE_STATUS(wrote.status, 0);
    assert_string_equal(redlock_lock_token(reader), redlock_lock_token(writer));
    LIVE_STATUS(live_release(live, reader), 0);
    LIVE_STATUS(live_release(live, writer), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* An object that carries its first owner's hold is not free for the second owner, which reads as
 * well. */
static void one_object_has_one_hold(void **state) {
    struct live *live = *state;
    redlock_acquire_options first = patient(7), second = patient(8);
    redlock_lock *r[3];
    for (size_t i = 0; i < 3; i++) {
        r[i] = readers_lock(live->client, "key", REDLOCK_SHARED);
    }
    LIVE_STATUS(live_acquire(live, r[0], &first), 0);
    LIVE_STATUS(live_acquire(live, r[1], &first), 0);
    LIVE_STATUS(live_release(live, r[0]), 0);
    LIVE_STATUS(live_acquire(live, r[2], &second), 0);
    LIVE_STATUS(redlock_acquire(r[0], &second, NULL, NULL), REDLOCK_ERR_BUSY);
    LIVE_STATUS(live_acquire(live, r[0], &first), 0);
    LIVE_STATUS(live_release(live, r[0]), 0);
    LIVE_STATUS(live_release(live, r[1]), 0);
    LIVE_STATUS(live_acquire(live, r[0], &second), 0);
    LIVE_STATUS(live_release(live, r[0]), 0);
    LIVE_STATUS(live_release(live, r[2]), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* -- Two resources -- */

/* A holder of a that wants to read b must not wait for a client that waits for a. */
static void no_reader_waits_for_one_that_waits_for_it(void **state) {
    struct live *live = *state;
    static const redlock_bytes names[] = {{"a", 1}, {"b", 1}};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_acquire_options once = live_once(TTL_MS), wait = patient(0);
    redlock_lock *writer = live_lock(live->client, "a"), *both;
    redlock_lock *reader = readers_lock(live->client, "b", REDLOCK_SHARED);
    struct live_done all = {0}, read = {0};
    options.resources = names;
    options.n_resources = 2;
    options.mode = REDLOCK_SHARED;
    LIVE_STATUS(redlock_lock_new_with(live->client, &options, &both, NULL, 0), 0);
    live_hold(live, writer, &once);
    LIVE_STATUS(redlock_acquire(both, &wait, live_lock_cb, &all), 0);
    LIVE_POLL(live, readers_waiting(live, "a") == 1);
    wait.wait_ms = 3000;
    LIVE_STATUS(redlock_acquire(reader, &wait, live_lock_cb, &read), 0);
    LIVE_UNTIL(live, read.count == 1);
    LIVE_STATUS(read.status, 0);
    LIVE_STATUS(live_release(live, writer), 0);
    LIVE_UNTIL(live, all.count == 1);
    LIVE_STATUS(live_release(live, both), 0);
    LIVE_STATUS(live_release(live, reader), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(a_refused_downgrade_is_made_good),
        LIVE_TEST_FIVE(a_lost_downgrade_is_made_good),
        LIVE_TEST_FIVE(an_upgrade_in_vain_of_a_long_hold_lets_go),
        LIVE_TEST_FIVE(an_owner_does_not_wait_for_itself),
        LIVE_TEST_FIVE(a_writers_owner_reads_along),
        LIVE_TEST_FIVE(one_object_has_one_hold),
        LIVE_TEST_FIVE(no_reader_waits_for_one_that_waits_for_it),
    };
    return cmocka_run_group_tests_name("shared faults", tests, NULL, NULL);
}
