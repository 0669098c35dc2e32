/* See tls_settings.h. */
#include "client/tls_settings.h"

#include <assert.h>

static const char *either(const char *said, const char *otherwise) {
    assert(said != NULL);
    return said[0] != '\0' ? said : otherwise;
}

/* A certificate and its key are one thing: a URL that names one of them names both. And a URL that
 * says whom it trusts, or that it trusts all, is not asked about the client's authorities. */
struct rl_tls_settings rl_client_tls_settings(const redlock_client_options *o,
                                              const struct rl_url_tls *said) {
    assert(!said->insecure || said->has_insecure);
    bool has_pair = said->cert[0] != '\0' || said->key[0] != '\0';
    bool trusts = said->ca[0] != '\0' || said->has_insecure;
    return (struct rl_tls_settings){
        .ca = either(said->ca, said->insecure ? NULL : o->tls_ca),
        .cert = either(said->cert, has_pair ? NULL : o->tls_cert),
        .key = either(said->key, has_pair ? NULL : o->tls_key),
        .insecure = trusts ? said->insecure : o->tls_insecure_skip_verify != 0,
    };
}

const char *rl_client_tls_name(const redlock_client_options *o, const struct rl_url_tls *said,
                               const char *host) {
    assert(host[0] != '\0');
    return either(said->server_name, o->tls_server_name != NULL ? o->tls_server_name : host);
}
