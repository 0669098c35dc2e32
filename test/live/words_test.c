/* Messages that match the lock's state: in line, between attempts, shared, after a loss, after a
 * refusal. Each was once wrong in one of these states. */

#include "live/live.h"
#include "messages.h"
#include "redlock/token.h"

#define TTL_MS 30000

static redlock_acquire_options patient(uint64_t owner) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = TTL_MS;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = options.jitter_ms = 5;
    options.owner = owner;
    return options;
}

static void says(redlock_lock *lock, const char *beginning) {
    const char *message = LOCK_MESSAGE(lock);
    if (strncmp(message, beginning, strlen(beginning)) != 0) {
        assert_string_equal(message, beginning); /* to be shown both */
    }
}

LIVE_TEST_FIVE(in_line) {
    struct live_done done = {0};
    redlock_lock *first = live_lock(live->client, "key");
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = patient(0), brief = patient(0), once = live_once(TTL_MS);
    brief.wait_ms = 30;
    for (int round = 0; round < 2; round++) { /* with no round before, and with one */
        LIVE_STATUS(live_acquire(live, first, &options), 0);
        LIVE_STATUS(redlock_acquire(lock, &brief, live_lock_cb, &done), 0);
        says(lock, "in line behind another lock of this client");
        LIVE_UNTIL(live, done.count == 1);
        LIVE_STATUS(done.status, REDLOCK_ERR_DEADLINE);
        says(lock, "the deadline passed: in line behind another lock of this client");
        LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_HELD);
        says(lock, "held by another: in line behind another lock of this client");
        done.count = 0;
        LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
        LIVE_STATUS(redlock_cancel(lock), 0);
        LIVE_UNTIL(live, done.count == 1);
        assert_string_equal(LOCK_MESSAGE(lock), "canceled");
        done.count = 0;
        LIVE_STATUS(live_release(live, first), 0);
        LIVE_STATUS(live_acquire(live, lock, &options), 0);
        LIVE_STATUS(live_release(live, lock), 0);
        says(lock, "success: ");
    }
}

/* Behind another client that is known to wait, without a SET; until the deadline. */
LIVE_TEST_FIVE(behind_other_clients) {
    struct live_done done = {0}, waited = {0};
    redlock_client *rival;
    redlock_client_options rivals = live_options(live);
    redlock_acquire_options options = patient(0);
    LIVE_STATUS(live_open(live, &rivals, &rival), 0);
    redlock_lock *held = live_lock(rival, "key"), *lock = live_lock(live->client, "key");
    redlock_lock *next = live_lock(rival, "key");
    live_hold(live, held, &options);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    LIVE_POLL(live, live_integer(live, 0, "EXISTS libredlock:line:{key}") +
                            live_integer(live, 1, "EXISTS libredlock:line:{key}") +
                            live_integer(live, 2, "EXISTS libredlock:line:{key}") +
                            live_integer(live, 3, "EXISTS libredlock:line:{key}") +
                            live_integer(live, 4, "EXISTS libredlock:line:{key}") ==
                        1);
    LIVE_STATUS(live_release(live, held), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    options.wait_ms = 50;
    LIVE_STATUS(redlock_acquire(next, &options, live_lock_cb, &waited), 0);
    says(next, "in line behind other clients");
    LIVE_UNTIL(live, waited.count == 1);
    LIVE_STATUS(waited.status, REDLOCK_ERR_DEADLINE);
    says(next, "the deadline passed: in line behind other clients");
    live_close(live, rival);
}

LIVE_TEST_FIVE(between_attempts) {
    struct live_done done = {0};
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_lock *next = live_lock(live->client, "key");
    redlock_acquire_options options = patient(0);
    live_tell_all(live, "SET key another");
    options.delay_ms = options.jitter_ms = 60;
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    says(lock, "pending: 0 of 5 granted, 3 needed; ");
    LIVE_UNTIL(live, redlock_lock_attempt_status(lock) != 0);
    says(lock, "in line behind other clients; the last attempt: held by another: 0 of 5 granted");
    LIVE_STATUS(redlock_cancel(lock), 0);
    LIVE_UNTIL(live, done.count == 1);
    says(lock, "canceled: 0 of 5 granted, 3 needed; ");
    options.wait_ms = 50;
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_DEADLINE);
    /* It knows that others want it, and stood in line at once; unless that is long ago. */
    bool has_asked = strstr(LOCK_MESSAGE(lock), "(held by another)") != NULL;
    says(lock, has_asked ? "the deadline passed (held by another): 0 of 5 granted, 3 needed; "
                         : "the deadline passed: in line behind other clients");
    live_do(live, live_kill, 0, 3);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    options.wait_ms = REDLOCK_NO_LIMIT;
    LIVE_STATUS(redlock_acquire(lock, &options, NULL, NULL), 0);
    LIVE_STATUS(redlock_acquire(next, &options, NULL, NULL), 0);
    says(lock, "waiting for the next attempt; the last one: no quorum of nodes: 0 of 5 granted");
    says(next, "in line behind another lock of this client, whose attempts fail");
}

LIVE_TEST_FIVE(shared) {
    redlock_lock *a = live_lock(live->client, "key");
    redlock_lock *b = live_lock(live->client, "key");
    redlock_acquire_options options = patient(7);
    LIVE_STATUS(live_acquire(live, a, &options), 0);
    LIVE_STATUS(live_acquire(live, b, &options), 0);
    says(b, "success: it shares its owner's hold");
    LIVE_STATUS(live_acquire(live, b, &options), 0);
    LIVE_STATUS(live_extend(live, a, 0), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    says(b, "success: 5 of 5 renewed, 3 needed");
    LIVE_STATUS(live_release(live, b), 0);
    says(b, "success: it was acquired more than once and is still held");
    LIVE_STATUS(redlock_disown(b), REDLOCK_ERR_BUSY);
    says(b, "in use: it was acquired more than once, or other objects share it");
    LIVE_STATUS(live_release(live, b), 0);
    says(b, "success: its owner still holds it through another object");
    LIVE_STATUS(live_acquire(live, b, &options), 0);
    LIVE_STATUS(live_release(live, a), 0);
    options.owner = 8;
    LIVE_STATUS(redlock_acquire(a, &options, NULL, NULL), REDLOCK_ERR_BUSY);
    says(a, "in use: it was released, but other objects of its owner still share its hold");
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    says(b, "success: ");
    assert_contains(LOCK_MESSAGE(b), " of 5 deleted, 3 needed");
}

static char in_callback[REDLOCK_MESSAGE_MAX];

static void keep_message(redlock_lock *lock, int status, void *data) {
    snprintf(in_callback, sizeof in_callback, "%s", LOCK_MESSAGE(lock));
    live_lock_cb(lock, status, data);
}

/* The beginning of the sentence is about the same thing as the rest. */
LIVE_TEST_FIVE_HASTY(renewals_in_vain) {
    struct live_done renewed = {0};
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = patient(0);
    options.ttl_ms = 2000;
    options.auto_extend = 1;
    options.renew_ms = 100;
    options.on_renew = keep_message;
    options.renew_data = &renewed;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_UNTIL(live, renewed.count > 0);
    assert_contains(in_callback, "success: ");
    assert_contains(in_callback, " of 5 renewed");
    live_do(live, live_kill, 0, 3);
    renewed = (struct live_done){0};
    LIVE_UNTIL(live, renewed.count > 0 && renewed.status == REDLOCK_ERR_UNKNOWN);
    assert_ptr_equal(strstr(in_callback, "the outcome of the extension is unknown: "), in_callback);
    live_end(live);
}

/* A loss by the clock is none by the nodes. */
LIVE_TEST_FIVE(losses) {
    static const struct {
        int status;
        const char *told, *released;
    } rows[] = {
        {REDLOCK_ERR_MAX_HOLD, "the maximum hold time is over: 5 of 5 granted",
         "the lock was lost: the maximum hold time is over"},
        {REDLOCK_ERR_EXPIRED, "validity ran out: 5 of 5 granted",
         "the lock was lost: validity ran out"},
        {REDLOCK_ERR_LOST, "the lock was lost: 0 of 5 renewed, 3 needed; ",
         "the lock was lost: 0 of 5 renewed, 3 needed; "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct live_done lost = {0};
        redlock_lock *lock = live_lock(live->client, "key");
        redlock_acquire_options options = patient(0);
        options.max_hold_ms = rows[i].status == REDLOCK_ERR_MAX_HOLD ? 2000 : REDLOCK_NO_LIMIT;
        options.ttl_ms = rows[i].status == REDLOCK_ERR_EXPIRED ? 2000 : TTL_MS;
        options.on_lost = keep_message;
        options.lost_data = &lost;
        LIVE_STATUS(live_acquire(live, lock, &options), 0);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
        if (rows[i].status == REDLOCK_ERR_LOST) {
            live_tell_all(live, "DEL key");
            LIVE_STATUS(live_extend(live, lock, 0), REDLOCK_ERR_LOST);
        }
        LIVE_UNTIL(live, lost.count == 1);
        LIVE_STATUS(lost.status, rows[i].status);
        if (strstr(in_callback, rows[i].told) != in_callback) {
            assert_string_equal(in_callback, rows[i].told); /* to be shown both */
        }
        LIVE_STATUS(live_release(live, lock), REDLOCK_ERR_LOST);
        says(lock, rows[i].released);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    }
    live_end(live);
}

/* A refusal is reported until something else ends, and no longer. */
LIVE_TEST_FIVE(a_refusal_is_over) {
    struct live_done done = {0};
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = patient(0);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    says(lock, "in use: an acquire is pending");
    says(lock, "in use: an acquire is pending"); /* as often as it is asked for */
    LIVE_UNTIL(live, done.count == 1);
    says(lock, "success: ");
    LIVE_STATUS(redlock_extend(lock, 0, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_extend(lock, 0, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    says(lock, "in use: an extension is pending");
    LIVE_STATUS(redlock_release(lock, keep_message, &done), 0);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    says(lock, "in use: a release is pending");
    LIVE_UNTIL(live, done.count == 3);
    assert_ptr_equal(strstr(in_callback, "success: "), in_callback);
}

/* Requests to other locks, and their progress, change neither a message nor its later text. */
LIVE_TEST_FIVE(each_has_its_own) {
    redlock_lock *a = live_lock(live->client, "a"), *b = live_lock(live->client, "b");
    redlock_acquire_options options = patient(0);
    char of_a[REDLOCK_MESSAGE_MAX], of_b[REDLOCK_MESSAGE_MAX];
    options.ttl_ms = -1;
    LIVE_STATUS(redlock_acquire(a, &options, NULL, NULL), REDLOCK_ERR_INVALID);
    options.ttl_ms = -2;
    LIVE_STATUS(redlock_acquire(b, &options, NULL, NULL), REDLOCK_ERR_INVALID);
    assert_ptr_equal(redlock_lock_message(a, of_a, sizeof of_a), of_a);
    assert_ptr_equal(redlock_lock_message(b, of_b, sizeof of_b), of_b);
    says(a, "ttl_ms is -1: ");
    assert_string_equal(CLIENT_MESSAGE(live->client), "5 of 5 nodes up");
    LIVE_STATUS(live_acquire(live, b, NULL), 0);
    says(a, "ttl_ms is -1: ");
    says(b, "success: ");
    redlock_lock_free(b);
    assert_ptr_equal(strstr(of_a, "ttl_ms is -1: "), of_a);
    assert_ptr_equal(strstr(of_b, "ttl_ms is -2: "), of_b);
    LIVE_STATUS(redlock_extend(a, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD); /* another refusal */
    says(a, redlock_strerror(REDLOCK_ERR_NOT_HELD));
    LIVE_STATUS(live_acquire(live, a, NULL), 0);
    says(a, "success: ");
}

/* Cut to what there is room for, and never a byte beyond it. */
LIVE_TEST_FIVE(any_buffer) {
    redlock_lock *lock = live_lock(live->client, "key");
    char whole[REDLOCK_MESSAGE_MAX], text[REDLOCK_MESSAGE_MAX + 1];
    redlock_lock_message(lock, whole, sizeof whole);
    const size_t length = strlen(whole);
    assert_true(length > 3);
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, 'x', sizeof text);
        assert_ptr_equal(redlock_lock_message(lock, text, size), text);
        size_t shown = size > length ? length : size - 1;
        assert_int_equal(strlen(text), shown);
        assert_int_equal(text[shown + 1], 'x');
        if (size > length) {
            assert_string_equal(text, whole);
        } else {
            size_t dots = shown < 3 ? 0 : 3;
            assert_memory_equal(text, whole, shown - dots);
            assert_memory_equal(text + shown - dots, "...", dots);
        }
    }
}
