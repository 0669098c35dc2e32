/* Readers and writers in turn: a writer is let in after the readers that hold, a reader after one
 * writer; whoever comes while the other kind waits, waits. */
#include <string.h>

#include "live/readers.h"
#include "live/waiters.h"

#define TTL_MS 30000
#define READERS 4

struct reader {
    redlock_client *client;
    redlock_lock *lock;
    struct live_done granted;
};

static void open_one(struct reader *r, struct live *live, enum redlock_mode mode) {
    memset(r, 0, sizeof *r);
    r->client = live_another(live);
    r->lock = readers_lock(r->client, "key", mode);
}

static void ask(struct reader *r) {
    redlock_acquire_options options = live_patient(TTL_MS);
    LIVE_STATUS(redlock_acquire(r->lock, &options, live_lock_cb, &r->granted), 0);
}

/* What they hold is released by that. */
static void close_all(struct live *live, struct reader *r, size_t n) {
    for (size_t i = 0; i < n; i++) {
        live_close(live, r[i].client);
    }
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* A stream of readers does not keep a writer out: who comes behind it waits until it has gone. */
static void readers_wait_behind_a_writer(void **state) {
    struct live *live = *state;
    struct reader r[3];
    open_one(&r[0], live, REDLOCK_SHARED);
    open_one(&r[1], live, REDLOCK_EXCLUSIVE);
    open_one(&r[2], live, REDLOCK_SHARED);
    readers_hold(live, r[0].lock, TTL_MS);
    ask(&r[1]);
    LIVE_POLL(live, waiters_standing(live, "key") == 1);
    ask(&r[2]);
    LIVE_POLL(live, readers_waiting(live, "key") == 1);
    assert_int_equal(r[1].granted.count + r[2].granted.count, 0);
    LIVE_STATUS(live_release(live, r[0].lock), 0);
    LIVE_UNTIL(live, r[1].granted.count == 1);
    assert_int_equal(r[2].granted.count, 0);
    LIVE_STATUS(live_release(live, r[1].lock), 0);
    LIVE_UNTIL(live, r[2].granted.count == 1);
    LIVE_STATUS(live_release(live, r[2].lock), 0);
    close_all(live, r, 3);
}

/* When a writer goes, all readers that wait come in, also those that came after the next writer. */
static void a_writer_lets_all_readers_in(void **state) {
    struct live *live = *state;
    struct reader first, next, r[READERS];
    redlock_acquire_options once = live_once(TTL_MS);
    open_one(&first, live, REDLOCK_EXCLUSIVE);
    open_one(&next, live, REDLOCK_EXCLUSIVE);
    live_hold(live, first.lock, &once);
    for (size_t i = 0; i < READERS; i++) {
        if (i == READERS / 2) {
            ask(&next);
            LIVE_POLL(live, waiters_standing(live, "key") == 1);
        }
        open_one(&r[i], live, REDLOCK_SHARED);
        ask(&r[i]);
        LIVE_POLL(live, readers_waiting(live, "key") == i + 1);
    }
    LIVE_STATUS(live_release(live, first.lock), 0);
    LIVE_UNTIL(live,
               r[0].granted.count + r[1].granted.count + r[2].granted.count + r[3].granted.count ==
                   READERS);
    assert_int_equal(next.granted.count, 0);
    for (size_t i = 0; i < READERS; i++) {
        LIVE_STATUS(live_release(live, r[i].lock), 0);
    }
    LIVE_UNTIL(live, next.granted.count == 1);
    live_close(live, first.client);
    for (size_t i = 0; i < READERS; i++) {
        live_close(live, r[i].client);
    }
    close_all(live, &next, 1);
}

/* One of a client's readers stands in line for all of them, and when its turn comes, all ask. */
static void one_waits_for_all_of_a_client(void **state) {
    struct live *live = *state;
    struct reader writer;
    redlock_client *client = live_another(live);
    redlock_lock *locks[READERS];
    struct live_done done = {0};
    redlock_acquire_options once = live_once(TTL_MS), options = live_patient(TTL_MS);
    open_one(&writer, live, REDLOCK_EXCLUSIVE);
    live_hold(live, writer.lock, &once);
    for (size_t i = 0; i < READERS; i++) {
        locks[i] = readers_lock(client, "key", REDLOCK_SHARED);
        LIVE_STATUS(redlock_acquire(locks[i], &options, live_lock_cb, &done), 0);
    }
    LIVE_POLL(live, readers_waiting(live, "key") == 1);
    LIVE_STATUS(live_release(live, writer.lock), 0);
    LIVE_UNTIL(live, done.count == READERS);
    LIVE_STATUS(done.status, 0);
    for (size_t i = 0; i < READERS; i++) {
        assert_int_equal(redlock_lock_is_valid(locks[i]), 1);
        LIVE_STATUS(live_release(live, locks[i]), 0);
    }
    live_close(live, client);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, writer.client);
    live_end(live);
}

/* A writer that gives up does not leave the readers behind it waiting. */
static void a_writer_gives_up(void **state) {
    struct live *live = *state;
    struct reader r[3];
    open_one(&r[0], live, REDLOCK_SHARED);
    open_one(&r[1], live, REDLOCK_EXCLUSIVE);
    open_one(&r[2], live, REDLOCK_SHARED);
    readers_hold(live, r[0].lock, TTL_MS);
    ask(&r[1]);
    LIVE_POLL(live, waiters_standing(live, "key") == 1);
    ask(&r[2]);
    LIVE_POLL(live, readers_waiting(live, "key") == 1);
    LIVE_STATUS(redlock_cancel(r[1].lock), 0);
    LIVE_UNTIL(live, r[2].granted.count == 1);
    close_all(live, r, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(readers_wait_behind_a_writer),
        LIVE_TEST_FIVE(a_writer_lets_all_readers_in),
        LIVE_TEST_FIVE(one_waits_for_all_of_a_client),
        LIVE_TEST_FIVE(a_writer_gives_up),
    };
    return cmocka_run_group_tests_name("shared_line", tests, NULL, NULL);
}
