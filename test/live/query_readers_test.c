/* Readers, and clients that wait to read, on real nodes: an operator's view of a shared lock. */

#include "live/seen.h"

#define TTL_MS 30000
#define STRANGER "dddddddddddddddddddddddddddddddddddddddd"

static redlock_lock *new_lock(redlock_client *client, const char *holder, enum redlock_mode mode) {
    return live_lock_with(client, "key", (redlock_lock_options){.holder = holder, .mode = mode});
}

static struct seen who_holds(struct live *live) {
    struct seen seen = {.live = live};
    seen_wait(&seen, redlock_query_holder(live->client, "key", 3, seen_cb, &seen));
    return seen;
}

static struct seen who_reads(struct live *live, size_t max) {
    struct seen seen = {.live = live};
    seen_wait(&seen, redlock_query_readers(live->client, "key", 3, max, seen_cb, &seen));
    return seen;
}

static struct seen who_waits(struct live *live, size_t max) {
    struct seen seen = {.live = live};
    seen_wait(&seen, redlock_query_waiters(live->client, "key", 3, max, seen_cb, &seen));
    return seen;
}

/* The reader of this name as it was listed, or the test fails. */
static size_t find(const struct seen *seen, const char *holder) {
    size_t i = 0;
    while (i < seen->n_readers && strcmp(seen->of_reader[i].holder, holder) != 0) {
        i++;
    }
    assert_true(i < seen->n_readers);
    return i;
}

/* Two readers of two clients: each has its lease, and the key no holder of its own. */
LIVE_TEST_FIVE(readers) {
    redlock_client *other = live_another(live);
    redlock_acquire_options once = live_once(TTL_MS);
    struct seen seen = who_reads(live, 4);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.n_readers + seen.reading, 0);
    redlock_lock *first = new_lock(live->client, "first", REDLOCK_SHARED);
    redlock_lock *second = new_lock(other, "second", REDLOCK_SHARED);
    live_hold(live, first, &once);
    live_hold(live, second, &once);

    seen = who_holds(live);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.shared, 5);
    assert_int_equal(seen.held, 5);
    assert_int_equal(seen.has_quorum, 0);
    assert_int_equal(seen.n_readers + seen.n_waiters, 0); /* the query did not ask for them */
    seen = who_reads(live, 4);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.n_readers, 2);
    assert_int_equal(seen.reading, 2);
    assert_int_equal(seen.held, 0); /* nor this */
    assert_int_equal(seen.has_quorum, 0);
    size_t at = find(&seen, "first");
    assert_string_equal(seen.of_reader[at].token, redlock_lock_token(first));
    assert_int_equal(seen.readers[at].votes, 5);
    assert_in_range(seen.readers[at].remaining_ms, TTL_MS / 2, TTL_MS);
    at = find(&seen, "second");
    assert_string_equal(seen.of_reader[at].token, redlock_lock_token(second));

    LIVE_STATUS(live_release(live, first), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    seen = who_reads(live, 4);
    assert_int_equal(seen.n_readers, 1);
    assert_string_equal(seen.of_reader[0].holder, "second");
    LIVE_STATUS(live_release(live, second), 0);
    LIVE_UNTIL(live, live_is_quiet(other, 5));
    assert_int_equal(who_reads(live, 4).n_readers, 0);
    assert_int_equal(who_holds(live).held, 0);
    live_close(live, other);
}

/* Readers on a quorum come first; those on fewer nodes have lost their hold. All are counted, even
 * if there was room for fewer. */
LIVE_TEST_FIVE(votes) {
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = new_lock(live->client, "whole", REDLOCK_SHARED);
    live_hold(live, lock, &once);
    for (size_t i = 0; i < 2; i++) {
        redisReply *now = live_ask(live, i, "TIME");
        long long end_ms = strtoll(now->element[0]->str, NULL, 10) * 1000 + TTL_MS / 2;
        freeReplyObject(now);
        live_tell(live, i, "ZADD libredlock:readers:{key} %lld " STRANGER ":part", end_ms);
    }
    struct seen seen = who_reads(live, 4);
    assert_int_equal(seen.n_readers, 2);
    assert_string_equal(seen.of_reader[0].holder, "whole");
    assert_string_equal(seen.of_reader[1].holder, "part");
    assert_string_equal(seen.of_reader[1].token, STRANGER);
    assert_int_equal(seen.readers[1].votes, 2);
    assert_int_equal(seen.readers[1].remaining_ms, 0);
    seen = who_reads(live, 1); /* each node reports only the reader that ends first */
    assert_int_equal(seen.n_readers, 2);
    assert_int_equal(seen.readers[0].votes, 3);
    assert_int_equal(seen.reading, 2);
    LIVE_STATUS(redlock_query_readers(live->client, "key", 3, 0, seen_cb, NULL),
                REDLOCK_ERR_INVALID);
    LIVE_STATUS(
        redlock_query_readers(live->client, "key", 3, REDLOCK_READERS_MAX + 1, seen_cb, NULL),
        REDLOCK_ERR_INVALID);

    live_do(live, live_kill, 1, 3);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    seen = who_reads(live, 4);
    LIVE_STATUS(seen.status, REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(seen.answered, 2);
    assert_int_equal(seen.n_readers, 2);
    assert_int_equal(seen.readers[find(&seen, "whole")].votes, 2);
    live_do(live, live_restart, 1, 3); /* so that no pending release delays the end */
}

/* Both lines of a resource: first the writers in their order, then the readers. */
LIVE_TEST_FIVE(waiters) {
    redlock_acquire_options once = live_once(TTL_MS), waits = REDLOCK_ACQUIRE_OPTIONS_INIT;
    redlock_lock *lock = new_lock(live->client, "holder", REDLOCK_EXCLUSIVE);
    redlock_client *clients[3];
    redlock_lock *locks[3];
    struct live_done done[3] = {{0}};
    static const char *const names[] = {"reader", "writer", "reader-2"};
    waits.ttl_ms = TTL_MS;
    live_hold(live, lock, &once);
    for (size_t i = 0; i < 3; i++) {
        clients[i] = live_another(live);
        locks[i] = new_lock(clients[i], names[i], i == 1 ? REDLOCK_EXCLUSIVE : REDLOCK_SHARED);
        LIVE_STATUS(redlock_acquire(locks[i], &waits, live_lock_cb, &done[i]), 0);
        LIVE_POLL(live, who_waits(live, 4).waiting == i + 1);
    }
    struct seen seen = who_waits(live, 4);
    LIVE_STATUS(seen.status, 0);
    assert_int_equal(seen.answered, 5);
    assert_int_equal(seen.n_waiters, 3);
    assert_string_equal(seen.of_waiter[0].holder, "writer");
    assert_int_equal(seen.waiters[0].mode, REDLOCK_EXCLUSIVE);
    assert_string_equal(seen.of_waiter[1].holder, "reader");
    assert_string_equal(seen.of_waiter[2].holder, "reader-2");
    assert_int_equal(seen.waiters[1].mode, REDLOCK_SHARED);
    assert_int_equal(seen.waiters[2].mode, REDLOCK_SHARED);
    seen = who_waits(live, 1);
    assert_int_equal(seen.waiting, 3);
    assert_int_equal(seen.n_waiters, 2); /* the first of each line */
    assert_int_equal(seen.waiters[1].mode, REDLOCK_SHARED);
    assert_string_equal(seen.of_waiter[1].holder, "reader");

    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, done[0].count == 1 && done[2].count == 1);
    for (size_t i = 0; i < 3; i += 2) {
        LIVE_STATUS(done[i].status, 0);
        LIVE_STATUS(live_release(live, locks[i]), 0);
    }
    LIVE_UNTIL(live, done[1].count == 1);
    LIVE_STATUS(done[1].status, 0);
    LIVE_STATUS(live_release(live, locks[1]), 0);
    for (size_t i = 0; i < 3; i++) {
        live_close(live, clients[i]);
    }
}
