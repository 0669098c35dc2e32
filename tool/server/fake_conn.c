/* One connection of a fake node: bytes in, commands, answers out.
 *
 * Happy path: the socket is readable, the bytes are appended to the input, each complete command is
 * executed (by its rule, or as Redis does), and its output is queued as a chunk. Chunks leave in
 * order: each at its time, then its end action, which may end the connection.
 *
 * Failure modes: the peer closes or resets (the connection ends; while the node is paused, the
 * received commands are kept and run at the end of the pause); the peer does not read (the chunk
 * waits until the socket is writable); the input is not RESP (answered as Redis does, and
 * closed). */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/fake_parts.h"

#define READ_MAX 65536
#define PUMP_MAX 262144 /* bytes written at once, so that other connections do not starve */

enum end { END_NONE, END_CLOSE, END_RESET };

struct chunk { /* what leaves the node together */
    struct chunk *next;
    struct bytes bytes;
    size_t sent;
    uint64_t due_ns; /* uv_hrtime() */
    bool endless;    /* 'x' follows the bytes for ever */
    enum end end;
};

struct fake_conn {
    struct fake_conn *next, *previous;
    struct fake_node *node;
    uv_poll_t poll;
    int fd;
    struct bytes input;
    struct chunk *first;
    struct chunk **last; /* the link that the next chunk goes into */
    struct server_connection *session;
    unsigned commands;
    bool ended;   /* a chunk that closes is queued: commands behind it do not run */
    bool eof;     /* the peer has finished sending */
    bool blocked; /* the socket is not writable for now */
    bool closing;
};

struct fake_conn *fake_conn_next(const struct fake_conn *conn) {
    return conn->next;
}

/* -- Closing -- */

static void pop_chunk(struct fake_conn *conn) {
    struct chunk *chunk = conn->first;
    assert(chunk != NULL);
    conn->first = chunk->next;
    if (conn->first == NULL) {
        conn->last = &conn->first;
    }
    bytes_free(&chunk->bytes);
    free(chunk);
}

static void on_poll_closed(uv_handle_t *handle) {
    struct fake_conn *conn = handle->data;
    struct fake_node *node = conn->node;
    assert(conn->closing);
    while (conn->first != NULL) {
        pop_chunk(conn);
    }
    bytes_free(&conn->input);
    free(conn);
    fake_handle_closed(node);
}

void fake_conn_close(struct fake_conn *conn, bool reset) {
    if (conn->closing) {
        return;
    }
    conn->closing = true;
    if (reset) { /* a lingering time of 0 makes close() send RST */
        struct linger linger = {1, 0};
        setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    }
    server_disconnect(conn->session);
    conn->session = NULL;
    uv_poll_stop(&conn->poll);
    close(conn->fd);
    uv_close((uv_handle_t *)&conn->poll, on_poll_closed);
    if (conn->next != NULL) {
        conn->next->previous = conn->previous;
    }
    if (conn->previous != NULL) {
        conn->previous->next = conn->next;
    } else {
        assert(conn->node->conns == conn);
        conn->node->conns = conn->next;
    }
}

/* -- Writing -- */

static struct chunk *push_chunk(struct fake_conn *conn, uint64_t delay_ms) {
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    fake_demand(chunk != NULL, "out of memory");
    chunk->due_ns = uv_hrtime() + delay_ms * 1000000;
    assert(*conn->last == NULL);
    *conn->last = chunk;
    conn->last = &chunk->next;
    return chunk;
}

void fake_conn_send(struct fake_conn *conn, const void *bytes, size_t length) {
    assert(!conn->closing);
    bytes_append(&push_chunk(conn, 0)->bytes, bytes, length);
}

/* Closes behind the waiting bytes; later commands do not run. */
static void end(struct fake_conn *conn) {
    push_chunk(conn, 0)->end = END_CLOSE;
    conn->ended = true;
}

/* Writes a piece of the first chunk. False if the socket takes nothing, or is gone. */
static bool write_piece(struct fake_conn *conn, size_t max) {
    static char filler[READ_MAX];
    struct chunk *chunk = conn->first;
    const char *from = filler;
    size_t length = sizeof(filler);
    if (chunk->sent < chunk->bytes.length) {
        from = chunk->bytes.data + chunk->sent;
        length = chunk->bytes.length - chunk->sent;
    } else {
        assert(chunk->endless);
        memset(filler, 'x', sizeof(filler));
    }
    ssize_t n = send(conn->fd, from, length < max ? length : max, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
        conn->blocked = errno == EAGAIN || errno == EWOULDBLOCK;
        if (!conn->blocked) {
            fake_conn_close(conn, false);
        }
        return false;
    }
    conn->node->bytes_out += (uint64_t)n;
    if (from != filler) {
        chunk->sent += (size_t)n;
    }
    return true;
}

uint64_t fake_conn_pump(struct fake_conn *conn) {
    size_t fragment = conn->node->fragment;
    size_t room = fragment > 0 ? fragment : PUMP_MAX;
    conn->blocked = false;
    while (conn->first != NULL && !conn->closing) {
        struct chunk *chunk = conn->first;
        if (chunk->due_ns > uv_hrtime()) {
            return chunk->due_ns;
        }
        if (chunk->sent == chunk->bytes.length && !chunk->endless) {
            if (chunk->end != END_NONE) {
                fake_conn_close(conn, chunk->end == END_RESET);
                return UINT64_MAX;
            }
            pop_chunk(conn);
            continue;
        }
        if (room == 0) {
            return 0;
        }
        uint64_t before = conn->node->bytes_out;
        if (!write_piece(conn, room)) {
            break;
        }
        room -= (size_t)(conn->node->bytes_out - before);
    }
    if (!conn->closing) {
        fake_conn_watch(conn);
    }
    return UINT64_MAX;
}

/* -- Commands -- */

static bool executes(enum fake_action action) {
    return action != FAKE_INSTEAD && action != FAKE_IGNORE && action != FAKE_CLOSE &&
           action != FAKE_RESET && action != FAKE_ENDLESS;
}

/* Queues the answer as changed by a rule. */
static void queue_answer(struct fake_conn *conn, const struct fake_rule *rule,
                         const struct bytes *answer, const struct bytes *bytes) {
    enum fake_action action = rule->action;
    if (action == FAKE_SWALLOW || action == FAKE_IGNORE) {
        return;
    }
    const size_t now = action == FAKE_SPLIT && answer->length > 0 ? 1 : 0;
    if (now > 0) {
        bytes_append(&push_chunk(conn, 0)->bytes, answer->data, now);
    }
    struct chunk *chunk = push_chunk(conn, rule->delay_ms);
    if (action == FAKE_ANSWER || action == FAKE_SPLIT) {
        bytes_append(&chunk->bytes, answer->data + now, answer->length - now);
    } else if (action == FAKE_CUT) {
        bytes_append(&chunk->bytes, answer->data, answer->length / 2);
        chunk->end = END_CLOSE;
    } else if (action == FAKE_RESET || action == FAKE_EXECUTE_RESET) {
        chunk->end = END_RESET;
    } else if (action != FAKE_EXECUTE_CLOSE) {
        bytes_append(&chunk->bytes, bytes->data, bytes->length);
    }
    if (action == FAKE_CLOSE || action == FAKE_EXECUTE_CLOSE) {
        chunk->end = END_CLOSE;
    }
    chunk->endless = action == FAKE_ENDLESS;
    conn->ended = chunk->end != END_NONE || chunk->endless;
}

static void obey(struct fake_conn *conn, const struct resp_command *command) {
    struct fake_rule rule = {.action = FAKE_ANSWER};
    struct bytes *answer = &conn->session->output, bytes = {NULL, 0, 0};
    assert(!conn->ended);
    conn->commands++;
    fake_rule_note(conn->node, command);
    if (conn->node->watch.came != NULL) {
        conn->node->watch.came(conn->node->watch.owner, conn->session, command);
    }
    fake_rule_take(conn->node, command, conn->commands, &bytes, &rule);
    if (executes(rule.action)) {
        server_execute(conn->session, command, fake_node_now_us(conn->node));
    }
    queue_answer(conn, &rule, answer, &bytes);
    answer->length = 0;
    if (conn->node->watch.done != NULL) {
        conn->node->watch.done(conn->node->watch.owner, command);
    }
    bytes_free(&bytes);
}

void fake_conn_run(struct fake_conn *conn) {
    struct resp_command command;
    size_t used = 0;
    while (used < conn->input.length && !conn->node->paused && !conn->ended) {
        bool is_stranger = conn->session->user == NULL;
        ssize_t n =
            resp_parse(conn->input.data + used, conn->input.length - used, is_stranger, &command);
        if (n < 0) {
            struct bytes error = {NULL, 0, 0};
            bytes_append_format(&error, "-ERR Protocol error: %s\r\n", command.error);
            fake_conn_send(conn, error.data, error.length);
            bytes_free(&error);
            end(conn);
        }
        if (n <= 0) {
            break;
        }
        if (command.count > 0) {
            obey(conn, &command);
        }
        used += (size_t)n;
    }
    bytes_consume(&conn->input, used);
    if (conn->eof && !conn->node->paused) {
        fake_conn_close(conn, false);
    }
}

/* -- Reading -- */

static void receive(struct fake_conn *conn) {
    char buffer[READ_MAX];
    ssize_t n = recv(conn->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return;
    }
    if (n > 0) {
        bytes_append(&conn->input, buffer, (size_t)n);
    } else {
        conn->eof = true;
    }
    fake_conn_run(conn);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct fake_conn *conn = poll->data;
    assert(!conn->closing);
    if (status < 0 || (events & UV_READABLE)) {
        receive(conn);
    }
    if (!conn->closing) {
        if (conn->eof) { /* paused: kept, but there is nothing more to see */
            fake_conn_watch(conn);
        }
        fake_node_pump(conn->node);
    }
}

void fake_conn_watch(struct fake_conn *conn) {
    int events = conn->blocked ? UV_WRITABLE : 0;
    assert(!conn->closing);
    if (!conn->node->deaf && !conn->eof) {
        events |= UV_READABLE;
    }
    if (events == 0) {
        uv_poll_stop(&conn->poll);
    } else {
        fake_demand(uv_poll_start(&conn->poll, events, on_poll) == 0, "uv_poll_start");
    }
}

void fake_conn_open(struct fake_node *node, int fd) {
    struct fake_conn *conn = calloc(1, sizeof(*conn));
    fake_demand(conn != NULL, "out of memory");
    conn->node = node;
    conn->fd = fd;
    conn->session = server_connect(node->server, conn);
    conn->last = &conn->first;
    conn->next = node->conns;
    if (conn->next != NULL) {
        conn->next->previous = conn;
    }
    node->conns = conn;
    fake_demand(uv_poll_init_socket(node->loop, &conn->poll, fd) == 0, "uv_poll_init");
    conn->poll.data = conn;
    node->handles++;
    if (node->greeting.length > 0) {
        fake_conn_send(conn, node->greeting.data, node->greeting.length);
        if (node->greeting_close) {
            end(conn);
        }
    }
    fake_conn_watch(conn);
    fake_node_pump(node);
}

/* -- Channels: listening connections, and what they are sent -- */

/* Whether the connection listens to this channel, or, if NULL, to any. */
static bool listens(const struct fake_conn *conn, const struct resp_arg *channel) {
    return channel != NULL ? server_listens(conn->session, channel->data, channel->length)
                           : conn->session->n_channels > 0;
}

size_t fake_node_listeners(const struct fake_node *node, const char *channel) {
    struct resp_arg name = {channel, channel != NULL ? strlen(channel) : 0};
    size_t count = 0;
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = conn->next) {
        count += listens(conn, channel != NULL ? &name : NULL);
    }
    return count;
}

void fake_node_send_listeners(struct fake_node *node, const void *bytes, size_t length) {
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = conn->next) {
        if (listens(conn, NULL)) {
            fake_conn_send(conn, bytes, length);
        }
    }
    fake_node_pump(node);
}

void fake_node_drop_listeners(struct fake_node *node, bool reset) {
    struct fake_conn *conn = node->conns;
    while (conn != NULL) {
        struct fake_conn *next = conn->next;
        if (listens(conn, NULL)) {
            fake_conn_close(conn, reset);
        }
        conn = next;
    }
}

void fake_conn_told(void *owner, struct server_connection *connection) {
    (void)owner;
    fake_conn_send(connection->owner, connection->output.data, connection->output.length);
    connection->output.length = 0;
}

size_t fake_node_publish(struct fake_node *node, const char *channel, const char *payload) {
    size_t count = server_publish(node->server, channel, strlen(channel), payload, strlen(payload));
    fake_node_pump(node);
    return count;
}
