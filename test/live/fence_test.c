/* Fences on real nodes: they grow, whatever the counters on the nodes were; they survive repairs,
 * forgotten scripts, several resources, plain clients on the same key; and a value that is no
 * counter is reported. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "live/live.h"
#include "marks.h"
#include "messages.h"
#include "redlock/token.h"

#define TTL_MS 30000
#define COUNTER "libredlock:fence:key"

static redlock_acquire_options fenced(void) {
    redlock_acquire_options options = live_once(TTL_MS);
    options.fencing = 1;
    return options;
}

static int acquire(struct live *live, redlock_lock *lock) {
    redlock_acquire_options options = fenced();
    int status = live_acquire(live, lock, &options);
    LIVE_UNTIL(live, live_is_quiet(redlock_lock_client(lock), live->n));
    return status;
}

/* One grant, released. */
static uint64_t grant(struct live *live, redlock_lock *lock) {
    LIVE_STATUS(acquire(live, lock), 0);
    uint64_t fence = redlock_lock_fence(lock);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(redlock_lock_client(lock), live->n));
    assert_true(redlock_lock_fence(lock) == fence); /* still to be read */
    return fence;
}

static uint64_t counter(const struct live *live, size_t i, const char *name) {
    redisReply *reply = live_ask(live, i, "GET %s", name);
    unsigned long long value = 0;
    if (reply->type == REDIS_REPLY_STRING) {
        assert_int_equal(sscanf(reply->str, "%llu", &value), 1);
    }
    freeReplyObject(reply);
    return value;
}

/* On how many nodes the counter is exactly this. */
static size_t placed(const struct live *live, uint64_t fence) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += counter(live, i, COUNTER) == fence;
    }
    return count;
}

static uint64_t wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* -- Growing -- */

static void grows(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *locks[] = {live_lock(live->client, "key"), live_lock(other, "key")};
    uint64_t last = wall_us() - 1;
    assert_true(redlock_lock_fence(locks[0]) == 0);
    for (size_t i = 0; i < 20; i++) {
        uint64_t fence = grant(live, locks[i % 2]);
        assert_true(fence > last);
        assert_int_equal(placed(live, fence), 5);
        last = fence;
    }
    assert_true(last < wall_us() + 1000);
    assert_int_equal(live_stats(other).fenced, 10);
    assert_int_equal(live_stats(other).raised, 0); /* one round trip is enough */
    assert_in_range(live_pttl(live, 0, COUNTER), 86400000 - 60000, 86400000);
    live_close(live, other);
    live_end(live);
}

/* A quorum of three has at least one counter of the three that differ, and two that agree only in
 * what is too small. */
static void raises_counters_that_differ(void **state) {
    struct live *live = *state;
    MARK_FROM(FENCE_RAISED);
    redlock_lock *lock = live_lock(live->client, "key");
    const uint64_t ahead = UINT64_C(8000000000000000);
    live_tell(live, 0, "SET " COUNTER " 8000000000000000");
    live_tell(live, 1, "SET " COUNTER " 8000000000000005");
    live_tell(live, 2, "SET " COUNTER " 8000000000000009");
    uint64_t first = grant(live, lock);
    assert_true(first > ahead && first <= ahead + 10);
    assert_int_equal(live_stats(live->client).raised, 1);
    assert_true(placed(live, first) >= 3);
    uint64_t second = grant(live, lock);
    assert_true(second > first);
    assert_true(placed(live, second) >= 3);
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_FAILED), 0);
    MARK_TO(FENCE_RAISED);
    live_end(live);
}

/* docs/operations.md: TIME may be forbidden to clients that use neither readers nor permits nor
 * turns. */
static void raises_where_time_is_forbidden(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    live_tell(live, 0, "SET " COUNTER " 8000000000000000");
    live_tell(live, 1, "SET " COUNTER " 8000000000000005");
    live_tell(live, 2, "SET " COUNTER " 8000000000000009");
    live_tell_all(live, "ACL SETUSER default -time");
    const uint64_t fence = grant(live, lock);
    assert_int_equal(live_stats(live->client).raised, 1);
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_FAILED), 0);
    assert_true(placed(live, fence) >= 3);
    live_end(live);
}

static void keeps_it_while_it_is_held(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_lock *other = live_lock(live->client, "key");
    redlock_acquire_options once = fenced();
    LIVE_STATUS(acquire(live, lock), 0);
    uint64_t fence = redlock_lock_fence(lock);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    assert_true(redlock_lock_fence(lock) == fence);
    assert_int_equal(placed(live, fence), 5);
    LIVE_STATUS(live_acquire(live, other, &once), REDLOCK_ERR_HELD);
    assert_true(redlock_lock_fence(other) == 0);
    once.fencing = 0;
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    assert_true(redlock_lock_fence(lock) == 0); /* this grant has none */
    LIVE_STATUS(live_release(live, lock), 0);
    live_end(live);
}

/* The next grant is ordered by the counters, so they last as long as the hold, and no node's has to
 * be good for the lock to be extended. */
static void keeps_the_counters_as_well(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_lock *plain = live_lock(live->client, "plain");
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(acquire(live, lock), 0);
    uint64_t fence = redlock_lock_fence(lock);
    live_tell(live, 0, "DEL " COUNTER);
    live_tell(live, 1, "PEXPIRE " COUNTER " 5000");
    live_tell(live, 2, "SET " COUNTER " 5");
    live_tell(live, 3, "SET " COUNTER " 8000000000000009 PX 5000");
    live_tell(live, 4, "DEL " COUNTER);
    live_tell(live, 4, "LPUSH " COUNTER " no-counter");
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
    for (size_t i = 0; i < 3; i++) {
        assert_true(counter(live, i, COUNTER) == fence);
    }
    assert_true(counter(live, 3, COUNTER) == UINT64_C(8000000000000009)); /* never lowered */
    for (size_t i = 0; i < 4; i++) {
        assert_in_range(live_pttl(live, i, COUNTER), 86400000 - 60000, 86400000);
    }
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_STATUS(live_acquire(live, plain, &once), 0);
    LIVE_STATUS(live_extend(live, plain, 0), 0);
    assert_int_equal(live_pttl(live, 0, "libredlock:fence:plain"), -2); /* has none, gets none */
    live_end(live);
}

/* -- With other clients -- */

/* Clients of other libraries, and locks without a fence, set the same key. */
static void excludes_plain_clients(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_lock *plain = live_lock(other, "key");
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(acquire(live, lock), 0);
    LIVE_STATUS(live_acquire(live, plain, &once), REDLOCK_ERR_HELD);
    assert_int_equal(live_count_keys(live, "key", redlock_lock_token(lock)), 5);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_STATUS(live_acquire(live, plain, &once), 0);
    LIVE_STATUS(acquire(live, lock), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, plain), 0);
    for (size_t i = 0; i < live->n; i++) { /* also reservations for the next client */
        LIVE_POLL(live, live_integer(live, i, "EXISTS key") == 0);
    }
    live_tell_all(live, "SET key somebody NX PX 30000");
    LIVE_STATUS(acquire(live, lock), REDLOCK_ERR_HELD);
    assert_int_equal(live_count_keys(live, "key", "somebody"), 5);
    live_close(live, other);
    live_end(live);
}

/* One fence for all, larger than those of locks that share only a part. */
static void has_one_for_several_resources(void **state) {
    struct live *live = *state;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes names[] = {{"key", 3}, {"b", 1}};
    redlock_lock *both = NULL, *key = live_lock(live->client, "key");
    options.resources = names;
    options.n_resources = 2;
    LIVE_STATUS(redlock_lock_new_with(live->client, &options, &both, NULL, 0), 0);
    live_tell_all(live, "SET libredlock:fence:b 8000000000000000");
    uint64_t probes = grant(live, key), together = grant(live, both), again = grant(live, key);
    assert_true(probes < together && together < again);
    assert_true(together > UINT64_C(8000000000000000));
    for (size_t i = 0; i < live->n; i++) {
        assert_true(counter(live, i, "libredlock:fence:b") == together);
    }
    live_end(live);
}

static void refuses_the_counters_names(void **state) {
    struct live *live = *state;
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes name = {COUNTER, sizeof(COUNTER) - 1};
    redlock_lock *lock = NULL;
    options.resources = &name;
    options.n_resources = 1;
    LIVE_STATUS(redlock_lock_new_with(live->client, &options, &lock, error, sizeof(error)),
                REDLOCK_ERR_INVALID);
    assert_non_null(strstr(error, "\"libredlock:\""));
    live_end(live);
}

static void hands_none_over(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = fenced();
    LIVE_STATUS(
        redlock_adopt(lock, "0123456789012345678901234567890123456789", &options, NULL, NULL),
        REDLOCK_ERR_INVALID);
    assert_non_null(strstr(LOCK_MESSAGE(lock), "fenc"));
    live_end(live);
}

/* -- Faults -- */

static void survives_forgotten_scripts(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    uint64_t last = grant(live, lock);
    for (int i = 0; i < 3; i++) {
        live_tell_all(live, "SCRIPT FLUSH");
        for (int node = 1; node <= 3; node++) { /* the raise is forgotten, too */
            live_tell(live, (size_t)node, "SET " COUNTER " 80%d%d000000000000", i, node);
        }
        uint64_t fence = grant(live, lock);
        assert_true(fence > last);
        assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
        last = fence;
    }
    live_end(live);
}

/* A node that lost everything has the key and at least the fence again. */
static void repairs_the_counter(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(acquire(live, lock), 0);
    uint64_t fence = redlock_lock_fence(lock);
    live_tell(live, 2, "FLUSHALL");
    live_tell(live, 2, "SCRIPT FLUSH");
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_key_is(live, 2, "key", redlock_lock_token(lock)));
    assert_true(counter(live, 2, COUNTER) >= fence);
    assert_int_equal(live_stats(live->client).repaired, 1);
    assert_true(redlock_lock_fence(lock) == fence);
    LIVE_STATUS(live_release(live, lock), 0);
    assert_true(grant(live, lock) > fence);
    live_end(live);
}

/* Neither granted nor left locked. */
static void tells_what_is_no_counter(void **state) {
    struct live *live = *state;
    static const char *const values[] = {"eleven", "-1", "9007199254740991"};
    redlock_lock *lock = live_lock(live->client, "key");
    for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
        for (size_t i = 0; i < 3; i++) {
            live_tell(live, i, "SET " COUNTER " %s", values[v]);
        }
        LIVE_STATUS(acquire(live, lock), REDLOCK_ERR_NO_QUORUM);
        assert_non_null(strstr(LOCK_MESSAGE(lock), COUNTER " is not the counter of a fence"));
        for (size_t i = 0; i < live->n; i++) {
            assert_int_equal(live_integer(live, i, "EXISTS key"), 0);
        }
    }
    live_tell_all(live, "DEL " COUNTER);
    assert_true(grant(live, lock) > 0);
    live_end(live);
}

/* A counter near the end of the numbers, on one node, is not spread to the others: they would have
 * nothing left to count. That node's key is released all the same. */
static void does_not_follow_one_to_the_end(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    uint64_t last = 0;
    live_tell(live, 0, "SET " COUNTER " 9007199254740980");
    for (size_t t = 0; t < 3; t++) {
        uint64_t fence = grant(live, lock);
        assert_true(fence > last);
        assert_true(fence <= wall_us());
        assert_int_equal(placed(live, fence), 4);
        assert_int_equal(live_count_keys(live, "key", redlock_lock_token(lock)), 0);
        last = fence;
    }
    assert_int_equal(live_up(live->client), 5);
    live_end(live);
}

/* The raise finds the token gone from too many nodes: no grant, nothing left. */
static void gives_up_when_the_keys_are_gone(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = fenced();
    struct live_done done = {0};
    live_tell(live, 0, "SET " COUNTER " 8000000000000000");
    live_tell(live, 1, "SET " COUNTER " 8000000000000005");
    live_tell(live, 2, "SET " COUNTER " 8000000000000009");
    LIVE_STATUS(acquire(live, lock), 0); /* the scripts are known from now on */
    LIVE_STATUS(live_release(live, lock), 0);
    live_tell(live, 0, "SET " COUNTER " 8000000000000100");
    live_tell(live, 1, "SET " COUNTER " 8000000000000200");
    live_tell(live, 2, "SET " COUNTER " 8000000000000300");
    assert_int_equal(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    live_send(live, 0); /* granted, and the answers are unread */
    live_tell_all(live, "DEL key");
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_EXPIRED);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "key", redlock_lock_token(lock)), 0);
    assert_true(redlock_lock_fence(lock) == 0);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(grows),
        LIVE_TEST_FIVE(raises_counters_that_differ),
        LIVE_TEST_FIVE(raises_where_time_is_forbidden),
        LIVE_TEST_FIVE(keeps_it_while_it_is_held),
        LIVE_TEST_FIVE(keeps_the_counters_as_well),
        LIVE_TEST_FIVE(excludes_plain_clients),
        LIVE_TEST_FIVE(has_one_for_several_resources),
        LIVE_TEST_FIVE(refuses_the_counters_names),
        LIVE_TEST_FIVE(hands_none_over),
        LIVE_TEST_FIVE(survives_forgotten_scripts),
        LIVE_TEST_FIVE(repairs_the_counter),
        LIVE_TEST_FIVE(tells_what_is_no_counter),
        LIVE_TEST_FIVE(does_not_follow_one_to_the_end),
        LIVE_TEST_FIVE(gives_up_when_the_keys_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
