/* See conn.h. Life of a connection:
 *
 *     open -> stream and reader -> `up` -> ... -> conn_dispose()
 *
 * It ends in two ways: rl_conn_close(), and conn_settle(), which finds it broken after an event of
 * the stream or in a flush. The reason is noted first (conn_note()), since it may be found while
 * replies are read; `broken` is the last thing that is done for a connection.
 */
#include "redis/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/mark.h"
#include "base/out.h"
#include "base/require.h"
#include "redlock/status.h"

static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) > RL_URL_PATH_MAX, "a path fits");

struct rl_conn {
    struct rl_stream *stream;
    struct rl_io *io;
    const struct rl_conn_events *events;
    void *owner;
    redisReader *reader;
    bool is_up;
    bool is_full; /* the stream took less than offered: wait for `room` */
    bool is_reading;
    bool is_broken;
    bool waits; /* bytes after the first `ahead` of out wait for rl_conn_go_on() */
    int16_t reason;
    char detail[RL_DETAIL_MAX];
    struct rl_out out;
    size_t ahead;
    struct rl_reply_slot slot;
};

/* Only the first reason counts. */
static void conn_note(struct rl_conn *conn, int16_t reason, const char *detail) {
    assert(reason != 0);
    if (!conn->is_broken) {
        conn->is_broken = true;
        conn->reason = reason;
        snprintf(conn->detail, sizeof conn->detail, "%s", detail);
    }
}

static void conn_dispose(struct rl_conn *conn) {
    RL_REQUIRE(!conn->is_reading); /* else hiredis would go on in freed memory */
    const redlock_allocator *memory = conn->io->memory;
    if (conn->stream != NULL) {
        conn->stream->ops->close(conn->stream);
    }
    if (conn->reader != NULL) {
        redisReaderFree(conn->reader);
    }
    rl_out_free(&conn->out, memory);
    rl_free(memory, conn);
}

/* Ends a broken connection. The last action of an event. */
static void conn_settle(struct rl_conn *conn) {
    if (conn->is_broken) {
        const struct rl_conn_events *events = conn->events;
        void *owner = conn->owner;
        int16_t reason = conn->reason;
        char detail[RL_DETAIL_MAX];
        memcpy(detail, conn->detail, sizeof detail);
        conn_dispose(conn);
        events->broken(owner, reason, detail);
    }
}

/* -- Reading -- */

/* REDIS_ERR_OOM is how hiredis reports that the guard refused a reply. Another kind of server fails
 * from its first byte on, so its text is at the beginning of the last bytes. */
static void conn_refuse(struct rl_conn *conn, const char *bytes, size_t length) {
    char detail[RL_DETAIL_MAX];
    const char *stranger = rl_reply_stranger(bytes, length);
    assert(conn->reader->err != 0);
    if (conn->reader->err == REDIS_ERR_OOM) {
        snprintf(detail, sizeof detail, "unsolicited reply");
    } else if (stranger != NULL && strcmp(stranger, RL_REPLY_TLS) == 0) {
        snprintf(detail, sizeof detail, "it is " RL_REPLY_TLS ": write rediss://");
    } else if (stranger != NULL) {
        snprintf(detail, sizeof detail, "not Redis: %s", stranger);
    } else {
        snprintf(detail, sizeof detail, "%s", conn->reader->errstr);
    }
    conn_note(conn, REDLOCK_ERR_NODE_PROTOCOL, detail);
}

static void conn_read(struct rl_conn *conn, const char *bytes, size_t length) {
    redisReader *reader = conn->reader;
    void *reply = NULL;
    if (redisReaderFeed(reader, bytes, length) != REDIS_OK) {
        conn_note(conn, REDLOCK_ERR_NOMEM, "no memory for a reply");
        return;
    }
    do {
        reply = NULL;
        if (redisReaderGetReply(reader, &reply) != REDIS_OK) {
            conn_refuse(conn, bytes, length);
        } else if (reply != NULL) {
            assert(conn->is_up && !conn->is_broken);
            conn->events->reply(conn->owner, reply);
        }
    } while (reply != NULL && !conn->is_broken);
    if (reader->len - reader->pos > RL_CONN_BUFFER_MAX) {
        RL_MARK(REPLY_WITHOUT_END);
        conn_note(conn, REDLOCK_ERR_NODE_PROTOCOL, "endless reply");
    }
}

/* -- Writing -- */

static void conn_write(struct rl_conn *conn) {
    size_t length = conn->waits ? conn->ahead : rl_out_length(&conn->out);
    assert(conn->is_up && !conn->is_full);
    if (length == 0) {
        return;
    }
    size_t taken = conn->stream->ops->write(conn->stream, conn->out.bytes + conn->out.from, length);
    rl_out_took(&conn->out, conn->io->memory, taken);
    conn->ahead -= conn->waits ? taken : 0;
    conn->is_full = taken < length;
    if (conn->is_full) {
        RL_MARK(PARTIAL_WRITE);
    }
}

/* -- The stream's events -- */

static void conn_reached(void *owner) {
    struct rl_conn *conn = owner;
    assert(!conn->is_up && !conn->is_broken);
    conn->events->reached(conn->owner);
}

static void conn_up(void *owner) {
    struct rl_conn *conn = owner;
    assert(!conn->is_up);
    conn->is_up = true;
    conn->events->connected(conn->owner);
}

static void conn_bytes(void *owner, const char *bytes, size_t length) {
    struct rl_conn *conn = owner;
    assert(!conn->is_reading); /* no owner runs the loop in `reply` */
    if (!conn->is_broken) {
        conn->is_reading = true;
        conn->io->read_ns = rl_io_now_ns(conn->io);
        conn_read(conn, bytes, length);
        conn->io->read_ns = 0;
        conn->is_reading = false;
    }
    conn_settle(conn);
}

static void conn_room(void *owner) {
    struct rl_conn *conn = owner;
    assert(conn->is_full); /* `room` was promised */
    conn->is_full = false;
    if (!conn->is_broken) {
        conn_write(conn);
    }
}

static int16_t end_reason(const struct rl_conn *conn, int error) {
    if (error < 0) {
        assert(error == RL_END_TLS || error == RL_END_CERTIFICATE);
        return (int16_t)(error == RL_END_TLS ? REDLOCK_ERR_NODE_TLS : REDLOCK_ERR_NODE_CERTIFICATE);
    }
    return (int16_t)(conn->is_up ? REDLOCK_ERR_NODE_DISCONNECTED : REDLOCK_ERR_NODE_CONNECT);
}

static void conn_end(void *owner, int error, const char *detail) {
    struct rl_conn *conn = owner;
    const char *text = error > 0 ? strerror(error) : "the server closed the connection";
    conn_note(conn, end_reason(conn, error), detail[0] != '\0' ? detail : text);
    conn_settle(conn);
}

static const struct rl_stream_events stream_events = {
    .reached = conn_reached,
    .up = conn_up,
    .bytes = conn_bytes,
    .room = conn_room,
    .end = conn_end,
};

/* -- The interface -- */

static struct rl_stream *conn_dial(struct rl_conn *conn, struct rl_dialer *dialer,
                                   const struct rl_address *address, int *error) {
    struct rl_world *world = conn->io->world;
    return dialer != NULL ? dialer->dial(dialer, world, address, &stream_events, conn, error)
                          : world->ops->dial(world, address, &stream_events, conn, error);
}

struct rl_conn *rl_conn_open(struct rl_io *io, struct rl_dialer *dialer,
                             const struct rl_address *address, const struct rl_conn_events *events,
                             void *owner, const uint32_t *waiting, int16_t *reason,
                             char detail[RL_DETAIL_MAX]) {
    int error = ENOMEM;
    assert(*waiting == 0); /* missing answers ended with the previous connection */
    struct rl_conn *conn = rl_alloc(io->memory, 1, sizeof *conn);
    if (conn != NULL) {
        conn->io = io;
        conn->events = events;
        conn->owner = owner;
        conn->reader = redisReaderCreate();
    }
    if (conn != NULL && conn->reader != NULL) {
        rl_reply_guard(conn->reader, &conn->slot, waiting);
        conn->stream = conn_dial(conn, dialer, address, &error);
        if (conn->stream != NULL) {
            return conn;
        }
    }
    if (conn != NULL) {
        conn_dispose(conn);
    }
    *reason = (int16_t)(error == ENOMEM ? REDLOCK_ERR_NOMEM : REDLOCK_ERR_NODE_CONNECT);
    snprintf(detail, RL_DETAIL_MAX, "%s", error == ENOMEM ? "no memory" : strerror(error));
    return NULL;
}

void rl_conn_listen(struct rl_conn *conn, struct rl_received *received) {
    assert(!conn->is_up);
    conn->slot.received = received;
}

bool rl_conn_send(struct rl_conn *conn, const char *wire, size_t length) {
    assert(conn->is_up);
    if (!rl_out_add(&conn->out, conn->io->memory, wire, length)) {
        rl_conn_break(conn, REDLOCK_ERR_NOMEM, "no memory for a command");
        return false;
    }
    if (!conn->is_full) {
        conn->events->dirty(conn->owner);
    }
    return true;
}

char *rl_conn_place(struct rl_conn *conn, size_t room) {
    return rl_conn_reserve(conn, room) ? conn->out.bytes + conn->out.to : NULL;
}

void rl_conn_wrote(struct rl_conn *conn, size_t length) {
    assert(length <= conn->out.room - conn->out.to);
    conn->out.to += length;
    if (!conn->is_full) {
        conn->events->dirty(conn->owner);
    }
}

size_t rl_conn_unsent(const struct rl_conn *conn) {
    return rl_out_length(&conn->out);
}

bool rl_conn_is_full(const struct rl_conn *conn) {
    return conn->is_full;
}

void rl_conn_push(struct rl_conn *conn) {
    if (conn->is_up && !conn->is_broken && !conn->is_full) {
        conn_write(conn);
    }
}

bool rl_conn_reserve(struct rl_conn *conn, size_t room) {
    assert(conn->is_up);
    if (!rl_out_reserve(&conn->out, conn->io->memory, room)) {
        rl_conn_break(conn, REDLOCK_ERR_NOMEM, "no memory for the commands");
        return false;
    }
    return true;
}

/* Reserves all room first, so that the buffer does not move while it grows. */
bool rl_conn_begin_secret(struct rl_conn *conn, size_t room) {
    if (!rl_conn_reserve(conn, room)) {
        return false;
    }
    conn->out.is_secret = true;
    return true;
}

bool rl_conn_send_apart(struct rl_conn *conn, const char *wire, size_t length, bool waits) {
    assert(conn->is_up && !conn->waits);
    if (!rl_out_reserve(&conn->out, conn->io->memory, length)) {
        return false;
    }
    conn->waits = waits;
    conn->ahead = rl_out_length(&conn->out);
    conn->out.is_secret = true;
    bool is_sent = rl_conn_send(conn, wire, length);
    assert(is_sent); /* there is room for it */
    return is_sent;
}

/* A hostile server may have answered commands that are not written yet; they are written all the
 * same. */
void rl_conn_go_on(struct rl_conn *conn) {
    assert(conn->is_up);
    if (conn->waits) {
        conn->waits = false;
        conn->events->dirty(conn->owner);
    }
}

void rl_conn_flush(struct rl_conn *conn) {
    rl_conn_push(conn);
    conn_settle(conn);
}

void rl_conn_break(struct rl_conn *conn, int16_t reason, const char *detail) {
    conn_note(conn, reason, detail);
    conn->events->dirty(conn->owner);
}

void rl_conn_expect(struct rl_conn *conn, struct rl_due due) {
    if (due.config != NULL) {
        due.config->memory = conn->io->memory;
    }
    conn->slot.due = due;
}

void rl_conn_close(struct rl_conn *conn) {
    conn_dispose(conn);
}

/* -- Before a connection -- */

static void address_put(struct rl_address *address, const void *from, size_t length) {
    assert(length <= sizeof address->storage);
    memset(address, 0, sizeof *address);
    memcpy(&address->storage, from, length);
    address->length = (socklen_t)length;
}

bool rl_address_of(const struct rl_url *url, struct rl_address *address) {
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(url->port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(url->port)};
    if (url->kind == RL_URL_UNIX) {
        size_t length = strlen(url->path) + 1;
        memcpy(path.sun_path, url->path, length);
        address_put(address, &path, offsetof(struct sockaddr_un, sun_path) + length);
        return true;
    }
    assert(url->port != 0);
    if (inet_pton(AF_INET, url->host, &four.sin_addr) == 1) {
        address_put(address, &four, sizeof four);
        return true;
    }
    if (inet_pton(AF_INET6, url->host, &six.sin6_addr) == 1) {
        address_put(address, &six, sizeof six);
        return true;
    }
    return false;
}

/* xorshift is random enough to keep clients apart. */
uint64_t rl_pause_ns(uint64_t shortest_ns, uint64_t longest_ns, uint64_t lasted_ns,
                     uint64_t *last_ns, uint64_t *random) {
    assert(shortest_ns > 0 && shortest_ns <= longest_ns);
    assert(*last_ns <= longest_ns);
    assert(*random != 0);
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    if (lasted_ns >= shortest_ns) {
        return 1 + *random % (shortest_ns / 2 + 1);
    }
    uint64_t pause_ns = *last_ns == 0 ? shortest_ns : *last_ns * 2;
    if (pause_ns > longest_ns) {
        pause_ns = longest_ns;
    }
    *last_ns = pause_ns;
    return pause_ns - *random % (pause_ns / 2 + 1);
}
