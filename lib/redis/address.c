/* See address.h. */
#include "redis/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) > RL_URL_PATH_MAX, "a path fits");

static void put(struct rl_address *address, const void *from, size_t length) {
    assert(length <= sizeof address->storage);
    memset(address, 0, sizeof *address);
    memcpy(&address->storage, from, length);
    address->length = (socklen_t)length;
}

bool rl_address_of(const struct rl_url *url, struct rl_address *address) {
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(url->port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(url->port)};
    if (url->kind == RL_URL_UNIX) {
        size_t length = strlen(url->path) + 1;
        memcpy(path.sun_path, url->path, length);
        put(address, &path, offsetof(struct sockaddr_un, sun_path) + length);
        return true;
    }
    assert(url->port != 0);
    if (inet_pton(AF_INET, url->host, &four.sin_addr) == 1) {
        put(address, &four, sizeof four);
        return true;
    }
    if (inet_pton(AF_INET6, url->host, &six.sin6_addr) == 1) {
        put(address, &six, sizeof six);
        return true;
    }
    return false;
}
