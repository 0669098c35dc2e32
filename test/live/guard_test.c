/* Nodes that lose their data: how a client recognizes them, and what its messages say.
 * (unit/core_guard and the simulator's preset forgetful test how long a quarantine lasts.) */

#include "redis/guard.h"
#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000
#define QUARANTINE_MS 30302 /* of a max_ttl_ms of 30000: 1 % and 2 ms of drift */
#define SHORT_MS 2000

/* n nodes and a client that has seen all of them. */
static void start(struct live *live, size_t n, int64_t max_ttl_ms) {
    static const char *const args[] = {"--enable-debug-command", "yes", NULL};
    live_start(live, n, args);
    redlock_client_options options = live_options(live);
    options.max_ttl_ms = max_ttl_ms;
    live_open_all(live, &options);
}

static uint64_t voting(const redlock_client *client) {
    return live_stats(client).nodes_voting;
}

/* Cuts all clients' connections to a node, and changes nothing else. */
static void cut(struct live *live, size_t i) {
    uint64_t connects = live_node(live->client, i).connects;
    uint64_t failures = live_node(live->client, i).failures;
    live_tell(live, i, "CLIENT KILL TYPE normal");
    LIVE_UNTIL(live, live_node(live->client, i).connects > connects ||
                         live_node(live->client, i).failures > failures + 1);
}

static void restart(struct live *live, size_t i) {
    uint64_t connects = live_node(live->client, i).connects;
    live_kill(live, i);
    live_restart(live, i);
    LIVE_UNTIL(live, live_node(live->client, i).connects > connects);
}

static void check_waits(struct live *live, size_t i, int reason) {
    redlock_node_info info = live_node(live->client, i);
    assert_int_equal(info.up, 1);
    assert_int_equal(info.voting, 0);
    LIVE_STATUS(info.reason, reason);
    assert_true(info.votes_in_ms > 0 && info.votes_in_ms <= QUARANTINE_MS);
    assert_int_equal(live_up(live->client), live->n);
    assert_int_equal(voting(live->client), live->n - 1);
}

/* -- A second holder, and what prevents it -- */

/* A holds on a bare quorum, one node of which loses the key; B then acquires. */
static int ask_the_amnesiac(struct live *live, bool by_restart, redlock_lock **a,
                            redlock_lock **b) {
    redlock_acquire_options once = live_once(TTL_MS);
    live->guard = REDLOCK_GUARD_OBSERVED;
    start(live, 3, TTL_MS);
    redlock_client *second = live_another(live);
    *a = live_lock(live->client, "key");
    *b = live_lock(second, "key");
    LIVE_STATUS(live_acquire(live, *a, &once), 0);
    LIVE_UNTIL(live, live_votes(*a, 3, REDLOCK_VOTE_GRANTED) == 3);
    live_tell(live, 2, "DEL key"); /* as if the SET had not arrived */
    if (by_restart) {
        restart(live, 1); /* empty */
        LIVE_UNTIL(live, live_up(second) == 3);
    } else {
        live_tell(live, 1, "FLUSHALL");
    }
    int status = live_acquire(live, *b, &once);
    assert_int_equal(redlock_lock_is_valid(*a), 1);
    return status;
}

LIVE_TEST(one_holds_with_a_guard) {
    redlock_lock *a, *b;
    LIVE_STATUS(ask_the_amnesiac(live, true, &a, &b), REDLOCK_ERR_HELD);
    redlock_node_outcome outcome = live_outcome(b, 1);
    assert_int_equal(outcome.vote, REDLOCK_VOTE_FAILED);
    LIVE_STATUS(outcome.reason, REDLOCK_ERR_NODE_RESTARTED);
    assert_true(outcome.votes_in_ms > 0 && outcome.votes_in_ms <= QUARANTINE_MS);
    LIVE_UNTIL(live, live_outcome(b, 2).vote == REDLOCK_VOTE_GRANTED); /* it was decided before */
    assert_int_equal(live_outcome(b, 2).votes_in_ms, 0);
    live_close(live, redlock_lock_client(b));
}

/* B asks at once: with RESP3 a node says that it was flushed before it answers what comes later. */
LIVE_TEST(one_holds_when_a_node_is_flushed) {
    redlock_lock *a, *b;
    int status = ask_the_amnesiac(live, false, &a, &b);
    if (RL_HAS_RESP3) {
        LIVE_STATUS(status, REDLOCK_ERR_HELD);
        assert_int_equal(live_outcome(b, 1).vote, REDLOCK_VOTE_FAILED);
    } else {
        LIVE_STATUS(status, 0); /* both hold, as docs/guarantees.md warns */
        cut(live, 1);
    }
    LIVE_UNTIL(live, live_up(live->client) == 3);
    check_waits(live, 1, REDLOCK_ERR_NODE_FLUSHED);
    assert_contains(CLIENT_MESSAGE(live->client), " was flushed ");
    live_close(live, redlock_lock_client(b));
}

/* -- When a quarantine begins and ends -- */

static void distrusts_after(struct live *live, bool swaps, int reason) {
    live->guard = REDLOCK_GUARD_OBSERVED;
    start(live, 3, TTL_MS);
    live_tell(live, 0, swaps ? "SWAPDB 0 1" : "DEBUG CHANGE-REPL-ID");
    cut(live, 0);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    check_waits(live, 0, reason);
}

LIVE_TEST(distrusts_another_replication_id) {
    distrusts_after(live, false, REDLOCK_ERR_NODE_REPLICATION_CHANGED);
}

/* Servers do not push a SWAPDB, but they count it. */
LIVE_TEST(distrusts_another_database) {
    distrusts_after(live, true, REDLOCK_ERR_NODE_FLUSHED);
}

/* A connected node becomes a replica, which its answer to a SET reveals. When it is a primary again
 * it has another node's data. */
LIVE_TEST(distrusts_who_was_a_replica_meanwhile) {
    redlock_acquire_options once = live_once(TTL_MS);
    live->guard = REDLOCK_GUARD_OBSERVED;
    start(live, 3, TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    live_tell(live, 0, "REPLICAOF 127.0.0.1 %d", live_port(live, 1));
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    LIVE_STATUS(live_node(live->client, 0).reason, REDLOCK_ERR_NODE_READONLY);
    live_tell(live, 0, "REPLICAOF NO ONE");
    LIVE_UNTIL(live, live_up(live->client) == 3);
    check_waits(live, 0, REDLOCK_ERR_NODE_REPLICATION_CHANGED);
    assert_int_equal(redlock_lock_is_valid(lock), 1);
}

/* -- Messages -- */

static void check_sentence(const char *message, const char *before, const char *node) {
    char wanted[REDLOCK_MESSAGE_MAX];
    double ago_s = -1, in_s = -1;
    const char *ago = strstr(message, " restarted "), *in = strstr(message, "votes again in ");
    assert_non_null(ago);
    assert_non_null(in);
    sscanf(ago, " restarted %lf", &ago_s);
    sscanf(in, "votes again in %lf", &in_s);
    snprintf(wanted, sizeof(wanted), "%s: %s restarted %.1f s ago, votes again in %.1f s", before,
             node, ago_s, in_s);
    assert_string_equal(message, wanted);
    assert_true(ago_s >= 0 && in_s > 0);
    assert_true(ago_s + in_s > QUARANTINE_MS / 1e3 - 0.15);
    assert_true(ago_s + in_s < QUARANTINE_MS / 1e3 + 0.15);
}

LIVE_TEST(says_who_restarted) {
    redlock_acquire_options once = live_once(TTL_MS);
    live->guard = REDLOCK_GUARD_OBSERVED;
    start(live, 3, TTL_MS);
    const char *node = live_node(live->client, 1).node;
    restart(live, 1);
    check_sentence(CLIENT_MESSAGE(live->client), "3 of 3 nodes up; 1 of 3 nodes in quarantine",
                   node);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    check_sentence(LOCK_MESSAGE(lock),
                   "success: 2 of 3 granted, 2 needed; 1 of 3 nodes in quarantine", node);
}

/* The message about an attempt may be read after the quarantine. */
LIVE_TEST(says_who_was_in_quarantine) {
    redlock_acquire_options once = live_once(SHORT_MS);
    int status = 0;
    live->guard = REDLOCK_GUARD_OBSERVED;
    start(live, 3, SHORT_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    while (status == 0) { /* on a slow machine the quarantine may be over */
        restart(live, 1);
        restart(live, 2);
        status = live_acquire(live, lock, &once);
        if (status == 0) {
            LIVE_STATUS(live_release(live, lock), 0);
        }
    }
    LIVE_STATUS(status, REDLOCK_ERR_NO_QUORUM);
    LIVE_UNTIL(live, voting(live->client) == 3);
    assert_contains(LOCK_MESSAGE(lock), ": in quarantine then, votes now");
    assert_null(strstr(LOCK_MESSAGE(lock), "nodes in quarantine: "));
}
