/* See stream.h. */
#include "tls/stream.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/mark.h"
#include "base/require.h"
#include "tls/bio.h"
#include "tls/explain.h"
#include "tls/session.h"
#include "tls/state.h"

static_assert(RL_TLS_PEER_NAME_MAX == RL_TLS_NAME_MAX, "the same");

static struct rl_tls_stream *stream_of(struct rl_stream *stream) {
    return (struct rl_tls_stream *)(void *)stream;
}

/* -- The end -- */

/* Marks the connection as shut down on both sides: otherwise OpenSSL would drop its sessions, which
 * are needed when a node has died. */
static void stream_free(struct rl_tls_stream *s) {
    const redlock_allocator *memory = s->peer->tls->memory;
    assert(!s->in_event);
    assert(s->under == NULL && s->pipe.under == NULL);
    if (s->ssl != NULL) {
        SSL_set_shutdown(s->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(s->ssl); /* and its BIO */
    }
    ERR_clear_error();
    rl_out_free(&s->pipe.out, memory);
    rl_free(memory, s);
}

static void stream_close(struct rl_stream *stream) {
    struct rl_tls_stream *s = stream_of(stream);
    RL_REQUIRE(!s->is_closed); /* its memory may be reused */
    s->is_closed = true;
    if (s->is_up && !s->is_over && rl_out_length(&s->pipe.out) == 0) {
        ERR_clear_error();
        (void)SSL_shutdown(s->ssl); /* if there is room; does not wait for an answer */
    }
    s->pipe.under = NULL;
    assert(s->under != NULL);
    s->under->ops->close(s->under);
    s->under = NULL;
    if (!s->in_event) {
        stream_free(s);
    }
}

static void stream_end(struct rl_tls_stream *s, int error, const char *detail) {
    RL_REQUIRE(!s->is_closed && !s->is_over); /* one end */
    assert(error >= 0 || detail[0] != '\0');
    s->is_over = true;
    s->base.events->end(s->base.owner, error, detail);
}

/* Ends the stream for an OpenSSL error. */
static void stream_break(struct rl_tls_stream *s) {
    unsigned long error = ERR_get_error();
    assert(s->in_event); /* an end occurs nowhere else */
    ERR_clear_error();
    rl_tls_session_drop_all(s->peer);
    if (s->pipe.is_clogged) {
        stream_end(s, RL_END_TLS, "the server makes TLS answer, and does not read the answers");
    } else if (s->pipe.no_memory || ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) {
        stream_end(s, ENOMEM, "");
    } else if (s->is_rejected) {
        stream_end(s, RL_END_CERTIFICATE, s->detail);
    } else {
        rl_tls_explain_error(error, s->is_up, s->peer->tls, s->detail, sizeof s->detail);
        stream_end(s, RL_END_TLS, s->detail);
    }
}

/* -- Receiving -- */

static int on_verify(int good, X509_STORE_CTX *verified) {
    const SSL *ssl = X509_STORE_CTX_get_ex_data(verified, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct rl_tls_stream *s = SSL_get_app_data(ssl);
    assert(s != NULL && s->ssl == ssl);
    if (!good) {
        s->is_rejected = true;
        rl_tls_explain_certificate(verified, s->peer, s->detail, sizeof s->detail);
    }
    return good;
}

/* The server asks for a certificate of ours. 1: go on, with or without one. */
static int on_asked(SSL *ssl, void *owner) {
    struct rl_tls_stream *s = owner;
    assert(s->ssl == ssl && !s->is_up);
    (void)ssl;
    s->was_asked = true;
    return 1;
}

/* RFC 9525, section 2: only subjectAltName contains the name. */
#define NAME_FLAGS (X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)

/* OpenSSL ends a handshake with a bad certificate. But a system's configuration may allow ciphers
 * without certificates; and when memory runs out OpenSSL may lose the expected name, and go on
 * (3.0: ssl_verify_cert_chain() does not check that its copy succeeded). */
static bool is_verified(const struct rl_tls_stream *s) {
    const struct rl_tls_peer *peer = s->peer;
    if (peer->tls->insecure) {
        return true;
    }
    X509 *cert = SSL_get_peer_certificate(s->ssl);
    assert(cert == NULL || SSL_get_verify_result(s->ssl) == X509_V_OK);
    bool is_good = cert != NULL && SSL_get_verify_result(s->ssl) == X509_V_OK &&
                   (peer->is_address ? X509_check_ip_asc(cert, peer->name, 0)
                                     : X509_check_host(cert, peer->name, 0, NAME_FLAGS, NULL)) == 1;
    X509_free(cert);
    ERR_clear_error();
    return is_good;
}

/* Continues the handshake. Returns whether it is complete. */
static bool stream_shake(struct rl_tls_stream *s) {
    assert(!s->is_up && !s->is_over);
    ERR_clear_error();
    int done = SSL_do_handshake(s->ssl);
    if (done != 1) {
        if (SSL_get_error(s->ssl, done) != SSL_ERROR_WANT_READ) {
            stream_break(s);
        }
        return false;
    }
    if (!is_verified(s)) {
        rl_tls_session_drop_all(s->peer);
        stream_end(s, RL_END_CERTIFICATE, "the server has shown no certificate for its name");
        return false;
    }
    if (SSL_session_reused(s->ssl)) {
        RL_MARK(TLS_RESUMED);
    }
    s->is_up = true;
    s->base.events->up(s->base.owner);
    return true;
}

/* Counts a message of TLS itself, without data for the owner. Each may cost much more than its
 * bytes. */
static void stream_idle(struct rl_tls_stream *s) {
    assert(s->is_up && s->n_idle <= RL_TLS_IDLE_MAX);
    if (++s->n_idle > RL_TLS_IDLE_MAX) {
        rl_tls_session_drop_all(s->peer);
        stream_end(s, RL_END_TLS,
                   "the server sends one message of TLS after the other and no data");
    }
}

static void stream_read(struct rl_tls_stream *s) {
    char *plain = s->peer->tls->plain;
    bool has_more = true;
    assert(s->is_closed || s->is_over || s->is_up);
    while (has_more && !s->is_closed && !s->is_over) {
        ERR_clear_error();
        s->pipe.is_starved = false;
        int n = SSL_read(s->ssl, plain, RL_TLS_RECORD_MAX);
        int why = SSL_get_error(s->ssl, n);
        if (n > 0) {
            s->has_read = true;
            s->n_idle = 0;
            s->base.events->bytes(s->base.owner, plain, (size_t)n);
        } else if (why == SSL_ERROR_ZERO_RETURN) {
            stream_end(s, 0, "");
        } else if (why != SSL_ERROR_WANT_READ) {
            stream_break(s);
        } else if (s->pipe.is_starved) {
            has_more = false;
        } else {
            stream_idle(s);
        }
    }
}

/* -- The events of the stream below -- */

static void event_begin(struct rl_tls_stream *s) {
    assert(!s->in_event && !s->is_closed);
    s->in_event = true;
}

static void event_end(struct rl_tls_stream *s) {
    assert(s->in_event);
    s->in_event = false;
    if (s->is_closed) {
        stream_free(s);
    }
}

static void under_up(void *owner) {
    struct rl_tls_stream *s = owner;
    assert(s->pipe.under == NULL && !s->is_up);
    event_begin(s);
    s->pipe.under = s->under;
    if (s->base.events->reached != NULL) {
        s->base.events->reached(s->base.owner);
    }
    if (!s->is_closed) {
        (void)stream_shake(s);
    }
    event_end(s);
}

static void under_bytes(void *owner, const char *bytes, size_t length) {
    struct rl_tls_stream *s = owner;
    if (s->is_over) {
        return;
    }
    event_begin(s);
    s->pipe.in = bytes;
    s->pipe.in_left = length;
    if (s->is_up || stream_shake(s)) {
        stream_read(s);
    }
    s->pipe.in = NULL;
    s->pipe.in_left = 0;
    event_end(s);
}

static void under_room(void *owner) {
    struct rl_tls_stream *s = owner;
    if (s->is_over) {
        return;
    }
    event_begin(s);
    if (rl_tls_pipe_flush(&s->pipe) && s->wants_room) {
        assert(s->is_up);
        s->wants_room = false;
        s->base.events->room(s->base.owner);
    }
    event_end(s);
}

/* With TLS 1.3 our side is up before the server has checked our certificate, and its alert about
 * that may be lost with the connection. */
static const char *ended_unheard(const struct rl_tls_stream *s) {
    assert(s->is_up);
    return s->peer->tls->has_cert
               ? "ended after our certificate was sent (tls_cert): is it accepted there?"
               : "ended after it asked for a client certificate: set tls_cert and tls_key";
}

static void under_end(void *owner, int error, const char *detail) {
    struct rl_tls_stream *s = owner;
    bool in_handshake = !s->is_up && s->pipe.under != NULL;
    if (s->is_over) {
        return;
    }
    event_begin(s);
    s->pipe.under = NULL;
    if (in_handshake) {
        rl_tls_session_drop_all(s->peer);
        stream_end(s, RL_END_TLS,
                   "the server ended the connection in the TLS handshake: too many clients "
                   "(maxclients)?");
    } else if (s->was_asked && !s->has_read && !s->has_failed) {
        stream_end(s, RL_END_TLS, ended_unheard(s));
    } else {
        stream_end(s, error, detail);
    }
    event_end(s);
}

static const struct rl_stream_events under_events = {
    .up = under_up,
    .bytes = under_bytes,
    .room = under_room,
    .end = under_end,
};

/* -- Sending -- */

static void stream_fail(struct rl_stream *stream, int error) {
    struct rl_tls_stream *s = stream_of(stream);
    assert(s->is_up && !s->is_over && !s->is_closed);
    s->has_failed = true;
    s->under->ops->fail(s->under, error);
}

/* Writes record by record, while the stream below takes them. */
static size_t stream_write(struct rl_stream *stream, const char *bytes, size_t length) {
    struct rl_tls_stream *s = stream_of(stream);
    size_t done = 0;
    assert(s->is_up && !s->is_over && !s->is_closed);
    if (length == 0) {
        return 0;
    }
    while (done < length && !s->has_failed && rl_out_length(&s->pipe.out) == 0) {
        size_t left = length - done;
        ERR_clear_error();
        int n = SSL_write(s->ssl, bytes + done,
                          (int)(left < RL_TLS_RECORD_MAX ? left : RL_TLS_RECORD_MAX));
        if (n <= 0) {
            stream_fail(stream, s->pipe.no_memory ? ENOMEM : EIO);
            break;
        }
        done += (size_t)n;
    }
    ERR_clear_error();
    assert(done <= length);
    s->wants_room = done < length;
    return done;
}

/* -- Dialing -- */

static const struct rl_stream_ops stream_ops = {.write = stream_write,
                                                .fail = stream_fail,
                                                .close = stream_close};

static bool expect_name(SSL *ssl, const struct rl_tls_peer *peer) {
    SSL_set_hostflags(ssl, NAME_FLAGS);
    SSL_set_verify(ssl, SSL_VERIFY_PEER, on_verify);
    return peer->is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), peer->name) == 1
                            : SSL_set1_host(ssl, peer->name) == 1;
}

/* False: no memory. */
static bool stream_prepare(struct rl_tls_stream *s) {
    struct rl_tls_peer *peer = s->peer;
    assert(peer->name[0] != '\0');
    s->ssl = SSL_new(peer->tls->context);
    BIO *bio = s->ssl != NULL ? rl_tls_bio_new(peer->tls->method, &s->pipe) : NULL;
    if (bio == NULL) {
        return false;
    }
    SSL_set_bio(s->ssl, bio, bio);
    SSL_set_connect_state(s->ssl);
    SSL_set_cert_cb(s->ssl, on_asked, s);
    if (SSL_set_app_data(s->ssl, s) != 1 || /* on_verify() needs it */
        (!peer->is_address && SSL_set_tlsext_host_name(s->ssl, peer->name) != 1) ||
        (!peer->tls->insecure && !expect_name(s->ssl, peer))) {
        return false;
    }
    SSL_SESSION *session = rl_tls_session_take(peer);
    if (session != NULL) {
        (void)SSL_set_session(s->ssl, session); /* on failure the handshake is full */
        SSL_SESSION_free(session);
    }
    return true;
}

static struct rl_tls_peer *peer_of(struct rl_dialer *dialer) {
    return (struct rl_tls_peer *)(void *)dialer;
}

static struct rl_stream *peer_dial(struct rl_dialer *dialer, struct rl_world *world,
                                   const struct rl_address *to,
                                   const struct rl_stream_events *events, void *owner, int *error) {
    struct rl_tls_peer *peer = peer_of(dialer);
    const redlock_allocator *memory = peer->tls->memory;
    *error = ENOMEM;
    ERR_clear_error();
    struct rl_tls_stream *s = rl_alloc(memory, 1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->base = (struct rl_stream){.ops = &stream_ops, .events = events, .owner = owner};
    s->peer = peer;
    s->pipe.memory = memory;
    if (stream_prepare(s)) {
        s->under = world->ops->dial(world, to, &under_events, s, error);
    }
    if (s->under == NULL) {
        stream_free(s);
        return NULL;
    }
    assert(!s->is_up);
    return &s->base;
}

struct rl_dialer *rl_tls_peer_new(struct rl_tls *tls, const char *name) {
    struct in6_addr address;
    size_t length = strlen(name);
    assert(length > 0 && length <= RL_TLS_NAME_MAX);
    struct rl_tls_peer *peer = rl_alloc(tls->memory, 1, sizeof *peer);
    if (peer == NULL) {
        return NULL;
    }
    /* The root's dot belongs to DNS; certificates do not have it. */
    length -= name[length - 1] == '.' && length > 1 ? 1 : 0;
    memcpy(peer->name, name, length);
    peer->tls = tls;
    assert(peer->name[0] != '\0');
    peer->dialer.dial = peer_dial;
    peer->is_address = inet_pton(AF_INET, peer->name, &address) == 1 ||
                       inet_pton(AF_INET6, peer->name, &address) == 1;
    return &peer->dialer;
}

void rl_tls_peer_free(struct rl_dialer *dialer) {
    if (dialer != NULL) {
        struct rl_tls_peer *peer = peer_of(dialer);
        const redlock_allocator *memory = peer->tls->memory;
        assert(peer->dialer.dial == peer_dial);
        rl_tls_session_drop_all(peer);
        rl_free(memory, peer);
    }
}
