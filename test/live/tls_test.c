/* Locks over TLS on real servers: certificates of every kind, mixed nodes, sessions, rotation. */

#include "child.h"
#include "live/live.h"
#include "live/secure.h"
#include "marks.h"
#include "messages.h"
#include "redlock/blocking.h"

#define TTL_MS 30000

/* Five nodes with TLS, and no client. */
static int setup_secure(void **state) {
    if (live_setup(state) != 0) {
        return -1;
    }
    live_start(*state, 5, NULL);
    secure_all(*state);
    return 0;
}

#define SECURE_TEST(function) LIVE_TEST_WITH(function, setup_secure)

/* Waits until node i is down for this reason, and the others are up. */
static void await_refusal(struct live *live, size_t i, int reason, const char *words) {
    LIVE_UNTIL(live,
               live_node(live->client, i).reason == reason && live_up(live->client) == live->n - 1);
    assert_contains(live_node(live->client, i).detail, words);
    assert_contains(CLIENT_MESSAGE(live->client), words);
}

/* -- Happy paths -- */

/* Waiting, too: messages arrive over TLS, on a separate connection. */
SECURE_TEST(locks_and_waits) {
    struct live_done done = {0};
    live_open_all(live, NULL);
    redlock_client *other = live_another(live);
    for (int i = 0; i < 20; i++) {
        live_cycle(live, live->client);
    }
    redlock_lock *held = live_lock(live->client, "key");
    redlock_lock *waits = live_lock(other, "key");
    live_hold(live, held, NULL);
    redlock_acquire_options patient = REDLOCK_ACQUIRE_OPTIONS_INIT;
    patient.delay_ms = LIVE_PATIENCE_MS; /* a retry would come too late: only a message helps */
    LIVE_STATUS(redlock_acquire(waits, &patient, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, live_stats(other).joins > 0);
    LIVE_STATUS(live_release(live, held), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(live_release(live, waits), 0);
    live_close(live, other);
}

LIVE_TEST(some_have_it_and_some_do_not) {
    live_start(live, 5, NULL);
    secure_node(live, 1, "good");
    secure_node(live, 3, "good");
    live_open_all(live, NULL);
    live_cycle(live, live->client);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
}

/* The system's authorities, as OpenSSL finds them. */
SECURE_TEST(the_systems_authorities) {
    redlock_client_options options = live_options(live);
    options.tls_ca = NULL;
    assert_int_equal(setenv("SSL_CERT_FILE", live->ca, 1), 0);
    live_open_all(live, &options);
    live_cycle(live, live->client);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

SECURE_TEST(for_threads) {
    redlock_blocking *blocking = NULL;
    redlock_mutex *mutex = NULL;
    redlock_client_options options = live_options(live);
    LIVE_STATUS(redlock_blocking_open(&blocking, &options), 0);
    LIVE_STATUS(redlock_mutex_new(blocking, "key", 3, NULL, &mutex), 0);
    for (int i = 0; i < 20; i++) {
        LIVE_STATUS(redlock_mutex_lock(mutex, LIVE_PATIENCE_MS), 0);
        LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    }
    redlock_mutex_free(mutex);
    LIVE_STATUS(redlock_blocking_close(blocking), 0);
}

/* -- Names -- */

SECURE_TEST(another_name) {
    char with_name[128];
    secure_rotate(live, 2, "elsewhere");
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    await_refusal(live, 2, REDLOCK_ERR_NODE_CERTIFICATE,
                  "name mismatch: the certificate is for redis.example, not for 127.0.0.1");
    live_cycle(live, live->client);
    live_close(live, live->client);
    live->client = NULL;
    snprintf(with_name, sizeof with_name, "%s?tls_server_name=redis.example", live->urls[2]);
    live->urls[2] = with_name;
    live_open_all(live, NULL);
    live_cycle(live, live->client);
}

SECURE_TEST(one_name_for_all) {
    for (size_t i = 0; i < live->n; i++) {
        secure_rotate(live, i, "elsewhere");
    }
    redlock_client_options options = live_options(live);
    options.tls_server_name = "redis.example";
    live_open_all(live, &options);
    live_cycle(live, live->client);
}

/* -- Certificates that are refused -- */

SECURE_TEST(bad_certificates) {
    static const struct {
        const char *cert, *words;
    } rows[] = {
        {"expired", "certificate expired on 2021-02-03 04:05:06 UTC"},
        {"early", "certificate is not valid before 2090-01-02 03:04:05 UTC"},
        {"stranger", "unknown authority"},
        {"self", "self-signed certificate"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        secure_rotate(live, 4, rows[i].cert);
        redlock_client_options options = live_options(live);
        LIVE_STATUS(live_open(live, &options, &live->client), 0);
        await_refusal(live, 4, REDLOCK_ERR_NODE_CERTIFICATE, rows[i].words);
        live_cycle(live, live->client);
        for (size_t other = 0; other < 4; other++) { /* and it harms no other node */
            assert_int_equal(live_node(live->client, other).failures, 0);
        }
        live_close(live, live->client);
        live->client = NULL;
    }
}

/* Three of five: no quorum, and why. */
SECURE_TEST(no_quorum_of_certificates) {
    for (size_t i = 0; i < 3; i++) {
        secure_rotate(live, i, "expired");
    }
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &live->client), REDLOCK_ERR_NO_QUORUM);
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(live_outcome(lock, 0).reason, REDLOCK_ERR_NODE_CERTIFICATE);
    assert_contains(LOCK_MESSAGE(lock), "certificate");
}

SECURE_TEST(nothing_is_looked_at) {
    static const char *const certs[] = {"expired", "early", "stranger", "self", "elsewhere"};
    for (size_t i = 0; i < live->n; i++) {
        secure_rotate(live, i, certs[i]);
    }
    redlock_client_options options = live_options(live);
    options.tls_ca = NULL;
    options.tls_insecure_skip_verify = 1;
    live_open_all(live, &options);
    live_cycle(live, live->client);
}

/* -- The client's certificate -- */

SECURE_TEST(the_servers_want_one) {
    char cert[160], key[160];
    for (size_t i = 0; i < 2; i++) {
        secure_demand(live, i, true);
    }
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    LIVE_UNTIL(live, live_up(live->client) == 3 && live_node(live->client, 0).failures > 0 &&
                         live_node(live->client, 1).failures > 0);
    LIVE_STATUS(live_node(live->client, 0).reason, REDLOCK_ERR_NODE_TLS);
    assert_contains(live_node(live->client, 0).detail, "client certificate");
    live_cycle(live, live->client);
    live_close(live, live->client);
    live->client = NULL;
    snprintf(cert, sizeof cert, "%s", secure_path("client", "crt"));
    snprintf(key, sizeof key, "%s", secure_path("client", "key"));
    options.tls_cert = cert;
    options.tls_key = key;
    live_open_all(live, &options);
    live_cycle(live, live->client);
}

/* -- Nodes with settings of their own -- */

/* The node's URL gets a query. */
static void set_query(struct live *live, size_t i, const char *query, const char *path) {
    static char urls[LIVE_NODES_MAX][256];
    snprintf(urls[i], sizeof urls[i], "%s?%s%s", live->node[i].url, query, path);
    live->urls[i] = urls[i];
}

/* Nodes 0 and 4 have a bad certificate, which only node 0's settings accept; node 4 has none. It
 * gets no lock. */
SECURE_TEST(trust_is_of_one_node) {
    char other_ca[160];
    snprintf(other_ca, sizeof other_ca, "%s", secure_path("other/ca", "crt"));
    const struct {
        const char *cert, *query, *path, *words;
    } rows[] = {
        {"self", "tls_insecure_skip_verify=1", "", "self-signed certificate"},
        {"stranger", "tls_ca=", other_ca, "unknown authority"},
    };
    for (size_t i = 1; i < 4; i++) {
        set_query(live, i, "tls_ca=", live->ca);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        secure_rotate(live, 0, rows[i].cert);
        secure_rotate(live, 4, rows[i].cert);
        set_query(live, 0, rows[i].query, rows[i].path);
        redlock_client_options options = live_options(live);
        options.tls_ca = NULL;
        LIVE_STATUS(live_open(live, &options, &live->client), 0);
        await_refusal(live, 4, REDLOCK_ERR_NODE_CERTIFICATE, rows[i].words);
        redlock_lock *lock = live_lock(live->client, "key");
        LIVE_STATUS(live_acquire(live, lock, NULL), 0);
        LIVE_POLL(live, live_count_keys(live, "key", redlock_lock_token(lock)) == 4);
        assert_int_equal(live_keys(live, 4), 0);
        LIVE_STATUS(live_release(live, lock), 0);
        live_close(live, live->client);
        live->client = NULL;
    }
}

/* Two servers ask for certificates by different authorities. */
SECURE_TEST(certificates_are_of_one_node) {
    char paths[160];
    secure_demand(live, 0, true);
    secure_demand(live, 4, true);
    live_tell(live, 4, "CONFIG SET tls-ca-cert-file %s", secure_path("other/ca", "crt"));
    snprintf(paths, sizeof paths, "%s&tls_key=%s", secure_path("client", "crt"),
             secure_path("client", "key"));
    set_query(live, 0, "tls_cert=", paths);
    snprintf(paths, sizeof paths, "%s&tls_key=%s", secure_path("stranger", "crt"),
             secure_path("stranger", "key"));
    set_query(live, 4, "tls_cert=", paths);
    live_open_all(live, NULL);
    live_cycle(live, live->client);
}

/* -- Nodes that the configuration names -- */

/* All nodes know that they are one set. */
static void configure(const struct live *live) {
    char nodes[512] = "", text[1024];
    for (size_t i = 0; i < live->n; i++) {
        const size_t used = strlen(nodes);
        snprintf(nodes + used, sizeof nodes - used, " %s", live->node[i].url);
    }
    for (size_t i = 0; i < live->n; i++) {
        snprintf(text, sizeof text,
                 "libredlock-config 1\nid 6f1c02d7a9b34e55\nepoch 1\nchange 00000001\n"
                 "max_ttl 30000\nnodes%s\nself %s\n",
                 nodes, live->node[i].url);
        live_configure(live, i, text);
    }
}

SECURE_TEST(one_name_for_all_that_are_found) {
    redlock_client_options options = live_options(live);
    configure(live);
    for (size_t i = 0; i < live->n; i++) {
        secure_rotate(live, i, "elsewhere");
    }
    options.tls_server_name = "redis.example";
    options.n_nodes = 1;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    LIVE_UNTIL(live, live_up(live->client) == 5);
}

/* Those of the first node, whatever others have. */
SECURE_TEST(the_settings_of_what_is_found) {
    redlock_client_options options = live_options(live);
    configure(live);
    secure_rotate(live, 4, "stranger");
    set_query(live, 1, "tls_insecure_skip_verify=1", "");
    options.n_nodes = 2;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    await_refusal(live, 4, REDLOCK_ERR_NODE_CERTIFICATE, "unknown authority");
}

/* -- Connections that end -- */

/* A resumed handshake sends no certificates, on the first connection and on the one that
 * listens. */
SECURE_TEST(sessions_are_resumed) {
    struct live_done done = {0};
    live_open_all(live, NULL);
    for (int round = 0; round < 3; round++) {
        MARK_FROM(TLS_RESUMED);
        live_tell_all(live, "CLIENT KILL TYPE normal SKIPME yes");
        LIVE_UNTIL(live, live_up(live->client) < 5);
        LIVE_UNTIL(live, live_up(live->client) == 5);
        MARK_TO(TLS_RESUMED);
    }
    MARK_FROM(TLS_RESUMED);
    redlock_client *other = live_another(live);
    redlock_lock *held = live_lock(other, "key");
    redlock_lock *waits = live_lock(live->client, "key");
    live_hold(live, held, NULL);
    LIVE_STATUS(redlock_acquire(waits, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, MARK_HIT(TLS_RESUMED) && live_stats(live->client).joins > 0);
    LIVE_STATUS(live_release(live, held), 0);
    LIVE_UNTIL(live, done.count == 1);
    live_close(live, other);
}

/* A held lock is not affected; a new connection verifies the new certificate. */
SECURE_TEST(certificates_are_rotated) {
    live_open_all(live, NULL);
    redlock_lock *lock = live_lock(live->client, "held");
    live_hold(live, lock, NULL);
    secure_rotate(live, 0, "stranger");
    live_cycle(live, live->client);
    live_tell(live, 0, "CLIENT KILL TYPE normal SKIPME yes");
    await_refusal(live, 0, REDLOCK_ERR_NODE_CERTIFICATE, "unknown authority");
    live_cycle(live, live->client);
    secure_rotate(live, 0, "again");
    LIVE_UNTIL(live, live_up(live->client) == 5);
    assert_int_equal(redlock_lock_is_valid(lock), 1);
    LIVE_STATUS(live_release(live, lock), 0);
    for (size_t i = 1; i < 5; i++) {
        assert_int_equal(live_node(live->client, i).failures, 0);
    }
}

/* -- Nodes that do not answer in TLS -- */

#define CONNECT_MS 1000 /* longer than a node that runs takes on a busy machine */

/* (What is cut, or comes byte by byte: tls/stream.) */
SECURE_TEST(one_hangs) {
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = CONNECT_MS;
    live_pause(live, 2);
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    await_refusal(live, 2, REDLOCK_ERR_NODE_TIMEOUT, "no TLS handshake in time; is it a TLS port?");
    live_cycle(live, live->client);
    live_resume(live, 2);
    LIVE_UNTIL(live, live_up(live->client) == 5);
}

/* TLS to the plain port, and the reverse. */
SECURE_TEST(the_wrong_port) {
    char plain[64], secure[64];
    snprintf(plain, sizeof plain, "redis://127.0.0.1:%d", live->node[0].tls_port);
    snprintf(secure, sizeof secure, "rediss://127.0.0.1:%d", live_port(live, 1));
    live->urls[0] = plain;
    live->urls[1] = secure;
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = CONNECT_MS;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    LIVE_UNTIL(live, live_up(live->client) == 3 && live_node(live->client, 0).failures > 0 &&
                         live_node(live->client, 1).failures > 0);
    live_cycle(live, live->client);
    int reason = live_node(live->client, 1).reason; /* an answer, if it contains a line end */
    assert_true(reason == REDLOCK_ERR_NODE_TIMEOUT || reason == REDLOCK_ERR_NODE_TLS);
    assert_contains(CLIENT_MESSAGE(live->client), "TLS");
}

/* -- fork() -- */

/* The child closes its copies silently: it sends no close_notify in the parent's name. */
SECURE_TEST(a_child_says_nothing) {
    live_open_all(live, NULL);
    redlock_lock *lock = live_lock(live->client, "held");
    live_hold(live, lock, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        CHILD_CHECK(redlock_release(lock, NULL, NULL) == REDLOCK_ERR_FORKED);
        CHILD_CHECK(redlock_client_close(live->client, NULL, NULL) == REDLOCK_ERR_FORKED);
        _exit(0);
    }
    child_expect_good(pid);
    LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
    live_cycle(live, live->client);
    LIVE_STATUS(live_release(live, lock), 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_node(live->client, i).failures, 0);
    }
}

int main(void) {
    if (!secure_is_possible()) {
        puts("1..0 # SKIP the server has no TLS, or there is no openssl");
        return 0;
    }
    return test_run(0);
}
