/* The scripts on real nodes: their hashes are those that Redis computes, no node is asked for one
 * that it does not know, and a node that has forgotten them (SCRIPT FLUSH, restart) has no effect
 * on the locks. */
#include <string.h>

#include "live/live.h"
#include "marks.h"
#include "redis/command.h"

#define TTL_MS 30000

static long long loaded(const struct live *live, size_t i, enum rl_command_kind kind) {
    redisReply *reply = live_ask(live, i, "SCRIPT EXISTS %s", rl_command_script_sha1(kind));
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->elements, 1);
    long long is_loaded = reply->element[0]->integer;
    freeReplyObject(reply);
    return is_loaded;
}

static void hashes(void **state) {
    struct live *live = *state;
    const char *script;
    const char *sha1;
    live_start(live, 1, NULL);
    for (size_t i = 0; (script = rl_command_script_at(i, &sha1)) != NULL; i++) {
        redisReply *reply = live_ask(live, 0, "SCRIPT LOAD %s", script);
        assert_int_equal(reply->type, REDIS_REPLY_STRING);
        assert_string_equal(reply->str, sha1);
        freeReplyObject(reply);
    }
    live_end(live);
}

static void cycle(struct live *live, redlock_lock *lock, bool extend, bool flush) {
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    if (flush) {
        live_tell_all(live, "SCRIPT FLUSH");
    }
    if (extend) {
        LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
        assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
        for (size_t i = 0; i < 5; i++) {
            assert_in_range(live_pttl(live, i, "key"), TTL_MS / 2, TTL_MS);
        }
    }
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_votes(lock, 5, REDLOCK_VOTE_GRANTED), 5);
    assert_true(live_no_keys(live));
}

static void never_unknown(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    cycle(live, lock, true, false);
    cycle(live, lock, true, false);
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "INFO errorstats");
        assert_null(strstr(reply->str, "NOSCRIPT"));
        freeReplyObject(reply);
    }
    live_end(live);
}

/* EVAL loads what it runs, so each script is flushed away for a turn of its own. */
static void flushed(void **state) {
    struct live *live = *state;
    MARK_FROM(SCRIPT_FORGOTTEN);
    redlock_lock *lock = live_lock(live->client, "key");
    cycle(live, lock, true, true);
    cycle(live, lock, false, true);
    cycle(live, lock, true, false);
    long long homes = 0;
    for (size_t i = 0; i < live->n; i++) { /* home has another release than the others */
        long long is_home = loaded(live, i, RL_COMMAND_RELEASE_LINE);
        assert_int_equal(live_node(live->client, i).connects, 1);
        assert_int_equal(loaded(live, i, RL_COMMAND_RELEASE), !is_home);
        homes += is_home;
    }
    assert_int_equal(homes, 1);
    MARK_TO(SCRIPT_FORGOTTEN);
    live_end(live);
}

/* A release that belongs to no round: of an attempt that lost. */
static void flushed_before_a_loser_releases(void **state) {
    struct live *live = *state;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "SET key stranger");
    }
    live_tell_all(live, "SCRIPT FLUSH");
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "key", "stranger"), 3);
    assert_int_equal(live_count_keys(live, "key", redlock_lock_token(lock)), 0);
    assert_int_equal(live_keys(live, 4), 0);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(hashes),
        LIVE_TEST_FIVE(never_unknown),
        LIVE_TEST_FIVE(flushed),
        LIVE_TEST_FIVE(flushed_before_a_loser_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
