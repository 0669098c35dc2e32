/* See peer.h. */
#include "tls/peer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "tls/session.h"
#include "tls/stream.h"

static_assert(RL_TLS_PEER_NAME_MAX == RL_TLS_NAME_MAX, "the same");

static struct rl_tls_peer *peer_of(struct rl_dialer *dialer) {
    return (struct rl_tls_peer *)(void *)dialer;
}

static struct rl_stream *peer_dial(struct rl_dialer *dialer, struct rl_world *world,
                                   const struct rl_address *to,
                                   const struct rl_stream_events *events, void *owner, int *error) {
    return rl_tls_dial(peer_of(dialer), world, to, events, owner, error);
}

struct rl_dialer *rl_tls_peer_new(struct rl_tls *tls, const char *name) {
    struct in6_addr address;
    size_t length = strlen(name);
    assert(length > 0 && length <= RL_TLS_NAME_MAX);
    struct rl_tls_peer *peer = rl_alloc(tls->memory, 1, sizeof *peer);
    if (peer == NULL) {
        return NULL;
    }
    /* The root's dot belongs to DNS; certificates do not have it. */
    length -= name[length - 1] == '.' && length > 1 ? 1 : 0;
    memcpy(peer->name, name, length);
    peer->tls = tls;
    assert(peer->name[0] != '\0');
    peer->dialer.dial = peer_dial;
    peer->is_address = inet_pton(AF_INET, peer->name, &address) == 1 ||
                       inet_pton(AF_INET6, peer->name, &address) == 1;
    return &peer->dialer;
}

void rl_tls_peer_free(struct rl_dialer *dialer) {
    if (dialer != NULL) {
        struct rl_tls_peer *peer = peer_of(dialer);
        const redlock_allocator *memory = peer->tls->memory;
        assert(peer->dialer.dial == peer_dial);
        rl_tls_session_drop_all(peer);
        rl_free(memory, peer);
    }
}
