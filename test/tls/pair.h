/* A stream with TLS and a server at its other end, in one process without a socket.
 *
 * The stream is the library's (lib/tls), on a world that is only a pair of buffers; the server is
 * OpenSSL's own, and echoes each byte that it reads. A test can split, change, drop and end the
 * bytes between them.
 *
 *     pair_begin() -> pair_dial() -> pair_run() ... -> pair_hang_up() -> pair_end()
 */
#ifndef TLS_PAIR_H
#define TLS_PAIR_H

#include <openssl/ssl.h>

#include "base/world.h"
#include "testing.h"
#include "tls/certs.h"
#include "tls/context.h"
#include "tls/stream.h"

#define PAIR_BYTES_MAX (1u << 20)

struct pair_bytes {
    char *bytes;
    size_t length;
};

struct pair;

/* The stream below the one with TLS. */
struct pair_under {
    struct rl_stream stream; /* the first member */
    struct pair *pair;
    bool is_up;
    bool is_over;
    bool is_closed;
    bool wants_room;
    int error; /* of the next turn, 0: none */
};

struct pair {
    struct rl_world world; /* the first member: it has only dial() */
    redlock_allocator memory;
    size_t allocations, in_use; /* of the client's allocator */
    size_t fail_at;             /* the allocation that fails, from 1; 0: none */
    bool and_later;

    struct rl_tls *tls;
    struct rl_dialer *dialer;
    struct rl_stream *stream;
    struct pair_under *under;

    /* The bytes between them. */
    struct pair_bytes to_server, to_client;
    size_t piece;     /* bytes delivered at once; 0: all */
    size_t room;      /* bytes that the stream below holds; 0: no limit */
    size_t cut_after; /* the client gets so many bytes, then the end; SIZE_MAX: never */
    size_t delivered; /* to the client */
    void (*bend)(struct pair *pair, char *bytes, size_t length); /* changes bytes to the client */

    /* The server. */
    SSL_CTX *server_context;
    SSL *server;
    bool is_mute; /* it reads, and writes nothing */
    bool is_shaken;
    bool has_ended; /* it got a close_notify, or cannot go on */
    bool resumed;
    struct pair_bytes heard;

    /* What the owner has seen. */
    int reached, ups, ends, rooms;
    int error;
    char detail[256];
    struct pair_bytes got;
    int close_in; /* the event in which it closes: enum pair_event, 0: none */
};

enum pair_event { PAIR_NONE, PAIR_REACHED, PAIR_UP, PAIR_BYTES, PAIR_ROOM, PAIR_END };

/* settings: the client's, or NULL; name: the server's, as the client knows it; cert: the
 * server's. */
void pair_begin(struct pair *pair, const struct rl_tls_settings *settings, const char *name,
                const struct tls_cert *cert);

/* The server is at work, not the client: injected allocation failures spare it. */
extern bool pair_at_server;

/* The server uses another certificate, from the next connection on. */
void pair_serve(struct pair *pair, const struct tls_cert *cert);

/* False: dialing failed. */
bool pair_dial(struct pair *pair);

/* Runs until nothing moves any more. */
void pair_run(struct pair *pair);

/* One event, or the server's work on what it has received. False: there was neither. */
bool pair_step(struct pair *pair);

/* Adds bytes of the test's own to what the client reads next. */
void pair_say(struct pair *pair, const void *bytes, size_t length);

/* Adds what the server has written since the last call. */
void pair_flush(struct pair *pair);

/* Writes all bytes, waiting for `room` where necessary, and runs. */
void pair_write(struct pair *pair, const void *bytes, size_t length);

/* The owner closes, if it has not. */
void pair_close(struct pair *pair);

/* Closes both sides, so that a new connection can be dialed. */
void pair_hang_up(struct pair *pair);

/* Demands that all memory is freed. */
void pair_end(struct pair *pair);

#endif
