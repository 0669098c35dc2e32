/* See files.h. */
#include "tls/files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "redlock/status.h"

#define SHOWN 200 /* bytes of a path in a sentence */

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

/* How many certificates of a file were added, or -1: the queue says why. */
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

/* As add_file(), for a folder. Skips files without a certificate, and malformed ones. */
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

int rl_tls_files_ca(SSL_CTX *context, const char *path, char *error, size_t size) {
    struct stat info;
    assert(context != NULL);
    ERR_clear_error();
    if (path == NULL) {
        return SSL_CTX_set_default_verify_paths(context) == 1
                   ? 0
                   : rl_error_set(error, size, REDLOCK_ERR_NOMEM, "out of memory");
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
        return rl_error_set(error, size, REDLOCK_ERR_NOMEM, "out of memory");
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
        return rl_error_set(error, size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    if (unread != NULL) {
        return rl_error_set(error, size, REDLOCK_ERR_INVALID,
                            "%s is \"%.*s\", which cannot be read: %s", option, SHOWN, path,
                            unread);
    }
    return rl_error_set(error, size, REDLOCK_ERR_INVALID, "%s is \"%.*s\": %s", option, SHOWN, path,
                        what);
}

int rl_tls_files_pair(SSL_CTX *context, const char *cert, const char *key, char *error,
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
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL); /* it ends with this function */
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
