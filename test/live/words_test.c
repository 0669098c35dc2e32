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
    /* The lock was known to be contended and went into line at once, unless that was long ago. */
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

static char in_callback[REDLOCK_MESSAGE_MAX];

static void keep_message(redlock_lock *lock, int status, void *data) {
    snprintf(in_callback, sizeof in_callback, "%s", LOCK_MESSAGE(lock));
    live_lock_cb(lock, status, data);
}

/* Both halves of the sentence describe the same renewal. */
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

/* A refusal is reported until another operation ends. */
LIVE_TEST_FIVE(a_refusal_is_over) {
    struct live_done done = {0};
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = patient(0);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    says(lock, "in use: an acquire is pending");
    says(lock, "in use: an acquire is pending"); /* the second time, too */
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

/* A message is cut to the buffer, and nothing is written beyond it. */
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
