/* See names.h. */
#include "uv/names.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "uv/state.h"

struct resolving {
    uv_getaddrinfo_t request;
    struct rl_uv_world *world;
    rl_resolved_cb done; /* NULL: forgotten */
    void *owner;
};

static bool is_new(const struct rl_address *addresses, uint32_t n, const struct addrinfo *info) {
    for (uint32_t i = 0; i < n; i++) {
        if (addresses[i].length == info->ai_addrlen &&
            memcmp(&addresses[i].storage, info->ai_addr, info->ai_addrlen) == 0) {
            return false;
        }
    }
    return info->ai_addrlen <= sizeof addresses->storage;
}

static uint32_t collect(const struct addrinfo *list, struct rl_address *addresses) {
    uint32_t n = 0;
    for (const struct addrinfo *at = list; at != NULL && n < RL_ADDRESSES_MAX; at = at->ai_next) {
        if (is_new(addresses, n, at)) {
            addresses[n].length = at->ai_addrlen;
            memcpy(&addresses[n].storage, at->ai_addr, at->ai_addrlen);
            n++;
        }
    }
    return n;
}

static void resolved_cb(uv_getaddrinfo_t *request, int status, struct addrinfo *list) {
    struct resolving *resolving = request->data;
    struct rl_uv_world *w = resolving->world;
    assert(resolving->done == NULL || !w->is_closing); /* names are forgotten before */
    struct rl_address addresses[RL_ADDRESSES_MAX] = {{0}};
    uint32_t n = status == 0 ? collect(list, addresses) : 0;
    uv_freeaddrinfo(list);
    if (resolving->done != NULL && !rl_fork_is_child(&w->fork)) {
        int error = status == 0 ? UV_EAI_NONAME : status;
        resolving->done(resolving->owner, addresses, n, n == 0 ? uv_strerror(error) : "");
    }
    rl_free(&w->memory, resolving);
    rl_uv_closed(w);
}

void *rl_uv_resolve(struct rl_uv_world *w, const char *host, uint16_t port, rl_resolved_cb done,
                    void *owner, const char **error) {
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char service[sizeof "65535"];
    assert(done != NULL);
    assert(w->is_started && !w->is_closing);
    struct resolving *resolving = rl_alloc(&w->memory, 1, sizeof *resolving);
    if (resolving == NULL) {
        *error = uv_strerror(UV_ENOMEM);
        return NULL;
    }
    resolving->request.data = resolving;
    resolving->world = w;
    resolving->done = done;
    resolving->owner = owner;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int status = uv_getaddrinfo(w->loop, &resolving->request, resolved_cb, host, service, &hints);
    if (status != 0) {
        *error = uv_strerror(status);
        rl_free(&w->memory, resolving);
        return NULL;
    }
    rl_uv_opened(w, 1);
    return resolving;
}

void rl_uv_forget(void *forgotten) {
    struct resolving *resolving = forgotten;
    assert(resolving->done != NULL);
    resolving->done = NULL;
    uv_cancel((uv_req_t *)&resolving->request); /* works only if it has not begun */
}
