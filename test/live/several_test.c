/* Locks of several resources on real nodes: each node has all keys of a lock or none, against locks
 * of one resource, locks that share only a part, plain clients, and keys of another type. */
#include <stdio.h>
#include <string.h>

#include "live/live.h"
#include "redlock/token.h"

#define TTL_MS 30000

/* names: letters, each one resource */
static redlock_lock *letters(redlock_client *client, const char *names, const char *holder) {
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes bytes[REDLOCK_RESOURCES_MAX];
    char error[REDLOCK_MESSAGE_MAX] = "?";
    redlock_lock *lock = NULL;
    options.resources = bytes;
    options.n_resources = strlen(names);
    options.holder = holder;
    for (size_t i = 0; i < options.n_resources; i++) {
        bytes[i] = (redlock_bytes){names + i, 1};
    }
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, error, sizeof(error)), 0);
    assert_string_equal(error, "");
    return lock;
}

static int acquire_once(struct live *live, redlock_lock *lock) {
    redlock_acquire_options once = live_once(TTL_MS);
    int status = live_acquire(live, lock, &once);
    LIVE_UNTIL(live, live_is_quiet(redlock_lock_client(lock), 5));
    return status;
}

/* What a lock of these letters has stored on every node from the first on. */
static void check_keys(const struct live *live, size_t first, const char *names,
                       const redlock_lock *lock) {
    for (const char *name = names; *name != '\0'; name++) {
        char key[2] = {*name, '\0'};
        for (size_t i = first; i < 5; i++) {
            assert_true(live_key_is(live, i, key, redlock_lock_token(lock)));
        }
    }
}

/* -- All or none -- */

static void all_or_none(void **state) {
    struct live *live = *state;
    redlock_client *other = live_another(live);
    redlock_lock *abc = letters(live->client, "abc", NULL);
    redlock_lock *b = letters(other, "b", NULL);
    redlock_lock *dc = letters(other, "dc", NULL);
    LIVE_STATUS(acquire_once(live, abc), 0);
    check_keys(live, 0, "abc", abc);
    assert_int_equal(live_keys(live, 0), 3);
    LIVE_STATUS(acquire_once(live, b), REDLOCK_ERR_HELD);
    LIVE_STATUS(acquire_once(live, dc), REDLOCK_ERR_HELD);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_integer(live, i, "EXISTS d"), 0);
        assert_int_equal(live_keys(live, i), 3);
    }
    LIVE_STATUS(live_release(live, abc), 0);
    LIVE_POLL(live, live_no_keys(live));
    LIVE_STATUS(acquire_once(live, b), 0);
    LIVE_STATUS(acquire_once(live, dc), 0); /* no resource in common */
    LIVE_STATUS(acquire_once(live, abc), REDLOCK_ERR_HELD);
    check_keys(live, 0, "b", b);
    check_keys(live, 0, "dc", dc);
    assert_int_equal(live_integer(live, 0, "EXISTS a"), 0);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* A stranger has one of the keys on two nodes: these refuse and set nothing at all. */
static void a_stranger_on_two(void **state) {
    struct live *live = *state;
    redlock_lock *lock = letters(live->client, "abc", NULL);
    live_tell(live, 0, "SET a stranger");
    live_tell(live, 1, "SET c stranger PX 500000");
    LIVE_STATUS(acquire_once(live, lock), 0);
    check_keys(live, 2, "abc", lock);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5)); /* the repair goes without effect */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(live_outcome(lock, i).vote, REDLOCK_VOTE_REFUSED);
        assert_int_equal(live_keys(live, i), 1);
    }
    assert_int_equal(live_stats(live->client).repaired, 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_key_is(live, 0, "a", "stranger"));
    assert_true(live_key_is(live, 1, "c", "stranger"));
    assert_in_range(live_pttl(live, 1, "c"), 400000, 500000);
    live_tell_all(live, "FLUSHALL");
    live_end(live);
}

static void a_stranger_on_three(void **state) {
    struct live *live = *state;
    redlock_lock *lock = letters(live->client, "abc", NULL);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "SET c stranger");
    }
    LIVE_STATUS(acquire_once(live, lock), REDLOCK_ERR_HELD);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_keys(live, i), i < 3);
    }
    live_tell_all(live, "FLUSHALL");
    live_end(live);
}

/* The last key is a list: an error, before the others are set. */
static void another_type(void **state) {
    struct live *live = *state;
    redlock_lock *lock = letters(live->client, "abc", NULL);
    live_tell(live, 0, "RPUSH c x");
    live_tell(live, 1, "RPUSH a x");
    LIVE_STATUS(acquire_once(live, lock), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(live_outcome(lock, i).vote, REDLOCK_VOTE_FAILED);
        LIVE_STATUS(live_outcome(lock, i).reason, REDLOCK_ERR_NODE_WRONGTYPE);
        assert_int_equal(live_keys(live, i), 1);
    }
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_stats(live->client).pending_releases, 0); /* a list cannot be our token */
    live_tell(live, 2, "RPUSH b x");
    LIVE_STATUS(acquire_once(live, lock), REDLOCK_ERR_NO_QUORUM);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_keys(live, i), i < 3);
    }
    live_tell_all(live, "FLUSHALL");
    live_end(live);
}

/* A key that became a list while the lock was held: the others are deleted all the same. */
static void releases_what_it_can(void **state) {
    struct live *live = *state;
    redlock_lock *lock = letters(live->client, "abc", NULL);
    LIVE_STATUS(acquire_once(live, lock), 0);
    live_tell(live, 0, "DEL a");
    live_tell(live, 0, "RPUSH a x");
    live_tell(live, 1, "SET b stranger");
    live_tell(live, 2, "DEL c");
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_keys(live, i), i < 2);
    }
    assert_true(live_key_is(live, 1, "b", "stranger"));
    live_tell_all(live, "FLUSHALL");
    live_end(live);
}

/* -- Holding -- */

/* One key deleted by hand: that node answers "gone", extends none of its keys, and is repaired; on
 * three nodes the lock is lost. */
static void a_key_deleted(void **state) {
    struct live *live = *state;
    redlock_lock *lock = letters(live->client, "abc", NULL);
    LIVE_STATUS(acquire_once(live, lock), 0);
    live_tell(live, 1, "DEL b");
    live_tell(live, 1, "PEXPIRE a 20000");
    LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_outcome(lock, 1).vote, REDLOCK_VOTE_REFUSED);
    assert_int_equal(live_stats(live->client).repaired, 1);
    assert_in_range(live_pttl(live, 1, "a"), 20001, TTL_MS); /* by the repair */
    assert_in_range(live_pttl(live, 1, "b"), 20001, TTL_MS);
    check_keys(live, 0, "abc", lock);
    LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
    assert_in_range(live_pttl(live, 1, "a"), 20001, TTL_MS);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "DEL %s", i == 0 ? "a" : "c");
    }
    LIVE_STATUS(live_extend(live, lock, TTL_MS), REDLOCK_ERR_LOST);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

static void never_shortens(void **state) {
    struct live *live = *state;
    redlock_lock *lock = letters(live->client, "ab", NULL);
    LIVE_STATUS(acquire_once(live, lock), 0);
    live_tell(live, 0, "PEXPIRE a 500000");
    live_tell(live, 1, "PERSIST b");
    LIVE_STATUS(live_extend(live, lock, 2 * TTL_MS), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_in_range(live_pttl(live, 0, "a"), 400000, 500000);
    assert_in_range(live_pttl(live, 0, "b"), TTL_MS, 2 * TTL_MS);
    assert_in_range(live_pttl(live, 1, "b"), TTL_MS, 2 * TTL_MS); /* for ever is not ours */
    LIVE_STATUS(live_release(live, lock), 0);
    live_end(live);
}

static void expires(void **state) {
    struct live *live = *state;
    struct live_done lost = {0};
    redlock_acquire_options once = live_once(2000);
    once.on_lost = live_lock_cb;
    once.lost_data = &lost;
    redlock_lock *lock = letters(live->client, "abc", NULL);
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    uint64_t until_ns = redlock_lock_valid_until_ns(lock);
    LIVE_UNTIL(live, lost.count == 1);
    LIVE_STATUS(lost.status, REDLOCK_ERR_EXPIRED);
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    assert_true(until_ns <= lost.at_ns + 20 * LIVE_MS);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* The value is compared whole: the token with another holder's name, or none, is another value. */
static void of_a_holder(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    redlock_client *other = live_another(live);
    redlock_lock *mine = letters(live->client, "ab", "me");
    redlock_lock *nameless = letters(other, "ab", NULL);
    redlock_lock *same = letters(other, "ba", "me");
    char value[128], token[REDLOCK_TOKEN_LENGTH + 1];
    LIVE_STATUS(acquire_once(live, mine), 0);
    snprintf(token, sizeof(token), "%s", redlock_lock_token(mine));
    snprintf(value, sizeof(value), "%s:me", token);
    assert_int_equal(live_count_keys(live, "a", value), 5);
    assert_int_equal(live_count_keys(live, "b", value), 5);
    LIVE_STATUS(redlock_disown(mine), 0);
    LIVE_STATUS(redlock_adopt(nameless, token, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_adopt(same, token, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 2);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(live_extend(live, same, 0), 0);
    LIVE_STATUS(live_release(live, same), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
    live_end(live);
}

/* As many and as long as may be, with scripts that the nodes have forgotten at every step. */
static void as_large_as_may_be(void **state) {
    struct live *live = *state;
    static char names[REDLOCK_RESOURCES_MAX][REDLOCK_RESOURCE_MAX];
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes bytes[REDLOCK_RESOURCES_MAX];
    redlock_lock *lock = NULL;
    char holder[REDLOCK_HOLDER_MAX + 1];
    for (size_t i = 0; i < REDLOCK_RESOURCES_MAX; i++) {
        memset(names[i], '\n', sizeof(names[i]));
        names[i][sizeof(names[i]) - 1] = (char)i;
        bytes[i] = (redlock_bytes){names[i], sizeof(names[i])};
    }
    memset(holder, 'h', sizeof(holder));
    holder[REDLOCK_HOLDER_MAX] = '\0';
    options.resources = bytes;
    options.n_resources = REDLOCK_RESOURCES_MAX;
    options.holder = holder;
    LIVE_STATUS(redlock_lock_new_with(live->client, &options, &lock, NULL, 0), 0);
    memset(names, 'x', sizeof(names)); /* they were copied */
    for (int round = 0; round < 2; round++) {
        LIVE_STATUS(acquire_once(live, lock), 0);
        assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(live_keys(live, i), REDLOCK_RESOURCES_MAX);
        }
        live_tell_all(live, "SCRIPT FLUSH");
        LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
        live_tell_all(live, "SCRIPT FLUSH");
        LIVE_STATUS(live_release(live, lock), 0);
        LIVE_POLL(live, live_no_keys(live));
        live_tell_all(live, "SCRIPT FLUSH");
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_node(live->client, i).connects, 1);
    }
    live_end(live);
}

/* -- Rivals -- */

#define RIVALS 4
#define TURNS 15

struct rival {
    redlock_lock *lock;
    int turns;
    int others; /* resources of it that another valid lock had too */
};

static struct rival rivals[RIVALS];

static void rival_wants(struct rival *rival);

static void rival_released(redlock_lock *lock, int status, void *data) {
    struct rival *rival = data;
    (void)lock;
    LIVE_STATUS(status, 0);
    if (++rival->turns < TURNS) {
        rival_wants(rival);
    }
    live_wake();
}

static void rival_has(redlock_lock *lock, int status, void *data) {
    LIVE_STATUS(status, 0);
    for (size_t i = 0; i < RIVALS; i++) { /* all of them have a resource in common */
        ((struct rival *)data)->others +=
            rivals[i].lock != lock && redlock_lock_is_valid(rivals[i].lock);
    }
    LIVE_STATUS(redlock_release(lock, rival_released, data), 0);
    live_wake();
}

static void rival_wants(struct rival *rival) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = TTL_MS; /* so that a deadlock would outlast our patience */
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = 1;
    options.jitter_ms = 10;
    LIVE_STATUS(redlock_acquire(rival->lock, &options, rival_has, rival), 0);
}

static bool rivals_are_done(void) {
    for (size_t i = 0; i < RIVALS; i++) {
        if (rivals[i].turns < TURNS) {
            return false;
        }
    }
    return true;
}

/* Two clients want the same two resources in opposite orders, and each lock has all its turns:
 * neither waits for the other while it holds a part. */
static void in_opposite_orders(void **state) {
    static const char *const names[RIVALS] = {"ab", "ba", "abc", "cba"};
    struct live *live = *state;
    redlock_client *other = live_another(live);
    memset(rivals, 0, sizeof(rivals));
    for (size_t i = 0; i < RIVALS; i++) {
        rivals[i].lock = letters(i % 2 ? other : live->client, names[i], NULL);
        rival_wants(&rivals[i]);
    }
    LIVE_UNTIL(live, rivals_are_done());
    for (size_t i = 0; i < RIVALS; i++) {
        assert_int_equal(rivals[i].others, 0);
    }
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* -- Refused objects -- */

static void refuses(redlock_client *client, const redlock_lock_options *options, const char *part) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_lock *lock = (redlock_lock *)(void *)error;
    LIVE_STATUS(redlock_lock_new_with(client, options, &lock, error, sizeof(error)),
                REDLOCK_ERR_INVALID);
    assert_null(lock);
    if (strstr(error, part) == NULL) {
        print_error("\"%s\" is not in \"%s\"\n", part, error);
    }
    assert_non_null(strstr(error, part));
}

static void bad_options(void **state) {
    struct live *live = *state;
    static char long_name[REDLOCK_RESOURCE_MAX + 1];
    static const char *const holders[] = {"", "two words", "tab\t", "\x7f", "caf\xc3\xa9", NULL};
    char long_holder[REDLOCK_HOLDER_MAX + 2];
    redlock_bytes bytes[REDLOCK_RESOURCES_MAX + 1];
    redlock_lock_options good = REDLOCK_LOCK_OPTIONS_INIT, bad;
    good.resources = bytes;
    good.n_resources = 3;
    for (size_t i = 0; i <= REDLOCK_RESOURCES_MAX; i++) {
        bytes[i] = (redlock_bytes){long_name, i + 1};
    }
    bad = good;
    bad.n_resources = 0;
    refuses(live->client, &bad, "n_resources is 0");
    bad.n_resources = REDLOCK_RESOURCES_MAX + 1;
    refuses(live->client, &bad, "n_resources is 65: it must be 1 to 64");
    bad = good;
    bad.resources = NULL;
    refuses(live->client, &bad, "resources is NULL");
    bad = good;
    bad.size--;
    refuses(live->client, &bad, "REDLOCK_LOCK_OPTIONS_INIT");
    bytes[1].length = 0;
    refuses(live->client, &good, "resource 1 has 0 bytes");
    bytes[1].length = REDLOCK_RESOURCE_MAX + 1;
    refuses(live->client, &good, "resource 1 has 1025 bytes");
    bytes[1] = (redlock_bytes){NULL, 2};
    refuses(live->client, &good, "resource 1 has 2 bytes at NULL");
    bytes[1] = (redlock_bytes){long_name, 3};
    refuses(live->client, &good, "resources 1 and 2 are the same");
    bytes[1].length = 2;
    for (size_t i = 0; holders[i] != NULL; i++) {
        good.holder = holders[i];
        refuses(live->client, &good, "holder");
    }
    memset(long_holder, 'h', sizeof(long_holder));
    long_holder[sizeof(long_holder) - 1] = '\0';
    good.holder = long_holder;
    refuses(live->client, &good, "holder");
    refuses(NULL, &good, "NULL");
    refuses(live->client, NULL, "NULL");
    LIVE_STATUS(redlock_lock_new_with(live->client, &good, NULL, NULL, 0), REDLOCK_ERR_INVALID);
    assert_int_equal(live_stats(live->client).locks, 0);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(all_or_none),          LIVE_TEST_FIVE(a_stranger_on_two),
        LIVE_TEST_FIVE(a_stranger_on_three),  LIVE_TEST_FIVE(another_type),
        LIVE_TEST_FIVE(releases_what_it_can), LIVE_TEST_FIVE(a_key_deleted),
        LIVE_TEST_FIVE(never_shortens),       LIVE_TEST_FIVE(expires),
        LIVE_TEST_FIVE(of_a_holder),          LIVE_TEST_FIVE(as_large_as_may_be),
        LIVE_TEST_FIVE(in_opposite_orders),   LIVE_TEST_FIVE(bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
