/* See readers.h. */
#include "live/readers.h"

redlock_lock *readers_lock(redlock_client *client, const char *resource, enum redlock_mode mode) {
    redlock_lock *lock = NULL;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    const redlock_bytes name = {resource, strlen(resource)};
    options.resources = &name;
    options.n_resources = 1;
    options.mode = mode;
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, NULL, 0), 0);
    return lock;
}

void readers_hold(struct live *live, redlock_lock *lock, int64_t ttl_ms) {
    redlock_acquire_options once = live_once(ttl_ms);
    live_hold(live, lock, &once);
}

static size_t sum(const struct live *live, const char *format, const char *resource) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += (size_t)live_integer(live, i, format, resource);
    }
    return count;
}

int readers_change(struct live *live, redlock_lock *lock,
                   int (*how)(redlock_lock *, redlock_lock_cb, void *)) {
    struct live_done done = {0};
    LIVE_STATUS(how(lock, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    return done.status;
}

size_t readers_count(const struct live *live, const char *resource) {
    return sum(live, "ZCARD libredlock:readers:{%s}", resource);
}

size_t readers_waiting(const struct live *live, const char *resource) {
    return sum(live, "ZCARD libredlock:line:shared:{%s}", resource);
}

size_t readers_set_nx(const struct live *live, const char *resource) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "SET %s stranger NX PX 1000", resource);
        if (reply->type != REDIS_REPLY_NIL) {
            count++;
            live_tell(live, i, "DEL %s", resource);
        }
        freeReplyObject(reply);
    }
    return count;
}
