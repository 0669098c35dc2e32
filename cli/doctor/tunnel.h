/* TLS for hiredis's blocking contexts, which have none of their own in all versions: the library's
 * TLS (lib/tls) between the context's socket and one end of a pair, whose other end becomes the
 * context's. What doctor says about a certificate is what a client would say.
 *
 * Happy path: rl_doctor_tunnel() shakes hands, a thread carries bytes until either end closes, and
 * rl_doctor_tunnel_end() waits for it.
 *
 * Failure modes: a file or an option, no handshake in time, a certificate that is not accepted, no
 * thread or memory: the context has the error. */
#ifndef RL_CLI_DOCTOR_TUNNEL_H
#define RL_CLI_DOCTOR_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor/facts.h"

#define RL_DOCTOR_ERR_TLS 64 /* err of a context; hiredis's own are small */

struct redisContext;

/* Whether what is set can be used, for all nodes. Returns 0, or says why not and returns the exit
 * status. */
int rl_doctor_tunnel_check(const struct rl_facts *facts, size_t n);

/* context: connected, and nothing was sent. NULL: it has the error. */
struct rl_tunnel *rl_doctor_tunnel(const struct rl_facts *facts, struct redisContext *context);

/* When the context is freed. why: unless TLS ended the connection, is left as it is. With TLS 1.3 a
 * server looks at the client's certificate when the handshake is over. */
void rl_doctor_tunnel_end(struct rl_tunnel *tunnel, char why[RL_FACT_MAX]);

#endif
