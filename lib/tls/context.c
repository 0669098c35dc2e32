/* See context.h. */
#include "tls/context.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "redlock/status.h"
#include "tls/bio.h"
#include "tls/session.h"

#define SHOWN 200 /* bytes of a path in a sentence */

static int no_memory(char *error, size_t size) {
    return rl_error_set(error, size, REDLOCK_ERR_NOMEM, "out of memory");
}

/* -- Certificates and keys from files --
 *
 * The library reads no other files, except for OpenSSL's access to the system's store of
 * authorities. Each sentence names the option, the file and the remedy. */

/* Prevents a password prompt on a terminal. data: NULL, or a bool that is set if a password was
 * wanted. */
static int no_password(char *buffer, int size, int writing, void *data) {
    bool *was_wanted = data;
    (void)buffer;
    (void)size;
    (void)writing;
    if (was_wanted != NULL) {
        *was_wanted = true;
    }
    return 0;
}

static bool is_no_memory(unsigned long error) {
    return ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
}

/* Why a file cannot be read, from OpenSSL's queue, where a failed open() is the first entry; NULL:
 * it was read. */
static const char *why_unread(void) {
    unsigned long error = ERR_peek_error();
    if (ERR_GET_LIB(error) == ERR_LIB_SYS) {
        return strerror(ERR_GET_REASON(error));
    }
    return NULL;
}

/* -- Authorities -- */

/* Adds a file's certificates. Returns how many, or -1: the queue has the reason. */
static int add_file(X509_STORE *store, const char *path) {
    int count = 0;
    bool failed = false;
    X509 *cert;
    BIO *bio = BIO_new_file(path, "r");
    assert(path[0] != '\0');
    if (bio == NULL) {
        return -1;
    }
    while (!failed && (cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        failed = X509_STORE_add_cert(store, cert) != 1;
        X509_free(cert);
        count++;
    }
    /* At the end of the file no further certificate begins. */
    unsigned long error = ERR_peek_last_error();
    bool at_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    if (!failed && at_end) {
        ERR_clear_error();
    }
    BIO_free(bio);
    return failed || !at_end ? -1 : count;
}

/* Adds the certificates of a folder's files; skips files without a certificate, and malformed
 * ones. */
static int add_folder(X509_STORE *store, const char *path) {
    char name[PATH_MAX];
    int total = 0;
    const struct dirent *entry;
    struct stat info;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return -1;
    }
    while ((entry = readdir(folder)) != NULL) {
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (length > 0 && (size_t)length < sizeof name && stat(name, &info) == 0 &&
            S_ISREG(info.st_mode)) {
            int count = add_file(store, name);
            total += count > 0 ? count : 0;
            ERR_clear_error();
        }
    }
    closedir(folder);
    assert(total >= 0);
    return total;
}

/* Loads all certificates of a PEM file, or of the PEM files of a folder, whatever their names are.
 * None at all is an error. NULL: the system's. */
static int load_ca(SSL_CTX *context, const char *path, char *error, size_t size) {
    struct stat info;
    assert(context != NULL);
    ERR_clear_error();
    if (path == NULL) {
        return SSL_CTX_set_default_verify_paths(context) == 1 ? 0 : no_memory(error, size);
    }
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    int count = is_folder ? add_folder(store, path) : add_file(store, path);
    int why_no_folder = errno;
    assert(count >= -1);
    if (count > 0) {
        return 0;
    }
    if (is_no_memory(ERR_peek_error())) {
        return no_memory(error, size);
    }
    const char *why = count == 0 ? NULL : is_folder ? strerror(why_no_folder) : why_unread();
    if (why != NULL) {
        return rl_error_set(error, size, REDLOCK_ERR_INVALID,
                            "tls_ca is \"%.*s\", which cannot be read: %s", SHOWN, path, why);
    }
    return rl_error_set(error, size, REDLOCK_ERR_INVALID,
                        "tls_ca is \"%.*s\": there is no readable PEM certificate in it; name the "
                        "file or folder with the certificates of the authorities",
                        SHOWN, path);
}

/* -- Our own certificate -- */

static int refuse_file(const char *option, const char *path, const char *what, char *error,
                       size_t size) {
    unsigned long why = ERR_peek_error();
    const char *unread = why_unread();
    assert(why != 0); /* or there was no error */
    if (is_no_memory(why)) {
        return no_memory(error, size);
    }
    if (unread != NULL) {
        return rl_error_set(error, size, REDLOCK_ERR_INVALID,
                            "%s is \"%.*s\", which cannot be read: %s", option, SHOWN, path,
                            unread);
    }
    return rl_error_set(error, size, REDLOCK_ERR_INVALID, "%s is \"%.*s\": %s", option, SHOWN, path,
                        what);
}

/* Our own certificate, followed by its chain, and its key. */
static int load_pair(SSL_CTX *context, const char *cert, const char *key, char *error,
                     size_t size) {
    bool is_locked = false;
    assert(cert != NULL && key != NULL);
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, &is_locked);
    if (SSL_CTX_use_certificate_chain_file(context, cert) != 1) {
        return refuse_file("tls_cert", cert,
                           "there is no PEM certificate that can be used in it; name the client's "
                           "certificate",
                           error, size);
    }
    ERR_clear_error();
    int done = SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL); /* is_locked is local */
    if (done == 1) {
        return 0;
    }
    if (is_no_memory(ERR_peek_error()) || why_unread() != NULL) {
        return refuse_file("tls_key", key, "", error, size);
    }
    bool is_other = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509;
    return rl_error_set(
        error, size, REDLOCK_ERR_INVALID, "tls_key is \"%.*s\": %s", SHOWN, key,
        is_other    ? "it does not fit the certificate of tls_cert; give the key it was made with"
        : is_locked ? "the key has a passphrase; give one without"
                    : "there is no PEM private key in it; name the key of tls_cert");
}

/* -- The context -- */

/* A ticket came. 1: the reference is ours now. */
static int on_session(SSL *ssl, SSL_SESSION *session) {
    const struct rl_tls_stream *s = SSL_get_app_data(ssl);
    assert(s != NULL && s->ssl == ssl);
    rl_tls_session_keep(s->peer, session);
    return 1;
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
        status = load_ca(context, settings->ca, error, size);
    }
    if (status == 0 && settings->cert != NULL) {
        status = load_pair(context, settings->cert, settings->key, error, size);
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
