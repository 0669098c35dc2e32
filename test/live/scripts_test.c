/* The scripts on real nodes: their hashes are those that Redis computes, no node is asked for one
 * that it does not know, and a node that has forgotten them (SCRIPT FLUSH, restart) has no effect
 * on the locks. */

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

LIVE_TEST(hashes) {
    const char *script;
    const char *sha1;
    live_start(live, 1, NULL);
    for (size_t i = 0; (script = rl_command_script_at(i, &sha1)) != NULL; i++) {
        redisReply *reply = live_ask(live, 0, "SCRIPT LOAD %s", script);
        assert_int_equal(reply->type, REDIS_REPLY_STRING);
        assert_string_equal(reply->str, sha1);
        freeReplyObject(reply);
    }
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

LIVE_TEST_FIVE(never_unknown) {
    redlock_lock *lock = live_lock(live->client, "key");
    cycle(live, lock, true, false);
    cycle(live, lock, true, false);
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "INFO errorstats");
        assert_null(strstr(reply->str, "NOSCRIPT"));
        freeReplyObject(reply);
    }
}

/* EVAL loads the script that it runs, so each script is flushed away in a cycle of its own. */
LIVE_TEST_FIVE(flushed) {
    MARK_FROM(SCRIPT_FORGOTTEN);
    redlock_lock *lock = live_lock(live->client, "key");
    cycle(live, lock, true, true);
    cycle(live, lock, false, true);
    cycle(live, lock, true, false);
    long long homes = 0;
    for (size_t i = 0; i < live->n; i++) { /* home runs another release script than the others */
        long long is_home = loaded(live, i, RL_COMMAND_RELEASE_LINE);
        assert_int_equal(live_node(live->client, i).connects, 1);
        assert_int_equal(loaded(live, i, RL_COMMAND_RELEASE), !is_home);
        homes += is_home;
    }
    assert_int_equal(homes, 1);
    MARK_TO(SCRIPT_FORGOTTEN);
}

/* -- Extensions of many locks in one turn -- */

#define MANY 100

struct many {
    redlock_lock *lock[MANY];
    struct live_done held[MANY], extended[MANY];
};

static bool all_done(const struct live_done *done) {
    size_t n = 0;
    for (size_t i = 0; i < MANY; i++) {
        n += done[i].count > 0;
    }
    return n == MANY;
}

/* Every third has a fence. */
static void hold_many(struct live *live, struct many *many) {
    redlock_acquire_options options = live_once(TTL_MS);
    for (size_t i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "many:%zu", i);
        many->lock[i] = live_lock(live->client, name);
        options.fencing = i % 3 == 0;
        LIVE_STATUS(redlock_acquire(many->lock[i], &options, live_lock_cb, &many->held[i]), 0);
    }
    LIVE_UNTIL(live, all_done(many->held) && live_is_quiet(live->client, 5));
    for (size_t i = 0; i < MANY; i++) {
        LIVE_STATUS(many->held[i].status, 0);
    }
}

static void extend_many(struct live *live, struct many *many) {
    memset(many->extended, 0, sizeof many->extended);
    for (size_t i = 0; i < MANY; i++) {
        LIVE_STATUS(redlock_extend(many->lock[i], 2 * TTL_MS, live_lock_cb, &many->extended[i]), 0);
    }
    LIVE_UNTIL(live, all_done(many->extended) && live_is_quiet(live->client, 5));
}

/* How many scripts a node has run, whole or by their hash. */
static long long scripts_run(const struct live *live, size_t i) {
    redisReply *reply = live_ask(live, i, "INFO commandstats");
    long long runs = 0;
    for (const char *at = reply->str; (at = strstr(at, "cmdstat_eval")) != NULL; at++) {
        runs += strtoll(strstr(at, "calls=") + strlen("calls="), NULL, 10);
    }
    freeReplyObject(reply);
    return runs;
}

/* 100 extensions take two commands for each node, and each lock gets its own answer. */
LIVE_TEST_FIVE(extends_many_in_one_command) {
    struct many many = {{0}, {{0}}, {{0}}};
    hold_many(live, &many);
    for (unsigned round = 0; round < 3; round++) { /* whole, by its hash, and when forgotten */
        if (round == 2) {
            live_tell_all(live, "SCRIPT FLUSH");
        }
        const long long before = scripts_run(live, 0);
        extend_many(live, &many);
        assert_in_range(scripts_run(live, 0) - before, 2, round < 2 ? 2 : 2 + 2 * MANY);
        for (size_t i = 0; i < MANY; i++) {
            char name[16];
            LIVE_STATUS(many.extended[i].status, 0);
            snprintf(name, sizeof name, "many:%zu", i);
            assert_in_range(live_pttl(live, 3, name), TTL_MS, 2 * TTL_MS);
            assert_int_equal(live_votes(many.lock[i], 5, REDLOCK_VOTE_GRANTED), 5);
        }
        assert_int_equal(live_integer(live, 0, "PTTL libredlock:fence:many:3") > TTL_MS, 1);
    }
}

/* The key of one lock is gone, that of another is a list, the counter of a third is behind. */
LIVE_TEST_FIVE(answers_each_of_many) {
    struct many many = {{0}, {{0}}, {{0}}};
    hold_many(live, &many);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "DEL many:7");
        live_tell(live, i, "DEL many:8");
        live_tell(live, i, "LPUSH many:8 x");
        live_tell(live, i, "SET libredlock:fence:many:9 0");
    }
    const uint64_t fence = redlock_lock_fence(many.lock[9]);
    extend_many(live, &many);
    for (size_t i = 0; i < MANY; i++) {
        LIVE_STATUS(many.extended[i].status, i == 7   ? REDLOCK_ERR_LOST
                                             : i == 8 ? REDLOCK_ERR_UNKNOWN
                                                      : 0);
    }
    assert_int_equal(live_outcome(many.lock[8], 0).reason, REDLOCK_ERR_NODE_WRONGTYPE);
    assert_int_equal(live_integer(live, 0, "INCRBY libredlock:fence:many:9 0"), fence);
}

/* The user may no longer write most of the keys; the other locks are still extended. */
LIVE_TEST_FIVE(refuses_each_of_many) {
    struct many many = {{0}, {{0}}, {{0}}};
    hold_many(live, &many);
    live_tell_all(live, "ACL SETUSER default resetkeys ~many:1* ~libredlock:*");
    extend_many(live, &many);
    for (size_t i = 0; i < MANY; i++) {
        LIVE_STATUS(many.extended[i].status,
                    i == 1 || (i >= 10 && i < 20) ? 0 : REDLOCK_ERR_UNKNOWN);
    }
    live_tell_all(live, "ACL SETUSER default allkeys");
}
