/* What TLS is set to for one node: what its URL says wins over the client's options. And what is
 * wrong with that: each check returns 0, or REDLOCK_ERR_INVALID and a sentence. `redlock doctor`
 * connects as a client does, so it asks here as well. Pure functions. */
#ifndef RL_NODES_TLS_H
#define RL_NODES_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "client/state.h"
#include "redis/url_tls.h"
#include "redlock/redlock.h"
#include "tls/context.h"

/* The client's options, each by itself; o has the room for the sentence. */
int rl_client_tls_check(const redlock_client_options *o);

/* ... and whether a node needs them. */
int rl_client_tls_check_use(const redlock_client_options *o, bool has_tls);

/* Their texts are those of o and said. */
struct rl_tls_settings rl_client_tls_settings(const redlock_client_options *o,
                                              const struct rl_url_tls *said);

/* The name that the certificate must be for. */
const char *rl_client_tls_name(const redlock_client_options *o, const struct rl_url_tls *said,
                               const char *host);

/* What is set for one node, together; node: for the sentence. */
int rl_client_tls_check_node(const struct rl_tls_settings *settings, const char *server_name,
                             const char *node, char *error, size_t size);

/* TLS of a client's nodes: what they share.
 *
 * Happy path: rl_client_tls_node() makes a dialer for each node whose URL is rediss://, with the
 * settings that are its own. Nodes with the same settings share what is read from
 * files.
 *
 * Failure modes: options that contradict each other or that nobody needs, and files that cannot be
 * used, each with a sentence that names the option; no memory; a library without TLS. All of them
 * when the client opens, none later: a certificate that was replaced is read by the next client. */

/* After the URLs were read: whether one of them needs what is set. Returns 0, or
 * REDLOCK_ERR_INVALID and a sentence. */
int rl_client_tls_check_nodes(const redlock_client *client, const redlock_client_options *o);

/* Sets node i up for TLS, if its URL wants that; said: by that URL. Returns 0, or an error and a
 * sentence. */
int rl_client_tls_node(redlock_client *client, const redlock_client_options *o, uint32_t i,
                       const struct rl_url_tls *said);

/* When all connections are closed, or there were none. */
void rl_client_tls_free(redlock_client *client);

#endif
