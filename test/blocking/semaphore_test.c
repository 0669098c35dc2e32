/* Threads that hold permits: k at a time, each with a number; one waits; what an object refuses;
 * several permits at once; and a client that is closed while a thread waits. */

#include "blocking/crew.h"

#define K 3

static redlock_semaphore *make(redlock_blocking *blocking, int32_t permits, int32_t take,
                               const redlock_semaphore_options *options) {
    redlock_semaphore *semaphore = NULL;
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes name = {"s", 1};
    lock.resources = &name;
    lock.n_resources = 1;
    lock.permits = permits;
    lock.take = take;
    LIVE_STATUS(redlock_semaphore_new_with(blocking, &lock, options, &semaphore), 0);
    assert_non_null(semaphore);
    return semaphore;
}

static void say(redlock_semaphore *semaphore, const char *wanted) {
    char text[REDLOCK_MESSAGE_MAX];
    assert_ptr_equal(redlock_semaphore_message(semaphore, text, sizeof text), text);
    assert_contains(text, wanted);
}

/* How many stand in the line of the semaphore, on all nodes together. */
static size_t in_line(const struct live *live) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += (size_t)live_integer(live, i, "ZCARD libredlock:line:permits:{s}");
    }
    return count;
}

/* -- k hold -- */

static void acquire(void *data) {
    struct member *member = data;
    member->status = redlock_semaphore_acquire(member->semaphore, member->timeout_ms);
    member->other = redlock_semaphore_slot(member->semaphore, 0);
    atomic_store(&member->stage, 1);
}

/* Threads of two clients. The waiting one gets the number that is released, by whichever thread. */
CREW_TEST(k_hold_and_one_waits) {
    redlock_semaphore *holders[K];
    bool seen[K] = {false};
    redlock_blocking *other = crew_open(live);
    for (size_t i = 0; i < K; i++) {
        holders[i] = make(i == 1 ? other : blocking, K, 1, NULL);
        assert_int_equal(redlock_semaphore_slot(holders[i], 0), REDLOCK_NO_SLOT);
        LIVE_STATUS(redlock_semaphore_acquire(holders[i], LIVE_PATIENCE_MS), 0);
        int32_t slot = redlock_semaphore_slot(holders[i], 0);
        assert_in_range(slot, 0, K - 1);
        assert_false(seen[slot]);
        seen[slot] = true;
        assert_int_equal(redlock_semaphore_slot(holders[i], 1), REDLOCK_NO_SLOT);
        assert_int_equal(redlock_semaphore_slot(holders[i], SIZE_MAX), REDLOCK_NO_SLOT);
    }
    for (size_t i = 0; i < K; i++) {
        assert_int_equal(redlock_semaphore_is_valid(holders[i]), 1);
        assert_in_range(redlock_semaphore_remaining_ms(holders[i]), 1, 9897);
    }
    redlock_semaphore *late = make(other, K, 1, NULL);
    LIVE_STATUS(redlock_semaphore_try_acquire(late), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_semaphore_attempt_status(late), REDLOCK_ERR_HELD);
    say(late, "no permit is free");
    LIVE_STATUS(redlock_semaphore_acquire(late, 100), REDLOCK_ERR_DEADLINE);
    assert_int_equal(redlock_semaphore_is_valid(late), 0);
    LIVE_POLL(live, in_line(live) == 0); /* it has left */
    struct member waits = {.semaphore = late, .timeout_ms = LIVE_PATIENCE_MS};
    crew_start(&waits, acquire);
    LIVE_POLL(live, in_line(live) == 1);
    LIVE_STATUS(redlock_semaphore_try_acquire(late), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_semaphore_release(late), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_semaphore_free(late), REDLOCK_ERR_BUSY);
    assert_int_equal(atomic_load(&waits.stage), 0);
    const int32_t freed = redlock_semaphore_slot(holders[0], 0);
    LIVE_STATUS(redlock_semaphore_release(holders[0]), 0);
    assert_int_equal(redlock_semaphore_slot(holders[0], 0), REDLOCK_NO_SLOT);
    crew_join(&waits);
    LIVE_STATUS(waits.status, 0);
    assert_int_equal(waits.other, freed);
    assert_int_equal(redlock_semaphore_slot(late, 0), freed); /* for this thread as well */
    LIVE_STATUS(redlock_semaphore_release(late), 0);
    LIVE_STATUS(redlock_semaphore_free(late), 0);
    for (size_t i = 0; i < K; i++) { /* releases the others */
        LIVE_STATUS(redlock_semaphore_free(holders[i]), 0);
    }
    LIVE_STATUS(redlock_blocking_close(other), 0);
}

/* -- What an object refuses -- */

CREW_TEST(one_object_is_one_holder) {
    char text[REDLOCK_MESSAGE_MAX] = "", token[REDLOCK_TOKEN_LENGTH + 1];
    redlock_semaphore_options options = REDLOCK_SEMAPHORE_OPTIONS_INIT;
    redlock_semaphore *none;
    options.error = text;
    options.error_size = sizeof text;
    LIVE_STATUS(redlock_semaphore_new(blocking, "s", 1, 0, &options, &none), REDLOCK_ERR_INVALID);
    assert_contains(text, "permits is 0");
    LIVE_STATUS(redlock_semaphore_new(blocking, "s", 1, -1, &options, &none), REDLOCK_ERR_INVALID);
    assert_contains(text, "permits is -1");
    assert_null(none);
    assert_int_equal(crew_stats(blocking).locks, 0);
    options.fencing = 1;
    redlock_semaphore *semaphore = make(blocking, 2, 1, &options);
    LIVE_STATUS(redlock_semaphore_release(semaphore), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_semaphore_acquire(semaphore, -2), REDLOCK_ERR_INVALID);
    say(semaphore, "timeout_ms is -2");
    LIVE_STATUS(redlock_semaphore_acquire(semaphore, LIVE_PATIENCE_MS), 0);
    LIVE_STATUS(redlock_semaphore_token(semaphore, token, sizeof token), 0);
    assert_true(redlock_semaphore_fence(semaphore) > 0);
    const uint64_t attempts = crew_stats(blocking).attempts;
    LIVE_STATUS(redlock_semaphore_acquire(semaphore, 5000), REDLOCK_ERR_ALREADY_HELD);
    say(semaphore, "another object");
    assert_int_equal(crew_stats(blocking).attempts, attempts); /* no node was asked */
    LIVE_STATUS(redlock_semaphore_extend(semaphore, 60000), 0);
    LIVE_STATUS(redlock_semaphore_alive(semaphore), 0);
    assert_in_range(redlock_semaphore_remaining_ms(semaphore), 20000, 60000);
    redlock_semaphore *others = make(blocking, 3, 1, NULL);
    LIVE_STATUS(redlock_semaphore_acquire(others, 5000), REDLOCK_ERR_PERMITS);
    LIVE_STATUS(redlock_semaphore_release(semaphore), 0); /* once: refused acquires did not count */
    LIVE_STATUS(redlock_semaphore_release(semaphore), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_semaphore_free(others), 0);
    LIVE_STATUS(redlock_semaphore_free(semaphore), 0);
}

CREW_TEST(several_at_once) {
    redlock_semaphore *two = make(blocking, K, 2, NULL), *one = make(blocking, K, 1, NULL);
    LIVE_STATUS(redlock_semaphore_acquire(two, LIVE_PATIENCE_MS), 0);
    const int32_t a = redlock_semaphore_slot(two, 0), b = redlock_semaphore_slot(two, 1);
    assert_in_range(a, 0, K - 1);
    assert_in_range(b, 0, K - 1);
    assert_int_not_equal(a, b);
    LIVE_STATUS(redlock_semaphore_acquire(one, LIVE_PATIENCE_MS), 0);
    assert_int_equal(redlock_semaphore_slot(one, 0), 3 - a - b);
    LIVE_STATUS(redlock_semaphore_free(two), 0);
    LIVE_STATUS(redlock_semaphore_free(one), 0);
}

/* -- The end -- */

/* The closed client's permits are free at once. */
LIVE_TEST(closed_while_one_waits) {
    live_start(live, 3, NULL);
    redlock_blocking *blocking = crew_open(live), *next = crew_open(live);
    redlock_semaphore *holder = make(blocking, 1, 1, NULL);
    struct member waits = {.semaphore = make(blocking, 1, 1, NULL), .timeout_ms = REDLOCK_NO_LIMIT};
    LIVE_STATUS(redlock_semaphore_acquire(holder, LIVE_PATIENCE_MS), 0);
    crew_start(&waits, acquire);
    LIVE_POLL(live, in_line(live) == 1);
    LIVE_STATUS(redlock_blocking_close(blocking), 0);
    crew_join(&waits);
    LIVE_STATUS(waits.status, REDLOCK_ERR_CANCELED);
    assert_int_equal(waits.other, REDLOCK_NO_SLOT);
    assert_int_equal(redlock_semaphore_is_valid(holder), 0);
    LIVE_STATUS(redlock_semaphore_release(holder), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_semaphore_try_acquire(waits.semaphore), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_semaphore_free(holder), 0);
    LIVE_STATUS(redlock_semaphore_free(waits.semaphore), 0);
    holder = make(next, 1, 1, NULL);
    LIVE_STATUS(redlock_semaphore_acquire(holder, LIVE_PATIENCE_MS), 0);
    LIVE_STATUS(redlock_semaphore_free(holder), 0);
    crew_end(live, next);
}
