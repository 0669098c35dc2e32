/* Permits on real nodes: k holders, each with its own slots; waiting clients, for one or several;
 * another number of permits; holders and nodes that end. */
#include <string.h>

#include "live/permits.h"
#include "messages.h"

#define TTL_MS 30000
#define K 3

/* -- Numbers -- */

/* Of one client and of two, and none beyond k. */
static void k_hold_and_have_different_numbers(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *locks[K], *late = permits_lock(other, K, 1), *plain = live_lock(other, "key");
    redlock_acquire_options once = live_once(TTL_MS);
    bool seen[K] = {false};
    for (size_t i = 0; i < K; i++) {
        locks[i] = permits_lock(i == 1 ? other : live->client, K, 1);
        assert_int_equal(redlock_lock_slot(locks[i], 0), REDLOCK_NO_SLOT);
        permits_hold(live, locks[i], TTL_MS);
        const int32_t slot = redlock_lock_slot(locks[i], 0);
        assert_in_range(slot, 0, K - 1);
        assert_false(seen[slot]);
        seen[slot] = true;
        assert_int_equal(permits_count(live, slot, locks[i]), 5);
        assert_int_equal(redlock_lock_slot(locks[i], 1), REDLOCK_NO_SLOT);
    }
    LIVE_STATUS(live_acquire(live, late, &once), REDLOCK_ERR_HELD);
    assert_int_equal(redlock_lock_slot(late, 0), REDLOCK_NO_SLOT);
    assert_string_equal(LOCK_MESSAGE(late),
                        "held by another: no permit is free, or others wait for those that are");
    live_hold(live, plain, &once); /* nothing to do with it */
    assert_int_equal(redlock_lock_slot(plain, 0), REDLOCK_NO_SLOT);
    const int32_t freed = redlock_lock_slot(locks[1], 0);
    permits_release(live, locks[1]);
    assert_int_equal(redlock_lock_slot(locks[1], 0), freed); /* as the fence, of the last grant */
    LIVE_STATUS(live_acquire(live, late, &once), 0);
    assert_int_equal(redlock_lock_slot(late, 0), freed);
    permits_release(live, late);
    LIVE_STATUS(live_release(live, plain), 0);
    permits_release(live, locks[0]);
    permits_release(live, locks[2]);
    live_close(live, other);
    live_end(live);
}

/* Several at once, or none. */
static void takes_several_or_none(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *two = permits_lock(live->client, K, 2), *one = permits_lock(live->client, K, 1);
    redlock_lock *more = permits_lock(live->client, K, 2);
    permits_hold(live, two, TTL_MS);
    const int32_t a = redlock_lock_slot(two, 0), b = redlock_lock_slot(two, 1);
    assert_int_not_equal(a, b);
    assert_in_range(a, 0, K - 1);
    assert_in_range(b, 0, K - 1);
    assert_int_equal(permits_count(live, a, two) + permits_count(live, b, two), 10);
    LIVE_STATUS(live_acquire(live, more, &once), REDLOCK_ERR_HELD); /* one is free */
    permits_hold(live, one, TTL_MS);
    assert_int_equal(redlock_lock_slot(one, 0), 3 - a - b);
    permits_release(live, two);
    permits_hold(live, more, TTL_MS);
    LIVE_STATUS(live_extend(live, more, TTL_MS), 0);
    permits_release(live, more);
    permits_release(live, one);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* Home is asked, and then all: one command more than a lock costs. */
static void needs_two_round_trips(void **state) {
    struct live *live = *state;
    redlock_lock *lock = permits_lock(live->client, K, 1);
    uint64_t before = 0, after = 0;
    for (size_t i = 0; i < 5; i++) {
        before += live_node(live->client, i).requests;
    }
    permits_hold(live, lock, TTL_MS);
    for (size_t i = 0; i < 5; i++) {
        after += live_node(live->client, i).requests;
    }
    assert_int_equal(after - before, 6);
    assert_int_equal(live_stats(live->client).attempts, 1);
    permits_release(live, lock);
    permits_hold(live, lock, TTL_MS); /* not behind its own release */
    assert_int_equal(live_stats(live->client).attempts, 2);
    permits_release(live, lock);
    live_end(live);
}

/* -- Waiting -- */

static void waits_in_turn(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *locks[K];
    struct permits_asker a, b, c;
    for (size_t i = 0; i < K; i++) {
        locks[i] = permits_lock(live->client, K, 1);
        permits_hold(live, locks[i], TTL_MS);
    }
    permits_ask(&a, other, K, 1);
    LIVE_POLL(live, permits_waiting(live) == 1);
    permits_ask(&b, live->client, K, 1);
    LIVE_POLL(live, permits_waiting(live) == 2);
    permits_ask(&c, other, K, 1); /* one place for each client */
    live_run_for(live, 50);
    assert_int_equal(permits_waiting(live), 2);
    struct permits_asker *const order[] = {&a, &b, &c};
    for (size_t i = 0; i < K; i++) {
        const int32_t freed = redlock_lock_slot(locks[i], 0);
        permits_release(live, locks[i]);
        LIVE_UNTIL(live, order[i]->done.count == 1);
        LIVE_STATUS(order[i]->done.status, 0);
        assert_int_equal(redlock_lock_slot(order[i]->lock, 0), freed);
        assert_int_equal(a.done.count + b.done.count + c.done.count, i + 1);
    }
    assert_int_equal(permits_waiting(live), 0);
    for (size_t i = 0; i < K; i++) {
        permits_release(live, order[i]->lock);
    }
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_end(live);
}

/* A request for all is not overtaken by requests for one, which are served after it. */
static void the_large_is_not_starved(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live), *third = live_another(live);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *held = permits_lock(live->client, K, 1), *late = permits_lock(live->client, K, 1);
    struct permits_asker all, one;
    permits_hold(live, held, TTL_MS);
    permits_ask(&all, other, K, K);
    LIVE_POLL(live, permits_waiting(live) == 1);
    permits_ask(&one, third, K, 1);
    LIVE_POLL(live, permits_waiting(live) == 2);
    LIVE_STATUS(live_acquire(live, late, &once), REDLOCK_ERR_HELD); /* two are free */
    assert_int_equal(all.done.count + one.done.count, 0);
    permits_release(live, held);
    LIVE_UNTIL(live, all.done.count == 1);
    LIVE_STATUS(all.done.status, 0);
    assert_int_equal(one.done.count, 0);
    permits_release(live, all.lock);
    LIVE_UNTIL(live, one.done.count == 1);
    permits_release(live, one.lock);
    live_close(live, other);
    live_close(live, third);
    live_end(live);
}

/* The large gives up: those behind it need not wait any more. */
static void who_leaves_lets_others_in(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live), *third = live_another(live);
    redlock_lock *held = permits_lock(live->client, K, 1);
    struct permits_asker all, one;
    permits_hold(live, held, TTL_MS);
    permits_ask(&all, other, K, K);
    LIVE_POLL(live, permits_waiting(live) == 1);
    permits_ask(&one, third, K, 1);
    LIVE_POLL(live, permits_waiting(live) == 2);
    LIVE_STATUS(redlock_cancel(all.lock), 0);
    LIVE_UNTIL(live, one.done.count == 1);
    LIVE_STATUS(all.done.status, REDLOCK_ERR_CANCELED);
    permits_release(live, one.lock);
    permits_release(live, held);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_close(live, third);
    live_end(live);
}

/* A holder that is gone: its permit is the next one's when its ttl ends. */
static void a_dead_holder_ends(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *locks[K];
    struct permits_asker next;
    for (size_t i = 0; i < K; i++) {
        locks[i] = permits_lock(live->client, K, 1);
        permits_hold(live, locks[i], i == 0 ? 1000 : TTL_MS);
    }
    const int32_t slot = redlock_lock_slot(locks[0], 0);
    const uint64_t from_ns = redlock_now_ns();
    LIVE_STATUS(redlock_disown(locks[0]), 0);
    permits_ask(&next, other, K, 1);
    LIVE_UNTIL(live, next.done.count == 1);
    LIVE_STATUS(next.done.status, 0);
    assert_int_equal(redlock_lock_slot(next.lock, 0), slot);
    assert_true(redlock_now_ns() - from_ns > 900 * LIVE_MS); /* no second holder beside it */
    assert_true(redlock_now_ns() - from_ns < TTL_MS / 2 * LIVE_MS);
    permits_release(live, next.lock);
    permits_release(live, locks[1]);
    permits_release(live, locks[2]);
    live_close(live, other);
    live_end(live);
}

/* -- How many -- */

static void another_number_is_refused(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_acquire_options once = live_once(TTL_MS), patient = live_patient(TTL_MS);
    redlock_lock *lock = permits_lock(live->client, 5, 1), *wrong = permits_lock(other, K, 1);
    permits_hold(live, lock, TTL_MS);
    LIVE_STATUS(live_acquire(live, wrong, &once), REDLOCK_ERR_PERMITS);
    assert_string_equal(LOCK_MESSAGE(wrong),
                        "the semaphore has another number of permits: 5, and "
                        "this lock is of 3");
    LIVE_STATUS(live_acquire(live, wrong, &patient), REDLOCK_ERR_PERMITS); /* at once */
    LIVE_STATUS(redlock_lock_attempt_status(wrong), REDLOCK_ERR_PERMITS);
    permits_release(live, lock);
    LIVE_POLL(live, live_no_keys(live));
    LIVE_STATUS(live_acquire(live, wrong, &once), 0); /* there is no holder: agreed anew */
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_PERMITS);
    assert_string_equal(LOCK_MESSAGE(lock),
                        "the semaphore has another number of permits: 3, and "
                        "this lock is of 5");
    permits_release(live, wrong);
    live_close(live, other);
    live_end(live);
}

/* Raised: new slots at once, and what is held stays. Lowered: slots above are not given any more.
 */
static void the_number_changes(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *old[2], *now[4];
    for (size_t i = 0; i < 2; i++) {
        old[i] = permits_lock(live->client, 2, 1);
        permits_hold(live, old[i], TTL_MS);
    }
    permits_set(live, 4);
    for (size_t i = 0; i < 2; i++) {
        now[i] = permits_lock(live->client, 4, 1);
        permits_hold(live, now[i], TTL_MS);
        assert_in_range(redlock_lock_slot(now[i], 0), 2, 3);
    }
    now[2] = permits_lock(live->client, 4, 1);
    LIVE_STATUS(live_acquire(live, now[2], &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_extend(live, old[0], TTL_MS), 0);
    permits_release(live, old[0]);
    LIVE_STATUS(live_acquire(live, old[0], &once), REDLOCK_ERR_PERMITS);

    permits_set(live, 2); /* 0 is free; 1, 2 and 3 are held */
    LIVE_STATUS(live_acquire(live, now[2], &once), REDLOCK_ERR_PERMITS);
    permits_hold(live, old[0], TTL_MS);
    assert_int_equal(redlock_lock_slot(old[0], 0), 0);
    permits_release(live, now[0]);
    permits_release(live, now[1]);
    now[3] = permits_lock(live->client, 2, 1);
    LIVE_STATUS(live_acquire(live, now[3], &once), REDLOCK_ERR_HELD);
    permits_release(live, old[1]);
    LIVE_STATUS(live_acquire(live, now[3], &once), 0);
    permits_release(live, now[3]);
    permits_release(live, old[0]);
    live_end(live);
}

/* -- As a lock -- */

static void is_extended_and_repaired(void **state) {
    struct live *live = *state;
    redlock_lock *lock = permits_lock(live->client, K, 2);
    permits_hold(live, lock, 2000);
    const int32_t a = redlock_lock_slot(lock, 0), b = redlock_lock_slot(lock, 1);
    live_tell(live, 3, "FLUSHALL");
    live_tell(live, 4, "FLUSHALL");
    LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
    LIVE_POLL(live, permits_count(live, a, lock) == 5 && permits_count(live, b, lock) == 5);
    live_tell_all(live, "FLUSHALL");
    LIVE_STATUS(live_extend(live, lock, TTL_MS), REDLOCK_ERR_LOST);
    LIVE_STATUS(live_release(live, lock), REDLOCK_ERR_LOST);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* Each slot has fences of its own, which grow. */
static void has_fences(void **state) {
    struct live *live = *state;
    redlock_lock *lock = permits_lock(live->client, K, 2);
    redlock_acquire_options once = live_once(TTL_MS);
    uint64_t last = 0;
    once.fencing = 1;
    for (size_t i = 0; i < 3; i++) {
        LIVE_STATUS(live_acquire(live, lock, &once), 0);
        assert_true(redlock_lock_fence(lock) > last);
        last = redlock_lock_fence(lock);
        permits_release(live, lock);
    }
    live_end(live);
}

static void is_handed_over_by_token_and_slots(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *from = permits_lock(live->client, K, 2), *to = permits_lock(other, K, 2);
    const int32_t wrong[] = {0, K}, twice[] = {1, 1};
    char token[REDLOCK_TOKEN_LENGTH + 1];
    redlock_acquire_options once = live_once(TTL_MS);
    struct live_done done = {0};
    permits_hold(live, from, TTL_MS);
    snprintf(token, sizeof token, "%s", redlock_lock_token(from));
    const int32_t slots[] = {redlock_lock_slot(from, 1), redlock_lock_slot(from, 0)};
    LIVE_STATUS(redlock_disown(from), 0);
    LIVE_STATUS(redlock_adopt(to, token, &once, live_lock_cb, &done), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_lock_set_slots(to, wrong, 2), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_lock_set_slots(to, twice, 2), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_lock_set_slots(to, slots, 1), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_lock_set_slots(to, slots, 2), 0);
    LIVE_STATUS(redlock_adopt(to, token, &once, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    assert_int_equal(redlock_lock_slot(to, 0), slots[0]);
    assert_int_equal(permits_count(live, slots[0], to), 5);
    LIVE_STATUS(redlock_disown(to), 0);
    LIVE_STATUS(redlock_lock_set_slots(from, slots, 2), 0);
    LIVE_STATUS(redlock_release_token(from, token, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 2);
    LIVE_STATUS(done.status, 0);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_end(live);
}

static void is_shared_by_its_owner(void **state) {
    struct live *live = *state;
    redlock_lock *a = permits_lock(live->client, K, 1), *b = permits_lock(live->client, K, 1);
    redlock_acquire_options once = live_once(TTL_MS);
    once.owner = 7;
    live_hold(live, a, &once);
    LIVE_STATUS(live_acquire(live, b, &once), 0);
    assert_string_equal(redlock_lock_token(a), redlock_lock_token(b));
    assert_int_equal(redlock_lock_slot(a, 0), redlock_lock_slot(b, 0));
    LIVE_STATUS(live_release(live, a), 0);
    assert_true(redlock_lock_is_valid(b));
    assert_int_equal(permits_count(live, redlock_lock_slot(b, 0), b), 5);
    permits_release(live, b);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(k_hold_and_have_different_numbers),
        LIVE_TEST_FIVE(takes_several_or_none),
        LIVE_TEST_FIVE(needs_two_round_trips),
        LIVE_TEST_FIVE(waits_in_turn),
        LIVE_TEST_FIVE(the_large_is_not_starved),
        LIVE_TEST_FIVE(who_leaves_lets_others_in),
        LIVE_TEST_FIVE(a_dead_holder_ends),
        LIVE_TEST_FIVE(another_number_is_refused),
        LIVE_TEST_FIVE(the_number_changes),
        LIVE_TEST_FIVE(is_extended_and_repaired),
        LIVE_TEST_FIVE(has_fences),
        LIVE_TEST_FIVE(is_handed_over_by_token_and_slots),
        LIVE_TEST_FIVE(is_shared_by_its_owner),
    };
    return cmocka_run_group_tests_name("permit", tests, NULL, NULL);
}
