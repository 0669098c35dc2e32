/* OpenSSL's view of a connection: a BIO that reads what came with the event that is being handled,
 * and writes to the stream below.
 *
 * Happy path: nothing is kept. A record that is read is copied once, into OpenSSL's buffer; one
 * that is written goes to the stream below from there.
 *
 * Failure modes: nothing came: OpenSSL is to ask again. The stream below takes less than it is
 * given: the rest is kept. No memory for it (pipe->no_memory), or too much of it (is_clogged): the
 * connection is not to be used further.
 *
 * Can a peer make us keep ever more? No. Of the owner's a record at most is kept, for it writes
 * nothing while there is a rest (stream.c). But OpenSSL answers some messages by itself, also those
 * of a peer that reads nothing, and these answers are kept up to RL_TLS_KEPT_MAX. */
#ifndef RL_TLS_BIO_H
#define RL_TLS_BIO_H

#include "tls/state.h"

/* NULL: no memory. The caller frees it, after all BIOs of it. */
BIO_METHOD *rl_tls_bio_method(void);

/* A BIO on pipe, which outlives it. NULL: no memory. */
BIO *rl_tls_bio_new(const BIO_METHOD *method, struct rl_tls_pipe *pipe);

/* Gives the stream below what is kept. Returns whether all of it is out. */
bool rl_tls_pipe_flush(struct rl_tls_pipe *pipe);

#endif
