/* What TLS is set to for one node: what its URL says wins over the client's options. `redlock
 * doctor` connects as a client does, so it asks here as well. Pure functions. */
#ifndef RL_CLIENT_TLS_SETTINGS_H
#define RL_CLIENT_TLS_SETTINGS_H

#include "redis/url_tls.h"
#include "redlock/redlock.h"
#include "tls/context.h"

/* Their texts are those of o and said. */
struct rl_tls_settings rl_client_tls_settings(const redlock_client_options *o,
                                              const struct rl_url_tls *said);

/* The name that the certificate must be for. */
const char *rl_client_tls_name(const redlock_client_options *o, const struct rl_url_tls *said,
                               const char *host);

#endif
