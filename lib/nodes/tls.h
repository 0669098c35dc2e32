/* The TLS settings of one node: its URL takes precedence over the client's options. And their
 * checks: each returns 0, or REDLOCK_ERR_INVALID and a sentence. `redlock doctor` uses these as
 * well, since it connects as a client does. Pure functions. */
#ifndef RL_NODES_TLS_H
#define RL_NODES_TLS_H

#include "client/state.h"
#include "redis/url.h"
#include "redlock/redlock.h"
#include "tls/context.h"

/* Checks each of the client's options by itself; o has the room for the sentence. */
int rl_client_tls_check(const redlock_client_options *o);

/* Checks whether a node needs them. */
int rl_client_tls_check_use(const redlock_client_options *o, bool has_tls);

/* The settings of one node. The texts belong to o and said. */
struct rl_tls_settings rl_client_tls_settings(const redlock_client_options *o,
                                              const struct rl_url_tls *said);

/* The name that the certificate must be for. */
const char *rl_client_tls_name(const redlock_client_options *o, const struct rl_url_tls *said,
                               const char *host);

/* Checks the settings of one node together; node: its name, for the sentence. */
int rl_client_tls_check_node(const struct rl_tls_settings *settings, const char *server_name,
                             const char *node, char *error, size_t size);

/* TLS contexts that a client's nodes share.
 *
 * Happy path: rl_client_tls_node() makes a dialer for each node whose URL is rediss://, with its
 * own settings. Nodes with the same settings share the data from files.
 *
 * Failure modes: options that contradict each other or that no node needs, and unusable files, each
 * with a sentence that names the option; no memory; a library without TLS. All occur when the
 * client opens, not later: a certificate that was replaced is only read by the next client. */

/* Checks, after the URLs were read, whether one of them needs the TLS options that are set. Returns
 * 0, or REDLOCK_ERR_INVALID and a sentence. */
int rl_client_tls_check_nodes(const redlock_client *client, const redlock_client_options *o);

/* Sets up TLS for node i, if its URL asks for it; said: that URL's settings. Returns 0, or an error
 * and a sentence. */
int rl_client_tls_node(redlock_client *client, const redlock_client_options *o, uint32_t i,
                       const struct rl_url_tls *said);

/* Sets up TLS for a node that joins an open client, with the settings of the client's first TLS
 * node and the option tls_server_name. False: no memory. rl_client_tls_leave(): the node has left,
 * and is closed. */
bool rl_client_tls_join(redlock_client *client, uint32_t i);
void rl_client_tls_leave(redlock_client *client, uint32_t i);

/* Call this when no connection is open. */
void rl_client_tls_free(redlock_client *client);

#endif
