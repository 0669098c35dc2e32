/* The holders of a semaphore's permits, and waiting clients, on real nodes: an operator's view. */

#include "live/seen.h"

#define TTL_MS 30000
#define STRANGER "dddddddddddddddddddddddddddddddddddddddd"
#define SLOT_KEY(i) "libredlock:slot:" #i ":{key}"

static redlock_lock *permits_lock(redlock_client *client, int32_t permits, int32_t take) {
    return live_lock_with(client, "key", (redlock_lock_options){.permits = permits, .take = take});
}

static void permits_hold(struct live *live, redlock_lock *lock) {
    redlock_acquire_options once = live_once(TTL_MS);
    live_hold(live, lock, &once);
}

static void permits_release(struct live *live, redlock_lock *lock) {
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_POLL(live, live_is_quiet(redlock_lock_client(lock), live->n));
}

static struct seen who_has(struct live *live, size_t max) {
    struct seen seen = {.live = live};
    seen_wait(&seen, redlock_query_slots(live->client, "key", 3, max, seen_cb, &seen));
    assert_int_equal(seen.held, 0); /* that was not asked */
    return seen;
}

static struct seen who_waits(struct live *live, size_t max) {
    struct seen seen = {.live = live};
    seen_wait(&seen, redlock_query_permit_waiters(live->client, "key", 3, max, seen_cb, &seen));
    assert_int_equal(seen.held, 0); /* that was not asked */
    return seen;
}

/* One holder of one, one of two with fences; each in the slots that it was granted. */
LIVE_TEST_FIVE(holders) {
    redlock_client *other = live_another(live);
    redlock_lock *one = permits_lock(live->client, 5, 1), *two = permits_lock(other, 5, 2);
    redlock_acquire_options fenced = live_once(TTL_MS);
    fenced.fencing = 1;
    struct seen seen = who_has(live, REDLOCK_PERMITS_MAX);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.answered, 5);
    assert_int_equal(seen.n_slots + (size_t)seen.permits[0], 0);
    permits_hold(live, one);
    live_hold(live, two, &fenced);
    seen = who_has(live, REDLOCK_PERMITS_MAX);
    LIVE_STATUS(seen.status, 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(seen.permits[i], 5);
    }
    assert_int_equal(seen.n_slots, 3);
    assert_int_equal(seen.waiting + seen.n_waiters, 0); /* that was not asked */
    for (size_t i = 0; i < seen.n_slots; i++) {
        const redlock_slot *slot = &seen.slots[i];
        const bool is_one = slot->number == redlock_lock_slot(one, 0);
        assert_true(is_one || slot->number == redlock_lock_slot(two, 0) ||
                    slot->number == redlock_lock_slot(two, 1));
        assert_true(i == 0 || slot->number > seen.slots[i - 1].number);
        assert_string_equal(seen.of_slot[i].token, redlock_lock_token(is_one ? one : two));
        assert_int_equal(slot->votes, 5);
        assert_in_range(slot->remaining_ms, TTL_MS / 2, TTL_MS);
        assert_false(slot->is_reserved);
        assert_true(is_one ? slot->fence == 0
                           : slot->fence > 0 && slot->fence <= redlock_lock_fence(two));
    }
    seen = who_has(live, 1); /* slot 0 alone */
    assert_int_equal(seen.n_slots, 1);
    assert_int_equal(seen.slots[0].number, 0);
    permits_release(live, one);
    permits_release(live, two);
    seen = who_has(live, REDLOCK_PERMITS_MAX);
    assert_int_equal(seen.n_slots, 0);
    assert_int_equal(seen.permits[4], 5); /* for a day */
    live_close(live, other);
}

/* Slots on fewer nodes than a quorum; nodes whose numbers of permits differ; nodes that are
 * down. */
LIVE_TEST_FIVE(odd_ones) {
    redlock_lock *lock = permits_lock(live->client, 3, 1);
    permits_hold(live, lock);
    assert_int_equal(redlock_lock_slot(lock, 0), 0);
    live_tell(live, 0, "SET " SLOT_KEY(1) " reserved PX 20000");
    live_tell(live, 1, "SET " SLOT_KEY(1) " reserved PX 20000");
    live_tell(live, 2, "SET " SLOT_KEY(1) " " STRANGER ":part PX 20000");
    live_tell(live, 3, "SET " SLOT_KEY(1) " " STRANGER ":part PX 20000");
    live_tell(live, 3, "SET " SLOT_KEY(2) " reserved PX 10000");
    live_tell(live, 4, "SET " SLOT_KEY(2) " reserved PX 20000");
    live_tell(live, 2, "SET " SLOT_KEY(1023) " theirs"); /* above the number; for ever */
    live_tell(live, 3, "LPUSH " SLOT_KEY(9) " x");
    live_tell(live, 3, "SET libredlock:fence:" SLOT_KEY(9) " nan");
    live_tell(live, 4, "SET libredlock:permits:{key} 7");
    struct seen seen = who_has(live, REDLOCK_PERMITS_MAX);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.permits[3], 3);
    assert_int_equal(seen.permits[4], 7);
    assert_int_equal(seen.n_slots, 5);
    assert_int_equal(seen.slots[0].votes, 5);
    assert_int_equal(seen.slots[1].votes, 2); /* what is held comes before what is reserved */
    assert_string_equal(seen.of_slot[1].holder, "part");
    assert_string_equal(seen.of_slot[1].token, STRANGER);
    assert_int_equal(seen.slots[1].remaining_ms, 0);
    assert_int_equal(seen.slots[2].number, 2);
    assert_true(seen.slots[2].is_reserved);
    assert_string_equal(seen.of_slot[2].token, "");
    assert_int_equal(seen.slots[3].number, 9);
    assert_string_equal(seen.of_slot[3].holder, "(not a string)");
    assert_int_equal(seen.slots[3].fence, 0);
    assert_int_equal(seen.slots[4].number, 1023);
    assert_string_equal(seen.of_slot[4].holder, "theirs");
    LIVE_STATUS(redlock_query_slots(live->client, "key", 3, 0, seen_cb, NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_query_slots(live->client, "key", 3, REDLOCK_PERMITS_MAX + 1, seen_cb, NULL),
                REDLOCK_ERR_INVALID);

    live_do(live, live_kill, 0, 3);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    seen = who_has(live, REDLOCK_PERMITS_MAX);
    LIVE_STATUS(seen.status, REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(seen.answered, 2);
    assert_int_equal(seen.permits[0], 0);
    assert_int_equal(seen.slots[0].votes, 2);
    assert_int_equal(seen.slots[0].remaining_ms, 0);
    live_do(live, live_restart, 0, 3); /* so that no pending release delays the end */
}

/* All slots of the largest semaphore. */
LIVE_TEST_FIVE(as_many_as_there_can_be) {
    static const char script[] =
        "redis.call('set', 'libredlock:permits:{key}', ARGV[1]) "
        "for slot = 0, ARGV[1] - 1 do "
        "  redis.call('set', 'libredlock:slot:' .. slot .. ':{key}', ARGV[2], 'PX', 60000) "
        "end";
    for (size_t i = 0; i < 5; i++) {
        live_tell(live, i, "EVAL %s 0 %d " STRANGER ":h", script, REDLOCK_PERMITS_MAX);
    }
    struct seen seen = who_has(live, REDLOCK_PERMITS_MAX);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.n_slots, SEEN_MAX);
    assert_int_equal(seen.slots[SEEN_MAX - 1].votes, 5);
}

/* Waiting clients in their order, each with the number that it wants; the lock's own line is not
 * listed. */
LIVE_TEST_FIVE(waiters) {
    redlock_lock *all = permits_lock(live->client, 3, 3);
    redlock_acquire_options patient = live_patient(TTL_MS);
    redlock_client *clients[2];
    redlock_lock *locks[2];
    struct live_done done[2] = {{0}};
    struct seen lock_line = {.live = live};
    permits_hold(live, all);
    for (size_t i = 0; i < 2; i++) {
        clients[i] = live_another(live);
        locks[i] = permits_lock(clients[i], 3, i == 0 ? 2 : 1);
        LIVE_STATUS(redlock_acquire(locks[i], &patient, live_lock_cb, &done[i]), 0);
        LIVE_POLL(live, who_waits(live, 4).waiting == i + 1);
    }
    struct seen seen = who_waits(live, 4);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.n_waiters, 2);
    assert_int_equal(seen.waiters[0].take, 2);
    assert_int_equal(seen.waiters[1].take, 1);
    assert_true(seen.waiters[0].waited_ms >= seen.waiters[1].waited_ms);
    seen = who_waits(live, 1);
    assert_int_equal(seen.waiting, 2);
    assert_int_equal(seen.n_waiters, 1);
    seen_wait(&lock_line, redlock_query_waiters(live->client, "key", 3, 4, seen_cb, &lock_line));
    assert_int_equal(lock_line.waiting + lock_line.n_waiters, 0);

    LIVE_STATUS(live_release(live, all), 0);
    LIVE_UNTIL(live, done[0].count == 1 && done[1].count == 1);
    for (size_t i = 0; i < 2; i++) {
        LIVE_STATUS(done[i].status, 0);
        LIVE_STATUS(live_release(live, locks[i]), 0);
        live_close(live, clients[i]);
    }
}
