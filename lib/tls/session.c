/* See session.h. */
#include "tls/session.h"

#include <assert.h>
#include <openssl/x509.h>
#include <string.h>
#include <time.h>

void rl_tls_session_keep(struct rl_tls_peer *peer, SSL_SESSION *session) {
    assert(session != NULL);
    assert(peer->n_sessions <= RL_TLS_SESSIONS_MAX);
    if (peer->n_sessions == RL_TLS_SESSIONS_MAX) {
        SSL_SESSION_free(peer->sessions[0]);
        peer->n_sessions--;
        memmove(&peer->sessions[0], &peer->sessions[1],
                peer->n_sessions * sizeof peer->sessions[0]);
    }
    assert(peer->n_sessions < RL_TLS_SESSIONS_MAX);
    peer->sessions[peer->n_sessions++] = session;
}

/* When the session began, in seconds since 1970. Later releases deprecate the function that returns
 * a long. */
static time_t began_at(const SSL_SESSION *session) {
    assert(session != NULL);
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    return SSL_SESSION_get_time_ex(session);
#else
    return (time_t)SSL_SESSION_get_time(session);
#endif
}

static bool is_good(SSL_SESSION *session, bool insecure) {
    time_t now = time(NULL);
    assert(session != NULL);
    const X509 *cert = SSL_SESSION_get0_peer(session);
    time_t age = now - began_at(session);
    if (!SSL_SESSION_is_resumable(session) || age < 0 || age >= SSL_SESSION_get_timeout(session)) {
        return false;
    }
    return insecure || (cert != NULL && X509_cmp_time(X509_get0_notAfter(cert), &now) > 0);
}

SSL_SESSION *rl_tls_session_take(struct rl_tls_peer *peer) {
    assert(peer->n_sessions <= RL_TLS_SESSIONS_MAX);
    while (peer->n_sessions > 0) {
        SSL_SESSION *session = peer->sessions[--peer->n_sessions];
        assert(session != NULL);
        if (!is_good(session, peer->tls->insecure)) {
            SSL_SESSION_free(session);
        } else if (SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION) {
            return session;
        } else if (SSL_SESSION_up_ref(session)) { /* a TLS 1.2 session can be reused */
            peer->n_sessions++;
            return session;
        }
    }
    return NULL;
}

void rl_tls_session_drop_all(struct rl_tls_peer *peer) {
    while (peer->n_sessions > 0) {
        SSL_SESSION_free(peer->sessions[--peer->n_sessions]);
    }
    assert(peer->n_sessions == 0);
}
