/* Nodes that a client with a guard does not use: replicas, nodes that may evict, a second address
 * of one server, and, for a while, recently started ones. Each is used again once it is fixed.
 * (fake/guard_info has nodes that forbid INFO, or answer it in other ways.) */

#include "live/live.h"
#include "messages.h"

static void start(struct live *live, enum redlock_guard guard) {
    live->guard = guard;
    live_start(live, 3, NULL);
    live_open_all(live, NULL);
    assert_int_equal(live_stats(live->client).nodes_voting, 3);
}

/* Cuts the connections to a node and waits until it is down for this reason. */
static void cut_and_await(struct live *live, size_t i, int reason) {
    live_tell(live, i, "CLIENT KILL TYPE normal");
    LIVE_UNTIL(live, live_node(live->client, i).reason == reason);
    assert_int_equal(live_node(live->client, i).up, 0);
    assert_int_equal(live_stats(live->client).nodes_up, 2);
    assert_int_equal(live_stats(live->client).nodes_voting, 2);
}

static void await_quarantine(struct live *live, size_t i, int reason) {
    LIVE_UNTIL(live, live_node(live->client, i).up);
    redlock_node_info info = live_node(live->client, i);
    LIVE_STATUS(info.reason, reason);
    assert_int_equal(info.voting, 0);
    assert_true(info.votes_in_ms > 0);
}

static void check_detail(struct live *live, size_t i, const char *wanted) {
    assert_string_equal(live_node(live->client, i).detail, wanted);
    const char *message = CLIENT_MESSAGE(live->client);
    assert_contains(message, wanted);
}

LIVE_TEST(a_replica_is_not_used) {
    start(live, REDLOCK_GUARD_OBSERVED);
    live_tell(live, 0, "REPLICAOF 127.0.0.1 %d", live_port(live, 1));
    cut_and_await(live, 0, REDLOCK_ERR_NODE_READONLY);
    check_detail(live, 0, "a replica cannot vote; give the URL of a primary");
    live_tell(live, 0, "REPLICAOF NO ONE");
    await_quarantine(live, 0, REDLOCK_ERR_NODE_REPLICATION_CHANGED);
}

LIVE_TEST(a_node_that_evicts_is_not_used) {
    start(live, REDLOCK_GUARD_OBSERVED);
    live_tell(live, 0, "CONFIG SET maxmemory 1gb maxmemory-policy volatile-ttl");
    cut_and_await(live, 0, REDLOCK_ERR_NODE_EVICTS);
    check_detail(live, 0, "set maxmemory-policy to noeviction, or maxmemory to 0");
    live_tell(live, 0, "CONFIG SET maxmemory-policy noeviction");
    await_quarantine(live, 0, REDLOCK_ERR_NODE_WAS_EVICTING);
}

/* A policy without a limit evicts nothing, and neither does a limit with noeviction. */
LIVE_TEST(a_limit_or_a_policy_alone_is_fine) {
    start(live, REDLOCK_GUARD_OBSERVED);
    live_tell(live, 0, "CONFIG SET maxmemory 1gb");
    live_tell(live, 1, "CONFIG SET maxmemory-policy allkeys-lru");
    for (size_t i = 0; i < 2; i++) {
        uint64_t connects = live_node(live->client, i).connects;
        live_tell(live, i, "CLIENT KILL TYPE normal");
        LIVE_UNTIL(live, live_node(live->client, i).connects > connects);
    }
    assert_int_equal(live_stats(live->client).nodes_voting, 3);
}

/* -- One server under two names -- */

/* One server is no majority, though each of its databases grants. */
LIVE_TEST(one_server_is_no_quorum) {
    char second[64];
    live->guard = REDLOCK_GUARD_OBSERVED;
    live_start(live, 1, NULL);
    snprintf(second, sizeof(second), "redis://localhost:%d/1", live_port(live, 0));
    const char *urls[] = {live->urls[0], second};
    redlock_client_options options = live_options(live);
    options.nodes = urls;
    options.n_nodes = 2;
    LIVE_STATUS(live_open(live, &options, &live->client), REDLOCK_ERR_DUPLICATE);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    redlock_acquire_options once = live_once(1000);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(live_votes(lock, 2, REDLOCK_VOTE_GRANTED), 1);
    assert_int_equal(live_votes(lock, 2, REDLOCK_VOTE_REFUSED), 0);
}

/* -- Nodes that are new -- */

LIVE_TEST(strict_waits_for_new_nodes) {
    redlock_client_options options = live_options(live);
    live->guard = REDLOCK_GUARD_STRICT;
    live_start(live, 3, NULL);
    options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &live->client), REDLOCK_ERR_NO_QUORUM);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    assert_int_equal(live_stats(live->client).nodes_voting, 0);
    const char *message = CLIENT_MESSAGE(live->client);
    static const char begin[] = "3 of 3 nodes up; 3 of 3 nodes in quarantine: 127.0.0.1:";
    assert_int_equal(strncmp(message, begin, strlen(begin)), 0);
    assert_contains(message, " started ");
    assert_contains(message, " s ago, votes in ");
    redlock_acquire_options once = live_once(1000);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    message = LOCK_MESSAGE(lock);
    static const char lock_begin[] =
        "no quorum of nodes: 0 of 3 granted, 2 needed; 3 of 3 nodes in quarantine: 127.0.0.1:";
    assert_int_equal(strncmp(message, lock_begin, strlen(lock_begin)), 0);
    assert_true(live_no_keys(live));
}

/* With a short max_ttl the quarantine ends soon, and an acquire that waits gets its lock. */
LIVE_TEST(strict_does_not_wait_for_ever) {
    live->guard = REDLOCK_GUARD_STRICT;
    live_start(live, 3, NULL);
    redlock_client_options options = live_options(live);
    options.max_ttl_ms = 3000;
    redlock_acquire_options patient = REDLOCK_ACQUIRE_OPTIONS_INIT;
    patient.ttl_ms = 3000;
    patient.wait_ms = REDLOCK_NO_LIMIT;
    live_open(live, &options, &live->client);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, &patient), 0);
}
