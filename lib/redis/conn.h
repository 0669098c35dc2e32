/* One connection: commands to a stream of the world, and replies from it through hiredis's reader.
 *
 * Happy path: rl_conn_open() connects without blocking, `connected` comes, rl_conn_send() appends
 * commands, rl_conn_flush() writes all of them with one system call a turn, `reply` comes once for
 * each, in order. Nothing is allocated then.
 *
 * Failure modes, each of which ends in exactly one `broken` event (or in none, if the owner closes
 * first): refused, reset, end of file, a handshake or record of TLS that fails, bytes that are not
 * the protocol, a reply to no request, more than RL_CONN_BUFFER_MAX bytes without a complete reply,
 * no memory, or rl_conn_break().
 *
 * Only the parser of hiredis is used, and our guard limits what it may build (guard.h). Can
 * `broken` come from inside a function of hiredis, or of the world? No: it comes at the end of an
 * event, and of rl_conn_flush().
 *
 * A connection that listens to channels (rl_conn_listen()) receives messages as well (guard.h).
 */
#ifndef RL_REDIS_CONN_H
#define RL_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/world.h"
#include "redis/guard.h"
#include "redis/url.h"

#define RL_CONN_BUFFER_MAX 65536 /* bytes that a peer may send without completing a reply */
#define RL_DETAIL_MAX 128

/* Shared by all connections of one client. */
struct rl_io {
    struct rl_world *world;
    const redlock_allocator *memory;
    char *wire;                   /* a command is written here, and copied at once; room for two */
    size_t wire_room;             /* of each of the two; enough for every existing target */
    struct rl_config_read config; /* the configuration that is being read */
    uint64_t read_ns; /* when the replies that are being read arrived; 0: none is being read */
};

static inline uint64_t rl_io_now_ns(const struct rl_io *io) {
    return io->world->ops->now_ns(io->world);
}

/* The time for the steps of locks: all replies of one read arrived at the same time, and no user
 * code runs in between that could make it outdated for a callback. Times that are reported to the
 * user, or by which a callback is judged, use rl_io_now_ns(). */
static inline uint64_t rl_io_step_ns(const struct rl_io *io) {
    return io->read_ns != 0 ? io->read_ns : rl_io_now_ns(io);
}

/* In a child after fork(): the sockets and the contents of their buffers are the parent's. */
static inline bool rl_io_is_forked(const struct rl_io *io) {
    return io->world->ops->is_forked(io->world);
}

/* The owner's duties:
 *   - `reply` is called while bytes are read: do not close this connection there, use
 *     rl_conn_break(). On a connection that listens an array is in its rl_received;
 *   - `dirty` asks for rl_conn_flush() before the loop polls again;
 *   - after `broken` the connection is freed, its pointer must be forgotten. */
struct rl_conn_events {
    void (*reached)(void *owner); /* the handshake of TLS begins: it has a time of its own */
    void (*connected)(void *owner);
    void (*reply)(void *owner, const redisReply *reply);
    void (*dirty)(void *owner);
    void (*broken)(void *owner, int16_t reason, const char *detail);
};

struct rl_conn;

/* Begins to connect. NULL if even that failed; *reason and detail say why. dialer: outlives the
 * connection; NULL: the world's own streams. waiting: the owner's number of requests without an
 * answer, read by the reply guard. */
struct rl_conn *rl_conn_open(struct rl_io *io, struct rl_dialer *dialer,
                             const struct rl_address *address, const struct rl_conn_events *events,
                             void *owner, const uint32_t *waiting, int16_t *reason,
                             char detail[RL_DETAIL_MAX]);

/* Makes it a connection that listens. Right after opening it; received is filled in before `reply`
 * comes for an array. */
void rl_conn_listen(struct rl_conn *conn, struct rl_received *received);

/* Appends a command, after `connected`. False if there is no memory: the connection is broken then,
 * which the next flush reports to the owner. */
bool rl_conn_send(struct rl_conn *conn, const char *wire, size_t length);

/* For a command that is formatted in place: returns where up to `room` bytes may be written, or
 * NULL without memory; rl_conn_wrote() appends them. */
char *rl_conn_place(struct rl_conn *conn, size_t room);
void rl_conn_wrote(struct rl_conn *conn, size_t length);

/* Reserves room for this many more bytes, so that appending them cannot fail. False: as in
 * rl_conn_send(). */
bool rl_conn_reserve(struct rl_conn *conn, size_t room);

/* The next bytes that are appended, at most `room`, may contain a password: they are wiped when all
 * of them are written, or the connection ends. Only in a handshake. False: as in rl_conn_send(). */
bool rl_conn_begin_secret(struct rl_conn *conn, size_t room);

/* Appends one command that may contain a password, after others. waits: it and everything appended
 * after it is not written before rl_conn_go_on(). One at a time. False: no memory; nothing was
 * appended, and the connection goes on. */
bool rl_conn_send_apart(struct rl_conn *conn, const char *wire, size_t length, bool waits);
void rl_conn_go_on(struct rl_conn *conn);

/* Writes what was appended. May end in `broken`. */
void rl_conn_flush(struct rl_conn *conn);

/* The number of appended bytes that the stream has not taken yet; whether it takes no more now. */
size_t rl_conn_unsent(const struct rl_conn *conn);
bool rl_conn_is_full(const struct rl_conn *conn);

/* Writes what was appended before the turn ends, to save memory. No `broken` comes here. */
void rl_conn_push(struct rl_conn *conn);

/* Marks the connection as unusable: no further reply is delivered and `broken` comes with this
 * reason, at the end of the event that is being handled or by the next flush. */
void rl_conn_break(struct rl_conn *conn, int16_t reason, const char *detail);

/* Sets what the next reply answers. If it is a string, it is parsed before `reply` comes. */
void rl_conn_expect(struct rl_conn *conn, struct rl_due due);

/* Closes the connection now; no more events come. Not from inside `reply`. */
void rl_conn_close(struct rl_conn *conn);

/* -- Before a connection -- */

/* The address in a URL, if it has one: a path, or a numeric host. False: the host is a name, which
 * the world has to look up. */
bool rl_address_of(const struct rl_url *url, struct rl_address *address);

/* The pause before reconnecting to a node or listener. If the connection was up for longer than the
 * shortest pause (lasted_ns; 0: it was not up), at most half of that pause, at random: a server
 * that cuts connections (`redlock set`) is still there, and clients must not all return at once.
 * Otherwise the pause doubles from *last_ns (0: the first) up to the longest, with a jitter of half
 * of itself. random: the state of the jitter, not 0. */
uint64_t rl_pause_ns(uint64_t shortest_ns, uint64_t longest_ns, uint64_t lasted_ns,
                     uint64_t *last_ns, uint64_t *random);

#endif
