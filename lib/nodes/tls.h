/* TLS of a client's nodes: what they share.
 *
 * Happy path: rl_client_tls_node() makes a dialer for each node whose URL is rediss://, with the
 * settings that are its own (tls_settings.h). Nodes with the same settings share what is read from
 * files.
 *
 * Failure modes: options that contradict each other or that nobody needs, and files that cannot be
 * used, each with a sentence that names the option; no memory; a library without TLS. All of them
 * when the client opens, none later: a certificate that was replaced is read by the next client. */
#ifndef RL_NODES_TLS_H
#define RL_NODES_TLS_H

#include "client/state.h"
#include "redis/url_tls.h"

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
