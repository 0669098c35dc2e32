/* Certificates made in memory: an authority and what it signs. */
#ifndef TLS_CERTS_H
#define TLS_CERTS_H

#include <openssl/ssl.h>
#include <stdbool.h>

struct tls_cert {
    X509 *x509;
    EVP_PKEY *key;
};

struct tls_wish {
    const char *common_name;   /* NULL: "test" */
    const char *alt_names;     /* in OpenSSL's syntax, "DNS:a,IP:127.0.0.1"; NULL: none */
    int from_days, until_days; /* from now; both 0: -1 and 1 */
    bool is_authority;
    const struct tls_cert *issuer; /* NULL: signed by itself */
};

void tls_cert_make(struct tls_cert *cert, const struct tls_wish *wish);
void tls_cert_free(struct tls_cert *cert);

/* Writes a PEM file in this folder, and its path to `path`. */
void tls_cert_write(const struct tls_cert *cert, const char *folder, const char *name, char *path,
                    size_t size);
void tls_key_write(const struct tls_cert *cert, const char *folder, const char *name, char *path,
                   size_t size);

#endif
