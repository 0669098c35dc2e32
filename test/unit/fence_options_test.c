/* The options of fences, without any server: fencing is a switch; a counter that would expire
 * before its lock is refused, and so is a lock whose key could be a counter. */
#include <limits.h>

#include "messages.h"
#include "redlock/token.h"
#include "unit/nowhere.h"

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
        char wanted[64];
        redlock_client_options options = nowhere_options(error, sizeof error);
        options.fence_retention_ms = values[i];
        if (good) {
            open_good(&options);
            close_good();
        } else {
            assert_no_client(&options, REDLOCK_ERR_INVALID);
            snprintf(wanted, sizeof wanted, "fence_retention_ms is %lld:", (long long)values[i]);
            assert_contains(error, wanted);
        }
    }
}

static void refuse_acquire(redlock_lock *lock, const redlock_acquire_options *acquire,
                           const char *word, const char *other) {
    assert_int_equal(redlock_acquire(lock, acquire, not_called, NULL), REDLOCK_ERR_INVALID);
    assert_contains(LOCK_MESSAGE(lock), word);
    assert_contains(LOCK_MESSAGE(lock), other);
}

/* The key of a lock "fence:a" in libraries that add a prefix: pottery and RedLock.net, rueidislock,
 * redis-semaphore, python-redis-lock. None is one of our counters. */
static const char *const of_others[] = {"redlock:fence:a", "redislock:0:fence:a",
                                        "SEMAPHORE:fence:a:AVAILABLE", "lock:fence:a", "fence:a"};

TEST(names_what_is_wrong_with_fences) {
    static const int wrong[] = {-1, 2, INT_MIN, INT_MAX};
    const redlock_acquire_options good = REDLOCK_ACQUIRE_OPTIONS_INIT;
    redlock_client_options options = nowhere_options(NULL, 0);
    options.fence_retention_ms = 20000;
    open_good(&options);
    redlock_lock *lock = new_lock();
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
    acquire.ttl_ms = 10000; /* valid, but not for a lock that was granted elsewhere */
    assert_int_equal(redlock_adopt(lock, token, &acquire, not_called, NULL), REDLOCK_ERR_INVALID);
    assert_contains(LOCK_MESSAGE(lock), "fencing");
    assert_int_equal(redlock_lock_fence(lock), 0);

    static const char counter[] = "libredlock:fence:a";
    redlock_lock *other;
    assert_int_equal(redlock_lock_new(open_client, counter, 17, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(open_client, counter, 18, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(open_client, counter, 11, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(open_client, counter, 10, &other), 0);
    static const char line[] = "libredlock:line:{a}", readers[] = "libredlock:readers:{a}";
    assert_int_equal(redlock_lock_new(open_client, line, 19, &other), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_lock_new(open_client, readers, 22, &other), REDLOCK_ERR_INVALID);
    for (size_t i = 0; i < COUNT(of_others); i++) {
        assert_int_equal(redlock_lock_new(open_client, of_others[i], strlen(of_others[i]), &other),
                         0);
    }
    close_good();
}
