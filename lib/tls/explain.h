/* Why a connection with TLS failed, in a sentence with what can be done about it. What a peer has
 * put into its certificate is shown printable and cut. */
#ifndef RL_TLS_EXPLAIN_H
#define RL_TLS_EXPLAIN_H

#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stddef.h>

#include "tls/state.h"

/* Why the certificate of this node is not accepted. verified: as OpenSSL left it. */
void rl_tls_explain_certificate(X509_STORE_CTX *verified, const struct rl_tls_peer *peer,
                                char *text, size_t size);

/* Why the handshake failed (is_up: what came after it was not TLS). error: of OpenSSL's queue. */
void rl_tls_explain_error(unsigned long error, bool is_up, const struct rl_tls *tls, char *text,
                          size_t size);

#endif
