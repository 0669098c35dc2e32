/* OpenSSL's view of a connection: a BIO that reads the bytes of the current event, and writes to
 * the stream below.
 *
 * Happy path: nothing is buffered here. A record that is read is copied once, into OpenSSL's
 * buffer; one that is written goes from there to the stream below.
 *
 * Failure modes: if no bytes are left, OpenSSL must ask again. If the stream below takes less than
 * it is given, the rest is kept. Without memory for that (pipe->no_memory), or if the rest grows
 * too large (is_clogged), the connection must not be used any more.
 *
 * Can a peer make us keep more and more? No. At most one record of the owner's data is kept, since
 * the owner writes nothing while there is a rest (stream.c). But OpenSSL itself answers some
 * messages, even from a peer that reads nothing; these answers are kept up to RL_TLS_KEPT_MAX. */
#ifndef RL_TLS_BIO_H
#define RL_TLS_BIO_H

#include "tls/state.h"

/* NULL: no memory. The caller frees it, after all BIOs of it. */
BIO_METHOD *rl_tls_bio_method(void);

/* A BIO on pipe, which must outlive it. NULL: no memory. */
BIO *rl_tls_bio_new(const BIO_METHOD *method, struct rl_tls_pipe *pipe);

/* Writes the kept bytes to the stream below. Returns whether all of them were taken. */
bool rl_tls_pipe_flush(struct rl_tls_pipe *pipe);

#endif
