/* A context: shared by TLS connections with the same settings.
 *
 * Happy path: rl_tls_new() when a client opens, which reads certificates and keys. TLS 1.2 or
 * later.
 *
 * Failure modes: a file cannot be read, or has the wrong content; no memory. */
#ifndef RL_TLS_CONTEXT_H
#define RL_TLS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

struct rl_tls;

struct rl_tls_settings {
    const char *ca;   /* a file or a folder; NULL: the system's */
    const char *cert; /* a file; NULL: none */
    const char *key;  /* a file; with cert */
    bool insecure;    /* the server's certificate is not checked */
};

/* Returns 0, or a status and a sentence in error. memory outlives it. */
int rl_tls_new(struct rl_tls **out, const redlock_allocator *memory,
               const struct rl_tls_settings *settings, char *error, size_t size);

/* Call this after everything that was made with it is freed. NULL is ignored. */
void rl_tls_free(struct rl_tls *tls);

#endif
