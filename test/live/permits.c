/* See permits.h. */
#include "live/permits.h"

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
        if (rl_local_nodes_pid(live->node[i].set, live->node[i].index) != 0) {
            count += (size_t)live_integer(live, i, "ZCARD libredlock:line:permits:{key}");
        }
    }
    return count;
}

/* -- Waiting -- */

void permits_ask(struct permits_asker *a, redlock_client *client, int32_t permits, int32_t take) {
    redlock_acquire_options options = live_patient(PERMITS_TTL_MS);
    *a = (struct permits_asker){.lock = permits_lock(client, permits, take)};
    LIVE_STATUS(redlock_acquire(a->lock, &options, live_lock_cb, &a->done), 0);
}

void permits_line_up(struct live *live, struct permits_asker *a, redlock_client *client,
                     int32_t permits, int32_t take) {
    const size_t before = permits_waiting(live);
    permits_ask(a, client, permits, take);
    LIVE_POLL(live, permits_waiting(live) == before + 1);
}

void permits_granted(struct live *live, const struct permits_asker *a) {
    LIVE_UNTIL(live, a->done.count == 1);
    LIVE_STATUS(a->done.status, 0);
}

/* -- The number -- */

static void on_set(redlock_query *query, int status, void *data) {
    struct live_done *set = data;
    set->count++;
    set->status = status;
    live_wake();
}

void permits_set(struct live *live, int32_t permits) {
    struct live_done set = {0};
    LIVE_STATUS(redlock_set_permits(live->client, "key", 3, permits, on_set, &set), 0);
    LIVE_UNTIL(live, set.count == 1);
    LIVE_STATUS(set.status, 0);
}

/* -- Home -- */

size_t permits_home(struct live *live) {
    redlock_lock *lock = permits_lock(live->client, 1, 1);
    uint64_t before[LIVE_NODES_MAX];
    size_t home = 0;
    for (size_t i = 0; i < live->n; i++) {
        before[i] = live_node(live->client, i).requests;
    }
    permits_hold(live, lock, PERMITS_TTL_MS);
    for (size_t i = 0; i < live->n; i++) {
        before[i] = live_node(live->client, i).requests - before[i];
        home = before[i] > before[home] ? i : home;
    }
    assert_int_equal(before[home], 2);
    permits_release(live, lock);
    redlock_lock_free(lock);
    return home;
}

void permits_stop(struct live *live, size_t first, size_t n) {
    for (size_t i = 0; i < n; i++) {
        live_tell(live, (first + i) % live->n, "CLIENT PAUSE 60000 WRITE");
    }
}

void permits_go_on(struct live *live, size_t first, size_t n, bool reset) {
    for (size_t i = 0; i < n; i++) {
        const size_t node = (first + i) % live->n;
        if (reset) {
            live_tell(live, node, "CLIENT KILL TYPE normal");
        }
        live_tell(live, node, "CLIENT UNPAUSE");
    }
}
