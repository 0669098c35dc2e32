/* TLS for hiredis's blocking contexts, which have none of their own in all versions: the library's
 * TLS (lib/tls) between the context's socket and one end of a pair, whose other end becomes the
 * context's. Messages about a certificate are those of a client.
 *
 * Happy path: rl_tunnel_open() shakes hands, a thread carries bytes until either end closes, and
 * rl_tunnel_end() waits for it.
 *
 * Failure modes: a file or an option, no handshake in time, a certificate that is not accepted, no
 * thread or memory: the context has the error. */
#ifndef RL_CLI_WIRE_TUNNEL_H
#define RL_CLI_WIRE_TUNNEL_H

#include <stddef.h>

#include "args.h"
#include "redis/url_tls.h"

#define RL_TUNNEL_WHY_MAX 128
#define RL_TUNNEL_ERR 64 /* err of a context; hiredis's own are small */

struct redisContext;
struct rl_tls_settings;
struct rl_tunnel;

/* Whether a client would open with these: the files are read. Returns a status, and why in
 * error. */
int rl_tunnel_check_files(const struct rl_tls_settings *settings, const char *node, char *error,
                          size_t size);

/* context: connected, and nothing was sent. tls and host: of its URL. NULL: it has the error. */
struct rl_tunnel *rl_tunnel_open(struct redisContext *context, const struct rl_args *args,
                                 const struct rl_url_tls *tls, const char *host);

/* Call it when the context has been freed. why: unchanged unless TLS ended the connection. With TLS
 * 1.3 a server verifies the client's certificate after the handshake. */
void rl_tunnel_end(struct rl_tunnel *tunnel, char why[RL_TUNNEL_WHY_MAX]);

#endif
