/* The watchdog: a lock that renews itself for as long as a quorum of nodes answers, and no
 * longer. */
#include <string.h>

#include "live/live.h"
#include "messages.h"
#include "spent.h"

#define TTL_MS 3000 /* a machine that stands still for half of it does not lose the lock */
#define MAX_HOLD_MS (TTL_MS + 1000)

struct kept {
    struct live *live;
    redlock_lock *lock;
    redlock_acquire_options options;
    struct live_done lost;
    struct live_done renewed; /* with 0 */
    struct live_done unknown;
    uint64_t end_ns; /* validity, as on_lost found it before */
};

static void on_renew(redlock_lock *lock, int status, void *data) {
    struct kept *k = data;
    live_lock_cb(lock, status, status == 0 ? &k->renewed : &k->unknown);
    k->end_ns = redlock_lock_valid_until_ns(lock);
}

static void keep(struct kept *k, struct live *live) {
    memset(k, 0, sizeof(*k));
    k->live = live;
    k->lock = live_lock(live->client, "key");
    k->options = live_once(TTL_MS);
    k->options.auto_extend = 1;
    k->options.on_lost = live_lock_cb;
    k->options.lost_data = &k->lost;
    k->options.on_renew = on_renew;
    k->options.renew_data = k;
}

/* Three times its ttl, without a gap, and then no command is sent any more. */
static void keeps_it(void **state) {
    struct live *live = *state;
    struct kept k;
    keep(&k, live);
    LIVE_STATUS(live_acquire(live, k.lock, &k.options), 0);
    uint64_t until_ns = redlock_now_ns() + 3 * TTL_MS * LIVE_MS;
    struct spent since = spent_begin();
    while (redlock_now_ns() < until_ns) {
        LIVE_UNTIL(live, k.renewed.count > 0 || k.lost.count > 0);
        assert_int_equal(k.lost.count, 0);
        assert_int_equal(redlock_lock_is_valid(k.lock), 1);
        k.renewed.count = 0;
    }
    /* a third of the ttl, up to an eighth earlier */
    uint64_t renewed = live_stats(live->client).renewed;
    assert_in_range(renewed, 0, 12);
    assert_in_range(renewed + spent_kept_ns(&since) / (TTL_MS / 3 * LIVE_MS), 8, UINT64_MAX);
    LIVE_STATUS(live_release(live, k.lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    uint64_t requests = live_node(live->client, 0).requests;
    live_run_for(live, TTL_MS / 2);
    assert_int_equal(live_node(live->client, 0).requests, requests);
    assert_true(live_no_keys(live));
    live_end(live);
}

/* No node answers: retried, reported before the end, released when they are back. */
static void gives_up_in_time(void **state) {
    struct live *live = *state;
    struct kept k;
    keep(&k, live);
    LIVE_STATUS(live_acquire(live, k.lock, &k.options), 0);
    LIVE_UNTIL(live, k.renewed.count >= 1);
    for (size_t i = 0; i < 5; i++) {
        live_pause(live, i);
    }
    k.unknown.count = 0;
    struct spent since = spent_begin();
    LIVE_UNTIL(live, k.lost.count == 1);
    LIVE_STATUS(k.lost.status, REDLOCK_ERR_EXPIRED);
    uint64_t kept_ns = spent_kept_ns(&since);
    assert_true(k.unknown.count >= 2 || kept_ns > TTL_MS * LIVE_MS / 4);
    assert_true(k.lost.at_ns < k.end_ns + 250 * LIVE_MS + kept_ns); /* the machine may be busy */
    for (size_t i = 0; i < 5; i++) {
        live_resume(live, i);
    }
    LIVE_POLL(live, live_up(live->client) == 5 && live_no_keys(live));
    live_end(live);
}

/* Two nodes lose the key, and one comes back empty: they are given it again. */
static void repairs(void **state) {
    struct live *live = *state;
    struct kept k;
    keep(&k, live);
    LIVE_STATUS(live_acquire(live, k.lock, &k.options), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    live_tell(live, 1, "DEL key");
    live_kill(live, 3);
    live_restart(live, 3);
    LIVE_POLL(live, live_count_keys(live, "key", redlock_lock_token(k.lock)) == 5);
    assert_int_equal(k.lost.count, 0);
    LIVE_UNTIL(live, live_stats(live->client).repaired >= 2);
    live_end(live);
}

/* Three nodes lose it: that is a loss, reported at the next extension. */
static void finds_it_gone(void **state) {
    struct live *live = *state;
    struct kept k;
    keep(&k, live);
    LIVE_STATUS(live_acquire(live, k.lock, &k.options), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "DEL key");
    }
    LIVE_UNTIL(live, k.lost.count == 1);
    LIVE_STATUS(k.lost.status, REDLOCK_ERR_LOST);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

static void holds_no_longer_than_it_may(void **state) {
    struct live *live = *state;
    struct kept k;
    keep(&k, live);
    k.options.max_hold_ms = MAX_HOLD_MS;
    uint64_t before_ns = redlock_now_ns();
    LIVE_STATUS(live_acquire(live, k.lock, &k.options), 0);
    uint64_t after_ns = redlock_now_ns();
    LIVE_STATUS(live_extend(live, k.lock, 60000), 0); /* neither by hand */
    uint64_t until_ns = redlock_lock_valid_until_ns(k.lock);
    assert_true(until_ns >= before_ns + MAX_HOLD_MS * LIVE_MS);
    assert_true(until_ns <= after_ns + MAX_HOLD_MS * LIVE_MS);
    LIVE_UNTIL(live, k.lost.count == 1);
    LIVE_STATUS(k.lost.status, REDLOCK_ERR_MAX_HOLD);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* A caller's extension takes precedence, and cancel does not reach the watchdog's. */
static void steps_aside(void **state) {
    struct live *live = *state;
    struct kept k;
    struct live_done done = {0};
    keep(&k, live);
    k.options.renew_ms = 20;
    LIVE_STATUS(live_acquire(live, k.lock, &k.options), 0);
    for (int i = 0; i < 200; i++) {
        done.count = 0;
        LIVE_STATUS(redlock_extend(k.lock, 0, live_lock_cb, &done), 0);
        LIVE_UNTIL(live, done.count == 1);
        LIVE_STATUS(done.status, 0);
        LIVE_STATUS(redlock_cancel(k.lock), REDLOCK_ERR_IDLE);
    }
    k.renewed.count = 0;
    LIVE_UNTIL(live, k.renewed.count >= 3);
    assert_int_equal(k.lost.count, 0);
    LIVE_STATUS(live_release(live, k.lock), 0);
    live_end(live);
}

/* Options that conflict with a watchdog are refused, and named. */
static void refuses_what_it_cannot_keep(void **state) {
    struct live *live = *state;
    static const struct {
        int64_t ttl_ms, renew_ms, max_hold_ms;
        int auto_extend;
        const char *culprit;
    } rows[] = {
        {3, REDLOCK_THIRD_OF_TTL, REDLOCK_NO_LIMIT, 1, "renew_ms"},
        {1000, 0, REDLOCK_NO_LIMIT, 1, "renew_ms"},
        {1000, -2, REDLOCK_NO_LIMIT, 1, "renew_ms"},
        {1000, 986, REDLOCK_NO_LIMIT, 1, "renew_ms"},
        {1000, INT64_MAX, REDLOCK_NO_LIMIT, 1, "renew_ms"},
        {1000, 300, 0, 1, "max_hold_ms"},
        {1000, 300, -5, 0, "max_hold_ms"},
        {1000, 300, REDLOCK_NO_LIMIT, 2, "auto_extend"},
    };
    redlock_lock *lock = live_lock(live->client, "key");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
        options.ttl_ms = rows[i].ttl_ms;
        options.min_validity_ms = 0;
        options.renew_ms = rows[i].renew_ms;
        options.max_hold_ms = rows[i].max_hold_ms;
        options.auto_extend = rows[i].auto_extend;
        LIVE_STATUS(redlock_acquire(lock, &options, NULL, NULL), REDLOCK_ERR_INVALID);
        assert_non_null(strstr(LOCK_MESSAGE(lock), rows[i].culprit));
    }
    redlock_acquire_options brief = REDLOCK_ACQUIRE_OPTIONS_INIT;
    brief.ttl_ms = 12; /* half of it is all that lost_margin_ms takes */
    brief.auto_extend = 1;
    LIVE_STATUS(redlock_acquire(lock, &brief, NULL, NULL), 0);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(keeps_it),
        LIVE_TEST_FIVE_HASTY(gives_up_in_time),
        LIVE_TEST_FIVE(repairs),
        LIVE_TEST_FIVE(finds_it_gone),
        LIVE_TEST_FIVE(steps_aside),
        LIVE_TEST_FIVE(holds_no_longer_than_it_may),
        LIVE_TEST_FIVE(refuses_what_it_cannot_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
