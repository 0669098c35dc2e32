/* See tls_settings.h. */
#include "nodes/tls_settings.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/error.h"

/* -- What is wrong with the options -- */

static const char *some_option(const redlock_client_options *o) {
    return o->tls_ca != NULL             ? "tls_ca"
           : o->tls_cert != NULL         ? "tls_cert"
           : o->tls_key != NULL          ? "tls_key"
           : o->tls_server_name != NULL  ? "tls_server_name"
           : o->tls_insecure_skip_verify ? "tls_insecure_skip_verify"
                                         : NULL;
}

static const char *empty_option(const redlock_client_options *o) {
    const struct {
        const char *name, *value;
    } texts[] = {{"tls_ca", o->tls_ca},
                 {"tls_cert", o->tls_cert},
                 {"tls_key", o->tls_key},
                 {"tls_server_name", o->tls_server_name}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].value != NULL && texts[i].value[0] == '\0') {
            return texts[i].name;
        }
    }
    return NULL;
}

int rl_client_tls_check(const redlock_client_options *o) {
    const char *empty = empty_option(o);
    assert(o->error != NULL || o->error_size == 0);
    if (empty != NULL) {
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_INVALID,
                            "%s is empty (an unset variable?): leave it NULL", empty);
    }
    if (o->tls_insecure_skip_verify != 0 && o->tls_insecure_skip_verify != 1) {
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_INVALID,
                            "tls_insecure_skip_verify is %d: it must be 0 or 1",
                            o->tls_insecure_skip_verify);
    }
    return 0;
}

int rl_client_tls_check_use(const redlock_client_options *o, bool has_tls) {
    const char *option = some_option(o);
    assert(o->error != NULL || o->error_size == 0);
    if (option != NULL && !has_tls) { /* who sets it believes that the connections are safe */
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_INVALID,
                            "%s is set, but no node has TLS: write rediss:// in their URLs, or "
                            "leave it out",
                            option);
    }
    return 0;
}

/* -- The settings of one node -- */

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

/* As a URL's host. A dot at the beginning, or a star, would be taken for many names. */
static bool is_name(const char *name) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    struct in6_addr address;
    size_t length = strlen(name);
    assert(length > 0); /* an empty one is refused before */
    return inet_pton(AF_INET6, name, &address) == 1 ||
           (length <= RL_URL_TLS_NAME_MAX && name[0] != '.' && strspn(name, allowed) == length);
}

int rl_client_tls_check_node(const struct rl_tls_settings *s, const char *server_name,
                             const char *node, char *error, size_t size) {
    assert(error != NULL || size == 0);
    if ((s->cert == NULL) != (s->key == NULL)) {
        return rl_error_set(error, size, REDLOCK_ERR_INVALID,
                            "node %.200s: %s is set and %s is not: a client certificate needs both "
                            "(they may name one file)",
                            node, s->cert != NULL ? "tls_cert" : "tls_key",
                            s->cert != NULL ? "tls_key" : "tls_cert");
    }
    if (s->insecure && s->ca != NULL) {
        return rl_error_set(
            error, size, REDLOCK_ERR_INVALID,
            "node %.200s: tls_ca and tls_insecure_skip_verify are both set: without "
            "verification no authority is looked at; leave one of them out",
            node);
    }
    if (!is_name(server_name)) {
        return rl_error_set(error, size, REDLOCK_ERR_INVALID,
                            "node %.200s: tls_server_name is no host name (letters, digits, '-', "
                            "'.', '_'; at most %d) and no IP address",
                            node, RL_URL_TLS_NAME_MAX);
    }
    return 0;
}
