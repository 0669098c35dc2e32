/* Nodes that answer, and refuse: replicas, full memory, failed persistence, too many clients.
 * Each is a failed vote with its reason, never "held by another", and none of them costs a
 * quorum. */

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000

static bool info_has(const struct live *live, size_t i, const char *what) {
    redisReply *reply = live_ask(live, i, "INFO");
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    bool has = strstr(reply->str, what) != NULL;
    freeReplyObject(reply);
    return has;
}

/* If two nodes refuse, the others grant; with three there is no quorum. spoil() makes one node
 * refuse. */
static void refuse_with(struct live *live, void (*spoil)(struct live *, size_t), int reason) {
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    spoil(live, 0);
    spoil(live, 1);
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_outcome(lock, i).vote,
                         i < 2 ? REDLOCK_VOTE_FAILED : REDLOCK_VOTE_GRANTED);
        LIVE_STATUS(live_outcome(lock, i).reason, i < 2 ? reason : 0);
    }
    LIVE_STATUS(live_release(live, lock), 0);
    spoil(live, 2);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(live_outcome(lock, 2).reason, reason);
    assert_contains(LOCK_MESSAGE(lock), redlock_strerror(reason));
    assert_int_equal(live_up(live->client), 5); /* the nodes are up, and may grant next time */
    LIVE_POLL(live, live_keys(live, 3) == 0 && live_keys(live, 4) == 0);
}

static void good_again(struct live *live) {
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_votes(lock, 5, REDLOCK_VOTE_GRANTED) == 5);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
}

/* -- Replicas -- */

static void make_replica(struct live *live, size_t i) {
    live_tell(live, 4, "CONFIG SET repl-diskless-sync-delay 0");
    live_tell(live, i, "REPLICAOF 127.0.0.1 %d", live_port(live, 4));
    LIVE_POLL(live, info_has(live, i, "master_link_status:up"));
}

LIVE_TEST_FIVE(replicas) {
    refuse_with(live, make_replica, REDLOCK_ERR_NODE_READONLY);
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "REPLICAOF NO ONE");
    }
    good_again(live);
}

/* -- Memory -- */

static void fill_memory(struct live *live, size_t i) {
    live_tell(live, i, "CONFIG SET maxmemory 1");
}

LIVE_TEST_FIVE(full_memory) {
    refuse_with(live, fill_memory, REDLOCK_ERR_NODE_OOM);
    live_tell_all(live, "CONFIG SET maxmemory 0");
    good_again(live);
}

/* -- Persistence and replication -- */

static void want_replicas(struct live *live, size_t i) {
    live_tell(live, i, "CONFIG SET min-replicas-to-write 1");
}

LIVE_TEST_FIVE(too_few_replicas) {
    refuse_with(live, want_replicas, REDLOCK_ERR_NODE_MISCONF);
    live_tell_all(live, "CONFIG SET min-replicas-to-write 0");
    LIVE_UNTIL(live, live_is_quiet(live->client, 5)); /* refused releases are repeated */
    good_again(live);
}

/* A snapshot that cannot be written. */
static void fail_to_save(struct live *live, size_t i) {
    live_tell(live, i, "CONFIG SET dir /proc");
    live_tell(live, i, "CONFIG SET save %s", "3600 1");
    live_tell(live, i, "BGSAVE");
    LIVE_POLL(live, info_has(live, i, "rdb_last_bgsave_status:err"));
}

LIVE_TEST(failed_snapshot) {
    static const char *const args[] = {"--enable-protected-configs", "yes", NULL};
    live_start(live, 5, args);
    live_open_all(live, NULL);
    refuse_with(live, fail_to_save, REDLOCK_ERR_NODE_MISCONF);
    live_tell_all(live, "CONFIG SET stop-writes-on-bgsave-error no");
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    good_again(live);
}

/* -- Clients -- */

LIVE_TEST(too_many_clients) {
    live_start(live, 1, NULL);
    redisContext *other = redisConnect("127.0.0.1", live_port(live, 0));
    assert_non_null(other);
    freeReplyObject(redisCommand(other, "CONFIG SET maxclients 1"));
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &live->client), REDLOCK_ERR_NO_QUORUM);
    /* Before the TLS handshake a server cannot send its error. */
    bool has_tls = strncmp(live->urls[0], "rediss:", 7) == 0;
    LIVE_STATUS(live_node(live->client, 0).reason,
                has_tls ? REDLOCK_ERR_NODE_TLS : REDLOCK_ERR_NODE_BUSY);
    assert_non_null(
        strstr(CLIENT_MESSAGE(live->client), has_tls ? "maxclients" : "max number of clients"));
    freeReplyObject(redisCommand(other, "CONFIG SET maxclients 100"));
    LIVE_UNTIL(live, live_up(live->client) == 1);
    redisFree(other);
}
