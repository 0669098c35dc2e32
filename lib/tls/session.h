/* Sessions to resume: a connection that is made anew needs no certificate to be sent and verified,
 * and half of the computing.
 *
 * Happy path: the server sends tickets behind its handshake, they are kept, and the next connection
 * to that node takes the newest. One of TLS 1.3 is used once (RFC 8446, appendix C.4): whoever
 * watches the network cannot tell that two connections are of one client.
 *
 * Can a session outlive what it was trusted for? It is kept for one name under one set of settings,
 * with which its certificate was verified. It is not taken after its time, nor after the
 * certificate's own end. A server that has another key or certificate does not know the ticket, and
 * shakes hands anew. Can a bad session keep a node away? No: a handshake with one that fails drops
 * them all.
 */
#ifndef RL_TLS_SESSION_H
#define RL_TLS_SESSION_H

#include "tls/state.h"

/* Takes over the reference; the oldest makes room. */
void rl_tls_session_keep(struct rl_tls_peer *peer, SSL_SESSION *session);

/* A session for the next connection, the caller's reference; NULL: there is none. */
SSL_SESSION *rl_tls_session_take(struct rl_tls_peer *peer);

void rl_tls_session_drop_all(struct rl_tls_peer *peer);

#endif
