/* TLS for hiredis's blocking contexts, which have none of their own in all versions: the library's
 * TLS (lib/tls) between the context's socket and one end of a pair, whose other end becomes the
 * context's. What doctor says about a certificate is what a client would say.
 *
 * Happy path: rl_doctor_tunnel() shakes hands, and a thread carries bytes until either end closes.
 *
 * Failure modes: a file or an option, no handshake in time, a certificate that is not accepted, no
 * thread or memory: the context has the error. */
#ifndef RL_CLI_DOCTOR_TUNNEL_H
#define RL_CLI_DOCTOR_TUNNEL_H

#include <stdbool.h>

#include "doctor/facts.h"

#define RL_DOCTOR_ERR_TLS 64 /* err of a context; hiredis's own are small */

struct redisContext;

/* context: connected, and nothing was sent. */
bool rl_doctor_tunnel(const struct rl_facts *facts, struct redisContext *context);

#endif
