/* Why a TLS connection failed, in a sentence with the remedy. Text from a peer's certificate is
 * made printable, and cut. */
#ifndef RL_TLS_EXPLAIN_H
#define RL_TLS_EXPLAIN_H

#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stddef.h>

#include "tls/state.h"

/* Why this node's certificate was not accepted. verified: as OpenSSL left it. */
void rl_tls_explain_certificate(X509_STORE_CTX *verified, const struct rl_tls_peer *peer,
                                char *text, size_t size);

/* Why the handshake failed (is_up: why later bytes were not TLS). error: from OpenSSL's queue. */
void rl_tls_explain_error(unsigned long error, bool is_up, const struct rl_tls *tls, char *text,
                          size_t size);

#endif
