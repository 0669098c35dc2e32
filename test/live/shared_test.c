/* Readers: side by side, and never beside a writer; each with a lease of its own; and how a hold
 * changes from the one mode to the other. */
#include <inttypes.h>
#include <string.h>

#include "live/readers.h"
#include "messages.h"
#include "redlock/token.h"

#define TTL_MS 30000

/* -- Readers and writers -- */

/* Of one client and of another, and none of them beside a writer, of whatever library. */
static void readers_hold_side_by_side(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_client *other = live_another(live);
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *c = readers_lock(other, "key", REDLOCK_SHARED);
    redlock_lock *writer = live_lock(other, "key"), *own_writer = live_lock(live->client, "key");
    assert_int_equal(redlock_lock_mode(a), REDLOCK_SHARED);
    assert_int_equal(redlock_lock_mode(writer), REDLOCK_EXCLUSIVE);
    readers_hold(live, a, TTL_MS);
    readers_hold(live, b, TTL_MS);
    readers_hold(live, c, TTL_MS);
    assert_string_not_equal(redlock_lock_token(a), redlock_lock_token(b));
    assert_int_equal(live_count_keys(live, "key", "redlock:shared"), 5);
    LIVE_STATUS(live_acquire(live, writer, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_acquire(live, own_writer, &once), REDLOCK_ERR_HELD);
    assert_int_equal(readers_set_nx(live, "key"), 0);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_STATUS(live_release(live, c), 0);
    LIVE_STATUS(live_acquire(live, writer, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_hold(live, writer, &once);
    LIVE_STATUS(live_acquire(live, a, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_acquire(live, c, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, writer), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_end(live);
}

/* Readers ask all at once, and one round trip is enough. */
static void many_of_one_client(void **state) {
    enum { MANY = 64 };
    struct live *live = *state;
    redlock_lock *locks[MANY];
    struct live_done done = {0};
    redlock_acquire_options once = live_once(TTL_MS);
    for (size_t i = 0; i < MANY; i++) {
        locks[i] = readers_lock(live->client, "key", REDLOCK_SHARED);
        LIVE_STATUS(redlock_acquire(locks[i], &once, live_lock_cb, &done), 0);
    }
    LIVE_UNTIL(live, done.count == MANY);
    assert_int_equal(live_stats(live->client).granted, MANY);
    assert_int_equal(live_stats(live->client).attempts, MANY);
    for (size_t i = 0; i < MANY; i++) {
        LIVE_STATUS(live_release(live, locks[i]), 0);
    }
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* It keeps a writer out until its own lease ends; what others renew does not keep it alive. */
static void a_dead_reader_ends_with_its_own_lease(void **state) {
    struct live *live = *state;
    redlock_client *dead = live_another(live), *other = live_another(live);
    redlock_lock *a = readers_lock(dead, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *writer = live_lock(other, "key");
    redlock_acquire_options patient = live_once(TTL_MS);
    patient.tries = patient.wait_ms = REDLOCK_NO_LIMIT;
    readers_hold(live, a, 1500);
    readers_hold(live, b, TTL_MS);
    const uint64_t from_ns = redlock_now_ns();
    LIVE_STATUS(redlock_disown(a), 0);
    LIVE_STATUS(live_extend(live, b, TTL_MS), 0);
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_STATUS(live_acquire(live, writer, &patient), 0);
    const uint64_t took_ms = (redlock_now_ns() - from_ns) / LIVE_MS;
    assert_true(took_ms >= 1400); /* no second holder beside it */
    assert_true(took_ms < TTL_MS / 2);
    LIVE_STATUS(live_release(live, writer), 0);
    live_close(live, dead);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

static void a_lease_is_extended_and_repaired(void **state) {
    struct live *live = *state;
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(live->client, "key", REDLOCK_SHARED);
    readers_hold(live, a, 2000);
    readers_hold(live, b, 2000);
    LIVE_STATUS(live_extend(live, a, TTL_MS), 0);
    assert_in_range(redlock_lock_remaining_ms(a), TTL_MS / 2, TTL_MS);
    for (size_t i = 0; i < 5; i++) {
        LIVE_POLL(live, live_pttl(live, i, "key") > TTL_MS / 2);
    }
    live_tell(live, 3, "FLUSHALL");
    live_tell(live, 4, "FLUSHALL");
    LIVE_STATUS(live_extend(live, a, TTL_MS), 0);
    LIVE_POLL(live, readers_count(live, "key") == 5 + 3); /* a has them back, b is to be extended */
    LIVE_STATUS(live_extend(live, b, TTL_MS), 0);
    LIVE_POLL(live, readers_count(live, "key") == 5 + 5);
    live_tell_all(live, "FLUSHALL");
    LIVE_STATUS(live_extend(live, a, TTL_MS), REDLOCK_ERR_LOST);
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

static void several_resources_together(void **state) {
    struct live *live = *state;
    static const redlock_bytes names[] = {{"a", 1}, {"b", 1}};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *both[2];
    redlock_lock *writer = live_lock(live->client, "b");
    options.resources = names;
    options.n_resources = 2;
    options.mode = REDLOCK_SHARED;
    for (size_t i = 0; i < 2; i++) {
        LIVE_STATUS(redlock_lock_new_with(live->client, &options, &both[i], NULL, 0), 0);
        readers_hold(live, both[i], TTL_MS);
    }
    LIVE_STATUS(live_acquire(live, writer, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, both[0]), 0);
    LIVE_STATUS(live_release(live, both[1]), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_hold(live, writer, &once);
    LIVE_STATUS(live_acquire(live, both[0], &once), REDLOCK_ERR_HELD);
    LIVE_POLL(live, live_count_keys(live, "a", "redlock:shared") == 0); /* all or none */
    LIVE_STATUS(live_release(live, writer), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

static void a_lease_goes_by_its_token(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(other, "key", REDLOCK_SHARED);
    struct live_done done = {0};
    char token[REDLOCK_TOKEN_LENGTH + 1];
    readers_hold(live, a, TTL_MS);
    memcpy(token, redlock_lock_token(a), sizeof token);
    LIVE_STATUS(redlock_disown(a), 0);
    LIVE_STATUS(redlock_adopt(b, token, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(redlock_try_upgrade(b, NULL, NULL), REDLOCK_ERR_INVALID);
    assert_non_null(strstr(LOCK_MESSAGE(b), "adopted"));
    LIVE_STATUS(redlock_disown(b), 0);
    LIVE_STATUS(redlock_release_token(a, token, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 2);
    LIVE_STATUS(done.status, 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* Of readers that follow one writer all have its fence, and the next writer's is larger. */
static void fences_of_readers(void **state) {
    struct live *live = *state;
    redlock_acquire_options fenced = live_once(TTL_MS);
    redlock_lock *writer = live_lock(live->client, "key");
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(live->client, "key", REDLOCK_SHARED);
    fenced.fencing = 1;
    live_hold(live, writer, &fenced); /* its counter is on all nodes */
    const uint64_t first = redlock_lock_fence(writer);
    LIVE_STATUS(live_release(live, writer), 0);
    LIVE_POLL(live, live_no_keys(live));
    LIVE_STATUS(live_acquire(live, a, &fenced), 0);
    LIVE_STATUS(live_acquire(live, b, &fenced), 0);
    assert_int_equal(redlock_lock_fence(a), first);
    assert_int_equal(redlock_lock_fence(b), first);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_POLL(live, live_no_keys(live));
    LIVE_STATUS(live_acquire(live, writer, &fenced), 0);
    assert_true(redlock_lock_fence(writer) > first);
    LIVE_STATUS(live_release(live, writer), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* -- From one mode to the other -- */

static void a_writer_becomes_a_reader(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *a = live_lock(live->client, "key"), *writer = live_lock(other, "key");
    redlock_lock *reader = readers_lock(other, "key", REDLOCK_SHARED);
    char token[REDLOCK_TOKEN_LENGTH + 1];
    live_hold(live, a, &once);
    memcpy(token, redlock_lock_token(a), sizeof token);
    LIVE_STATUS(live_acquire(live, reader, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(readers_change(live, a, redlock_downgrade), 0);
    assert_int_equal(redlock_lock_mode(a), REDLOCK_SHARED);
    assert_int_equal(redlock_lock_is_valid(a), 1);
    assert_string_equal(redlock_lock_token(a), token);
    LIVE_POLL(live, live_count_keys(live, "key", "redlock:shared") == 5);
    LIVE_STATUS(redlock_downgrade(a, NULL, NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(live_acquire(live, writer, &once), REDLOCK_ERR_HELD);
    readers_hold(live, reader, TTL_MS);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_STATUS(live_acquire(live, writer, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, reader), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_hold(live, a, &once); /* anew: as it was made */
    assert_int_equal(redlock_lock_mode(a), REDLOCK_EXCLUSIVE);
    LIVE_STATUS(live_release(live, a), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

static void a_reader_becomes_the_writer(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(other, "key", REDLOCK_SHARED);
    LIVE_STATUS(redlock_try_upgrade(a, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    readers_hold(live, a, TTL_MS);
    readers_hold(live, b, TTL_MS);
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), REDLOCK_ERR_HELD);
    assert_int_equal(redlock_lock_mode(a), REDLOCK_SHARED);
    assert_int_equal(redlock_lock_is_valid(a), 1);
    LIVE_STATUS(readers_change(live, b, redlock_try_upgrade), REDLOCK_ERR_WOULD_DEADLOCK);
    assert_int_not_equal(readers_change(live, a, redlock_try_upgrade),
                         0); /* whose wish was first? */
    assert_int_equal(redlock_lock_is_valid(a), 1);
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_UNTIL(live, live_is_quiet(other, 5));
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), 0);
    assert_int_equal(redlock_lock_mode(a), REDLOCK_EXCLUSIVE);
    LIVE_STATUS(redlock_try_upgrade(a, NULL, NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(live_acquire(live, b, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_extend(live, a, 0), 0);
    LIVE_STATUS(readers_change(live, a, redlock_downgrade), 0);
    LIVE_POLL(live, live_count_keys(live, "key", "redlock:shared") == 5);
    readers_hold(live, b, TTL_MS);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_STATUS(live_release(live, b), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* Larger than the reader's, and than the counters of all nodes, which differ; kept by a downgrade;
 * and where it is in vain, the reader's as before. */
static void an_upgrade_has_a_fence_of_its_own(void **state) {
    struct live *live = *state;
    redlock_acquire_options fenced = live_once(TTL_MS);
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(live->client, "key", REDLOCK_SHARED);
    fenced.fencing = 1;
    live_hold(live, a, &fenced);
    live_hold(live, b, &fenced);
    const uint64_t reader = redlock_lock_fence(a);
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), REDLOCK_ERR_HELD);
    assert_int_equal(redlock_lock_fence(a), reader);
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_POLL(live, readers_count(live, "key") == 5);
    const uint64_t far = reader + UINT64_C(60000000000); /* microseconds: the clock is below */
    for (size_t i = 0; i < 5; i++) {
        live_tell(live, i, "SET libredlock:fence:key %" PRIu64, far + i);
    }
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), 0);
    const uint64_t written = redlock_lock_fence(a);
    assert_in_range(written, far + 3, far + 5); /* of three at least, and the largest of them */
    assert_true(live_stats(live->client).raised > 0);
    LIVE_STATUS(readers_change(live, a, redlock_downgrade), 0);
    assert_int_equal(redlock_lock_fence(a), written);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* Where some nodes have no other reader the upgrade converts in vain, and back. */
static void an_upgrade_in_vain_lets_go(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(other, "key", REDLOCK_SHARED);
    readers_hold(live, a, TTL_MS);
    readers_hold(live, b, TTL_MS);
    for (size_t i = 0; i < 2; i++) {
        live_tell(live, i, "ZREM libredlock:readers:{key} %s", redlock_lock_token(b));
    }
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), REDLOCK_ERR_HELD);
    LIVE_POLL(live, live_count_keys(live, "key", "redlock:shared") == 5);
    LIVE_STATUS(live_extend(live, b, 0), 0);
    LIVE_POLL(live, readers_count(live, "key") == 10);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_STATUS(live_release(live, b), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* A node that has not answered a conversion may let readers in beside the writer that comes of a
 * later upgrade. This client knows, but a client that adopts the token would count that node. */
static void is_not_handed_over_before_all_is_answered(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *a = live_lock(live->client, "key");
    struct live_done done = {0};
    char token[REDLOCK_TOKEN_LENGTH + 1];
    live_hold(live, a, &once);
    memcpy(token, redlock_lock_token(a), sizeof token);
    live_pause(live, 0);
    LIVE_STATUS(readers_change(live, a, redlock_downgrade), 0);
    LIVE_STATUS(readers_change(live, a, redlock_try_upgrade), 0);
    LIVE_STATUS(redlock_disown(a), REDLOCK_ERR_BUSY);
    assert_non_null(strstr(LOCK_MESSAGE(a), "mode"));
    assert_int_equal(redlock_lock_is_valid(a), 1);
    live_resume(live, 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    LIVE_STATUS(redlock_disown(a), 0);
    LIVE_STATUS(redlock_release_token(a, token, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* -- Owners -- */

static void an_owner_reads_and_writes(void **state) {
    struct live *live = *state;
    redlock_acquire_options owned = live_once(TTL_MS);
    redlock_lock *writer = live_lock(live->client, "key");
    redlock_lock *a = readers_lock(live->client, "key", REDLOCK_SHARED);
    redlock_lock *b = readers_lock(live->client, "key", REDLOCK_SHARED);
    owned.owner = 7;
    LIVE_STATUS(live_acquire(live, writer, &owned), 0);
    LIVE_STATUS(live_acquire(live, writer, &owned), 0);
    LIVE_STATUS(redlock_downgrade(writer, NULL, NULL), REDLOCK_ERR_BUSY); /* more than once */
    LIVE_STATUS(live_release(live, writer), 0);
    LIVE_STATUS(live_acquire(live, a, &owned), 0); /* shares the writer's hold */
    assert_string_equal(redlock_lock_token(a), redlock_lock_token(writer));
    LIVE_STATUS(redlock_downgrade(writer, NULL, NULL), REDLOCK_ERR_BUSY);
    LIVE_STATUS(live_release(live, writer), 0);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_POLL(live, live_no_keys(live));
    LIVE_STATUS(live_acquire(live, a, &owned), 0);
    LIVE_STATUS(live_acquire(live, b, &owned), 0);
    assert_string_equal(redlock_lock_token(a), redlock_lock_token(b));
    LIVE_STATUS(redlock_acquire(writer, &owned, NULL, NULL), REDLOCK_ERR_WOULD_DEADLOCK);
    assert_non_null(strstr(LOCK_MESSAGE(writer), "wait for itself"));
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_STATUS(live_release(live, b), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(readers_hold_side_by_side),
        LIVE_TEST_FIVE(many_of_one_client),
        LIVE_TEST_FIVE(a_dead_reader_ends_with_its_own_lease),
        LIVE_TEST_FIVE(a_lease_is_extended_and_repaired),
        LIVE_TEST_FIVE(several_resources_together),
        LIVE_TEST_FIVE(a_lease_goes_by_its_token),
        LIVE_TEST_FIVE(fences_of_readers),
        LIVE_TEST_FIVE(a_writer_becomes_a_reader),
        LIVE_TEST_FIVE(a_reader_becomes_the_writer),
        LIVE_TEST_FIVE(an_upgrade_has_a_fence_of_its_own),
        LIVE_TEST_FIVE(an_upgrade_in_vain_lets_go),
        LIVE_TEST_FIVE(is_not_handed_over_before_all_is_answered),
        LIVE_TEST_FIVE(an_owner_reads_and_writes),
    };
    return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
