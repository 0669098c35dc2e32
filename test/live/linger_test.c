/* A released lock lingers: the client acquires it again without a request, another client's wait
 * recalls it. That it is recalled soon, and over linger_ms after its first release, is shown by the
 * simulator. */

#include "live/live.h"
#include "redlock/token.h"

#define KEY "key"
#define TTL_MS 600000
#define LINGER_MS 300000 /* much longer than a test waits for anything */

static redlock_acquire_options options_of(int64_t linger_ms) {
    redlock_acquire_options options = live_patient(TTL_MS);
    options.linger_ms = linger_ms;
    return options;
}

static bool lingers(const redlock_lock *lock) {
    char sentence[REDLOCK_MESSAGE_MAX];
    return strstr(redlock_lock_message(lock, sentence, sizeof sentence), "linger_ms") != NULL;
}

/* The first releases are real: the client does not listen yet. */
static void linger(struct live *live, redlock_lock *lock, const redlock_acquire_options *options) {
    do {
        live_hold(live, lock, options);
        assert_int_equal(live_stats(redlock_lock_client(lock)).held, 1);
        LIVE_STATUS(live_release(live, lock), 0);
    } while (!lingers(lock));
    assert_int_equal(live_stats(redlock_lock_client(lock)).held, 0);
    assert_int_equal(live_count_keys(live, KEY, redlock_lock_token(lock)), live->n);
}

static redlock_lock *begin(struct live *live, int64_t linger_ms) {
    const redlock_acquire_options options = options_of(linger_ms);
    redlock_lock *lock = live_lock(live->client, KEY);
    linger(live, lock, &options);
    return lock;
}

static uint64_t requests(redlock_client *client) {
    uint64_t count = 0;
    for (size_t i = 0; i < 5; i++) {
        count += live_node(client, i).requests;
    }
    return count;
}

/* Where the client listens; live->n: nowhere. */
static size_t home_of(const struct live *live, const redlock_lock *lock) {
    size_t home = live->n;
    char channel[64];
    snprintf(channel, sizeof channel, "libredlock:client:%.16s", redlock_lock_token(lock));
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "PUBSUB NUMSUB %s", channel);
        home = reply->element[1]->integer == 1 ? i : home;
        freeReplyObject(reply);
    }
    return home;
}

/* How many stand in line, on all nodes. */
static long long standing(const struct live *live) {
    long long count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += live_integer(live, i, "ZCARD libredlock:line:{" KEY "}");
    }
    return count;
}

/* -- Again and again -- */

LIVE_TEST_FIVE(asks_no_node_again) {
    redlock_acquire_options options = options_of(LINGER_MS);
    redlock_lock *lock = begin(live, LINGER_MS);
    char token[REDLOCK_TOKEN_LENGTH + 1];
    snprintf(token, sizeof token, "%s", redlock_lock_token(lock));
    const redlock_stats before = live_stats(live->client);
    const uint64_t sent = requests(live->client);
    uint64_t until_ns = 0;
    for (int i = 0; i < 100; i++) {
        LIVE_STATUS(redlock_extend(lock, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
        LIVE_STATUS(redlock_release(lock, NULL, NULL), REDLOCK_ERR_NOT_HELD);
        LIVE_STATUS(redlock_cancel(lock), REDLOCK_ERR_IDLE);
        assert_int_equal(redlock_lock_is_valid(lock), 0);
        assert_int_equal(redlock_lock_valid_until_ns(lock), 0);
        LIVE_STATUS(live_acquire(live, lock, &options), 0);
        assert_true(lingers(lock)); /* as its message says, it did */
        assert_int_equal(redlock_lock_is_valid(lock), 1);
        assert_string_equal(redlock_lock_token(lock), token);
        assert_true(until_ns == 0 || until_ns == redlock_lock_valid_until_ns(lock));
        until_ns = redlock_lock_valid_until_ns(lock);
        LIVE_STATUS(live_release(live, lock), 0);
    }
    const redlock_stats after = live_stats(live->client);
    assert_int_equal(requests(live->client), sent);
    assert_int_equal(after.attempts, before.attempts);
    assert_int_equal(after.granted, before.granted + 100);
    assert_int_equal(after.released, before.released + 100);
    assert_true(live_is_quiet(live->client, 5));
    options.ttl_ms /= 2; /* another hold */
    options.linger_ms = 0;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    assert_string_not_equal(redlock_lock_token(lock), token);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_POLL(live, live_no_keys(live));
}

/* Nor a renewal, until it is acquired again. */
LIVE_TEST_FIVE(has_no_watchdog) {
    redlock_acquire_options options = options_of(LINGER_MS);
    redlock_lock *lock = live_lock(live->client, KEY);
    options.auto_extend = 1;
    options.renew_ms = 200;
    linger(live, lock, &options);
    const redlock_stats before = live_stats(live->client);
    live_run_for(live, 300);
    assert_int_equal(live_stats(live->client).renewed, before.renewed);
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_UNTIL(live, live_stats(live->client).renewed > before.renewed);
    assert_int_equal(live_stats(live->client).attempts, before.attempts);
}

/* The process is stopped for longer than the keys live: nothing is held, nothing was lost. If it is
 * stopped between the acquire and its callback, the acquire fails; also if the keys still live, but
 * not for min_validity_ms. */
LIVE_TEST_FIVE(expires) {
    struct live_done done = {0}, lost = {0};
    redlock_acquire_options options = options_of(2000);
    redlock_lock *lock = live_lock(live->client, KEY);
    options.ttl_ms = 2000;
    options.on_lost = live_lock_cb;
    options.lost_data = &lost;
    for (int i = 0; i < 3; i++) {
        options.min_validity_ms = i == 2 ? 900 : 1;
        linger(live, lock, &options);
        const uint64_t now_ns = redlock_now_ns();
        done.count = 0;
        if (i > 0) {
            LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
        }
        live_block_until(now_ns + (i == 2 ? 1100 : 2001) * LIVE_MS);
        LIVE_STATUS(redlock_release(lock, NULL, NULL),
                    i == 0 ? REDLOCK_ERR_NOT_HELD : REDLOCK_ERR_BUSY);
        LIVE_UNTIL(live, i == 0 || done.count == 1);
        LIVE_STATUS(done.status, i == 0 ? 0 : REDLOCK_ERR_EXPIRED);
        LIVE_POLL(live, live_no_keys(live));
    }
    assert_int_equal(lost.count, 0);
    live_end(live);
}

/* -- Recalled -- */

/* The lock is passed on: the waiting client sends what it sends for any held lock, and this one
 * sends a release to each node. */
LIVE_TEST_FIVE(goes_to_who_waits) {
    redlock_acquire_options options = options_of(LINGER_MS), once = live_once(TTL_MS);
    redlock_client *other = live_another(live);
    redlock_lock *lock = begin(live, LINGER_MS), *next = live_lock(other, KEY);
    LIVE_STATUS(live_acquire(live, next, &once), REDLOCK_ERR_HELD); /* it recalls nothing */
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    assert_true(lingers(lock));
    const uint64_t sent = requests(live->client);
    const redlock_acquire_options patient = live_patient(TTL_MS);
    LIVE_STATUS(live_acquire(live, next, &patient), 0);
    assert_int_equal(requests(live->client), sent + 5);
    assert_int_equal(live_stats(other).joins, 1);
    struct live_done done = {0};
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    LIVE_POLL(live, standing(live) == 1);
    LIVE_STATUS(live_release(live, next), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(live_release(live, lock), 0);
    assert_false(lingers(lock)); /* it had to wait, so others are likely to want the lock */
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
}

/* It came while the holder read, when home tells nobody who waits: the lock does not linger. */
LIVE_TEST_FIVE(does_not_linger_if_another_came_meanwhile) {
    struct live_done done = {0}, mode = {0};
    const redlock_acquire_options options = options_of(LINGER_MS), patient = live_patient(TTL_MS);
    redlock_client *other = live_another(live);
    redlock_lock *lock = begin(live, LINGER_MS), *next = live_lock(other, KEY);
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_STATUS(redlock_downgrade(lock, live_lock_cb, &mode), 0);
    LIVE_UNTIL(live, mode.count == 1);
    LIVE_STATUS(redlock_acquire(next, &patient, live_lock_cb, &done), 0);
    LIVE_POLL(live, standing(live) == 1);
    LIVE_STATUS(redlock_try_upgrade(lock, live_lock_cb, &mode), 0);
    LIVE_UNTIL(live, mode.count == 2);
    LIVE_STATUS(mode.status, 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
}

/* Another client's message may have come before this client listened. */
LIVE_TEST_FIVE(does_not_linger_unheard) {
    const redlock_acquire_options options = options_of(LINGER_MS);
    redlock_lock *lock = live_lock(live->client, KEY);
    live_hold(live, lock, &options);
    LIVE_POLL(live, home_of(live, lock) < live->n);
    LIVE_STATUS(live_release(live, lock), 0);
    assert_false(lingers(lock));
    LIVE_POLL(live, live_no_keys(live));
}

/* Home has another client's key, so it would not notify this client. */
LIVE_TEST_FIVE(does_not_linger_without_home) {
    const redlock_acquire_options options = options_of(LINGER_MS), plain = options_of(0);
    redlock_lock *lock = begin(live, LINGER_MS);
    const size_t home = home_of(live, lock);
    LIVE_STATUS(live_acquire(live, lock, &plain), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_tell(live, home, "SET " KEY " another");
    for (int i = 0; i < 3; i++) {
        LIVE_STATUS(live_acquire(live, lock, &options), 0);
        LIVE_STATUS(live_release(live, lock), 0);
        assert_false(lingers(lock));
    }
    live_tell(live, home, "DEL " KEY);
    linger(live, lock, &options);
}

static redlock_lock *reader_of(redlock_client *client) {
    return live_lock_with(client, KEY, (redlock_lock_options){.mode = REDLOCK_SHARED});
}

LIVE_TEST_FIVE(goes_to_a_reader) {
    redlock_client *other = live_another(live);
    const redlock_acquire_options patient = live_patient(TTL_MS);
    begin(live, LINGER_MS);
    LIVE_STATUS(live_acquire(live, reader_of(other), &patient), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
}

/* A single try is enough. */
LIVE_TEST_FIVE(goes_to_another_object) {
    const redlock_acquire_options options = options_of(LINGER_MS), once = live_once(TTL_MS);
    redlock_lock *lock = begin(live, LINGER_MS), *next = live_lock(live->client, KEY);
    redlock_lock *reader = reader_of(live->client);
    LIVE_STATUS(live_acquire(live, reader, &once), 0);
    LIVE_STATUS(live_release(live, reader), 0);
    linger(live, lock, &options);
    LIVE_STATUS(redlock_adopt(next, redlock_lock_token(lock), NULL, NULL, NULL), 0);
    LIVE_POLL(live, live_no_keys(live));
}

static redlock_lock *reader_of_two(redlock_client *client, const char *one, const char *other) {
    const redlock_bytes names[] = {{one, strlen(one)}, {other, strlen(other)}};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_lock *lock;
    options.resources = names;
    options.n_resources = 2;
    options.mode = REDLOCK_SHARED;
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, NULL, 0), 0);
    return lock;
}

/* A reader of this client that pauses, since another one waits elsewhere for what it wants, too,
 * stands in no line, and recalls nothing. */
LIVE_TEST_FIVE(does_not_linger_if_a_reader_pauses) {
    struct live_done waits = {0}, pauses = {0};
    const redlock_acquire_options options = options_of(LINGER_MS), patient = live_patient(TTL_MS);
    redlock_lock *lock = begin(live, LINGER_MS), *held = live_lock(live->client, "held");
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    LIVE_STATUS(live_acquire(live, held, &patient), 0);
    redlock_lock *elsewhere = reader_of_two(live->client, "held", "free");
    redlock_lock *reader = reader_of_two(live->client, "free", KEY);
    LIVE_STATUS(redlock_acquire(elsewhere, &patient, live_lock_cb, &waits), 0);
    LIVE_UNTIL(live, live_stats(live->client).places == 1);
    LIVE_STATUS(redlock_acquire(reader, &patient, live_lock_cb, &pauses), 0);
    LIVE_UNTIL(live, redlock_lock_attempt_status(reader) == REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, pauses.count == 1);
    LIVE_STATUS(pauses.status, 0);
    live_end(live);
}

/* -- In other ways -- */

LIVE_TEST_FIVE(leaves_no_key) {
    redlock_lock_free(begin(live, LINGER_MS));
    LIVE_POLL(live, live_no_keys(live));
    redlock_client *other = live_another(live);
    const redlock_acquire_options options = options_of(LINGER_MS);
    linger(live, live_lock(other, KEY), &options);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
}

/* Home's message could no longer arrive. */
LIVE_TEST_FIVE(goes_when_it_cannot_be_recalled) {
    const redlock_acquire_options options = options_of(LINGER_MS);
    redlock_lock *lock = begin(live, LINGER_MS);
    const size_t home = home_of(live, lock);
    live_tell(live, home, "CLIENT KILL TYPE pubsub");
    LIVE_POLL(live, live_no_keys(live));
    linger(live, lock, &options);
    live_kill(live, home);
    LIVE_POLL(live, live_no_keys(live));
    live_restart(live, home);
    LIVE_POLL(live, live_is_quiet(live->client, 5));
}
