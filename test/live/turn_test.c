/* Work that is submitted after the client's own turn of the loop, and before the loop polls: from a
 * prepare callback that runs later than ours, and from another client's callback. Nothing else
 * wakes the loop here, so the watchdog ends the test if the library forgets work. And the time that
 * a loop tells when something is due later. */
#include "live/live.h"

/* libuv runs prepare callbacks in the reverse order of starting: one that was started before the
 * client runs after it. */
struct late {
    uv_prepare_t prepare;
    void (*submit)(struct late *late); /* NULL: nothing to do */
    redlock_lock *lock;
    redlock_client *client;
    struct live_done done;
};

static void late_cb(uv_prepare_t *prepare) {
    struct late *late = prepare->data;
    void (*submit)(struct late *) = late->submit;
    late->submit = NULL;
    if (submit != NULL) {
        submit(late);
    }
}

static void open_behind(struct live *live, struct late *late) {
    *late = (struct late){.submit = NULL};
    uv_prepare_init(&live->loop, &late->prepare);
    late->prepare.data = late;
    uv_prepare_start(&late->prepare, late_cb);
    live->is_hasty = true; /* a second is long enough to wait for */
    live_start(live, 3, NULL);
    live_open_all(live, NULL);
    late->client = live->client;
}

/* Waits until the timers that the library may have armed earlier have fired (the longest, for a
 * stalled request, is a second): one of them would wake the loop by chance. */
static void let_timers_pass(struct live *live) {
    live_run_for(live, 2200);
}

static void submit_acquire(struct late *late) {
    assert_int_equal(redlock_acquire(late->lock, NULL, live_lock_cb, &late->done), 0);
}

static void submit_free(struct late *late) {
    redlock_lock_free(late->lock);
}

static void submit_close(struct late *late) {
    assert_int_equal(redlock_client_close(late->client, live_client_cb, &late->done), 0);
}

LIVE_TEST(from_a_later_prepare) {
    struct late late;
    open_behind(live, &late);
    late.lock = live_lock(live->client, "key");
    let_timers_pass(live);
    late.submit = submit_acquire;
    LIVE_UNTIL(live, late.done.count == 1);
    LIVE_STATUS(late.done.status, 0);
    late.submit = submit_free;
    LIVE_UNTIL(live, late.submit == NULL && live_is_quiet(live->client, 3));
    assert_true(live_no_keys(live));
    late.done = (struct live_done){0};
    let_timers_pass(live);
    late.submit = submit_close;
    LIVE_UNTIL(live, late.done.count == 1);
    live->client = NULL;
    uv_close((uv_handle_t *)&late.prepare, NULL);
    live_end(live);
}

/* -- Two clients on one loop -- */

struct relay {
    redlock_lock *next;
    struct live_done done;
};

static void relay_cb(redlock_lock *lock, int status, void *data) {
    struct relay *relay = data;
    assert_int_equal(status, 0);
    assert_int_equal(redlock_acquire(relay->next, NULL, live_lock_cb, &relay->done), 0);
    live_wake();
}

LIVE_TEST_FIVE_HASTY(from_another_clients_callback) {
    redlock_client *second = NULL;
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &second), 0);
    redlock_lock *first = live_lock(live->client, "first");
    struct relay there = {.next = live_lock(second, "second")};
    struct relay back = {.next = first};
    let_timers_pass(live);
    assert_int_equal(redlock_acquire(first, NULL, relay_cb, &there), 0);
    LIVE_UNTIL(live, there.done.count == 1);
    assert_int_equal(live_release(live, first), 0);
    assert_int_equal(redlock_release(there.next, relay_cb, &back), 0);
    LIVE_UNTIL(live, back.done.count == 1);
    LIVE_STATUS(back.done.status, 0);
    live_close(live, second);
}

/* -- A loop that is not libuv's -- */

/* uv_run() may return right after a timer's callback (UV_RUN_ONCE always, UV_RUN_NOWAIT since libuv
 * 1.45), with no turn of ours after it. uv_backend_timeout() must tell the owner of such a loop
 * (docs/guide.md, examples/epoll.c) all the same when something is due. */
LIVE_TEST(after_a_timer) {
    struct live_done lost = {0};
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    live_start(live, 3, NULL);
    live_open_all(live, NULL);
    redlock_lock *lock = live_lock(live->client, "key");
    options.ttl_ms = 3000;
    options.on_lost = live_lock_cb;
    options.lost_data = &lost;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    live_watch(live, LIVE_PATIENCE_MS);
    while (lost.count == 0) {
        uv_update_time(&live->loop);
        int timeout_ms = uv_backend_timeout(&live->loop);
        assert_in_range(timeout_ms, 0, redlock_lock_remaining_ms(lock));
        uv_run(&live->loop, UV_RUN_ONCE);
    }
}
