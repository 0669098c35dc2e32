/* See conn.h. Life of a connection:
 *
 *     open -> hiredis context + poll handle -> connected -> ... -> hiredis lets go (`context`
 *     becomes NULL in conn_cleanup, which also closes the poll handle) -> conn_poll_closed() frees
 *     this memory.
 *
 * hiredis frees its context in two situations: inside a Handle call, when it found an error, and
 * when we call redisAsyncFree(). Both come through conn_cleanup(). We never call redisAsyncFree()
 * from inside a hiredis callback: that is a use after free on 0.14.
 */
#include "redis/conn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/async.h>
#include <hiredis/sds.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mark.h"

#define MANY_REPLIES 100 /* of 160 bytes at most, as all but INFO are */

struct rl_conn {
    redisAsyncContext *context; /* NULL once hiredis has let go */
    struct rl_io *io;
    const struct rl_conn_events *events;
    void *owner;
    bool connected;
    bool polls_write;
    bool is_broken;
    bool silent; /* the owner has closed it: no events */
    bool listens;
    bool is_secret;   /* a password may be in the output buffer */
    uint32_t replies; /* in the last read */
    int16_t reason;
    char detail[RL_DETAIL_MAX];
    size_t written; /* bytes at the front of the output buffer that are out */
    uv_poll_t poll;
    struct rl_reply_slot slot;
};

static void conn_poll_cb(uv_poll_t *poll, int status, int events);

/* From here on the guard lets no reply through: hiredis and our list of requests are no longer in
 * step, since we do not look at replies any more. */
static void conn_note(struct rl_conn *conn, int16_t reason, const char *detail) {
    static const uint32_t nobody = 0;
    if (!conn->is_broken) {
        conn->is_broken = true;
        conn->slot.waiting = &nobody;
        conn->reason = reason;
        snprintf(conn->detail, sizeof conn->detail, "%s", detail);
    }
}

static void conn_poll_closed(uv_handle_t *handle) {
    struct rl_conn *conn = handle->data;
    struct rl_io *io = conn->io;
    assert(conn->context == NULL);
    rl_free(io->memory, conn);
    rl_io_closed(io);
}

/* -- hiredis's hooks -- */

static void conn_ignore(void *data) {
    (void)data; /* we read all the time */
}

static void conn_add_write(void *data) {
    struct rl_conn *conn = data;
    if (conn->connected && !conn->polls_write) {
        conn->events->dirty(conn->owner);
    }
}

/* All that was allocated, since what was cut off at the front has been moved. */
static void conn_wipe(struct rl_conn *conn) {
    sds buffer = conn->context->c.obuf;
    if (conn->is_secret && buffer != NULL) {
        rl_wipe(buffer, sdsalloc(buffer));
    }
    conn->is_secret = false;
}

/* hiredis is about to close the descriptor, and to free the buffer after that. */
static void conn_cleanup(void *data) {
    struct rl_conn *conn = data;
    assert(conn->context != NULL);
    conn_wipe(conn);
    conn->context = NULL;
    uv_poll_stop(&conn->poll);
    uv_close((uv_handle_t *)&conn->poll, conn_poll_closed);
}

static int16_t conn_reason(const redisAsyncContext *context) {
    /* REDIS_ERR_OOM is how hiredis reports that the guard refused a reply. */
    bool not_redis = context->err == REDIS_ERR_PROTOCOL || context->err == REDIS_ERR_OOM;
    return (int16_t)(not_redis ? REDLOCK_ERR_NODE_PROTOCOL : REDLOCK_ERR_NODE_DISCONNECTED);
}

static void conn_on_connect(const redisAsyncContext *context, int status) {
    struct rl_conn *conn = context->data;
    if (status == REDIS_OK) {
        conn->connected = true;
    } else {
        conn_note(conn, REDLOCK_ERR_NODE_CONNECT, context->errstr);
    }
}

static void conn_on_disconnect(const redisAsyncContext *context, int status) {
    struct rl_conn *conn = context->data;
    (void)status;
    if (context->err == REDIS_ERR_OOM) {
        conn_note(conn, REDLOCK_ERR_NODE_PROTOCOL, "a reply that was not asked for");
    } else {
        const char *text = context->errstr != NULL ? context->errstr : "";
        conn_note(conn, conn_reason(context), text);
    }
}

static void conn_on_reply(redisAsyncContext *context, void *reply, void *data) {
    struct rl_conn *conn = context->data;
    (void)data;
    conn->replies++;
    if (reply != NULL && !conn->is_broken && !conn->silent) {
        conn->events->reply(conn->owner, reply);
    }
}

/* -- Opening -- */

/* Not inherited by programs that the process starts; and a peer that vanished is noticed while
 * idle. None of it is worth failing for. */
static void conn_tune(int fd, bool is_unix) {
    int on = 1, idle_s = 15, interval_s = 5, probes = 3;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (!is_unix) {
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    }
}

static redisAsyncContext *conn_context(const struct rl_address *address) {
    return address->is_unix ? redisAsyncConnectUnix(address->text)
                            : redisAsyncConnect(address->text, address->port);
}

/* Installs the hooks; nothing can fail any more. */
static void conn_attach(struct rl_conn *conn, redisAsyncContext *context, const uint32_t *waiting) {
    rl_reply_guard(context->c.reader, &conn->slot, waiting);
    conn->context = context;
    context->data = conn;
    context->ev.data = conn;
    context->ev.addRead = conn_ignore;
    context->ev.delRead = conn_ignore;
    context->ev.addWrite = conn_add_write;
    context->ev.delWrite = conn_ignore;
    context->ev.cleanup = conn_cleanup;
    redisAsyncSetConnectCallback(context, conn_on_connect);
    redisAsyncSetDisconnectCallback(context, conn_on_disconnect);
}

/* The poll handle must be closed by libuv even if it was never started. */
static bool conn_start_poll(struct rl_conn *conn, int fd, int *error) {
    *error = uv_poll_init(conn->io->loop, &conn->poll, fd);
    if (*error != 0) {
        return false;
    }
    conn->poll.data = conn;
    rl_io_opened(conn->io);
    *error = uv_poll_start(&conn->poll, UV_READABLE | UV_WRITABLE, conn_poll_cb);
    if (*error != 0) {
        uv_close((uv_handle_t *)&conn->poll, conn_poll_closed);
        return false;
    }
    conn->polls_write = true;
    return true;
}

struct rl_conn *rl_conn_open(struct rl_io *io, const struct rl_address *address,
                             const struct rl_conn_events *events, void *owner,
                             const uint32_t *waiting, int16_t *reason, char detail[RL_DETAIL_MAX]) {
    struct rl_conn *conn = rl_alloc(io->memory, 1, sizeof *conn);
    redisAsyncContext *context = conn != NULL ? conn_context(address) : NULL;
    if (context == NULL || context->err != 0) {
        *reason = (int16_t)(context == NULL ? REDLOCK_ERR_NOMEM : REDLOCK_ERR_NODE_CONNECT);
        snprintf(detail, RL_DETAIL_MAX, "%s", context == NULL ? "no memory" : context->errstr);
        if (context != NULL) {
            redisAsyncFree(context);
        }
        rl_free(io->memory, conn);
        return NULL;
    }
    conn_tune(context->c.fd, address->is_unix);
    conn->io = io;
    conn->events = events;
    conn->owner = owner;
    int error = 0;
    if (!conn_start_poll(conn, context->c.fd, &error)) {
        *reason = REDLOCK_ERR_SYSTEM;
        snprintf(detail, RL_DETAIL_MAX, "%s", uv_strerror(error));
        bool libuv_frees_it = conn->poll.data != NULL;
        redisAsyncFree(context);
        if (!libuv_frees_it) {
            rl_free(io->memory, conn);
        }
        return NULL;
    }
    conn_attach(conn, context, waiting);
    return conn;
}

void rl_conn_listen(struct rl_conn *conn, struct rl_heard *heard, const uint32_t *waiting) {
    assert(conn->context != NULL && !conn->connected);
    assert(conn->events->heard != NULL);
    conn->listens = true;
    rl_heard_guard(conn->context->c.reader, heard, waiting);
}

/* -- Events -- */

/* Ends what is broken. The last thing that an event does: the owner may do anything in `broken`. */
static void conn_settle(struct rl_conn *conn, bool was_connected) {
    if (conn->silent) {
        return;
    }
    if (conn->context != NULL && !conn->is_broken) {
        if (conn->connected && !was_connected) {
            conn->events->connected(conn->owner);
        }
        return;
    }
    conn_note(conn, REDLOCK_ERR_NODE_DISCONNECTED, "connection lost");
    conn->silent = true;
    if (conn->context != NULL) {
        redisAsyncFree(conn->context);
    }
    conn->events->broken(conn->owner, conn->reason, conn->detail);
}

/* After so many bytes more. What is out is cut off only when it is the larger part, so that a peer
 * that takes little at a time does not make us move all that waits for it each time. */
static void conn_advance(struct rl_conn *conn, size_t bytes) {
    sds *buffer = &conn->context->c.obuf;
    conn->written += bytes;
    if (conn->written == sdslen(*buffer)) {
        conn_wipe(conn);
        sdsclear(*buffer); /* keeps its memory, where hiredis would free and allocate */
        conn->written = 0;
    } else if (conn->written > sdslen(*buffer) / 2) {
        sdsrange(*buffer, (int)conn->written, -1);
        conn->written = 0;
    }
}

static void conn_write(struct rl_conn *conn) {
    redisContext *c = &conn->context->c;
    size_t length = rl_conn_unsent(conn);
    ssize_t written = 0;
    while (length > 0) {
        written = send(c->fd, c->obuf + conn->written, length, MSG_NOSIGNAL);
        if (written >= 0 || errno != EINTR) {
            break;
        }
    }
    bool partial = length > 0 && written < (ssize_t)length;
    if (written < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        conn_note(conn, REDLOCK_ERR_NODE_DISCONNECTED, strerror(errno));
        return;
    }
    conn_advance(conn, written > 0 ? (size_t)written : 0);
    if (partial) {
        RL_MARK(PARTIAL_WRITE);
    }
    if (partial != conn->polls_write) {
        conn->polls_write = partial;
        int events = UV_READABLE | (partial ? UV_WRITABLE : 0);
        int error = uv_poll_start(&conn->poll, events, conn_poll_cb);
        if (error != 0) {
            conn_note(conn, REDLOCK_ERR_SYSTEM, uv_strerror(error));
        }
    }
}

/* What redisAsyncHandleRead() does, without its list of callbacks. */
static void conn_hear(struct rl_conn *conn) {
    redisContext *c = &conn->context->c;
    void *complete = NULL;
    int status = redisBufferRead(c);
    if (status != REDIS_OK) {
        conn_note(conn, REDLOCK_ERR_NODE_DISCONNECTED, c->errstr);
        return;
    }
    do {
        complete = NULL;
        status = redisReaderGetReply(c->reader, &complete);
        if (status == REDIS_OK && complete != NULL) {
            conn->events->heard(conn->owner);
        }
    } while (status == REDIS_OK && complete != NULL && !conn->is_broken);
    if (status != REDIS_OK) {
        conn_note(conn, REDLOCK_ERR_NODE_PROTOCOL, "said what was not asked for");
    }
}

/* hiredis reads 16 KiB at a time, which are more than so many answers. */
static void conn_look_for_more(const struct rl_conn *conn) {
    int left = 0;
    if (conn->replies > MANY_REPLIES && conn->context != NULL &&
        ioctl(conn->context->c.fd, FIONREAD, &left) == 0 && left > 0) {
        conn->io->has_more = true;
    }
}

static void conn_read(struct rl_conn *conn) {
    conn->replies = 0;
    if (conn->listens && conn->connected) {
        conn_hear(conn);
    } else {
        redisAsyncHandleRead(conn->context);
        conn_look_for_more(conn);
    }
    const redisReader *reader = conn->context != NULL ? conn->context->c.reader : NULL;
    if (reader != NULL && reader->len - reader->pos > RL_CONN_BUFFER_MAX) {
        RL_MARK(REPLY_WITHOUT_END);
        conn_note(conn, REDLOCK_ERR_NODE_PROTOCOL, "a reply that does not end");
    }
}

static void conn_poll_cb(uv_poll_t *poll, int status, int events) {
    struct rl_conn *conn = poll->data;
    bool was_connected = conn->connected;
    if (rl_io_is_forked(conn->io)) {
        uv_poll_stop(poll);
        return;
    }
    if (status < 0 || (conn->connected && (events & UV_READABLE))) {
        conn_read(conn); /* also to find out what poll complained about */
    }
    if (!was_connected && conn->context != NULL && !conn->connected) {
        /* How connecting ended. Only then: on a connection hiredis would write, with SIGPIPE. */
        redisAsyncHandleWrite(conn->context);
    }
    if (status < 0) {
        conn_note(conn, REDLOCK_ERR_NODE_DISCONNECTED, "connection reset");
    }
    if (conn->context != NULL && conn->connected && !conn->is_broken && conn->polls_write) {
        conn_write(conn);
    }
    conn_settle(conn, was_connected);
}

/* -- The rest of the interface -- */

/* The answer will come as `heard`. */
static bool conn_append(struct rl_conn *conn, const char *wire, size_t length) {
    if (redisAppendFormattedCommand(&conn->context->c, wire, length) != REDIS_OK) {
        rl_conn_break(conn, REDLOCK_ERR_NOMEM, "no memory for a command");
        return false;
    }
    conn_add_write(conn);
    return true;
}

bool rl_conn_send(struct rl_conn *conn, const char *wire, size_t length) {
    assert(conn->context != NULL);
    assert(wire[length] == '\0');
    if (conn->listens) {
        return conn_append(conn, wire, length);
    }
    redisCallback *last = conn->context->replies.tail;
    int status = redisAsyncFormattedCommand(conn->context, conn_on_reply, NULL, wire, length);
    /* 0.14 does not look whether its callback could be allocated, and would abort on the answer. */
    bool failed = status != REDIS_OK || conn->context->c.err != 0;
    if (failed || conn->context->replies.tail == last) {
        rl_conn_break(conn, REDLOCK_ERR_NOMEM, "no memory for a command");
        return false;
    }
    return true;
}

size_t rl_conn_unsent(const struct rl_conn *conn) {
    return conn->context != NULL ? sdslen(conn->context->c.obuf) - conn->written : 0;
}

bool rl_conn_is_full(const struct rl_conn *conn) {
    return conn->polls_write;
}

void rl_conn_push(struct rl_conn *conn) {
    if (conn->context != NULL && conn->connected && !conn->is_broken && !conn->polls_write) {
        conn_write(conn);
    }
}

/* With room for all of it from the start the buffer is not moved while it grows, which would leave
 * a copy behind. */
bool rl_conn_begin_secret(struct rl_conn *conn, size_t room) {
    redisContext *c = &conn->context->c;
    assert(sdslen(c->obuf) == 0);
    sds buffer = sdsMakeRoomFor(c->obuf, room);
    if (buffer == NULL) {
        rl_conn_break(conn, REDLOCK_ERR_NOMEM, "no memory for the handshake");
        return false;
    }
    c->obuf = buffer;
    conn->is_secret = true;
    return true;
}

void rl_conn_flush(struct rl_conn *conn) {
    assert(!conn->silent);
    rl_conn_push(conn);
    conn_settle(conn, true);
}

void rl_conn_break(struct rl_conn *conn, int16_t reason, const char *detail) {
    conn_note(conn, reason, detail);
    conn->events->dirty(conn->owner);
}

void rl_conn_expect_info(struct rl_conn *conn, struct rl_info *info) {
    conn->slot.info = info;
}

void rl_conn_close(struct rl_conn *conn) {
    assert(!conn->silent);
    conn->silent = true;
    if (conn->context != NULL) {
        redisAsyncFree(conn->context);
    }
}

void rl_conn_forget(struct rl_conn *conn) {
    if (conn->context != NULL) {
        close(conn->context->c.fd);
    }
}
