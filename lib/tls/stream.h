/* A TLS connection: a stream (base/world.h) on top of a stream of any world.
 *
 * Happy path: a node's dialer makes the stream, the stream below is up (`reached`), the handshake,
 * `up`; written data is sent as records of at most 16 KB, in the same system call as without TLS;
 * received data is decrypted within the event that brought it.
 *
 * Failure modes: as for the stream below; the handshake fails, or the certificate is not accepted
 * (RL_END_TLS, RL_END_CERTIFICATE, with a sentence); later bytes are not TLS's, a record was
 * changed, or the peer sends an alert (RL_END_TLS). A hanging handshake is not detected here: the
 * owner has a deadline for `up`. The peer cannot begin a new handshake. An end without close_notify
 * is treated as an end with it: a reply that was cut off is not an answer, since every reply says
 * where it ends.
 *
 * Can one connection's error reach another? No: OpenSSL keeps its errors for each thread, not for
 * each connection, so the queue is empty before each call, and is left empty.
 *
 * Can a peer keep us busy, or make us keep much, by messages that are TLS's own (tickets, new
 * keys)? No: the connection ends after RL_TLS_IDLE_MAX of them without data in between, or if the
 * peer reads too little of OpenSSL's answers to them (bio.h). The computing time of a handshake
 * does not depend on numbers that the peer chooses (context.c).
 *
 * Can an event of ours come from inside a call? No: only events of the stream below cause one. A
 * write that OpenSSL refuses (no memory) makes the stream below fail in the world's next turn.
 *
 * Can the owner's close() free memory that is in use? No: inside an event it marks the stream, and
 * the end of the event frees it.
 */
#ifndef RL_TLS_STREAM_H
#define RL_TLS_STREAM_H

#include "base/memory.h"
#include "base/world.h"

struct rl_tls;

#define RL_TLS_PEER_NAME_MAX 255

/* The dialer of one node, whose connections share sessions. name: a host name, which is sent to the
 * server (SNI), or an IP address: the certificate must be for it. Copied. NULL: no memory. tls must
 * outlive it. */
struct rl_dialer *rl_tls_peer_new(struct rl_tls *tls, const char *name);

/* To be called after its streams are closed. NULL is ignored. */
void rl_tls_peer_free(struct rl_dialer *dialer);

#endif
