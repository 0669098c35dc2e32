/* See tls.h. */
#include "nodes/tls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/error.h"

/* -- Checks of the options -- */

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
        return rl_error_invalid(o, "%s is empty (an unset variable?): leave it NULL", empty);
    }
    if (o->tls_insecure_skip_verify != 0 && o->tls_insecure_skip_verify != 1) {
        return rl_error_invalid(o, "tls_insecure_skip_verify is %d: it must be 0 or 1",
                                o->tls_insecure_skip_verify);
    }
    return 0;
}

int rl_client_tls_check_use(const redlock_client_options *o, bool has_tls) {
    const char *option = some_option(o);
    assert(o->error != NULL || o->error_size == 0);
    if (option != NULL && !has_tls) { /* the user would think the connections secure */
        return rl_error_invalid(o,
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

/* A certificate and its key belong together: a URL that names one names both. If a URL says which
 * authorities it trusts, or that it trusts all, the client's authorities are not used. */
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

/* The rules of a URL's host. A leading dot, or a star, would match many names. */
static bool is_name(const char *name) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    struct in6_addr address;
    size_t length = strlen(name);
    assert(length > 0); /* empty names were refused before */
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

int redlock_has_tls(void) {
#ifdef RL_WITH_TLS
    return 1;
#else
    return 0;
#endif
}

int rl_client_tls_check_nodes(const redlock_client *client, const redlock_client_options *o) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        count += client->nodes[i]->node.url.is_tls;
    }
    return rl_client_tls_check_use(o, count > 0);
}

#ifdef RL_WITH_TLS

#include "tls/stream.h"

static_assert(RL_TLS_PEER_NAME_MAX >= RL_URL_HOST_MAX, "a host fits");
static_assert(RL_TLS_PEER_NAME_MAX >= RL_URL_TLS_NAME_MAX, "a name fits");

/* -- Sharing -- */

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static size_t put(char **at, const char **copy, const char *text) {
    size_t length = text != NULL ? strlen(text) + 1 : 0;
    if (*at != NULL && text != NULL) {
        memcpy(*at, text, length);
        *copy = *at;
        *at += length;
    }
    return length;
}

/* Copies the texts behind the struct, for comparison with other nodes' texts. */
static struct rl_client_tls *shared_new(redlock_client *client,
                                        const struct rl_tls_settings *settings,
                                        const char *server_name) {
    char *none = NULL;
    const char *unused;
    size_t length = put(&none, &unused, settings->ca) + put(&none, &unused, settings->cert) +
                    put(&none, &unused, settings->key) + put(&none, &unused, server_name);
    struct rl_client_tls *shared = rl_alloc(&client->memory, 1, sizeof *shared + length);
    if (shared != NULL) {
        char *at = (char *)(shared + 1);
        put(&at, &shared->ca, settings->ca);
        put(&at, &shared->cert, settings->cert);
        put(&at, &shared->key, settings->key);
        put(&at, &shared->server_name, server_name);
        assert(at == (char *)(shared + 1) + length);
        shared->insecure = settings->insecure;
        shared->next = client->tls;
        client->tls = shared;
    }
    return shared;
}

static struct rl_client_tls *shared_find(const redlock_client *client,
                                         const struct rl_tls_settings *settings) {
    struct rl_client_tls *shared = client->tls;
    while (shared != NULL &&
           !(same_text(shared->ca, settings->ca) && same_text(shared->cert, settings->cert) &&
             same_text(shared->key, settings->key) && shared->insecure == settings->insecure)) {
        shared = shared->next;
    }
    return shared;
}

/* Puts the node's name before the sentence. */
static int of_node(int status, const char *name, char *error, size_t size) {
    char why[REDLOCK_MESSAGE_MAX];
    assert(status <= 0);
    if (status == REDLOCK_ERR_INVALID && error != NULL && size > 0) {
        rl_error_set(why, sizeof why, 0, "%s", error);
        rl_error_set(error, size, 0, "node %.200s: %s", name, why);
    }
    return status;
}

static int share(redlock_client *client, const redlock_client_options *o,
                 const struct rl_tls_settings *settings, const char *name,
                 struct rl_client_tls **shared) {
    *shared = shared_find(client, settings);
    if (*shared != NULL) {
        assert((*shared)->tls != NULL);
        return 0;
    }
    *shared = shared_new(client, settings, o->tls_server_name);
    assert(*shared == NULL || client->tls == *shared);
    if (*shared == NULL) {
        return rl_error_set(o->error, o->error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    return of_node(rl_tls_new(&(*shared)->tls, &client->memory, settings, o->error, o->error_size),
                   name, o->error, o->error_size);
}

int rl_client_tls_node(redlock_client *client, const redlock_client_options *o, uint32_t i,
                       const struct rl_url_tls *said) {
    struct rl_node *node = &client->nodes[i]->node;
    struct rl_client_tls *shared;
    assert(i < client->n_nodes && node->dialer == NULL);
    if (!node->url.is_tls) {
        return 0;
    }
    struct rl_tls_settings settings = rl_client_tls_settings(o, said);
    const char *name = rl_client_tls_name(o, said, node->url.host);
    int status = rl_client_tls_check_node(&settings, name, node->url.name, o->error, o->error_size);
    if (status == 0 && o->tls_server_name != NULL) { /* nodes that join may need it */
        status = rl_client_tls_check_node(&settings, o->tls_server_name, node->url.name, o->error,
                                          o->error_size);
    }
    if (status == 0) {
        status = share(client, o, &settings, node->url.name, &shared);
    }
    if (status == 0) {
        node->dialer = rl_tls_peer_new(shared->tls, name);
        status = node->dialer != NULL
                     ? 0
                     : rl_error_set(o->error, o->error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    return status;
}

bool rl_client_tls_join(redlock_client *client, uint32_t i) {
    struct rl_node *node = &client->nodes[i]->node;
    const struct rl_client_tls *first = client->tls;
    if (!node->url.is_tls) {
        return true;
    }
    assert(first != NULL && node->dialer == NULL);
    while (first->next != NULL) { /* the newest come first */
        first = first->next;
    }
    node->dialer = rl_tls_peer_new(
        first->tls, first->server_name != NULL ? first->server_name : node->url.host);
    return node->dialer != NULL;
}

void rl_client_tls_leave(redlock_client *client, uint32_t i) {
    rl_tls_peer_free(client->nodes[i]->node.dialer);
    client->nodes[i]->node.dialer = NULL;
}

void rl_client_tls_free(redlock_client *client) {
    for (uint32_t i = 0; i < client->n_nodes && client->nodes[i] != NULL; i++) {
        rl_client_tls_leave(client, i);
    }
    while (client->tls != NULL) {
        struct rl_client_tls *shared = client->tls;
        client->tls = shared->next;
        rl_tls_free(shared->tls);
        rl_free(&client->memory, shared);
    }
}

#else

int rl_client_tls_node(redlock_client *client, const redlock_client_options *o, uint32_t i,
                       const struct rl_url_tls *said) {
    const struct rl_url *url = &client->nodes[i]->node.url;
    assert(i < client->n_nodes);
    (void)said;
    return url->is_tls ? rl_error_set(o->error, o->error_size, REDLOCK_ERR_NO_TLS,
                                      "node URL \"rediss://%.200s\": scheme: rediss:// needs TLS, "
                                      "and this library was built without; use redis://",
                                      url->name)
                       : 0;
}

bool rl_client_tls_join(redlock_client *client, uint32_t i) {
    return !client->nodes[i]->node.url.is_tls;
}

void rl_client_tls_leave(redlock_client *client, uint32_t i) {
    assert(client->nodes[i]->node.dialer == NULL);
    (void)client;
    (void)i;
}

void rl_client_tls_free(redlock_client *client) {
    assert(client->tls == NULL);
    (void)client;
}

#endif
