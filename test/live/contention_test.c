/* Many want one key: eight lock objects in two clients hand it over hundreds of times, and never
 * are two of them valid at once. */
#include <string.h>

#include "live/live.h"

#define LOCKS 8
#define HAND_OVERS 150

struct crowd;

struct rival {
    struct crowd *crowd;
    redlock_lock *lock;
    uv_timer_t work; /* how long it holds */
    int submitted;
    int told;
    int grants;
    int losses;
    bool is_waiting; /* for a callback */
};

struct crowd {
    struct live *live;
    redlock_client *clients[2];
    struct rival rivals[LOCKS];
    const struct rival *last; /* who had it last */
    int hand_overs;
    int64_t ttl_ms;
    bool is_rough; /* a release may miss its quorum */
    bool keeps;    /* a holder does not release, but lets the lock expire */
    bool is_over;
};

static void want(struct rival *rival);

/* By the clock at this moment, which is the promise. */
static int count_valid(const struct crowd *crowd) {
    int count = 0;
    for (int i = 0; i < LOCKS; i++) {
        count += redlock_lock_is_valid(crowd->rivals[i].lock);
    }
    return count;
}

static void next(struct rival *rival) {
    struct crowd *crowd = rival->crowd;
    rival->is_waiting = false;
    crowd->is_over = crowd->is_over || crowd->hand_overs >= HAND_OVERS;
    if (!crowd->is_over) {
        want(rival);
    }
    live_wake();
}

static void released_cb(redlock_lock *lock, int status, void *data) {
    struct rival *rival = data;
    (void)lock;
    rival->told++;
    if (!rival->crowd->is_rough) {
        assert_true(status == 0 || status == REDLOCK_ERR_LOST);
    }
    next(rival);
}

static void lost_cb(redlock_lock *lock, int status, void *data) {
    struct rival *rival = data;
    LIVE_STATUS(status, REDLOCK_ERR_EXPIRED);
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    rival->losses++;
    assert_true(rival->losses <= rival->grants);
    if (rival->crowd->keeps) {
        next(rival);
    }
}

static void release(struct rival *rival) {
    rival->submitted++;
    LIVE_STATUS(redlock_release(rival->lock, released_cb, rival), 0);
}

static void work_done(uv_timer_t *timer) {
    struct rival *rival = timer->data;
    assert_true(count_valid(rival->crowd) <= 1);
    release(rival);
}

static void acquired_cb(redlock_lock *lock, int status, void *data) {
    struct rival *rival = data;
    struct crowd *crowd = rival->crowd;
    rival->told++;
    if (status != 0) {
        LIVE_STATUS(status, REDLOCK_ERR_CANCELED);
        rival->is_waiting = false;
        live_wake();
        return;
    }
    assert_true(lock == rival->lock);
    assert_true(count_valid(crowd) <= 1);
    rival->grants++;
    crowd->hand_overs += crowd->last != rival;
    crowd->last = rival;
    if (!crowd->keeps && rival->grants % 2 == 0) {
        uv_timer_start(&rival->work, work_done, 1, 0);
    } else if (!crowd->keeps) {
        release(rival);
    }
}

static void want(struct rival *rival) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = rival->crowd->ttl_ms;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = 1;
    options.jitter_ms = 4;
    options.on_lost = lost_cb;
    options.lost_data = rival;
    rival->is_waiting = true;
    rival->submitted++;
    LIVE_STATUS(redlock_acquire(rival->lock, &options, acquired_cb, rival), 0);
}

static void start(struct crowd *crowd, struct live *live, const redlock_client_options *options,
                  int64_t ttl_ms) {
    memset(crowd, 0, sizeof(*crowd));
    crowd->live = live;
    crowd->ttl_ms = ttl_ms;
    crowd->clients[0] = live->client;
    LIVE_STATUS(live_open(live, options, &crowd->clients[1]), 0);
    for (int i = 0; i < LOCKS; i++) {
        struct rival *rival = &crowd->rivals[i];
        rival->crowd = crowd;
        rival->lock = live_lock(crowd->clients[i % 2], "key");
        uv_timer_init(&live->loop, &rival->work);
        rival->work.data = rival;
        want(rival);
    }
}

static bool all_idle(const struct crowd *crowd) {
    for (int i = 0; i < LOCKS; i++) {
        if (crowd->rivals[i].is_waiting) {
            return false;
        }
    }
    return true;
}

static void finish(struct crowd *crowd) {
    struct live *live = crowd->live;
    uint64_t attempts = live_stats(crowd->clients[0]).attempts;
    attempts += live_stats(crowd->clients[1]).attempts;
    for (int i = 0; i < LOCKS; i++) {
        (void)redlock_cancel(crowd->rivals[i].lock); /* those that still wait */
    }
    LIVE_UNTIL(live, all_idle(crowd));
    int grants = 0;
    for (int i = 0; i < LOCKS; i++) {
        struct rival *rival = &crowd->rivals[i];
        assert_int_equal(rival->told, rival->submitted);
        grants += rival->grants;
        uv_close((uv_handle_t *)&rival->work, NULL);
    }
    print_message("# %d grants, %d of them to another than the last, %llu attempts\n", grants,
                  crowd->hand_overs, (unsigned long long)attempts);
    live_close(live, crowd->clients[1]);
    live_end(live);
    assert_true(live_no_keys(live));
}

static void handoffs(void **state) {
    struct crowd crowd;
    redlock_client_options options = live_options(*state);
    start(&crowd, *state, &options, 10000);
    LIVE_UNTIL(crowd.live, crowd.is_over);
    finish(&crowd);
}

/* Nobody releases: the lock goes round by expiring. */
static void expiring(void **state) {
    struct crowd crowd;
    redlock_client_options options = live_options(*state);
    start(&crowd, *state, &options, 20);
    crowd.keeps = true;
    LIVE_UNTIL(crowd.live, crowd.hand_overs >= HAND_OVERS / 3);
    crowd.is_over = true;
    finish(&crowd);
}

/* Two nodes are stopped and go on, in turn, all the time. An attempt that splits the votes of the
 * other three waits for these two until node_timeout_ms. */
static void with_nodes_that_stop(void **state) {
    struct crowd crowd;
    struct live *live = *state;
    live_start(live, 5, NULL);
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = 20;
    options.connect_timeout_ms = 100;
    live_open_all(live, &options);
    start(&crowd, live, &options, 10000);
    crowd.is_rough = true;
    for (size_t i = 0; !crowd.is_over; i = (i + 1) % 5) {
        int before = crowd.hand_overs;
        live_pause(live, i);
        live_pause(live, (i + 1) % 5);
        LIVE_UNTIL(live, crowd.is_over || crowd.hand_overs >= before + 10);
        live_resume(live, i);
        live_resume(live, (i + 1) % 5);
    }
    LIVE_UNTIL(live, live_up(live->client) == 5 && live_up(crowd.clients[1]) == 5);
    finish(&crowd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(handoffs),
        LIVE_TEST_FIVE(expiring),
        LIVE_TEST(with_nodes_that_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
