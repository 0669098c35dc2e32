/* The options of fences, without any server: fencing is a switch; a counter that would end before
 * its lock is refused, and so is a lock whose key could be a counter. */
#include <limits.h>
#include <uv.h>

#include "messages.h"
#include "redlock/token.h"
#include "unit/check.h"

static void not_called(redlock_lock *lock, int status, void *data) {
    fail_msg("a callback of what was not submitted");
}

static int open_with(redlock_client **client, uv_loop_t *loop, int64_t retention_ms, char *error) {
    static const char *const nodes[] = {"unix:///nonexistent-redlock/0"};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = nodes;
    options.n_nodes = COUNT(nodes);
    options.fence_retention_ms = retention_ms;
    options.error = error;
    options.error_size = error != NULL ? REDLOCK_MESSAGE_MAX : 0;
    return redlock_client_open(client, loop, &options, NULL, NULL);
}

TEST(bounds_the_retention) {
    static const int64_t values[] = {INT64_MIN,
                                     -1,
                                     0,
                                     999,
                                     1000,
                                     86400000,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     REDLOCK_RETENTION_MS_MAX,
                                     REDLOCK_RETENTION_MS_MAX + 1};
    for (size_t i = 0; i < COUNT(values); i++) {
        bool good = values[i] >= 1000 && values[i] <= REDLOCK_RETENTION_MS_MAX;
        char error[REDLOCK_MESSAGE_MAX] = "";
        char wanted[64] = "";
        uv_loop_t loop;
        redlock_client *client;
        assert_int_equal(uv_loop_init(&loop), 0);
        assert_int_equal(open_with(&client, &loop, values[i], error),
                         good ? 0 : REDLOCK_ERR_INVALID);
        if (good) {
            assert_int_equal(redlock_client_close(client, NULL, NULL), 0);
        } else {
            snprintf(wanted, sizeof wanted, "fence_retention_ms is %lld:", (long long)values[i]);
        }
        assert_memory_equal(error, wanted, strlen(wanted));
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&loop), 0);
    }
}

static void refuse_acquire(redlock_lock *lock, const redlock_acquire_options *acquire,
                           const char *word, const char *other) {
    assert_int_equal(redlock_acquire(lock, acquire, not_called, NULL), REDLOCK_ERR_INVALID);
    assert_contains(LOCK_MESSAGE(lock), word);
    assert_contains(LOCK_MESSAGE(lock), other);
}

/* The key of a lock "fence:a" in libraries that put something in front of names: pottery and
 * RedLock.net, rueidislock, redis-semaphore, python-redis-lock. None is a counter of ours. */
static const char *const of_others[] = {"redlock:fence:a", "redislock:0:fence:a",
                                        "SEMAPHORE:fence:a:AVAILABLE", "lock:fence:a", "fence:a"};

TEST(names_what_is_wrong_with_fences) {
    static const int wrong[] = {-1, 2, INT_MIN, INT_MAX};
    const redlock_acquire_options good = REDLOCK_ACQUIRE_OPTIONS_INIT;
    uv_loop_t loop;
    redlock_client *client;
    redlock_lock *lock = NULL;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(open_with(&client, &loop, 20000, NULL), 0);
    assert_int_equal(redlock_lock_new(client, "a", 1, &lock), 0);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char value[32];
        redlock_acquire_options acquire = good;
        snprintf(value, sizeof value, "is %d:", wrong[i]);
        acquire.fencing = wrong[i];
        refuse_acquire(lock, &acquire, "fencing", value);
    }
    redlock_acquire_options acquire = good;
    acquire.fencing = 1;
    acquire.ttl_ms = 10001;
    refuse_acquire(lock, &acquire, "fence_retention_ms", "20000");
    char token[REDLOCK_TOKEN_LENGTH + 1];
    memset(token, 'a', REDLOCK_TOKEN_LENGTH);
    token[REDLOCK_TOKEN_LENGTH] = '\0';
    acquire.ttl_ms = 10000; /* which is good, but not for a lock that was granted elsewhere */
    assert_int_equal(redlock_adopt(lock, token, &acquire, not_called, NULL), REDLOCK_ERR_INVALID);
    assert_contains(LOCK_MESSAGE(lock), "fencing");
    assert_int_equal(redlock_lock_fence(lock), 0);

    static const char counter[] = "libredlock:fence:a";
    redlock_lock *other;
    assert_int_equal(redlock_lock_new(client, counter, 17, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(client, counter, 18, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(client, counter, 11, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(client, counter, 10, &other), 0);
    static const char line[] = "libredlock:line:{a}", readers[] = "libredlock:readers:{a}";
    assert_int_equal(redlock_lock_new(client, line, 19, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(client, readers, 22, &other), REDLOCK_ERR_INVALID);
    for (size_t i = 0; i < COUNT(of_others); i++) {
        assert_int_equal(redlock_lock_new(client, of_others[i], strlen(of_others[i]), &other), 0);
    }
    assert_int_equal(redlock_client_close(client, NULL, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}
