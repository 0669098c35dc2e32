/* One thread rotates a password while others hold and take mutexes: first in the client, then on
 * the nodes. No mutex is lost, and no call fails. */

#include "blocking/crew.h"

#define N 3
#define CROWD 4

static redlock_stats stats_of(redlock_blocking *blocking) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    LIVE_STATUS(redlock_blocking_stats(blocking, &stats), 0);
    return stats;
}

/* A thread's work: locks and unlocks until the test stops it; ->other counts failed calls. */
static void come_and_go(void *data) {
    struct member *member = data;
    while (atomic_load(&member->stage) == 0) {
        member->status = redlock_mutex_lock(member->mutex, LIVE_PATIENCE_MS);
        member->other += member->status != 0 || redlock_mutex_unlock(member->mutex) != 0;
    }
}

static redlock_blocking *open_as(struct live *live, const char *password) {
    char urls[N][80];
    const char *nodes[N];
    redlock_blocking *blocking = NULL;
    redlock_client_options options = live_options(live);
    for (size_t i = 0; i < N; i++) {
        snprintf(urls[i], sizeof urls[i], "redis://app:%s@127.0.0.1:%d", password,
                 live_port(live, i));
        nodes[i] = urls[i];
    }
    options.nodes = nodes;
    LIVE_STATUS(redlock_blocking_open(&blocking, &options), 0);
    return blocking;
}

static bool is_connected(struct live *live, size_t i) {
    redisReply *reply = live_ask(live, i, "CLIENT LIST");
    bool is = strstr(reply->str, " user=app ") != NULL;
    freeReplyObject(reply);
    return is;
}

LIVE_TEST(under_load) {
    struct member crowd[CROWD];
    char text[REDLOCK_MESSAGE_MAX];
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    live_start(live, N, NULL);
    live_tell_all(live, "ACL SETUSER app reset on >old ~* &* +@all");
    redlock_blocking *blocking = open_as(live, "old");
    options.ttl_ms = 30000;
    options.renew_ms = 50;
    redlock_mutex *held = crew_mutex(blocking, "held", &options);
    LIVE_STATUS(redlock_mutex_lock(held, LIVE_PATIENCE_MS), 0);
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = (struct member){.mutex = crew_mutex(blocking, "wanted", &options)};
        crew_start(&crowd[i], come_and_go);
    }
    LIVE_STATUS(redlock_blocking_set_credentials(blocking, REDLOCK_ALL_NODES, "app", "new"), 0);
    LIVE_POLL(live, strstr(redlock_blocking_message(blocking, text, sizeof text),
                           "new credentials refused") != NULL);
    assert_int_equal(stats_of(blocking).credentials_pending, N);
    live_tell_all(live, "ACL SETUSER app resetpass >new");
    for (size_t i = 0; i < N; i++) {
        LIVE_STATUS(redlock_blocking_set_credentials(blocking, i, "app", "new"), 0);
    }
    LIVE_POLL(live, stats_of(blocking).credentials_pending == 0);
    live_tell(live, 0, "CLIENT KILL USER app"); /* one node: a quorum still answers */
    LIVE_POLL(live, is_connected(live, 0));
    uint64_t renewed = stats_of(blocking).renewed;
    LIVE_POLL(live, stats_of(blocking).renewed > renewed + 2);
    for (size_t i = 0; i < CROWD; i++) {
        atomic_store(&crowd[i].stage, 1);
        crew_join(&crowd[i]);
        LIVE_STATUS(crowd[i].status, 0);
        assert_int_equal(crowd[i].other, 0);
        LIVE_STATUS(redlock_mutex_free(crowd[i].mutex), 0);
    }
    assert_int_equal(redlock_mutex_is_valid(held), 1);
    assert_int_equal(stats_of(blocking).lost, 0);
    LIVE_STATUS(redlock_mutex_unlock(held), 0);
    LIVE_STATUS(redlock_mutex_free(held), 0);
    crew_end(live, blocking);
}

/* A thread's work: sets one of two valid passwords, until the test stops it. */
static void set_again(void *data) {
    struct member *member = data;
    for (unsigned i = 0; atomic_load(&member->stage) == 0; i++) {
        const char *password = i % 2 == 0 ? "old" : "new";
        size_t node = i % 3 == 0 ? REDLOCK_ALL_NODES : i % N;
        int status = redlock_blocking_set_credentials(member->blocking, node, "app", password);
        member->other += status != 0;
        member->status++;
    }
}

/* Several threads set passwords while others lock: the last password is used. */
LIVE_TEST(from_many_threads) {
    struct member crowd[CROWD];
    live_start(live, N, NULL);
    live_tell_all(live, "ACL SETUSER app reset on >old >new ~* &* +@all");
    redlock_blocking *blocking = open_as(live, "old");
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] =
            (struct member){.mutex = crew_mutex(blocking, "wanted", NULL), .blocking = blocking};
        crew_start(&crowd[i], i % 2 == 0 ? come_and_go : set_again);
    }
    LIVE_POLL(live, stats_of(blocking).granted > 50);
    for (size_t i = 0; i < CROWD; i++) {
        atomic_store(&crowd[i].stage, 1);
        crew_join(&crowd[i]);
        assert_int_equal(crowd[i].other, 0);
        assert_true(i % 2 == 0 || crowd[i].status > 0);
        LIVE_STATUS(redlock_mutex_free(crowd[i].mutex), 0);
    }
    LIVE_STATUS(redlock_blocking_set_credentials(blocking, REDLOCK_ALL_NODES, "app", "new"), 0);
    LIVE_POLL(live, stats_of(blocking).credentials_pending == 0);
    live_tell_all(live, "ACL SETUSER app <old");
    live_tell(live, 0, "CLIENT KILL USER app");
    LIVE_POLL(live, is_connected(live, 0));
    assert_int_equal(stats_of(blocking).lost, 0);
    crew_end(live, blocking);
}

LIVE_TEST(what_is_refused) {
    live_start(live, N, NULL);
    live_tell_all(live, "ACL SETUSER app reset on >old ~* &* +@all");
    redlock_blocking *blocking = open_as(live, "old");
    LIVE_STATUS(redlock_blocking_set_credentials(blocking, N, "app", "new"), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_blocking_set_credentials(blocking, 0, "app", ""), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_blocking_set_credentials(blocking, 0, NULL, NULL), REDLOCK_ERR_INVALID);
    assert_int_equal(stats_of(blocking).credentials_pending, 0);
    crew_end(live, blocking);
}
