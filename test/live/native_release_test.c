/* Native releases, on real nodes: used where the server has the command, and with the script's
 * verdict on a node that has become a replica. (Forbidden: fake/native, and the simulator.) With a
 * server that has none (before Valkey 9 and Redis 8.4) releases are scripts, and the tests see
 * that: test/servers.sh runs them on both others. */

#include "live/live.h"

#define TTL_MS 30000

static long long calls_of(const char *stats, const char *command) {
    char name[40];
    snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    const char *line = strstr(stats, name);
    return line != NULL ? strtoll(line + strlen(name), NULL, 10) : 0;
}

/* On all nodes: how often one of the two has run. */
static long long count_native(const struct live *live) {
    long long count = 0;
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "INFO commandstats");
        assert_int_equal(reply->type, REDIS_REPLY_STRING);
        count += calls_of(reply->str, "delifeq") + calls_of(reply->str, "delex");
        freeReplyObject(reply);
    }
    return count;
}

/* The command that node 0 has, or NULL. */
static const char *native_of(const struct live *live) {
    static const char *const commands[] = {"delifeq", "delex"};
    for (size_t i = 0; i < 2; i++) {
        redisReply *reply = live_ask(live, 0, "%s", commands[i]);
        bool is_known = strncmp(reply->str, "ERR wrong number", 16) == 0;
        freeReplyObject(reply);
        if (is_known) {
            return commands[i];
        }
    }
    print_message("# this server has no command for a release: test/servers.sh gets two that do\n");
    return NULL;
}

static void cycle(struct live *live, redlock_lock *lock) {
    live_hold(live, lock, NULL);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
}

static redlock_lock *open_five(struct live *live) {
    live->guard = REDLOCK_GUARD_OBSERVED;
    live_start(live, 5, NULL);
    live_open_all(live, NULL);
    return live_lock(live->client, "key");
}

static void assert_connected_once(const struct live *live) {
    for (size_t i = 0; i < live->n; i++) {
        assert_int_equal(live_node(live->client, i).connects, 1);
    }
}

LIVE_TEST(used_where_it_is) {
    redlock_lock *lock = open_five(live);
    const char *native = native_of(live);
    for (int i = 0; i < 4; i++) {
        cycle(live, lock);
    }
    assert_int_equal(count_native(live), native != NULL ? 4 * 4 : 0); /* not at home */
    assert_connected_once(live);
}

/* The keys are gone, so there is nothing to be written: the script answers 0 on a replica, and so
 * the release has been answered there, and no connection is given up for it. */
LIVE_TEST(same_verdict_on_a_replica) {
    redlock_lock *lock = open_five(live);
    cycle(live, lock);
    cycle(live, lock);
    live_hold(live, lock, NULL);
    live_tell_all(live, "DEL key");
    live_tell_all(live, "REPLICAOF 127.0.0.1 1");
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_stats(live->client).releases_retried, 0);
    assert_connected_once(live);
}
