/* Sessions to resume: a new connection then needs no certificate to be sent and verified, and half
 * of the computation.
 *
 * Happy path: the server sends tickets after its handshake, which are kept, and the next connection
 * to that node takes the newest. A TLS 1.3 ticket is used once (RFC 8446, appendix C.4), so that an
 * observer of the network cannot tell that two connections are from one client.
 *
 * Can a session outlive the trust on which it relies? No. It is kept for one name and one set of
 * settings, with which its certificate was verified. It is not used after its lifetime, nor after
 * the certificate has expired. A server with another key or certificate does not know the ticket,
 * and does a full handshake. Can a bad session keep a node away? No: if a handshake with a session
 * fails, all are dropped.
 */
#ifndef RL_TLS_SESSION_H
#define RL_TLS_SESSION_H

#include "tls/state.h"

/* Takes over the reference; the oldest session makes room. */
void rl_tls_session_keep(struct rl_tls_peer *peer, SSL_SESSION *session);

/* A session for the next connection, with a reference for the caller; NULL: there is none. */
SSL_SESSION *rl_tls_session_take(struct rl_tls_peer *peer);

void rl_tls_session_drop_all(struct rl_tls_peer *peer);

#endif
