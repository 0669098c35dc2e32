/* See resolve.h. */
#include "redis/resolve.h"

#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

struct rl_resolve {
    uv_getaddrinfo_t request;
    struct rl_io *io;
    rl_resolve_cb done; /* NULL: orphaned */
    void *owner;
    uint16_t port;
};

bool rl_resolve_numeric(const struct rl_url *url, struct rl_address *address) {
    unsigned char binary[sizeof(struct in6_addr)];
    *address = (struct rl_address){.is_unix = url->kind == RL_URL_UNIX, .port = url->port};
    if (address->is_unix) {
        snprintf(address->text, sizeof address->text, "%s", url->path);
        return true;
    }
    if (uv_inet_pton(AF_INET, url->host, binary) == 0 ||
        uv_inet_pton(AF_INET6, url->host, binary) == 0) {
        snprintf(address->text, sizeof address->text, "%.*s", RL_ADDRESS_TEXT_MAX, url->host);
        return true;
    }
    return false;
}

static bool is_new(const struct rl_address *addresses, uint32_t count, const char *text) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(addresses[i].text, text) == 0) {
            return false;
        }
    }
    return true;
}

static uint32_t collect(const struct addrinfo *list, uint16_t port, struct rl_address *addresses) {
    uint32_t count = 0;
    for (const struct addrinfo *at = list; at != NULL && count < RL_ADDRESSES_MAX;
         at = at->ai_next) {
        char text[RL_ADDRESS_TEXT_MAX + 1];
        int flags = NI_NUMERICHOST | NI_NUMERICSERV;
        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, NULL, 0, flags) == 0 &&
            is_new(addresses, count, text)) {
            addresses[count] = (struct rl_address){.is_unix = false, .port = port};
            memcpy(addresses[count].text, text, sizeof text);
            count++;
        }
    }
    return count;
}

static void resolved_cb(uv_getaddrinfo_t *request, int status, struct addrinfo *list) {
    struct rl_resolve *resolve = request->data;
    struct rl_io *io = resolve->io;
    if (resolve->done != NULL) {
        struct rl_address addresses[RL_ADDRESSES_MAX];
        uint32_t count = status == 0 ? collect(list, resolve->port, addresses) : 0;
        int error = status == 0 && count == 0 ? UV_EAI_NONAME : status;
        resolve->done(resolve->owner, addresses, count, error);
    }
    uv_freeaddrinfo(list);
    rl_free(io->memory, resolve);
    rl_io_closed(io);
}

struct rl_resolve *rl_resolve_start(struct rl_io *io, const struct rl_url *url, rl_resolve_cb done,
                                    void *owner, int *error) {
    assert(url->kind == RL_URL_TCP);
    struct rl_resolve *resolve = rl_alloc(io->memory, 1, sizeof *resolve);
    if (resolve == NULL) {
        *error = UV_ENOMEM;
        return NULL;
    }
    *resolve = (struct rl_resolve){.io = io, .done = done, .owner = owner, .port = url->port};
    resolve->request.data = resolve;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    *error = uv_getaddrinfo(io->loop, &resolve->request, resolved_cb, url->host, NULL, &hints);
    if (*error != 0) {
        rl_free(io->memory, resolve);
        return NULL;
    }
    rl_io_opened(io);
    return resolve;
}

void rl_resolve_orphan(struct rl_resolve *resolve) {
    assert(resolve->done != NULL);
    resolve->done = NULL;
    uv_cancel((uv_req_t *)&resolve->request); /* in time only if it has not begun */
}
