/* The number of permits changes while some hold and some wait, and where a node was away meanwhile;
 * and the largest semaphore, of the longest name. */
#include <string.h>

#include "live/permits.h"
#include "messages.h"

#define TTL_MS PERMITS_TTL_MS
#define K_MAX REDLOCK_PERMITS_MAX

static void hold(struct live *live, redlock_lock *locks[], int32_t permits, size_t n) {
    for (size_t i = 0; i < n; i++) {
        locks[i] = permits_lock(live->client, permits, 1);
        permits_hold(live, locks[i], TTL_MS);
    }
}

static void release(struct live *live, redlock_lock *const locks[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        permits_release(live, locks[i]);
    }
}

/* A wait with the old number ends by itself; with the new one it finds the new slots. */
static void raised_while_one_waits(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *old[2], *now = permits_lock(other, 4, 2);
    redlock_acquire_options once = live_once(TTL_MS);
    struct permits_asker a;
    hold(live, old, 2, 2);
    permits_line_up(live, &a, other, 2, 1);
    permits_set(live, 4);
    LIVE_UNTIL(live, a.done.count == 1);
    LIVE_STATUS(a.done.status, REDLOCK_ERR_PERMITS);
    assert_string_equal(LOCK_MESSAGE(a.lock),
                        "the semaphore has another number of permits: 4, and this lock is of 2");
    LIVE_STATUS(live_acquire(live, now, &once), 0);
    assert_int_equal(redlock_lock_slot(now, 0) + redlock_lock_slot(now, 1), 2 + 3);
    permits_release(live, now);
    release(live, old, 2);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_end(live);
}

/* Slots above drain: with the new number nobody is granted more than it says, beside those that
 * drain. */
static void lowered_while_one_waits(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live), *third = live_another(live);
    redlock_lock *old[4], *now = permits_lock(live->client, 2, 1);
    redlock_acquire_options once = live_once(TTL_MS);
    struct permits_asker was, a;
    hold(live, old, 4, 4);
    permits_line_up(live, &was, other, 4, 1);
    permits_set(live, 2);
    LIVE_UNTIL(live, was.done.count == 1);
    LIVE_STATUS(was.done.status, REDLOCK_ERR_PERMITS);
    permits_line_up(live, &a, third, 2, 1);
    for (size_t i = 0; i < 4; i++) { /* 2 and 3 are given no more */
        if (redlock_lock_slot(old[i], 0) >= 2) {
            permits_release(live, old[i]);
        }
    }
    assert_int_equal(a.done.count, 0);
    LIVE_STATUS(live_acquire(live, now, &once), REDLOCK_ERR_HELD);
    for (size_t i = 0; i < 4; i++) {
        if (redlock_lock_slot(old[i], 0) == 1) {
            permits_release(live, old[i]);
        }
    }
    permits_granted(live, &a);
    assert_int_equal(redlock_lock_slot(a.lock, 0), 1);
    LIVE_STATUS(live_acquire(live, now, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, a.lock), 0);
    for (size_t i = 0; i < 4; i++) {
        if (redlock_lock_slot(old[i], 0) == 0) {
            permits_release(live, old[i]);
        }
    }
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_close(live, third);
    live_end(live);
}

/* A slot above the lowered number is held still: no third number is taken over meanwhile, though
 * all slots below that one are free. */
static void a_slot_far_above_counts(void **state) {
    struct live *live = *state;
    redlock_lock *old[4], *third = permits_lock(live->client, 3, 1), *top = NULL;
    redlock_acquire_options once = live_once(TTL_MS);
    hold(live, old, 4, 4);
    permits_set(live, 2);
    for (size_t i = 0; i < 4; i++) {
        if (redlock_lock_slot(old[i], 0) < 3) {
            permits_release(live, old[i]);
        } else {
            top = old[i];
        }
    }
    assert_non_null(top);
    LIVE_STATUS(live_acquire(live, third, &once), REDLOCK_ERR_PERMITS);
    permits_release(live, top);
    LIVE_POLL(live, live_no_keys(live));
    LIVE_STATUS(live_acquire(live, third, &once), 0);
    permits_release(live, third);
    live_end(live);
}

/* Home has not got the new number, and has holders: it is passed over, also in line. Requests with
 * the old one, which it would accept, are refused by the others. */
static void home_was_away(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    const size_t home = permits_home(live);
    redlock_lock *old[2], *now[2], *late = permits_lock(other, 2, 1);
    redlock_acquire_options patient = live_patient(TTL_MS);
    struct permits_asker a;
    hold(live, old, 2, 2);
    const uint64_t failures = live_node(live->client, home).failures,
                   others = live_node(other, home).failures;
    permits_stop(live, home, 1);
    permits_set(live, 4);
    permits_go_on(live, home, 1, true);
    /* Both have seen that their connections have ended: home is there again, and asked. */
    LIVE_POLL(live, live_node(live->client, home).failures > failures &&
                        live_node(other, home).failures > others);
    LIVE_POLL(live, live_up(live->client) == 5 && live_up(other) == 5);
    assert_true(live_key_is(live, home, "libredlock:permits:{key}", "2"));
    for (size_t i = 0; i < 2; i++) {
        now[i] = permits_lock(other, 4, 1);
        LIVE_STATUS(live_acquire(live, now[i], &patient), 0);
        assert_in_range(redlock_lock_slot(now[i], 0), 2, 3);
    }
    assert_true(live_key_is(live, home, "libredlock:permits:{key}", "2"));
    LIVE_STATUS(live_acquire(live, late, &patient), REDLOCK_ERR_PERMITS);
    LIVE_POLL(live, permits_waiting(live) == 0); /* it may have stood in line at home */
    permits_line_up(live, &a, other, 4, 1);
    const int32_t freed = redlock_lock_slot(now[1], 0);
    LIVE_STATUS(live_release(live, now[1]), 0);
    permits_granted(live, &a);
    assert_int_equal(redlock_lock_slot(a.lock, 0), freed);
    LIVE_STATUS(live_release(live, a.lock), 0);
    LIVE_STATUS(live_release(live, now[0]), 0);
    release(live, old, 2);
    for (int i = 0; i < 100 && !live_key_is(live, home, "libredlock:permits:{key}", "4"); i++) {
        LIVE_POLL(live, live_is_quiet(other, 5) && live_no_keys(live)); /* but for reservations */
        LIVE_STATUS(live_acquire(live, now[0], &patient), 0);
        LIVE_UNTIL(live, live_is_quiet(other, 5));
        LIVE_STATUS(live_release(live, now[0]), 0);
    }
    /* When there was no holder there, not even for a moment, it took the number over. */
    assert_true(live_key_is(live, home, "libredlock:permits:{key}", "4"));
    live_close(live, other);
    live_end(live);
}

/* -- The largest -- */

static redlock_lock *largest(redlock_client *client, const redlock_bytes *name, int32_t take) {
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    char holder[REDLOCK_HOLDER_MAX + 1];
    redlock_lock *lock = NULL;
    memset(holder, 'h', sizeof holder - 1);
    holder[sizeof holder - 1] = '\0';
    options.resources = name;
    options.n_resources = 1;
    options.permits = K_MAX;
    options.take = take;
    options.holder = holder;
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, NULL, 0), 0);
    return lock;
}

/* As many as there may be, under a name as long as it may be, whose keys are longer; any bytes. */
static void the_largest_semaphore(void **state) {
    static char bytes[REDLOCK_RESOURCE_MAX];
    static bool seen[K_MAX];
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *locks[K_MAX / REDLOCK_TAKE_MAX];
    redlock_acquire_options fenced = live_patient(TTL_MS), once = live_once(TTL_MS);
    const redlock_bytes name = {bytes, sizeof bytes};
    struct live_done done = {0};
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 37);
    }
    fenced.fencing = 1;
    for (size_t i = 0; i < K_MAX / REDLOCK_TAKE_MAX; i++) {
        locks[i] = largest(live->client, &name, REDLOCK_TAKE_MAX);
        LIVE_STATUS(live_acquire(live, locks[i], &fenced), 0);
        for (size_t j = 0; j < REDLOCK_TAKE_MAX; j++) {
            const int32_t slot = redlock_lock_slot(locks[i], j);
            assert_in_range(slot, 0, K_MAX - 1);
            assert_false(seen[slot]);
            seen[slot] = true;
        }
    }
    LIVE_POLL(live, live_is_quiet(live->client, 5));
    redlock_lock *waits = largest(other, &name, 1), *fails = largest(other, &name, 1);
    LIVE_STATUS(live_acquire(live, fails, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_acquire(waits, &fenced, live_lock_cb, &done), 0);
    LIVE_STATUS(live_extend(live, locks[5], TTL_MS), 0);
    LIVE_STATUS(live_release(live, locks[7]), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(live_release(live, waits), 0);
    for (size_t i = 0; i < K_MAX / REDLOCK_TAKE_MAX; i++) {
        if (i != 7) {
            LIVE_STATUS(live_release(live, locks[i]), 0);
        }
    }
    LIVE_POLL(live, live_is_quiet(live->client, 5) && live_is_quiet(other, 5));
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(raised_while_one_waits),  LIVE_TEST_FIVE(lowered_while_one_waits),
        LIVE_TEST_FIVE(a_slot_far_above_counts), LIVE_TEST_FIVE_HASTY(home_was_away),
        LIVE_TEST_FIVE(the_largest_semaphore),
    };
    return cmocka_run_group_tests_name("permit number", tests, NULL, NULL);
}
