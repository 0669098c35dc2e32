/* The data of TLS connections. No functions: each part has its own header.
 *
 *     rl_tls           shared by connections with the same settings: OpenSSL's context rl_tls_peer
 *     one node: the name to look for in its certificate, sessions to resume rl_tls_stream    one
 *     connection, on a stream of the world
 *
 * OpenSSL sees no descriptor, no clock of ours and no memory of ours: it is given received bytes,
 * and returns bytes to send. */
#ifndef RL_TLS_STATE_H
#define RL_TLS_STATE_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/out.h"
#include "base/world.h"

#define RL_TLS_RECORD_MAX 16384 /* bytes of plain text in one record */
#define RL_TLS_DETAIL_MAX 128
#define RL_TLS_NAME_MAX 255
#define RL_TLS_SESSIONS_MAX 4       /* servers send two for each connection */
#define RL_TLS_KEPT_MAX (64u << 10) /* bytes that the stream below has not taken */
#define RL_TLS_IDLE_MAX 32          /* messages in a row that carry no data: tickets, new keys */

struct rl_tls {
    const redlock_allocator *memory;
    SSL_CTX *context;
    BIO_METHOD *method;
    bool insecure;                 /* certificates are not checked */
    bool has_cert;                 /* of our own */
    bool has_ca;                   /* authorities of its own, not the system's */
    char plain[RL_TLS_RECORD_MAX]; /* decrypted bytes, since only one stream reads at a time */
};

struct rl_tls_peer {
    struct rl_dialer dialer; /* the first member */
    struct rl_tls *tls;
    SSL_SESSION *sessions[RL_TLS_SESSIONS_MAX]; /* the newest last */
    uint32_t n_sessions;
    bool is_address;                /* name is an IP address */
    char name[RL_TLS_NAME_MAX + 1]; /* in the certificate */
};

/* Between OpenSSL and the stream below. */
struct rl_tls_pipe {
    const redlock_allocator *memory;
    struct rl_stream *under; /* NULL: not yet up, or over */
    const char *in;          /* the bytes of the current event */
    size_t in_left;
    struct rl_out out; /* what the stream below has not taken */
    bool is_starved;   /* OpenSSL has asked for more bytes */
    bool no_memory;
    bool is_clogged; /* RL_TLS_KEPT_MAX */
};

struct rl_tls_stream {
    struct rl_stream base; /* the first member */
    struct rl_tls_peer *peer;
    struct rl_stream *under; /* to be closed */
    struct rl_tls_pipe pipe;
    SSL *ssl;
    bool is_up;
    bool is_over;
    bool is_closed;
    bool in_event; /* the memory must last until the event ends */
    bool wants_room;
    bool was_asked;   /* for a certificate of ours */
    bool has_read;    /* anything */
    uint32_t n_idle;  /* messages without data since then */
    bool has_failed;  /* a write has failed, so the stream below ends */
    bool is_rejected; /* the certificate was rejected; detail has the reason */
    char detail[RL_TLS_DETAIL_MAX];
};

#endif
