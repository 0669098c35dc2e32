/* See certs.h. */
#include "tls/certs.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY_S (24 * 60 * 60)

static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static EVP_PKEY *new_key(void) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    demand(context != NULL && EVP_PKEY_keygen_init(context) == 1);
    demand(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1);
    demand(EVP_PKEY_keygen(context, &key) == 1);
    EVP_PKEY_CTX_free(context);
    return key;
}

static void add_extension(X509 *cert, int nid, const char *value) {
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    demand(extension != NULL && X509_add_ext(cert, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

void tls_cert_make(struct tls_cert *cert, const struct tls_wish *wish) {
    static long serial;
    bool has_days = wish->from_days != 0 || wish->until_days != 0;
    const char *name = wish->common_name != NULL ? wish->common_name : "test";
    cert->key = new_key();
    cert->x509 = X509_new();
    demand(cert->x509 != NULL && X509_set_version(cert->x509, 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(cert->x509), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert->x509), DAY_S * (has_days ? wish->from_days : -1L));
    X509_gmtime_adj(X509_getm_notAfter(cert->x509), DAY_S * (has_days ? wish->until_days : 1L));
    X509_set_pubkey(cert->x509, cert->key);
    X509_NAME *subject = X509_get_subject_name(cert->x509);
    demand(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                      -1, 0) == 1);
    const struct tls_cert *issuer = wish->issuer != NULL ? wish->issuer : cert;
    X509_set_issuer_name(cert->x509, X509_get_subject_name(issuer->x509));
    add_extension(cert->x509, NID_basic_constraints,
                  wish->is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (wish->alt_names != NULL) {
        add_extension(cert->x509, NID_subject_alt_name, wish->alt_names);
    }
    demand(X509_sign(cert->x509, issuer->key, EVP_sha256()) > 0);
}

void tls_cert_free(struct tls_cert *cert) {
    X509_free(cert->x509);
    EVP_PKEY_free(cert->key);
    *cert = (struct tls_cert){NULL, NULL};
}

static FILE *new_file(const char *folder, const char *name, const char *ending, char *path,
                      size_t size) {
    int length = snprintf(path, size, "%s/%s.%s", folder, name, ending);
    demand(length > 0 && (size_t)length < size);
    FILE *file = fopen(path, "w");
    demand(file != NULL);
    return file;
}

void tls_cert_write(const struct tls_cert *cert, const char *folder, const char *name, char *path,
                    size_t size) {
    FILE *file = new_file(folder, name, "crt", path, size);
    demand(PEM_write_X509(file, cert->x509) == 1);
    demand(fclose(file) == 0);
}

void tls_key_write(const struct tls_cert *cert, const char *folder, const char *name, char *path,
                   size_t size) {
    FILE *file = new_file(folder, name, "key", path, size);
    demand(PEM_write_PrivateKey(file, cert->key, NULL, NULL, 0, NULL, NULL) == 1);
    demand(fclose(file) == 0);
}
