/* A lock goes from one client to another by its token, or is ended by a client that only knows the
 * token. */
#include <string.h>

#include "live/live.h"
#include "messages.h"
#include "redlock/token.h"

#define TTL_MS 30000
#define STRANGE "0123456789abcdef0123456789abcdef01234567"

struct relay {
    struct live *live;
    redlock_client *other;
    redlock_lock *a; /* of live->client */
    redlock_lock *b; /* of other */
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

static void begin(struct relay *r, struct live *live) {
    redlock_acquire_options once = live_once(TTL_MS);
    r->live = live;
    redlock_client_options client_options = live_options(live);
    LIVE_STATUS(live_open(live, &client_options, &r->other), 0);
    LIVE_UNTIL(live, live_up(r->other) == 5);
    r->a = live_lock(live->client, "key");
    r->b = live_lock(r->other, "key");
    live_hold(live, r->a, &once);
    memcpy(r->token, redlock_lock_token(r->a), sizeof(r->token));
}

static void finish(struct relay *r) {
    live_close(r->live, r->other);
    live_end(r->live);
}

static int adopt(struct relay *r, const char *token) {
    struct live_done done = {0};
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = TTL_MS;
    LIVE_STATUS(redlock_adopt(r->b, token, &options, live_lock_cb, &done), 0);
    LIVE_UNTIL(r->live, done.count == 1);
    return done.status;
}

static int release_token(struct relay *r, const char *token) {
    struct live_done done = {0};
    LIVE_STATUS(redlock_release_token(r->b, token, live_lock_cb, &done), 0);
    LIVE_UNTIL(r->live, done.count == 1);
    return done.status;
}

static void is_handed_on(void **state) {
    struct relay r;
    begin(&r, *state);
    LIVE_STATUS(redlock_disown(r.a), 0);
    assert_int_equal(redlock_lock_is_valid(r.a), 0);
    LIVE_STATUS(redlock_disown(r.a), REDLOCK_ERR_NOT_HELD);
    LIVE_UNTIL(r.live, live_is_quiet(r.live->client, 5));
    assert_int_equal(live_count_keys(r.live, "key", r.token), 5);
    LIVE_STATUS(adopt(&r, r.token), 0);
    assert_int_equal(redlock_lock_is_valid(r.b), 1);
    assert_in_range(redlock_lock_remaining_ms(r.b), TTL_MS / 2, TTL_MS);
    assert_string_equal(redlock_lock_token(r.b), r.token);
    LIVE_STATUS(redlock_adopt(r.b, r.token, NULL, NULL, NULL), REDLOCK_ERR_ALREADY_HELD);
    LIVE_STATUS(live_extend(r.live, r.b, 0), 0);
    LIVE_STATUS(live_release(r.live, r.b), 0);
    LIVE_POLL(r.live, live_no_keys(r.live));
    finish(&r);
}

/* A lock that cannot be adopted is left alone. */
static void does_not_harm_the_holder(void **state) {
    struct relay r;
    begin(&r, *state);
    LIVE_STATUS(adopt(&r, STRANGE), REDLOCK_ERR_LOST);
    for (size_t i = 0; i < 3; i++) {
        live_pause(r.live, i);
    }
    LIVE_STATUS(adopt(&r, r.token), REDLOCK_ERR_NO_QUORUM);
    for (size_t i = 0; i < 3; i++) {
        live_resume(r.live, i);
    }
    LIVE_UNTIL(r.live, live_up(r.other) == 5);
    assert_int_equal(live_count_keys(r.live, "key", r.token), 5);
    assert_int_equal(redlock_lock_is_valid(r.a), 1);
    LIVE_STATUS(release_token(&r, STRANGE), 0);
    assert_int_equal(live_votes(r.b, 5, REDLOCK_VOTE_GRANTED), 0);
    assert_int_equal(live_count_keys(r.live, "key", r.token), 5);
    LIVE_STATUS(live_release(r.live, r.a), 0);
    finish(&r);
}

static void is_ended_by_who_knows_it(void **state) {
    struct relay r;
    begin(&r, *state);
    LIVE_UNTIL(r.live, live_is_quiet(r.live->client, 5));
    LIVE_STATUS(release_token(&r, r.token), 0);
    LIVE_UNTIL(r.live, live_votes(r.b, 5, REDLOCK_VOTE_GRANTED) == 5);
    assert_true(live_no_keys(r.live));
    LIVE_STATUS(live_extend(r.live, r.a, 0), REDLOCK_ERR_LOST);
    finish(&r);
}

/* No other lock of the client may be in line for the adopted resource. */
static void refuses_what_makes_no_sense(void **state) {
    struct relay r;
    begin(&r, *state);
    static const char *const wrong[] = {"", "0", STRANGE "0",
                                        "0123456789ABCDEF0123456789abcdef01234567",
                                        "x123456789abcdef0123456789abcdef01234567"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        LIVE_STATUS(redlock_adopt(r.b, wrong[i], NULL, NULL, NULL), REDLOCK_ERR_INVALID);
        assert_non_null(strstr(LOCK_MESSAGE(r.b), "token"));
        LIVE_STATUS(redlock_release_token(r.b, wrong[i], NULL, NULL), REDLOCK_ERR_INVALID);
    }
    LIVE_STATUS(redlock_adopt(r.b, NULL, NULL, NULL, NULL), REDLOCK_ERR_INVALID);
    redlock_lock *second = live_lock(r.live->client, "key");
    LIVE_STATUS(redlock_adopt(second, r.token, NULL, NULL, NULL), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_release_token(r.a, r.token, NULL, NULL), REDLOCK_ERR_ALREADY_HELD);
    struct live_done done = {0};
    LIVE_STATUS(redlock_release(r.a, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_release_token(r.a, r.token, NULL, NULL), REDLOCK_ERR_BUSY);
    LIVE_UNTIL(r.live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    finish(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(is_handed_on),
        LIVE_TEST_FIVE_HASTY(does_not_harm_the_holder),
        LIVE_TEST_FIVE(is_ended_by_who_knows_it),
        LIVE_TEST_FIVE(refuses_what_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
