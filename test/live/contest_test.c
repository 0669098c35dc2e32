/* A lock that somebody else holds: refused, waited for, given up, and never taken from its holder.
 */
#include <string.h>

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000
#define HURRY_MS 5 /* between two attempts */

/* Five nodes, a holder of "key" and a second client with a lock object for it. */
struct contest {
    struct live *live;
    redlock_client *rival;
    redlock_lock *held;
    redlock_lock *wanted;
    redlock_acquire_options options; /* of the second */
    struct live_done done;           /* of the second */
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

static void start(struct contest *c, struct live *live) {
    redlock_client_options options = live_options(live);
    redlock_acquire_options once = live_once(TTL_MS);
    memset(c, 0, sizeof(*c));
    c->live = live;
    LIVE_STATUS(live_open(live, &options, &c->rival), 0);
    LIVE_UNTIL(live, live_up(c->rival) == live->n);
    c->held = live_lock(live->client, "key");
    c->wanted = live_lock(c->rival, "key");
    LIVE_STATUS(live_acquire(live, c->held, &once), 0);
    LIVE_UNTIL(live, live_votes(c->held, live->n, REDLOCK_VOTE_GRANTED) == live->n);
    memcpy(c->token, redlock_lock_token(c->held), sizeof(c->token));
    c->options = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    c->options.delay_ms = HURRY_MS;
    c->options.jitter_ms = HURRY_MS;
}

static void submit(struct contest *c) {
    LIVE_STATUS(redlock_acquire(c->wanted, &c->options, live_lock_cb, &c->done), 0);
    assert_int_equal(c->done.count, 0);
}

static int wait_for_it(struct contest *c) {
    LIVE_UNTIL(c->live, c->done.count > 0);
    assert_int_equal(c->done.count, 1);
    return c->done.status;
}

/* The holder has noticed nothing. */
static void check_holder(const struct contest *c) {
    assert_int_equal(live_count_keys(c->live, "key", c->token), c->live->n);
    assert_int_equal(redlock_lock_is_valid(c->held), 1);
    assert_int_equal(redlock_lock_is_valid(c->wanted), 0);
}

static void finish(struct contest *c) {
    struct live *live = c->live;
    LIVE_UNTIL(live, live_is_quiet(c->rival, live->n));
    assert_int_equal(c->done.count, 1);
    live_close(live, c->rival);
    live_end(live);
    assert_true(live_no_keys(live));
}

static void refused_once(void **state) {
    struct contest c;
    start(&c, *state);
    c.options.tries = 1;
    submit(&c);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_HELD);
    assert_non_null(strstr(LOCK_MESSAGE(c.wanted), "held by another: 0 of 5 granted"));
    LIVE_UNTIL(c.live, live_is_quiet(c.rival, 5));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_outcome(c.wanted, i).vote, REDLOCK_VOTE_REFUSED);
        assert_int_equal(live_outcome(c.wanted, i).reason, 0);
        assert_non_null(strstr(LOCK_MESSAGE(c.wanted), live_outcome(c.wanted, i).node));
    }
    assert_int_equal(live_stats(c.rival).attempts, 1);
    assert_int_equal(live_stats(c.rival).held_by_another, 1);
    LIVE_STATUS(redlock_release(c.wanted, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_extend(c.wanted, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    check_holder(&c);
    finish(&c);
}

/* wait_ms = 0 is one attempt, however many tries are allowed. */
static void refused_at_once(void **state) {
    struct contest c;
    start(&c, *state);
    c.options.wait_ms = 0;
    submit(&c);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_HELD);
    assert_int_equal(live_stats(c.rival).attempts, 1);
    check_holder(&c);
    finish(&c);
}

/* Of three tries the first and the last ask for votes; the one between is spent in line. */
static void refused_thrice(void **state) {
    struct contest c;
    start(&c, *state);
    uint64_t before_ns = redlock_now_ns();
    c.options.tries = 3;
    submit(&c);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_HELD);
    assert_int_equal(live_stats(c.rival).attempts, 2);
    assert_int_equal(live_stats(c.rival).joins, 1);
    assert_true(c.done.at_ns - before_ns >= 2 * HURRY_MS * LIVE_MS); /* the pauses were made */
    check_holder(&c);
    finish(&c);
}

static void waits_and_gets_it(void **state) {
    struct contest c;
    start(&c, *state);
    submit(&c);
    LIVE_UNTIL(c.live, live_stats(c.rival).attempts >= 3);
    check_holder(&c);
    assert_int_equal(c.done.count, 0);
    LIVE_STATUS(live_release(c.live, c.held), 0);
    LIVE_STATUS(wait_for_it(&c), 0);
    assert_int_equal(redlock_lock_is_valid(c.wanted), 1);
    assert_int_equal(redlock_lock_is_valid(c.held), 0);
    LIVE_UNTIL(c.live, live_is_quiet(c.rival, 5));
    assert_int_equal(live_count_keys(c.live, "key", redlock_lock_token(c.wanted)), 5);
    finish(&c);
}

/* A holder that is gone for good: its keys end by their ttl, and the next one gets the lock. */
static void waits_for_the_ttl(void **state) {
    struct contest c;
    start(&c, *state);
    for (size_t i = 0; i < 5; i++) {
        live_tell(c.live, i, "SET other stranger PX 100");
    }
    redlock_lock *other = live_lock(c.rival, "other");
    LIVE_STATUS(live_acquire(c.live, other, &c.options), 0);
    assert_true(live_stats(c.rival).attempts > 1);
    redlock_lock_free(other);
    for (size_t i = 0; i < 5; i++) { /* the stranger's keys end on each node by its own clock */
        LIVE_POLL(c.live, live_integer(c.live, i, "EXISTS other") == 0);
    }
    c.options.tries = 1;
    submit(&c);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_HELD);
    finish(&c);
}

static void deadline(void **state) {
    struct contest c;
    start(&c, *state);
    uint64_t before_ns = redlock_now_ns();
    c.options.wait_ms = 100;
    submit(&c);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_DEADLINE);
    /* it may say so as soon as the next attempt would come too late */
    assert_true(c.done.at_ns - before_ns >= (100 - 2 * HURRY_MS) * LIVE_MS);
    assert_true(c.done.at_ns - before_ns < 5000 * LIVE_MS);
    assert_int_equal(live_stats(c.rival).attempts, 1); /* and then it was in line */
    assert_int_equal(live_stats(c.rival).joins, 1);
    assert_int_equal(live_stats(c.rival).deadline, 1);
    check_holder(&c);
    finish(&c);
}

/* The deadline also ends an attempt that is under way: three nodes do not answer. */
static void deadline_in_an_attempt(void **state) {
    struct contest c;
    struct live *live = *state;
    start(&c, live);
    LIVE_STATUS(live_release(live, c.held), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < 3; i++) {
        live_pause(live, i);
    }
    uint64_t before_ns = redlock_now_ns();
    c.options.wait_ms = 60; /* less than node_timeout_ms */
    submit(&c);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_DEADLINE);
    assert_true(c.done.at_ns - before_ns >= 60 * LIVE_MS);
    assert_int_equal(live_stats(c.rival).attempts, 1);
    for (size_t i = 0; i < 3; i++) {
        live_resume(live, i);
    }
    LIVE_UNTIL(live, live_is_quiet(c.rival, 5));
    assert_true(live_no_keys(live));
    finish(&c);
}

static void waits_for_ever_until_cancelled(void **state) {
    struct contest c;
    start(&c, *state);
    c.options.wait_ms = REDLOCK_NO_LIMIT;
    submit(&c);
    LIVE_UNTIL(c.live, live_stats(c.rival).attempts >= 5);
    LIVE_STATUS(redlock_acquire(c.wanted, NULL, NULL, NULL), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_release(c.wanted, NULL, NULL), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_extend(c.wanted, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_cancel(c.wanted), 0);
    assert_int_equal(c.done.count, 0);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_CANCELED);
    LIVE_STATUS(redlock_cancel(c.wanted), REDLOCK_ERR_IDLE);
    assert_int_equal(live_stats(c.rival).canceled, 1);
    LIVE_UNTIL(c.live, live_is_quiet(c.rival, 5));
    check_holder(&c);
    finish(&c);
}

/* Two of five nodes have a stranger's key: the lock is granted, but not by them. */
static void split(void **state) {
    struct contest c;
    struct live *live = *state;
    start(&c, live);
    live_tell(live, 1, "SET other stranger");
    live_tell(live, 3, "SET other stranger");
    redlock_lock *other = live_lock(c.rival, "other");
    c.options.tries = 1;
    LIVE_STATUS(live_acquire(live, other, &c.options), 0);
    LIVE_UNTIL(live, live_votes(other, 5, REDLOCK_VOTE_PENDING) == 0);
    assert_int_equal(live_votes(other, 5, REDLOCK_VOTE_GRANTED), 3);
    assert_int_equal(live_outcome(other, 1).vote, REDLOCK_VOTE_REFUSED);
    assert_int_equal(live_outcome(other, 3).vote, REDLOCK_VOTE_REFUSED);
    LIVE_STATUS(live_release(live, other), 0);
    live_tell(live, 4, "SET other stranger");
    LIVE_STATUS(live_acquire(live, other, &c.options), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(c.rival, 5));
    assert_int_equal(live_count_keys(live, "other", "stranger"), 3);
    for (size_t i = 0; i < 5; i++) {
        live_tell(live, i, "DEL other");
    }
    submit(&c);
    LIVE_STATUS(wait_for_it(&c), REDLOCK_ERR_HELD);
    finish(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(refused_once),
        LIVE_TEST_FIVE(refused_at_once),
        LIVE_TEST_FIVE(refused_thrice),
        LIVE_TEST_FIVE(waits_and_gets_it),
        LIVE_TEST_FIVE(waits_for_the_ttl),
        LIVE_TEST_FIVE(deadline),
        LIVE_TEST_FIVE(deadline_in_an_attempt),
        LIVE_TEST_FIVE(waits_for_ever_until_cancelled),
        LIVE_TEST_FIVE(split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
