/* Keys that are not ours: of another type, or with another token. They cost only a vote, and we
 * never touch them. */
#include <string.h>

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000

static void tell_first(const struct live *live, size_t count, const char *command) {
    for (size_t i = 0; i < count; i++) {
        live_tell(live, i, command);
    }
}

static void check_votes(const redlock_lock *lock, size_t foreign, enum redlock_vote vote,
                        int reason) {
    for (size_t i = 0; i < 5; i++) {
        redlock_node_outcome outcome = live_outcome(lock, i);
        assert_int_equal(outcome.vote, i < foreign ? vote : REDLOCK_VOTE_GRANTED);
        LIVE_STATUS(outcome.reason, i < foreign ? reason : 0);
    }
}

/* SET NX refuses a list as it refuses any key. An extension finds another type. */
static void another_type(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    tell_first(live, 2, "RPUSH key a b c");
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    check_votes(lock, 2, REDLOCK_VOTE_REFUSED, 0);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_PENDING) == 0);
    check_votes(lock, 2, REDLOCK_VOTE_FAILED, REDLOCK_ERR_NODE_WRONGTYPE);
    assert_non_null(strstr(LOCK_MESSAGE(lock), redlock_strerror(REDLOCK_ERR_NODE_WRONGTYPE)));
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_PENDING) == 0);
    check_votes(lock, 2, REDLOCK_VOTE_REFUSED, 0); /* a list cannot be our token */
    assert_int_equal(live_stats(live->client).pending_releases, 0);
    for (size_t i = 0; i < 5; i++) { /* where home refused, they are reserved for a moment */
        LIVE_POLL(live, live_keys(live, i) == (i < 2));
        assert_int_equal(live_integer(live, i, "LLEN key"), i < 2 ? 3 : 0);
    }
    live_end(live);
}

static void another_type_on_three(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    tell_first(live, 3, "HSET key a 1");
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_PENDING) == 0);
    LIVE_POLL(live, live_keys(live, 4) == 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_integer(live, i, "HLEN key"), i < 3);
    }
    live_end(live);
}

/* A stranger has two nodes. The whole cycle goes round them, and they keep their key and its ttl.
 */
static void another_token_on_two(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    tell_first(live, 2, "SET key stranger PX 500000");
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    check_votes(lock, 2, REDLOCK_VOTE_REFUSED, 0);
    LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5)); /* the repair, too, goes without effect */
    check_votes(lock, 2, REDLOCK_VOTE_REFUSED, 0);
    assert_int_equal(live_stats(live->client).repaired, 0);
    assert_int_equal(live_count_keys(live, "key", redlock_lock_token(lock)), 3);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    check_votes(lock, 2, REDLOCK_VOTE_REFUSED, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(live_key_is(live, i, "key", "stranger"));
        assert_in_range(live_pttl(live, i, "key"), 400000, 500000);
    }
    tell_first(live, 2, "DEL key");
    LIVE_POLL(live, live_no_keys(live)); /* reservations have ended */
    live_end(live);
}

static void another_token_on_three(void **state) {
    struct live *live = *state;
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    redlock_lock *lock = live_lock(live->client, "key");
    options.tries = 5;
    options.delay_ms = options.jitter_ms = 1;
    tell_first(live, 3, "SET key stranger PX 500000");
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    /* The other two may be reserved. */
    assert_in_range(live_votes(lock, 5, REDLOCK_VOTE_REFUSED), 3, 5);
    assert_int_equal(live_count_keys(live, "key", "stranger"), 3);
    assert_in_range(live_pttl(live, 0, "key"), 400000, 500000);
    tell_first(live, 3, "DEL key");
    assert_true(live_no_keys(live)); /* the grants of the other two have been released */
    live_end(live);
}

/* Stolen while we hold it, by a client that deletes our key: reported at the next extension, and
 * the thief's key is neither renewed nor deleted. */
static void stolen(void **state) {
    struct live *live = *state;
    struct live_done lost = {0};
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    once.on_lost = live_lock_cb;
    once.lost_data = &lost;
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    tell_first(live, 3, "SET key thief PX 500000");
    assert_int_equal(redlock_lock_is_valid(lock), 1); /* we cannot know */
    LIVE_STATUS(live_extend(live, lock, 0), REDLOCK_ERR_LOST);
    assert_int_equal(lost.count, 1);
    LIVE_STATUS(lost.status, REDLOCK_ERR_LOST);
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "key", "thief"), 3);
    assert_in_range(live_pttl(live, 0, "key"), 400000, 500000);
    LIVE_STATUS(live_release(live, lock), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_release(lock, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    tell_first(live, 3, "DEL key");
    assert_true(live_no_keys(live));
    assert_int_equal(lost.count, 1);
    live_end(live);
}

/* pottery and RedLock.net keep their lock "fence:key" under "redlock:fence:key": no counter of ours
 * is there, so their lock and the fences of our lock "key" do not meet. */
static void fence_beside_a_lock_of_that_name(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    once.fencing = 1;
    live_tell_all(live, "SET redlock:fence:key theirs PX 500000");
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    assert_true(redlock_lock_fence(lock) > 0);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "redlock:fence:key", "theirs"), 5);
    redlock_lock *same =
        live_lock(live->client, "redlock:fence:key"); /* as theirs, for interlock */
    LIVE_STATUS(live_acquire(live, same, &once), REDLOCK_ERR_HELD);
    live_tell_all(live, "DEL redlock:fence:key");
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(another_type),
        LIVE_TEST_FIVE(another_type_on_three),
        LIVE_TEST_FIVE(another_token_on_two),
        LIVE_TEST_FIVE(another_token_on_three),
        LIVE_TEST_FIVE(stolen),
        LIVE_TEST_FIVE(fence_beside_a_lock_of_that_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
