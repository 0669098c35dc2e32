/* See permits.h. */
#include "live/permits.h"

#include <stdio.h>

redlock_lock *permits_lock(redlock_client *client, int32_t permits, int32_t take) {
    redlock_lock *lock = NULL;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    const redlock_bytes name = {"key", 3};
    options.resources = &name;
    options.n_resources = 1;
    options.permits = permits;
    options.take = take;
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, NULL, 0), 0);
    return lock;
}

void permits_hold(struct live *live, redlock_lock *lock, int64_t ttl_ms) {
    redlock_acquire_options once = live_once(ttl_ms);
    live_hold(live, lock, &once);
}

size_t permits_count(const struct live *live, int32_t slot, const redlock_lock *lock) {
    char key[64];
    snprintf(key, sizeof key, "libredlock:slot:%d:{key}", slot);
    return live_count_keys(live, key, redlock_lock_token(lock));
}

void permits_release(struct live *live, redlock_lock *lock) {
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_POLL(live, live_is_quiet(redlock_lock_client(lock), live->n));
}

size_t permits_waiting(const struct live *live) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += (size_t)live_integer(live, i, "ZCARD libredlock:line:permits:{key}");
    }
    return count;
}

redlock_acquire_options permits_patient(int64_t ttl_ms) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = ttl_ms;
    options.tries = options.wait_ms = REDLOCK_NO_LIMIT;
    return options;
}
