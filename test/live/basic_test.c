/* Acquire, extend and release on 5 nodes, on 1, and on even numbers of them: the results for the
 * caller, and the key on each node. */
#include <ctype.h>
#include <string.h>

#include "live/live.h"

#define TTL_MS 30000
#define LONGER_MS 60000

static void check_token(const char *token) {
    assert_int_equal(strlen(token), REDLOCK_TOKEN_LENGTH);
    for (const char *at = token; *at != '\0'; at++) {
        assert_true(isdigit((unsigned char)*at) || (*at >= 'a' && *at <= 'f'));
    }
}

/* The votes beyond the quorum arrive slightly later. */
static void wait_for_all_votes(struct live *live, const redlock_lock *lock) {
    LIVE_UNTIL(live, live_votes(lock, live->n, REDLOCK_VOTE_PENDING) == 0);
}

static void check_on_all(const struct live *live, const char *key, const char *token,
                         int64_t ttl_ms) {
    assert_int_equal(live_count_keys(live, key, token), live->n);
    for (size_t i = 0; i < live->n; i++) {
        assert_in_range(live_pttl(live, i, key), ttl_ms - TTL_MS / 2, ttl_ms);
    }
}

static void check_votes(const struct live *live, const redlock_lock *lock) {
    for (size_t i = 0; i < live->n; i++) {
        redlock_node_outcome outcome = live_outcome(lock, i);
        assert_int_equal(outcome.vote, REDLOCK_VOTE_GRANTED);
        assert_int_equal(outcome.reason, 0);
        assert_string_equal(outcome.node, strchr(live->urls[i], '/') + 2);
        assert_in_range(outcome.latency_us, 1, TTL_MS * 1000);
    }
}

/* Validity is counted from a moment between before and now. */
static void check_validity(const redlock_lock *lock, int64_t ttl_ms, uint64_t before_ns) {
    uint64_t validity_ns = (uint64_t)(ttl_ms - ttl_ms / 100 - 2) * LIVE_MS;
    assert_int_equal(redlock_lock_is_valid(lock), 1);
    assert_in_range(redlock_lock_valid_until_ns(lock), before_ns + validity_ns,
                    redlock_now_ns() + validity_ns);
    assert_in_range(redlock_lock_remaining_ms(lock), validity_ns / LIVE_MS / 2,
                    validity_ns / LIVE_MS);
}

static void check_not_held(const redlock_lock *lock) {
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    assert_true(redlock_lock_valid_until_ns(lock) == 0);
    assert_int_equal(redlock_lock_remaining_ms(lock), 0);
}

static void whole_story(struct live *live, size_t n) {
    live_start(live, n, NULL);
    live_open_all(live, NULL);
    redlock_lock *lock = live_lock(live->client, "story");
    assert_string_equal(redlock_lock_token(lock), "");
    check_not_held(lock);

    uint64_t before_ns = redlock_now_ns();
    redlock_acquire_options options = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    check_validity(lock, TTL_MS, before_ns);
    wait_for_all_votes(live, lock);
    check_votes(live, lock);
    check_token(redlock_lock_token(lock));
    check_on_all(live, "story", redlock_lock_token(lock), TTL_MS);

    before_ns = redlock_now_ns();
    LIVE_STATUS(live_extend(live, lock, LONGER_MS), 0);
    check_validity(lock, LONGER_MS, before_ns);
    wait_for_all_votes(live, lock);
    check_votes(live, lock);
    check_on_all(live, "story", redlock_lock_token(lock), LONGER_MS);

    LIVE_STATUS(live_release(live, lock), 0);
    check_not_held(lock);
    wait_for_all_votes(live, lock);
    check_votes(live, lock);
    assert_true(live_no_keys(live));
    live_end(live);
}

static void five_nodes(void **state) {
    whole_story(*state, 5);
}

static void one_node(void **state) {
    whole_story(*state, 1);
}

static void two_nodes(void **state) {
    whole_story(*state, 2);
}

static void four_nodes(void **state) {
    whole_story(*state, 4);
}

/* An even number needs one more than half of it. */
static void even_quorum(void **state) {
    struct live *live = *state;
    live_start(live, 4, NULL);
    live_open_all(live, NULL);
    redlock_lock *lock = live_lock(live->client, "even");
    redlock_acquire_options options = live_once(TTL_MS);
    live_tell(live, 0, "SET even stranger");
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 4));
    live_tell(live, 1, "SET even stranger");
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 4));
    assert_int_equal(live_count_keys(live, "even", "stranger"), 2);
    live_tell_all(live, "DEL even");
    assert_true(live_no_keys(live));
    live_end(live);
}

/* Each attempt has a token of its own, and a lock object can be used again and again. */
static void fresh_tokens(void **state) {
    struct live *live = *state;
    char before[REDLOCK_TOKEN_LENGTH + 1];
    redlock_lock *lock = live_lock(live->client, "again");
    memset(before, '0', sizeof(before));
    for (int i = 0; i < 20; i++) {
        redlock_acquire_options options = live_once(TTL_MS);
        LIVE_STATUS(live_acquire(live, lock, &options), 0);
        check_token(redlock_lock_token(lock));
        assert_memory_not_equal(redlock_lock_token(lock), before, REDLOCK_TOKEN_LENGTH);
        memcpy(before, redlock_lock_token(lock), sizeof(before));
        LIVE_STATUS(live_release(live, lock), 0);
    }
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
    live_end(live);
}

/* Two hundred locks at once, each with its key on all nodes. */
static void many_locks(void **state) {
    enum { LOCKS = 200 };
    struct live *live = *state;
    struct live_done done = {0};
    redlock_lock *locks[LOCKS];
    for (int i = 0; i < LOCKS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "lock %d", i);
        locks[i] = live_lock(live->client, name);
        LIVE_STATUS(redlock_acquire(locks[i], NULL, live_lock_cb, &done), 0);
    }
    LIVE_UNTIL(live, done.count == LOCKS);
    assert_int_equal(live_stats(live->client).granted, LOCKS);
    assert_int_equal(live_stats(live->client).held, LOCKS);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < live->n; i++) {
        assert_int_equal(live_keys(live, i), LOCKS);
    }
    for (int i = 0; i < LOCKS; i++) {
        LIVE_STATUS(redlock_release(locks[i], live_lock_cb, &done), 0);
    }
    LIVE_UNTIL(live, done.count == 2 * LOCKS);
    LIVE_STATUS(done.status, 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
    live_end(live);
}

static void check_resource(struct live *live, const void *resource, size_t length) {
    redlock_lock *lock;
    size_t got = 0;
    LIVE_STATUS(redlock_lock_new(live->client, resource, length, &lock), 0);
    assert_memory_equal(redlock_lock_resource(lock, &got), resource, length);
    assert_int_equal(got, length);
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    wait_for_all_votes(live, lock);
    for (size_t i = 0; i < live->n; i++) {
        assert_int_equal(live_integer(live, i, "EXISTS %b", resource, length), 1);
        assert_int_equal(live_keys(live, i), 1);
    }
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    wait_for_all_votes(live, lock);
    assert_true(live_no_keys(live));
    redlock_lock_free(lock);
}

/* The resource is the key, byte by byte. */
static void any_bytes(void **state) {
    struct live *live = *state;
    char longest[REDLOCK_RESOURCE_MAX];
    for (size_t i = 0; i < sizeof(longest); i++) {
        longest[i] = (char)i;
    }
    check_resource(live, "\0", 1);
    check_resource(live, "a\0b", 3);
    check_resource(live, "\r\n$3\r\n*1\r\n", 11);
    check_resource(live, "%s %n \xff\xfe", 9);
    check_resource(live, longest, sizeof(longest));
    live_end(live);
}

/* A shorter ttl shortens the validity when it is sent, and leaves the keys their longer life; 0
 * means the ttl of the acquire. */
static void extend_to_less(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    redlock_lock *lock = live_lock(live->client, "less");
    redlock_acquire_options options = live_once(LONGER_MS);
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_STATUS(redlock_extend(lock, TTL_MS, live_lock_cb, &done), 0);
    assert_in_range(redlock_lock_remaining_ms(lock), 1, TTL_MS);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    wait_for_all_votes(live, lock);
    assert_in_range(redlock_lock_remaining_ms(lock), 1, TTL_MS);
    check_on_all(live, "less", redlock_lock_token(lock), LONGER_MS);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    wait_for_all_votes(live, lock);
    check_on_all(live, "less", redlock_lock_token(lock), LONGER_MS);
    assert_in_range(redlock_lock_remaining_ms(lock), TTL_MS, LONGER_MS);
    live_end(live);
    assert_true(live_no_keys(live));
}

struct counter {
    const redlock_lock *lock;
    int events, callbacks;
};

/* The trace hook may look at the lock: its resources, and its current message. */
static void count_event(const redlock_event *event, void *data) {
    struct counter *of_hook = data;
    if (event->lock != NULL && redlock_lock_data(event->lock) != NULL) {
        struct counter *counter = redlock_lock_data(event->lock);
        char text[REDLOCK_MESSAGE_MAX];
        assert_ptr_equal(counter->lock, event->lock);
        assert_true(strlen(redlock_lock_message(event->lock, text, sizeof text)) > 0);
        counter->events++;
        of_hook->events++;
    }
}

static void count_callback(redlock_lock *lock, int status, void *data) {
    struct counter *counter = redlock_lock_data(lock);
    LIVE_STATUS(status, 0);
    assert_null(data);
    counter->callbacks++;
}

/* Many locks, one callback: each finds its object in the program by its pointer. */
static void data_of_a_lock(void **state) {
    struct live *live = *state;
    struct counter of_hook = {NULL, 0, 0}, counters[3] = {{NULL, 0, 0}};
    live_start(live, 3, NULL);
    redlock_client_options options = live_options(live);
    options.trace = count_event;
    options.trace_data = &of_hook;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        redlock_lock *lock = live_lock(live->client, name);
        assert_null(redlock_lock_data(lock));
        redlock_lock_set_data(lock, &counters[i]);
        counters[i].lock = lock;
        LIVE_STATUS(redlock_acquire(lock, NULL, count_callback, NULL), 0);
    }
    LIVE_UNTIL(live, counters[0].callbacks + counters[1].callbacks + counters[2].callbacks == 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(counters[i].callbacks, 1);
        assert_true(counters[i].events >= 4); /* attempt, votes, acquired, done */
    }
    int events = counters[0].events + counters[1].events + counters[2].events;
    assert_int_equal(of_hook.events, events);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(five_nodes),      LIVE_TEST(one_node),       LIVE_TEST(two_nodes),
        LIVE_TEST(four_nodes),      LIVE_TEST(even_quorum),    LIVE_TEST_FIVE(fresh_tokens),
        LIVE_TEST_FIVE(many_locks), LIVE_TEST_FIVE(any_bytes), LIVE_TEST_FIVE(extend_to_less),
        LIVE_TEST(data_of_a_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
