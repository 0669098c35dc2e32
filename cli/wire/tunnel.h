/* TLS for hiredis's blocking contexts, which have none of their own in all versions: the library's
 * TLS (lib/tls) between the context's socket and one end of a pair, whose other end becomes the
 * context's. What is said about a certificate is what a client would say.
 *
 * Happy path: rl_wire_tunnel() shakes hands, a thread carries bytes until either end closes, and
 * rl_wire_tunnel_end() waits for it.
 *
 * Failure modes: a file or an option, no handshake in time, a certificate that is not accepted, no
 * thread or memory: the context has the error. */
#ifndef RL_CLI_WIRE_TUNNEL_H
#define RL_CLI_WIRE_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/wire.h"

/* Whether what is set can be used, for all nodes. Returns 0, or says why not and returns the exit
 * status. */
int rl_wire_tunnel_check(const struct rl_wire *wires, size_t n);

/* wire->context: connected, and nothing was sent. NULL: it has the error. */
struct rl_tunnel *rl_wire_tunnel(const struct rl_wire *wire);

/* When the context has been freed. why: unless TLS ended the connection, is left as it is. With TLS
 * 1.3 a server looks at the client's certificate when the handshake is over. */
void rl_wire_tunnel_end(struct rl_tunnel *tunnel, char why[RL_WIRE_TEXT_MAX]);

#endif
