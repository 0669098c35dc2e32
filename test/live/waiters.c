/* See waiters.h. */
#include "live/waiters.h"

void waiters_open(struct waiters *w, struct live *live, size_t n, const char *key) {
    memset(w, 0, sizeof(*w));
    assert_true(n <= WAITERS_MAX);
    w->live = live;
    w->since = spent_begin();
    w->key = key;
    w->n = n;
    w->options = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    w->options.ttl_ms = WAITERS_TTL_MS;
    w->options.tries = REDLOCK_NO_LIMIT;
    w->options.wait_ms = REDLOCK_NO_LIMIT;
    for (size_t i = 0; i < n; i++) {
        w->w[i].crowd = w;
        w->w[i].client = live_another(live);
        w->w[i].lock = live_lock(w->w[i].client, key);
    }
}

static void released(redlock_lock *lock, int status, void *data) {
    struct waiter *waiter = data;
    LIVE_STATUS(status, 0);
    waiter->crowd->released++;
    live_wake();
}

static void granted(redlock_lock *lock, int status, void *data) {
    struct waiter *waiter = data;
    struct waiters *w = waiter->crowd;
    waiter->status = status;
    waiter->told++;
    live_wake();
    if (status != 0) {
        return;
    }
    assert_int_equal(redlock_lock_is_valid(lock), 1);
    waiter->fence = redlock_lock_fence(lock);
    w->at_ns[w->count] = redlock_now_ns();
    w->order[w->count++] = (char)('0' + (waiter - w->w));
    if (!w->keeps) {
        LIVE_STATUS(redlock_release(lock, released, waiter), 0);
    }
}

void waiters_ask(struct waiters *w, size_t i) {
    LIVE_STATUS(redlock_acquire(w->w[i].lock, &w->options, granted, &w->w[i]), 0);
}

void waiters_line_up(struct waiters *w, size_t first, size_t n) {
    for (size_t i = first; i < first + n; i++) {
        size_t before = waiters_standing(w->live, w->key);
        waiters_ask(w, i);
        LIVE_POLL(w->live, waiters_standing(w->live, w->key) == before + 1);
    }
}

size_t waiters_at(const struct live *live, size_t node, const char *key) {
    redisReply *reply = live_ask(live, node, "ZCARD libredlock:line:{%s}", key);
    size_t count = reply != NULL && reply->type == REDIS_REPLY_INTEGER ? (size_t)reply->integer : 0;
    freeReplyObject(reply);
    return count;
}

size_t waiters_standing(const struct live *live, const char *key) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        bool runs = rl_local_nodes_pid(live->node[i].set, live->node[i].index) != 0;
        count += runs ? waiters_at(live, i, key) : 0;
    }
    return count;
}

size_t waiters_home(const struct live *live, const char *key) {
    size_t home = 0;
    for (size_t i = 1; i < live->n; i++) {
        home = waiters_at(live, i, key) > waiters_at(live, home, key) ? i : home;
    }
    assert_true(waiters_at(live, home, key) > 0);
    return home;
}

bool waiters_missed_a_turn(const struct waiters *w) {
    uint64_t missed = 0;
    for (size_t i = 0; i < w->n; i++) {
        missed += w->w[i].client != NULL ? live_stats(w->w[i].client).turns_missed : 0;
    }
    return missed > 0 && spent_kept_ns(&w->since) > WAITERS_GRACE_MS * LIVE_MS / 2;
}

void waiters_expect(const struct waiters *w, const char *order) {
    if (strcmp(w->order, order) != 0 && waiters_missed_a_turn(w)) {
        assert_int_equal(strlen(w->order), strlen(order));
        print_message("# a turn was missed: the machine stood still\n");
        return;
    }
    assert_string_equal(w->order, order);
}

bool waiters_is_over(const struct waiters *w) {
    for (size_t i = 0; i < w->n; i++) {
        if (w->w[i].client != NULL && !live_is_quiet(w->w[i].client, w->live->n)) {
            return false;
        }
    }
    return waiters_standing(w->live, w->key) == 0 && live_no_keys(w->live);
}

void waiters_close(struct waiters *w) {
    LIVE_POLL(w->live, waiters_is_over(w));
    for (size_t i = 0; i < w->n; i++) {
        if (w->w[i].client != NULL) {
            live_close(w->live, w->w[i].client);
        }
    }
}

void waiters_end(struct waiters *w) {
    waiters_close(w);
    live_end(w->live);
}
