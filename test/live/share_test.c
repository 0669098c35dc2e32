/* Lock objects of one owner share a hold: it begins on the nodes with the first and ends with the
 * last, whichever object that is, and all of them are notified of its end. */
#include <string.h>

#include "live/live.h"
#include "marks.h"
#include "messages.h"
#include "redlock/token.h"

#define TTL_MS 30000
#define OWNER 7

struct party {
    struct live *live;
    redlock_lock *a;
    redlock_lock *b;
    redlock_lock *c;
    struct live_done lost_a;
    struct live_done lost_b;
    redlock_acquire_options options; /* of a */
};

static void invite(struct party *p, struct live *live, int64_t ttl_ms) {
    memset(p, 0, sizeof(*p));
    p->live = live;
    p->a = live_lock(live->client, "key");
    p->b = live_lock(live->client, "key");
    p->c = live_lock(live->client, "key");
    p->options = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    p->options.ttl_ms = ttl_ms;
    p->options.wait_ms = REDLOCK_NO_LIMIT;
    p->options.owner = OWNER;
    p->options.on_lost = live_lock_cb;
    p->options.lost_data = &p->lost_a;
}

static int acquire(struct party *p, redlock_lock *lock) {
    redlock_acquire_options options = p->options;
    options.lost_data = lock == p->a ? &p->lost_a : &p->lost_b;
    return live_acquire(p->live, lock, &options);
}

static bool is_held(const struct party *p) {
    LIVE_UNTIL(p->live, live_is_quiet(p->live->client, 5));
    return live_integer(p->live, 0, "EXISTS key") == 1;
}

/* The last release gives up the hold. */
static void lasts_as_long_as_anybody_uses_it(void **state) {
    struct live *live = *state;
    for (int first = 0; first < 2; first++) {
        struct party p;
        invite(&p, live, TTL_MS);
        LIVE_STATUS(acquire(&p, p.a), 0);
        uint64_t attempts = live_stats(live->client).attempts;
        LIVE_STATUS(acquire(&p, p.b), 0);
        assert_int_equal(live_stats(live->client).attempts, attempts);
        assert_string_equal(redlock_lock_token(p.a), redlock_lock_token(p.b));
        assert_int_equal(redlock_lock_valid_until_ns(p.a), redlock_lock_valid_until_ns(p.b));
        redlock_lock *leaves = first == 0 ? p.a : p.b;
        redlock_lock *stays = first == 0 ? p.b : p.a;
        LIVE_STATUS(live_release(live, leaves), 0);
        assert_int_equal(redlock_lock_is_valid(leaves), 0);
        assert_int_equal(redlock_lock_is_valid(stays), 1);
        LIVE_STATUS(redlock_release(leaves, NULL, NULL), REDLOCK_ERR_NOT_HELD);
        assert_true(is_held(&p));
        LIVE_STATUS(live_extend(live, stays, 0), 0);
        LIVE_STATUS(live_release(live, stays), 0);
        assert_false(is_held(&p));
        assert_int_equal(p.lost_a.count + p.lost_b.count, 0);
    }
    live_end(live);
}

static void counts_on_one_object(void **state) {
    struct live *live = *state;
    struct party p;
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    struct live_done done = {0};
    LIVE_STATUS(redlock_acquire(p.a, &p.options, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_disown(p.a), REDLOCK_ERR_BUSY); /* it is about to be told that it joined */
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(redlock_disown(p.a), REDLOCK_ERR_BUSY);
    for (int i = 0; i < 3; i++) {
        assert_true(is_held(&p));
        assert_int_equal(redlock_lock_is_valid(p.a), 1);
        LIVE_STATUS(live_release(live, p.a), 0);
    }
    assert_false(is_held(&p));
    LIVE_STATUS(redlock_release(p.a, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    live_end(live);
}

/* Others, and nobody, are no owners of it. */
static void keeps_others_out(void **state) {
    struct live *live = *state;
    struct party p;
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    redlock_acquire_options other = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, p.b, &other), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_acquire(p.a, &other, NULL, NULL), REDLOCK_ERR_ALREADY_HELD);
    other.owner = OWNER + 1;
    LIVE_STATUS(live_acquire(live, p.b, &other), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_acquire(p.a, &other, NULL, NULL), REDLOCK_ERR_ALREADY_HELD);
    /* a was released, but carries b's hold: it cannot be another's at the same time */
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_STATUS(redlock_disown(p.a), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_disown(p.b), REDLOCK_ERR_BUSY);
    LIVE_STATUS(live_release(live, p.a), 0);
    LIVE_STATUS(redlock_acquire(p.a, &other, NULL, NULL), REDLOCK_ERR_BUSY);
    LIVE_STATUS(acquire(&p, p.a), 0); /* the same owner comes back */
    LIVE_STATUS(live_release(live, p.b), 0);
    assert_true(is_held(&p));
    LIVE_STATUS(live_release(live, p.a), 0);
    assert_false(is_held(&p));
    live_end(live);
}

/* The owner's objects that wait in line join as soon as one of them holds; others go on waiting. */
static void joins_from_the_line(void **state) {
    struct live *live = *state;
    struct party p;
    struct live_done done[3] = {{0}};
    invite(&p, live, TTL_MS);
    redlock_lock *first = live_lock(live->client, "key");
    redlock_acquire_options other = p.options;
    other.owner = OWNER + 1;
    LIVE_STATUS(live_acquire(live, first, &other), 0);
    LIVE_STATUS(redlock_acquire(p.a, &p.options, live_lock_cb, &done[0]), 0);
    LIVE_STATUS(redlock_acquire(p.c, &other, live_lock_cb, &done[1]), 0); /* joins first */
    LIVE_STATUS(redlock_acquire(p.b, &p.options, live_lock_cb, &done[2]), 0);
    LIVE_UNTIL(live, done[1].count == 1);
    LIVE_STATUS(live_release(live, p.c), 0);
    assert_int_equal(done[0].count + done[2].count, 0);
    LIVE_STATUS(live_release(live, first), 0);
    LIVE_UNTIL(live, done[0].count == 1 && done[2].count == 1);
    LIVE_STATUS(done[0].status, 0);
    LIVE_STATUS(done[2].status, 0);
    assert_string_equal(redlock_lock_token(p.a), redlock_lock_token(p.b));
    LIVE_STATUS(live_release(live, p.a), 0);
    assert_true(is_held(&p));
    LIVE_STATUS(live_release(live, p.b), 0);
    assert_false(is_held(&p));
    live_end(live);
}

/* A shared hold has one fence, for all its objects, even after the primary is gone. */
static void has_one_fence(void **state) {
    struct live *live = *state;
    struct party p;
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.b), 0);
    assert_int_equal(redlock_lock_fence(p.b), 0);
    p.options.fencing = 1;
    LIVE_STATUS(redlock_acquire(p.a, &p.options, NULL, NULL), REDLOCK_ERR_ALREADY_HELD);
    assert_non_null(strstr(LOCK_MESSAGE(p.a), "has no fence: set fencing"));
    LIVE_STATUS(live_release(live, p.b), 0);

    LIVE_STATUS(acquire(&p, p.b), 0); /* a fence of its own, that must not be seen later */
    uint64_t before = redlock_lock_fence(p.b);
    LIVE_STATUS(live_release(live, p.b), 0);
    assert_int_equal(redlock_lock_fence(p.b), before);
    LIVE_STATUS(acquire(&p, p.a), 0);
    uint64_t fence = redlock_lock_fence(p.a);
    assert_true(before != 0 && fence > before);
    p.options.fencing = 0;
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_STATUS(acquire(&p, p.c), 0);
    assert_int_equal(redlock_lock_fence(p.b), fence);
    LIVE_STATUS(live_release(live, p.c), 0);
    assert_int_equal(redlock_lock_fence(p.c), fence); /* of its last grant */
    live_tell_all(live, "DEL key");
    LIVE_STATUS(live_extend(live, p.b, 0), REDLOCK_ERR_LOST);
    assert_int_equal(p.lost_a.count + p.lost_b.count, 2);
    assert_int_equal(redlock_lock_fence(p.a), fence);
    assert_int_equal(redlock_lock_fence(p.b), fence);
    LIVE_STATUS(acquire(&p, p.b), 0); /* a new hold, without one */
    assert_int_equal(redlock_lock_fence(p.b), 0);
    live_end(live);
}

/* An object that waits in line for a fence does not get it from a hold of its owner without one. */
static void joins_no_hold_without_a_fence(void **state) {
    struct live *live = *state;
    struct party p;
    struct live_done done[2] = {{0}};
    invite(&p, live, TTL_MS);
    redlock_lock *first = live_lock(live->client, "key");
    redlock_acquire_options other = p.options;
    other.owner = OWNER + 1;
    LIVE_STATUS(live_acquire(live, first, &other), 0);
    LIVE_STATUS(redlock_acquire(p.a, &p.options, live_lock_cb, &done[0]), 0);
    p.options.fencing = 1;
    LIVE_STATUS(redlock_acquire(p.b, &p.options, live_lock_cb, &done[1]), 0);
    LIVE_STATUS(live_release(live, first), 0);
    LIVE_UNTIL(live, done[0].count == 1 && done[1].count == 1);
    LIVE_STATUS(done[0].status, 0);
    LIVE_STATUS(done[1].status, REDLOCK_ERR_ALREADY_HELD);
    assert_non_null(strstr(LOCK_MESSAGE(p.b), "has no fence: set fencing"));
    assert_int_equal(redlock_lock_fence(p.b), 0);
    assert_int_equal(redlock_lock_is_valid(p.b), 0);
    LIVE_STATUS(live_release(live, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    assert_true(redlock_lock_fence(p.b) != 0);
    LIVE_STATUS(live_release(live, p.b), 0);
    assert_false(is_held(&p));
    live_end(live);
}

/* All objects are notified of a loss, once; a release that follows reports it. */
static void is_lost_for_all(void **state) {
    struct live *live = *state;
    struct party p;
    invite(&p, live, 2000);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_UNTIL(live, p.lost_a.count == 1 && p.lost_b.count == 1);
    LIVE_STATUS(p.lost_a.status, REDLOCK_ERR_EXPIRED);
    assert_non_null(strstr(LOCK_MESSAGE(p.b), "5 of 5 granted"));
    assert_int_equal(redlock_lock_is_valid(p.a) + redlock_lock_is_valid(p.b), 0);
    LIVE_STATUS(redlock_extend(p.b, 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(live_release(live, p.b), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_release(p.b, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(acquire(&p, p.b), 0); /* a new hold, of b alone */
    assert_int_equal(redlock_lock_is_valid(p.a), 0);
    LIVE_STATUS(live_release(live, p.a), REDLOCK_ERR_LOST);
    LIVE_STATUS(live_release(live, p.b), 0);
    assert_int_equal(p.lost_a.count + p.lost_b.count, 2);
    live_end(live);
}

/* Joined, and lost before the callback could run: it was never held, there is nothing to lose. */
static void is_lost_before_it_was_told(void **state) {
    struct live *live = *state;
    MARK_FROM(LOST_BEFORE_TOLD);
    struct party p;
    struct live_done done = {0};
    invite(&p, live, 2000);
    LIVE_STATUS(acquire(&p, p.a), 0);
    redlock_acquire_options options = p.options;
    options.lost_data = &p.lost_b;
    LIVE_STATUS(redlock_acquire(p.b, &options, live_lock_cb, &done), 0);
    live_block_until(redlock_lock_valid_until_ns(p.a) + LIVE_MS);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_EXPIRED);
    assert_int_equal(p.lost_a.count, 1);
    assert_int_equal(p.lost_b.count, 0);
    MARK_TO(LOST_BEFORE_TOLD);
    live_end(live);
}

/* Free and cancel, of the carrier and of a sharer, with an extension and a release under way. */
static void ends_by_every_way_out(void **state) {
    struct live *live = *state;
    struct party p;
    struct live_done done = {0};
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    redlock_lock_free(p.a); /* the carrier */
    LIVE_STATUS(redlock_extend(p.b, 0, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_extend(p.b, 0, NULL, NULL), REDLOCK_ERR_BUSY);
    redlock_lock_free(p.b); /* the last */
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_CANCELED);
    LIVE_POLL(live, !is_held(&p));

    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    done.count = 0;
    LIVE_STATUS(redlock_acquire(p.b, &p.options, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_release(p.a, NULL, NULL), 0); /* b is about to be told that it holds */
    LIVE_STATUS(redlock_cancel(p.b), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_CANCELED);
    LIVE_POLL(live, !is_held(&p));

    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_STATUS(live_release(live, p.a), 0);
    done.count = 0;
    LIVE_STATUS(redlock_release(p.b, live_lock_cb, &done), 0);
    redlock_lock_free(p.b);
    redlock_lock_free(p.a);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_CANCELED);
    LIVE_POLL(live, !is_held(&p));
    live_end(live);
}

/* Whose core it is does not matter: what the last one does is not ended by the first one's end. */
static void ends_no_other_ones_release(void **state) {
    struct live *live = *state;
    struct party p;
    struct live_done done = {0};
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_STATUS(live_release(live, p.a), 0);
    LIVE_STATUS(redlock_release(p.b, live_lock_cb, &done), 0);
    redlock_lock_free(p.a);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    assert_non_null(strstr(LOCK_MESSAGE(p.b), "success: "));
    assert_true(live_votes(p.b, 5, REDLOCK_VOTE_GRANTED) >= 3);
    assert_false(is_held(&p));
    live_end(live);
}

static struct live_done extended;

static void extend_a_and_cancel_b(redlock_lock *lock, int status, void *data) {
    struct party *p = data;
    (void)lock;
    LIVE_STATUS(status, 0);
    LIVE_STATUS(redlock_extend(p->a, 0, live_lock_cb, &extended), 0);
    LIVE_STATUS(redlock_cancel(p->b), REDLOCK_ERR_IDLE);
    live_wake();
}

/* b's extension is over, though its callback has not run: a's, which is under way, is not b's to
 * cancel. The answers to another lock's acquire come right before those to b's extension. */
static void cancels_its_own_only(void **state) {
    struct live *live = *state;
    struct party p;
    struct live_done done = {0};
    redlock_lock *other = live_lock(live->client, "other");
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    extended = (struct live_done){0};
    LIVE_STATUS(redlock_acquire(other, NULL, extend_a_and_cancel_b, &p), 0);
    LIVE_STATUS(redlock_extend(p.b, 0, live_lock_cb, &done), 0);
    live_send(live, 0);
    LIVE_UNTIL(live, done.count == 1 && extended.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(extended.status, 0);
    live_end(live);
}

/* The last one of the owner hands the lock on, by whichever object. */
static void is_disowned_by_the_last(void **state) {
    struct live *live = *state;
    struct party p;
    char token[REDLOCK_TOKEN_LENGTH + 1];
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    LIVE_STATUS(acquire(&p, p.c), 0);
    LIVE_STATUS(redlock_disown(p.b), REDLOCK_ERR_BUSY);
    LIVE_STATUS(live_release(live, p.c), 0);
    LIVE_STATUS(redlock_disown(p.b), REDLOCK_ERR_BUSY);
    LIVE_STATUS(live_release(live, p.a), 0);
    memcpy(token, redlock_lock_token(p.b), sizeof(token));
    LIVE_STATUS(redlock_disown(p.b), 0);
    assert_string_equal(redlock_lock_token(p.b), token);
    assert_int_equal(redlock_lock_is_valid(p.b), 0);
    LIVE_STATUS(redlock_release(p.b, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    redlock_lock_free(p.b);
    redlock_lock_free(p.a);
    assert_true(is_held(&p));
    struct live_done done = {0};
    LIVE_STATUS(redlock_adopt(p.c, token, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(live_release(live, p.c), 0);
    assert_false(is_held(&p));
    live_end(live);
}

static void ends_with_the_client(void **state) {
    struct live *live = *state;
    struct party p;
    struct live_done done = {0};
    invite(&p, live, TTL_MS);
    LIVE_STATUS(acquire(&p, p.a), 0);
    LIVE_STATUS(acquire(&p, p.b), 0);
    redlock_lock_free(p.a);
    LIVE_STATUS(redlock_extend(p.b, 0, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_acquire(p.c, &p.options, live_lock_cb, &done), 0);
    live_close(live, live->client);
    live->client = NULL;
    assert_int_equal(done.count, 2);
    LIVE_STATUS(done.status, REDLOCK_ERR_CANCELED);
    assert_true(live_no_keys(live));
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(lasts_as_long_as_anybody_uses_it),
        LIVE_TEST_FIVE(counts_on_one_object),
        LIVE_TEST_FIVE(keeps_others_out),
        LIVE_TEST_FIVE(joins_from_the_line),
        LIVE_TEST_FIVE(has_one_fence),
        LIVE_TEST_FIVE(joins_no_hold_without_a_fence),
        LIVE_TEST_FIVE(is_lost_for_all),
        LIVE_TEST_FIVE(is_lost_before_it_was_told),
        LIVE_TEST_FIVE(ends_by_every_way_out),
        LIVE_TEST_FIVE(ends_no_other_ones_release),
        LIVE_TEST_FIVE(cancels_its_own_only),
        LIVE_TEST_FIVE(is_disowned_by_the_last),
        LIVE_TEST_FIVE(ends_with_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
