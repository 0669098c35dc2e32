/* The world: all input from outside the library: time, randomness, names, bytes.
 *
 * All input comes through one table. lib/uv implements the table on libuv, test/sim on a seed, and
 * everything above (lib/redis, lib/client, the recipes) runs on either unchanged.
 *
 * Rules that every world keeps:
 *   - Events come only from the world's own turn, never from inside a call of this table, so no
 *     caller is called back inside its own call.
 *   - A stream has at most one `end`. After it no other event of that stream comes; the owner still
 *     calls close().
 *   - close() of a stream is allowed anywhere, in the stream's own events too. After it no event of
 *     that stream comes, and the owner's pointer is invalid. The world keeps the memory as long as
 *     needed.
 *   - turn() and before_wait() never nest in each other or themselves, even if the user's code in
 *     them runs the loop again; other events may.
 *   - After close() of the world no event comes but `closed`.
 *   - After each batch of events `turn` comes once. It also comes before the world blocks, if
 *     wake() was called since the last turn, and at the time that was given to arm().
 *   - In a child after fork() no event comes any more.
 *
 * Can two ends of one stream be reported? No: an error that write() finds is kept and reported
 * once, by `end`, in the world's own turn; before that `bytes` may deliver data that had arrived.
 * Can the owner see bytes of a connection that it has closed? No: each event first checks whether
 * the stream is closed. */
#ifndef RL_WORLD_H
#define RL_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/units.h"

#define RL_ADDRESSES_MAX 8 /* of one name; more are not tried */

/* A socket address, not text: IPv6 scopes and unix paths of 107 bytes fit. */
struct rl_address {
    socklen_t length;
    struct sockaddr_storage storage;
};

struct rl_stream;
struct rl_world;

/* Ends without an errno value. detail says more. */
enum rl_stream_end {
    RL_END_TLS = -1,        /* the handshake failed, or the peer broke the rules of TLS */
    RL_END_CERTIFICATE = -2 /* the peer's certificate is not accepted */
};

/* Each is called with the owner that was given to dial(). */
struct rl_stream_events {
    /* NULL, or: connected, and a handshake begins before `up`. Only a stream with TLS has that. */
    void (*reached)(void *owner);

    /* Connected; a stream with TLS: after the handshake, with a valid certificate. */
    void (*up)(void *owner);

    /* Bytes, valid within this call only. */
    void (*bytes)(void *owner, const char *bytes, size_t length);

    /* After a write() that took less than all: try again. */
    void (*room)(void *owner);

    /* The stream has ended. error: an errno value, 0 for the peer's orderly end, or below 0 one of
     * enum rl_stream_end; detail: a text, "" if it would only repeat strerror(error). */
    void (*end)(void *owner, int error, const char *detail);
};

struct rl_stream_ops {
    /* Returns how many bytes were taken, 0 to length; if fewer than length, `room` comes later. It
     * never blocks, raises no SIGPIPE and keeps no pointer to bytes. On a failure it returns 0, and
     * `end` comes in the world's next turn. Only after `up` and before `end`. */
    size_t (*write)(struct rl_stream *stream, const char *bytes, size_t length);

    /* `end` comes in the world's next turn, with this errno value. Only after `up` and before
     * `end`. For layers between a stream and its owner, which have no turn of their own. */
    void (*fail)(struct rl_stream *stream, int error);
    void (*close)(struct rl_stream *stream);
};

/* The first member of every stream. */
struct rl_stream {
    const struct rl_stream_ops *ops;
    const struct rl_stream_events *events;
    void *owner;
};

/* The answer to resolve(), in a later turn. n is 0 if the name is not known; error then says why,
 * human-readable. The addresses are valid within this call only. */
typedef void (*rl_resolved_cb)(void *owner, const struct rl_address *addresses, uint32_t n,
                               const char *error);

struct rl_world_events {
    /* See the rules. Returns whether user code ran: then a loop that is run for one iteration must
     * return, and not block. */
    bool (*turn)(void *owner);

    /* The world is about to wait for events, and wake() was not called: does what must not come
     * after bytes that have already arrived (losses that are due). Returns as turn. */
    bool (*before_wait)(void *owner);

    /* After close(): nothing of the world is left but its own memory, which is freed when this
     * returns. The last event. */
    void (*closed)(void *owner);
};

struct rl_world_ops {
    /* Continues while the machine is suspended, and never goes back. Any thread. */
    uint64_t (*now_ns)(struct rl_world *world);

    /* Time of day in microseconds since 1970; may jump. Not 0. */
    uint64_t (*wall_us)(struct rl_world *world);

    /* Everything that had arrived by this time was delivered, so a peer without a message since
     * then really was silent. It lags behind now_ns() while the program blocks the loop, or while a
     * peer sends more than one turn reads. */
    uint64_t (*heard_ns)(struct rl_world *world);

    /* Writes unpredictable bytes. False: none are available. */
    bool (*random)(struct rl_world *world, void *bytes, size_t length);

    /* The one timer: `turn` comes at or after at_ns, never before. A call replaces the previous
     * time; RL_NEVER: no timer. An additional turn does no harm. */
    void (*arm)(struct rl_world *world, uint64_t at_ns);

    /* One more turn before the world blocks. */
    void (*wake)(struct rl_world *world);

    /* Begins to connect. NULL and *error (an errno value) if even that failed (descriptors, memory,
     * no route, a unix socket whose queue is full). */
    struct rl_stream *(*dial)(struct rl_world *world, const struct rl_address *to,
                              const struct rl_stream_events *events, void *owner, int *error);

    /* Looks up a name; numeric addresses do not need this. NULL and *error, a sentence, if it could
     * not begin. Otherwise `done` comes once, unless forget() was called. host is copied. */
    void *(*resolve)(struct rl_world *world, const char *host, uint16_t port, rl_resolved_cb done,
                     void *owner, const char **error);
    void (*forget)(struct rl_world *world, void *resolving);

    /* Whether this process is a copy, by fork(), of the one that opened the world. Any thread. */
    bool (*is_forked)(const struct rl_world *world);

    /* In such a copy: closes the descriptors, and touches nothing that both processes share. */
    void (*abandon)(struct rl_world *world);

    /* All streams must be closed and all look-ups forgotten. `closed` comes later. */
    void (*close)(struct rl_world *world);
};

/* The first member of every world. events and owner are set by its user, before the first
 * call. */
struct rl_world {
    const struct rl_world_ops *ops;
    const struct rl_world_events *events;
    void *owner;
};

/* Makes streams on a world, as its dial() does: a layer between world and node (TLS) is a
 * dialer. */
struct rl_dialer {
    struct rl_stream *(*dial)(struct rl_dialer *dialer, struct rl_world *world,
                              const struct rl_address *to, const struct rl_stream_events *events,
                              void *owner, int *error);
};

#endif
