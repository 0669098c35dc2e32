/* See fake_node.h. This file: the node's life, its listening socket, and what holds for all of its
 * connections. fake_conn.c has one connection, fake_rule.c the rules and the log.
 *
 * Happy path: bind, listen, accept; fake_node_pump() after everything that queues an answer.
 * Failure modes: errors of the test's own machine (no socket, no memory) end the program; without a
 * free descriptor accept() is retried in the next turn. */
#include "server/fake_node.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/fake_parts.h"

#define BACKLOG 64
#define EPOCH_US UINT64_C(1700000000000000) /* some day */
#define OLD_US UINT64_C(1000000000000)      /* how long a new node has been up */
#define FILLERS (sizeof(((struct fake_node *)0)->fillers) / sizeof(int))

void fake_demand(bool truth, const char *what) {
    if (!truth) {
        fprintf(stderr, "fake node: %s: %s\n", what, strerror(errno));
        abort();
    }
}

uint64_t fake_node_now_us(const struct fake_node *node) {
    return EPOCH_US + (uv_hrtime() + node->clock_ahead_ns) / 1000;
}

/* -- Writing -- */

static void on_turn(uv_idle_t *turn);

static void on_timer(uv_timer_t *timer) {
    fake_node_pump(timer->data);
}

/* Lets every connection write what is due, and arranges for the next time. */
static void pump_all(struct fake_node *node) {
    uint64_t next_ns = UINT64_MAX;
    struct fake_conn *after = NULL;
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = after) {
        after = fake_conn_next(conn);
        uint64_t ns = fake_conn_pump(conn);
        next_ns = ns < next_ns ? ns : next_ns;
    }
    uv_timer_stop(&node->timer);
    if (next_ns == 0) {
        uv_idle_start(&node->turn, on_turn);
        return;
    }
    uv_idle_stop(&node->turn);
    if (next_ns != UINT64_MAX) {
        uint64_t now_ns = uv_hrtime();
        uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
        uv_update_time(node->loop);
        uv_timer_start(&node->timer, on_timer, wait_ns / 1000000 + 1, 0);
    }
}

static void on_turn(uv_idle_t *turn) {
    pump_all(turn->data);
}

void fake_node_pump(struct fake_node *node) {
    if (node->closing) {
        return;
    }
    if (node->fragment > 0) { /* one piece per turn, so never from here */
        uv_idle_start(&node->turn, on_turn);
    } else {
        pump_all(node);
    }
}

/* -- The listening socket -- */

static struct sockaddr_in address_of(const struct fake_node *node) {
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons(node->port)};
}

/* A socket with the node's address. */
static int bind_socket(struct fake_node *node) {
    const struct sockaddr_in address = address_of(node);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    fake_demand(fd >= 0, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    fake_demand(bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0, "bind");
    return fd;
}

static void accept_one(struct fake_node *node, int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    node->accepted++;
    fake_conn_open(node, fd);
}

static void on_connection(uv_poll_t *poll, int status, int events) {
    struct fake_node *node = poll->data;
    assert(status == 0);
    assert(events & UV_READABLE);
    (void)status;
    (void)events;
    while (node->listening) {
        int fd = accept4(node->listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            break;
        }
        accept_one(node, fd);
    }
}

static void on_listener_closed(uv_handle_t *handle) {
    struct fake_node *node = handle->data;
    struct fake_listener *listener = (struct fake_listener *)(void *)handle; /* its first member */
    assert(node->handles > 0);
    free(listener);
    fake_handle_closed(node);
}

static void close_listener(struct fake_node *node) {
    if (node->listener != NULL) {
        uv_poll_stop(&node->listener->poll);
        close(node->listener->fd);
        uv_close((uv_handle_t *)&node->listener->poll, on_listener_closed);
    }
    for (size_t i = 0; i < FILLERS; i++) {
        if (node->fillers[i] >= 0) {
            close(node->fillers[i]);
            node->fillers[i] = -1;
        }
    }
    node->listener = NULL;
    node->listening = false;
}

/* Binds again, without listening: the port stays ours, and connections are refused. */
static void open_listener(struct fake_node *node) {
    close_listener(node);
    struct fake_listener *listener = calloc(1, sizeof(*listener));
    fake_demand(listener != NULL, "out of memory");
    listener->fd = bind_socket(node);
    fake_demand(uv_poll_init_socket(node->loop, &listener->poll, listener->fd) == 0,
                "uv_poll_init");
    listener->poll.data = node;
    node->listener = listener;
    node->handles++;
    assert(!node->listening);
}

void fake_node_refuse(struct fake_node *node) {
    open_listener(node);
}

void fake_node_listen(struct fake_node *node) {
    open_listener(node);
    fake_demand(listen(node->listener->fd, BACKLOG) == 0, "listen");
    fake_demand(uv_poll_start(&node->listener->poll, UV_READABLE, on_connection) == 0, "uv_poll");
    node->listening = true;
}

void fake_node_vanish(struct fake_node *node) {
    const struct sockaddr_in address = address_of(node);
    open_listener(node);
    fake_demand(listen(node->listener->fd, 0) == 0, "listen");
    for (size_t i = 0; i < FILLERS; i++) { /* the kernel drops what does not fit into the queue */
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        fake_demand(fd >= 0, "socket");
        node->fillers[i] = fd;
        int result = connect(fd, (const struct sockaddr *)&address, sizeof(address));
        fake_demand(result == 0 || errno == EINPROGRESS, "connect");
    }
}

/* -- Life -- */

static void on_changed(void *owner, const struct server_key *key, enum server_change change,
                       const struct server_connection *by) {
    const struct fake_node *node = owner;
    if (node->watch.changed != NULL) {
        node->watch.changed(node->watch.owner, key, change, by);
    }
}

static uint64_t servers; /* started by all nodes: no two share an id */

static struct fake_node *new_node(uv_loop_t *loop) {
    struct fake_node *node = calloc(1, sizeof(*node));
    fake_demand(node != NULL, "out of memory");
    node->log = calloc(FAKE_LOG_LINES, sizeof(node->log[0]));
    fake_demand(node->log != NULL, "out of memory");
    node->loop = loop;
    node->server = server_new(++servers, fake_node_now_us(node) - OLD_US);
    node->hooks = (struct server_hooks){.told = fake_conn_told, .changed = on_changed};
    node->server->hooks = &node->hooks;
    node->server->owner = node;
    for (size_t i = 0; i < FILLERS; i++) {
        node->fillers[i] = -1;
    }
    uv_timer_init(loop, &node->timer);
    uv_idle_init(loop, &node->turn);
    node->timer.data = node;
    node->turn.data = node;
    node->handles = 2;
    return node;
}

struct fake_node *fake_node_start(uv_loop_t *loop) {
    struct fake_node *node = new_node(loop);
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    open_listener(node);
    getsockname(node->listener->fd, (struct sockaddr *)&address, &size);
    node->port = ntohs(address.sin_port);
    assert(node->port != 0);
    fake_demand(listen(node->listener->fd, BACKLOG) == 0, "listen");
    fake_demand(uv_poll_start(&node->listener->poll, UV_READABLE, on_connection) == 0, "uv_poll");
    node->listening = true;
    snprintf(node->name, sizeof(node->name), "127.0.0.1:%u", (unsigned)node->port);
    snprintf(node->url, sizeof(node->url), "redis://%s", node->name);
    return node;
}

void fake_handle_closed(struct fake_node *node) {
    assert(node->handles > 0);
    node->handles--;
    if (node->handles > 0 || !node->closing) {
        return;
    }
    fake_node_clear_rules(node);
    if (!node->borrows) {
        server_free(node->server);
    }
    bytes_free(&node->greeting);
    free(node->log);
    free(node);
}

static void on_handle_closed(uv_handle_t *handle) {
    fake_handle_closed(handle->data);
}

void fake_node_close(struct fake_node *node) {
    assert(!node->closing);
    fake_node_drop(node, false);
    close_listener(node);
    node->closing = true;
    uv_close((uv_handle_t *)&node->timer, on_handle_closed);
    uv_close((uv_handle_t *)&node->turn, on_handle_closed);
}

const char *fake_node_url(const struct fake_node *node) {
    return node->url;
}

const char *fake_node_name(const struct fake_node *node) {
    return node->name;
}

struct server *fake_node_server(struct fake_node *node) {
    return node->server;
}

void fake_node_share(struct fake_node *node, struct fake_node *other) {
    assert(node->conns == NULL && !node->borrows && !other->borrows);
    server_free(node->server);
    node->server = other->server;
    node->borrows = true;
}

void fake_node_watch(struct fake_node *node, const struct fake_watch *watch) {
    node->watch = *watch;
}

/* -- The whole node -- */

void fake_node_drop(struct fake_node *node, bool reset) {
    while (node->conns != NULL) {
        fake_conn_close(node->conns, reset);
    }
}

void fake_node_restart(struct fake_node *node) {
    static const char *const planted[] = {"run_id", "master_replid", "uptime_in_seconds"};
    fake_node_drop(node, true);
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        server_set_info(node->server, planted[i], NULL);
    }
    server_restart(node->server, ++servers, fake_node_now_us(node), NULL);
    server_make_id(node->server->replid, ~servers);
}

void fake_node_pause(struct fake_node *node) {
    node->paused = true;
}

void fake_node_resume(struct fake_node *node) {
    struct fake_conn *after = NULL;
    node->paused = false;
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = after) {
        after = fake_conn_next(conn);
        fake_conn_run(conn);
    }
    fake_node_pump(node);
}

void fake_node_set_deaf(struct fake_node *node, bool deaf) {
    node->deaf = deaf;
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = fake_conn_next(conn)) {
        fake_conn_watch(conn);
    }
}

void fake_node_set_fragment(struct fake_node *node, size_t bytes) {
    node->fragment = bytes;
    fake_node_pump(node);
}

void fake_node_set_greeting(struct fake_node *node, const char *bytes, bool then_close) {
    bytes_free(&node->greeting);
    bytes_append_text(&node->greeting, bytes != NULL ? bytes : "");
    node->greeting_close = then_close;
}

void fake_node_send(struct fake_node *node, const void *bytes, size_t length) {
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = fake_conn_next(conn)) {
        fake_conn_send(conn, bytes, length);
    }
    fake_node_pump(node);
}

void fake_node_send_repeated(struct fake_node *node, const char *text, size_t times) {
    struct bytes bytes = {NULL, 0, 0};
    for (size_t i = 0; i < times; i++) {
        bytes_append_text(&bytes, text);
    }
    fake_node_send(node, bytes.data, bytes.length);
    bytes_free(&bytes);
}

void fake_node_step_clock(struct fake_node *node, uint64_t ms) {
    node->clock_ahead_ns += ms * 1000000;
}

/* -- What has happened -- */

size_t fake_node_accepted(const struct fake_node *node) {
    return node->accepted;
}

size_t fake_node_connections(const struct fake_node *node) {
    size_t count = 0;
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = fake_conn_next(conn)) {
        count++;
    }
    return count;
}

static size_t count_keys(const struct fake_node *node,
                         bool (*counts)(const struct server_key *key)) {
    const struct server_key *key;
    size_t count = 0;
    uint32_t at = 0;
    while ((key = server_keys_next(&node->server->keys, &at)) != NULL) {
        count += counts(key) && !server_has_expired(node->server, key, fake_node_now_us(node));
    }
    return count;
}

static bool is_line(const struct server_key *key) {
    return key->is_line;
}

static bool begins_with(const struct bytes *bytes, const char *word) {
    const size_t length = strlen(word);
    return bytes->length >= length && memcmp(bytes->data, word, length) == 0;
}

/* A semaphore's number of permits and the node's secret live for a day. */
static bool is_no_reservation(const struct server_key *key) {
    return key->is_line || (!begins_with(&key->value, "reserved") &&
                            !begins_with(&key->name, "libredlock:permits:") &&
                            !begins_with(&key->name, "libredlock:secret"));
}

size_t fake_node_keys(const struct fake_node *node) {
    return count_keys(node, is_no_reservation);
}

size_t fake_node_lines(const struct fake_node *node) {
    return count_keys(node, is_line);
}

const char *fake_node_get(const struct fake_node *node, const char *key) {
    const struct server_key *found =
        server_get(node->server, 0, key, strlen(key), fake_node_now_us(node));
    return found != NULL ? found->value.data : NULL;
}

void fake_node_put(struct fake_node *node, const char *key, const char *value, uint64_t ttl_ms) {
    uint64_t expires_ms = ttl_ms > 0 ? fake_node_now_us(node) / 1000 + ttl_ms : SERVER_NEVER_MS;
    server_put(node->server, 0, key, strlen(key), value, strlen(value), expires_ms);
}

uint64_t fake_node_bytes_out(const struct fake_node *node) {
    return node->bytes_out;
}
