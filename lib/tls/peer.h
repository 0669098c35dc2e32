/* One node for TLS: a dialer for its connections, which share sessions. */
#ifndef RL_TLS_PEER_H
#define RL_TLS_PEER_H

#include "base/memory.h"
#include "base/world.h"

struct rl_tls;

#define RL_TLS_PEER_NAME_MAX 255

/* name: a host name, which is sent to the server (SNI), or an IP address: the certificate must be
 * for it. Copied. NULL: no memory. tls must outlive it. */
struct rl_dialer *rl_tls_peer_new(struct rl_tls *tls, const char *name);

/* To be called after its streams are closed. NULL is ignored. */
void rl_tls_peer_free(struct rl_dialer *dialer);

#endif
