/* The limits of a lock's options: the largest number and length of names, any bytes in them; and
 * what is refused, with the reason. */

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000

/* -- What is accepted -- */

/* The largest number and length of names; the nodes forget the scripts before every step. */
LIVE_TEST_FIVE(as_large_as_may_be) {
    static char names[REDLOCK_RESOURCES_MAX][REDLOCK_RESOURCE_MAX];
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes bytes[REDLOCK_RESOURCES_MAX];
    redlock_lock *lock = NULL;
    char holder[REDLOCK_HOLDER_MAX + 1];
    for (size_t i = 0; i < REDLOCK_RESOURCES_MAX; i++) {
        memset(names[i], '\n', sizeof(names[i]));
        names[i][sizeof(names[i]) - 1] = (char)i;
        bytes[i] = (redlock_bytes){names[i], sizeof(names[i])};
    }
    memset(holder, 'h', sizeof(holder));
    holder[REDLOCK_HOLDER_MAX] = '\0';
    options.resources = bytes;
    options.n_resources = REDLOCK_RESOURCES_MAX;
    options.holder = holder;
    LIVE_STATUS(redlock_lock_new_with(live->client, &options, &lock, NULL, 0), 0);
    memset(names, 'x', sizeof(names)); /* they were copied */
    for (int round = 0; round < 2; round++) {
        LIVE_STATUS(live_acquire(live, lock, NULL), 0);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
        assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(live_keys(live, i), REDLOCK_RESOURCES_MAX);
        }
        live_tell_all(live, "SCRIPT FLUSH");
        LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
        live_tell_all(live, "SCRIPT FLUSH");
        LIVE_STATUS(live_release(live, lock), 0);
        LIVE_POLL(live, live_no_keys(live));
        live_tell_all(live, "SCRIPT FLUSH");
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_node(live->client, i).connects, 1);
    }
}

static void check_resource(struct live *live, const void *resource, size_t length) {
    redlock_lock *lock;
    size_t got = 0;
    LIVE_STATUS(redlock_lock_new(live->client, resource, length, &lock), 0);
    assert_memory_equal(redlock_lock_resource(lock, &got), resource, length);
    assert_int_equal(got, length);
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < live->n; i++) {
        assert_int_equal(live_integer(live, i, "EXISTS %b", resource, length), 1);
        assert_int_equal(live_keys(live, i), 1);
    }
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
    redlock_lock_free(lock);
}

/* The resource is the key, byte by byte. */
LIVE_TEST_FIVE(any_bytes) {
    char longest[REDLOCK_RESOURCE_MAX];
    for (size_t i = 0; i < sizeof(longest); i++) {
        longest[i] = (char)i;
    }
    check_resource(live, "\0", 1);
    check_resource(live, "a\0b", 3);
    check_resource(live, "\r\n$3\r\n*1\r\n", 11);
    check_resource(live, "%s %n \xff\xfe", 9);
    check_resource(live, longest, sizeof(longest));
}

struct counter {
    const redlock_lock *lock;
    int events, callbacks;
};

/* The trace hook may read the lock's resources and its current message. */
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

/* Many locks share one callback, which finds each lock's object by its pointer. */
LIVE_TEST(data_of_a_lock) {
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

/* -- What is refused -- */

static void refuses(redlock_client *client, const redlock_lock_options *options, const char *part) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_lock *lock = (redlock_lock *)(void *)error;
    LIVE_STATUS(redlock_lock_new_with(client, options, &lock, error, sizeof(error)),
                REDLOCK_ERR_INVALID);
    assert_null(lock);
    assert_contains(error, part);
}

LIVE_TEST_FIVE(bad_options) {
    static char long_name[REDLOCK_RESOURCE_MAX + 1];
    static const char *const holders[] = {"", "two words", "tab\t", "\x7f", "caf\xc3\xa9", NULL};
    char long_holder[REDLOCK_HOLDER_MAX + 2];
    redlock_bytes bytes[REDLOCK_RESOURCES_MAX + 1];
    redlock_lock_options good = REDLOCK_LOCK_OPTIONS_INIT, bad;
    good.resources = bytes;
    good.n_resources = 3;
    for (size_t i = 0; i <= REDLOCK_RESOURCES_MAX; i++) {
        bytes[i] = (redlock_bytes){long_name, i + 1};
    }
    bad = good;
    bad.n_resources = 0;
    refuses(live->client, &bad, "n_resources is 0");
    bad.n_resources = REDLOCK_RESOURCES_MAX + 1;
    refuses(live->client, &bad, "n_resources is 65: it must be 1 to 64");
    bad = good;
    bad.resources = NULL;
    refuses(live->client, &bad, "resources is NULL");
    bytes[1].length = 0;
    refuses(live->client, &good, "resource 1 has 0 bytes");
    bytes[1].length = REDLOCK_RESOURCE_MAX + 1;
    refuses(live->client, &good, "resource 1 has 1025 bytes");
    bytes[1] = (redlock_bytes){NULL, 2};
    refuses(live->client, &good, "resource 1 has 2 bytes at NULL");
    bytes[1] = (redlock_bytes){long_name, 3};
    refuses(live->client, &good, "resources 1 and 2 are the same");
    bytes[1].length = 2;
    for (size_t i = 0; holders[i] != NULL; i++) {
        good.holder = holders[i];
        refuses(live->client, &good, "holder");
    }
    memset(long_holder, 'h', sizeof(long_holder));
    long_holder[sizeof(long_holder) - 1] = '\0';
    good.holder = long_holder;
    refuses(live->client, &good, "holder");
    assert_int_equal(live_stats(live->client).locks, 0);
}
