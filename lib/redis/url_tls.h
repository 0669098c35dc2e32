/* The TLS settings of a rediss:// URL, for its node alone: they take precedence over the client's
 * options.
 *
 *     rediss://host?tls_ca=/etc/ssl/redis.pem&tls_server_name=redis.example
 *
 *     tls_ca, tls_cert, tls_key      paths, percent-encoded
 *     tls_server_name                a host name or an IP address
 *     tls_insecure_skip_verify       0 or 1
 *
 * Each at most once. Nothing is opened or looked up here. */
#ifndef RL_REDIS_URL_TLS_H
#define RL_REDIS_URL_TLS_H

#include <stdbool.h>

#include "redis/url_text.h"

#define RL_URL_TLS_PATH_MAX 1023
#define RL_URL_TLS_NAME_MAX 255

struct rl_url_tls { /* "": not set */
    char ca[RL_URL_TLS_PATH_MAX + 1];
    char cert[RL_URL_TLS_PATH_MAX + 1];
    char key[RL_URL_TLS_PATH_MAX + 1];
    char server_name[RL_URL_TLS_NAME_MAX + 1];
    bool has_insecure; /* insecure is set */
    bool insecure;
};

/* Reads what follows the '?'. False: p says why not. */
bool rl_url_tls_read(struct rl_url_parser *p, struct rl_span s, struct rl_url_tls *tls);

#endif
