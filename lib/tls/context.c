/* See context.h. */
#include "tls/context.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>

#include "base/error.h"
#include "redlock/status.h"
#include "tls/bio.h"
#include "tls/files.h"
#include "tls/session.h"

/* A ticket came. 1: the reference is ours now. */
static int on_session(SSL *ssl, SSL_SESSION *session) {
    const struct rl_tls_stream *s = SSL_get_app_data(ssl);
    assert(s != NULL && s->ssl == ssl);
    rl_tls_session_keep(s->peer, session);
    return 1;
}

static int no_memory(char *error, size_t size) {
    return rl_error_set(error, size, REDLOCK_ERR_NOMEM, "out of memory");
}

/* Allows only the TLS 1.2 ciphers that exchange keys by elliptic curves. They have forward secrecy;
 * with the others the server could choose numbers so long that the loop would block for half a
 * second (DHE with 10000 bits). Ciphers that the system's configuration excludes stay excluded. */
static bool context_set_ciphers(SSL_CTX *context) {
    char names[4096];
    size_t used = 0;
    const STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(context);
    for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++) {
        const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(ciphers, i);
        if (SSL_CIPHER_get_kx_nid(cipher) == NID_kx_ecdhe && used < sizeof names) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ":" : "",
                                     SSL_CIPHER_get_name(cipher));
        }
    }
    assert(used < sizeof names); /* there are about twenty */
    return used > 0 ? SSL_CTX_set_cipher_list(context, names) == 1
                    : SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1;
}

/* Stricter demands of the system's configuration stay in force. */
static bool context_set(SSL_CTX *context) {
    assert(context != NULL);
    if (SSL_CTX_get_min_proto_version(context) < TLS1_2_VERSION &&
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        return false;
    }
    if (!context_set_ciphers(context)) {
        return false;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY); /* messages without data are counted */
    /* An authority need not be a root: a certificate that is named in tls_ca is trusted. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context, on_session);
    return true;
}

static int context_load(SSL_CTX *context, const struct rl_tls_settings *settings, char *error,
                        size_t size) {
    int status = 0;
    assert(settings->ca == NULL || !settings->insecure);
    assert((settings->cert == NULL) == (settings->key == NULL));
    if (!settings->insecure) {
        status = rl_tls_files_ca(context, settings->ca, error, size);
    }
    if (status == 0 && settings->cert != NULL) {
        status = rl_tls_files_pair(context, settings->cert, settings->key, error, size);
    }
    return status;
}

static int context_make(struct rl_tls *tls, const struct rl_tls_settings *settings, char *error,
                        size_t size) {
    tls->context = SSL_CTX_new(TLS_client_method());
    tls->method = rl_tls_bio_method();
    return tls->context != NULL && tls->method != NULL && context_set(tls->context)
               ? context_load(tls->context, settings, error, size)
               : no_memory(error, size);
}

int rl_tls_new(struct rl_tls **out, const redlock_allocator *memory,
               const struct rl_tls_settings *settings, char *error, size_t size) {
    assert(out != NULL && memory != NULL);
    *out = NULL;
    struct rl_tls *tls = rl_alloc(memory, 1, sizeof *tls);
    if (tls == NULL) {
        return no_memory(error, size);
    }
    tls->memory = memory;
    tls->insecure = settings->insecure;
    tls->has_ca = settings->ca != NULL;
    tls->has_cert = settings->cert != NULL;
    /* Threads may be active here while the process exits: so OpenSSL is not cleaned up at exit. */
    int status = OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1
                     ? context_make(tls, settings, error, size)
                     : rl_error_set(error, size, REDLOCK_ERR_SYSTEM, "OpenSSL cannot be used");
    assert(status != 0 || SSL_CTX_get_min_proto_version(tls->context) >= TLS1_2_VERSION);
    if (status != 0) {
        rl_tls_free(tls);
    } else {
        *out = tls;
    }
    ERR_clear_error(); /* this thread's queue must not affect others */
    return status;
}

void rl_tls_free(struct rl_tls *tls) {
    if (tls != NULL) {
        assert(tls->memory != NULL);
        SSL_CTX_free(tls->context);
        BIO_meth_free(tls->method);
        rl_free(tls->memory, tls);
    }
}
