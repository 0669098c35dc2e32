/* Addresses of nodes: a socket file, IPv6, a name; and an unknown name. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live/live.h"
#include "messages.h"

#define TTL_MS 30000

static void cycle(struct live *live, redlock_client *client) {
    redlock_lock *lock = live_lock(client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_votes(lock, live->n, REDLOCK_VOTE_PENDING) == 0);
    assert_true(live_count_keys(live, "key", redlock_lock_token(lock)) > live->n / 2);
    LIVE_STATUS(live_extend(live, lock, TTL_MS), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_votes(lock, live->n, REDLOCK_VOTE_PENDING) == 0);
    assert_true(live_no_keys(live));
}

/* One cycle before a restart of the node and one after it. */
static void cycle_twice(struct live *live) {
    cycle(live, live->client);
    live_kill(live, 0);
    LIVE_UNTIL(live, live_up(live->client) == 0);
    live_restart(live, 0);
    LIVE_UNTIL(live, live_up(live->client) == 1);
    cycle(live, live->client);
}

/* Opens live->client on one URL. */
static void open_url(struct live *live, const char *url, int status) {
    redlock_client_options options = live_options(live);
    options.nodes = &url;
    options.n_nodes = 1;
    LIVE_STATUS(live_open(live, &options, &live->client), status);
}

/* A path in the node's folder, where its log is. */
static void socket_path(const struct live *live, size_t i, char *path, size_t size) {
    const char *log = rl_local_nodes_log(live->node[i].set, live->node[i].index);
    snprintf(path, size, "%.*s/red is.sock", (int)(strrchr(log, '/') - log), log);
}

LIVE_TEST(socket_file) {
    static const char *const args[] = {"--unixsocket", "red is.sock", NULL};
    char path[256], url[300];
    live_start(live, 1, args);
    socket_path(live, 0, path, sizeof(path));
    snprintf(url, sizeof(url), "unix://%.*s%%20is.sock?db=0", (int)(strlen(path) - 8), path);
    open_url(live, url, 0);
    assert_string_equal(live_node(live->client, 0).node, path);
    cycle_twice(live);
}

LIVE_TEST(no_socket_file) {
    live_start(live, 1, NULL);
    open_url(live, "unix:///nonexistent/redis.sock", REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(live_node(live->client, 0).reason, REDLOCK_ERR_NODE_CONNECT);
    assert_contains(CLIENT_MESSAGE(live->client), "/nonexistent/redis.sock: ");
    assert_contains(CLIENT_MESSAGE(live->client), strerror(ENOENT));
}

LIVE_TEST(by_name) {
    char url[64];
    live_start(live, 1, NULL);
    snprintf(url, sizeof(url), "redis://localhost:%d", live_port(live, 0));
    open_url(live, url, 0);
    assert_string_equal(live_node(live->client, 0).node, url + 8);
    cycle_twice(live);
}

/* The submitting call does not wait for the look-up; closing in the middle of it is allowed. */
LIVE_TEST(closed_while_resolving) {
    const char *urls[] = {"redis://localhost:1", "redis://localhost:2", "redis://localhost:3"};
    struct live_done opened = {0};
    struct live_done closed = {0};
    redlock_client *client;
    redlock_client_options options = live_options(live);
    options.nodes = urls;
    options.n_nodes = 3;
    LIVE_STATUS(redlock_client_open(&client, &live->loop, &options, live_client_cb, &opened), 0);
    LIVE_STATUS(redlock_client_close(client, live_client_cb, &closed), 0);
    assert_int_equal(opened.count + closed.count, 0);
    LIVE_UNTIL(live, closed.count == 1);
    assert_int_equal(opened.count, 1);
    LIVE_STATUS(opened.status, REDLOCK_ERR_CANCELED);
    LIVE_STATUS(closed.status, 0);
}

LIVE_TEST(unknown_name) {
    live_start(live, 1, NULL);
    open_url(live, "redis://no-such-host.invalid:6379", REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(live_node(live->client, 0).reason, REDLOCK_ERR_NODE_RESOLVE);
    assert_string_not_equal(live_node(live->client, 0).detail, "");
    assert_contains(CLIENT_MESSAGE(live->client), "no-such-host.invalid:6379: ");
}

/* One name of three is unknown; the other nodes do not wait for it. */
LIVE_TEST(unknown_name_among_others) {
    live_start(live, 2, NULL);
    const char *urls[] = {live->urls[0], "redis://no-such-host.invalid", live->urls[1]};
    redlock_client_options options = live_options(live);
    options.nodes = urls;
    options.n_nodes = 3;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    cycle(live, live->client);
    LIVE_STATUS(live_outcome(live_lock(live->client, "x"), 1).reason, 0); /* no round yet */
    LIVE_UNTIL(live, live_node(live->client, 1).reason == REDLOCK_ERR_NODE_RESOLVE);
}

LIVE_TEST(over_ipv6) {
    static const char *const args[] = {"--bind", "127.0.0.1", "::1", NULL};
    char url[64];
    live_start(live, 1, args);
    snprintf(url, sizeof(url), "redis://[::1]:%d", live_port(live, 0));
    open_url(live, url, 0);
    assert_string_equal(live_node(live->client, 0).node, url + 8);
    cycle(live, live->client);
}

/* Whatever addresses the name has, the node listens on one of them. */

static bool has_ipv6(void) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return has;
}

int main(void) {
    return test_run(!has_ipv6()); /* over_ipv6 is the last one */
}
