/* See explain.h. */
#include "tls/explain.h"

#include <arpa/inet.h>
#include <assert.h>
#include <openssl/err.h>
#include <openssl/tls1.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#define ALERT_BASE SSL_AD_REASON_OFFSET
#define ALERT_MAX 255
#define SHOWN_NAMES_MAX 56 /* bytes of a sentence for the names in a certificate */
#define SHOWN_MAX 36       /* the same for the expected name, or an issuer's */

static void make_printable(char *text) {
    assert(text != NULL);
    for (char *c = text; *c != '\0'; c++) {
        if (*c < 0x20 || *c >= 0x7f) {
            *c = '?';
        }
    }
}

/* -- Certificates -- */

static void show_time(const ASN1_TIME *when, char *text, size_t size) {
    struct tm tm = {0};
    char shown[32];
    if (when == NULL || ASN1_TIME_to_tm(when, &tm) != 1 ||
        strftime(shown, sizeof shown, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0) {
        snprintf(shown, sizeof shown, "a time that is none");
    }
    snprintf(text, size, "%s", shown);
}

/* The common name, or the organisation, or whatever there is. */
static void show_name(X509_NAME *name, char text[SHOWN_MAX + 1]) {
    char found[SHOWN_MAX + 1] = "";
    if (name == NULL ||
        (X509_NAME_get_text_by_NID(name, NID_commonName, found, sizeof found) <= 0 &&
         X509_NAME_get_text_by_NID(name, NID_organizationName, found, sizeof found) <= 0)) {
        snprintf(found, sizeof found, "an authority without a name");
    }
    make_printable(found);
    snprintf(text, SHOWN_MAX + 1, "%s", found);
}

/* "" if it is neither a DNS name nor an address. */
static void show_general_name(const GENERAL_NAME *name, char *text, size_t size) {
    assert(size > INET6_ADDRSTRLEN);
    text[0] = '\0';
    if (name->type == GEN_DNS) {
        const unsigned char *bytes = ASN1_STRING_get0_data(name->d.dNSName);
        snprintf(text, size, "%.*s", ASN1_STRING_length(name->d.dNSName), (const char *)bytes);
    } else if (name->type == GEN_IPADD) {
        int length = ASN1_STRING_length(name->d.iPAddress);
        const unsigned char *bytes = ASN1_STRING_get0_data(name->d.iPAddress);
        if (length == 4 || length == 16) {
            inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, text, (socklen_t)size);
        }
    }
    make_printable(text);
}

/* "a.example, b.example, ..."; "" if it names no host at all. */
static void show_names(const X509 *cert, char text[SHOWN_NAMES_MAX + 1]) {
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        char one[64];
        show_general_name(sk_GENERAL_NAME_value(names, i), one, sizeof one);
        size_t length = strlen(one) + (used > 0 ? 2 : 0);
        if (one[0] == '\0') {
            continue;
        }
        if (used + length + sizeof ", ..." > SHOWN_NAMES_MAX + 1) {
            snprintf(text + used, SHOWN_NAMES_MAX + 1 - used, "%s...", used > 0 ? ", " : "");
            break;
        }
        used += (size_t)snprintf(text + used, SHOWN_NAMES_MAX + 1 - used, "%s%s",
                                 used > 0 ? ", " : "", one);
    }
    assert(strlen(text) <= SHOWN_NAMES_MAX);
    GENERAL_NAMES_free(names);
}

static void explain_mismatch(const X509 *cert, const struct rl_tls_peer *peer, char *text,
                             size_t size) {
    char names[SHOWN_NAMES_MAX + 1];
    assert(peer->name[0] != '\0' && !peer->tls->insecure);
    show_names(cert, names);
    if (names[0] == '\0') {
        snprintf(text, size, "name mismatch: the certificate has no host in its subjectAltName");
    } else {
        snprintf(text, size, "name mismatch: the certificate is for %s, not for %.*s", names,
                 SHOWN_MAX, peer->name);
    }
}

/* whose: "certificate" of the server itself, or one of the chain above it. */
static void explain_time(const X509 *cert, int depth, bool expired, char *text, size_t size) {
    char when[32], whose[SHOWN_MAX + 32] = "certificate", name[SHOWN_MAX + 1];
    assert(cert != NULL && depth >= 0);
    show_time(expired ? X509_get0_notAfter(cert) : X509_get0_notBefore(cert), when, sizeof when);
    if (depth > 0) {
        show_name(X509_get_subject_name(cert), name);
        snprintf(whose, sizeof whose, "the authority %s", name);
    }
    snprintf(text, size, expired ? "%s expired on %s" : "%s is not valid before %s", whose, when);
}

static void explain_unknown(const X509 *cert, const struct rl_tls *tls, char *text, size_t size) {
    char issuer[SHOWN_MAX + 1];
    assert(cert != NULL && !tls->insecure);
    show_name(X509_get_issuer_name(cert), issuer);
    snprintf(text, size,
             tls->has_ca ? "unknown authority: %s is not in tls_ca"
                         : "unknown authority %s: set tls_ca to its certificate",
             issuer);
}

void rl_tls_explain_certificate(X509_STORE_CTX *verified, const struct rl_tls_peer *peer,
                                char *text, size_t size) {
    const X509 *cert = X509_STORE_CTX_get_current_cert(verified);
    int error = X509_STORE_CTX_get_error(verified);
    int depth = X509_STORE_CTX_get_error_depth(verified);
    assert(error != X509_V_OK);
    assert(!peer->tls->insecure); /* it would not be checked */
    assert(size > 0);
    if (cert == NULL) {
        error = X509_V_ERR_UNSPECIFIED;
    }
    switch (error) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            explain_time(cert, depth, true, text, size);
            break;
        case X509_V_ERR_CERT_NOT_YET_VALID:
            explain_time(cert, depth, false, text, size);
            break;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            explain_mismatch(cert, peer, text, size);
            break;
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            snprintf(text, size, "self-signed certificate%s",
                     peer->tls->has_ca ? " that is not in tls_ca" : ": set tls_ca to it");
            break;
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            explain_unknown(cert, peer->tls, text, size);
            break;
        default:
            snprintf(text, size, "certificate: %s", X509_verify_cert_error_string(error));
    }
}

/* -- The handshake -- */

/* Explains a server's alert about our side; NULL: the alert's own text is enough. */
static const char *explain_alert(int alert, const struct rl_tls *tls) {
    switch (alert) {
        case SSL3_AD_HANDSHAKE_FAILURE:
            return tls->has_cert ? "the server refused the handshake: no common cipher?"
                                 : "the server refused the handshake: does it want a client "
                                   "certificate (tls_cert, tls_key)?";
        case SSL3_AD_NO_CERTIFICATE:
        case TLS13_AD_CERTIFICATE_REQUIRED:
            return "the server wants a client certificate: set tls_cert and tls_key";
        case SSL3_AD_BAD_CERTIFICATE:
        case SSL3_AD_UNSUPPORTED_CERTIFICATE:
        case SSL3_AD_CERTIFICATE_UNKNOWN:
        case TLS1_AD_ACCESS_DENIED:
            return "the server does not accept our certificate (tls_cert)";
        case SSL3_AD_CERTIFICATE_REVOKED:
            return "the server takes our certificate (tls_cert) for revoked";
        case SSL3_AD_CERTIFICATE_EXPIRED:
            return "the server takes our certificate (tls_cert) for expired";
        case TLS1_AD_UNKNOWN_CA:
            return "the server does not know the authority of our certificate (tls_cert)";
        case TLS1_AD_PROTOCOL_VERSION:
            return "the server has no TLS 1.2 or later";
        case TLS1_AD_UNRECOGNIZED_NAME:
            return "the server has no certificate for this name (tls_server_name)";
        default:
            return NULL;
    }
}

static const char *explain_reason(int reason, bool is_up) {
    switch (reason) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
        case SSL_R_UNEXPECTED_MESSAGE:
#ifdef SSL_R_RECORD_LAYER_FAILURE
        case SSL_R_RECORD_LAYER_FAILURE:
#endif
            return is_up ? NULL : "what it answers is not TLS; for a plain port write redis://";
        case SSL_R_UNSUPPORTED_PROTOCOL:
            return "the server has no TLS 1.2 or later";
        default:
            return NULL;
    }
}

void rl_tls_explain_error(unsigned long error, bool is_up, const struct rl_tls *tls, char *text,
                          size_t size) {
    const char *why = NULL, *words = ERR_reason_error_string(error);
    int reason = ERR_GET_REASON(error);
    assert(size > 0);
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
        bool is_alert = reason >= ALERT_BASE && reason <= ALERT_BASE + ALERT_MAX;
        why = is_alert ? explain_alert(reason - ALERT_BASE, tls) : explain_reason(reason, is_up);
    }
    if (why != NULL) {
        snprintf(text, size, "%s", why);
    } else {
        snprintf(text, size, "%s: %s", is_up ? "TLS" : "TLS handshake",
                 words != NULL ? words : "failed");
    }
    make_printable(text);
}
