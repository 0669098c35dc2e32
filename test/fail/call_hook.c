/* See call_hook.h. Each wrapper fails if strikes() says so, and otherwise calls the next library's
 * function of its name. */
#include "fail/call_hook.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <uv.h>

#define DESCRIPTORS_MAX 1024

struct call_hook call_hook = {.sockets_most = -1};

static bool is_socket[DESCRIPTORS_MAX]; /* made by the client */
static bool in_poll_init;
static struct rlimit limit;

static struct {
    int (*socket)(int, int, int);
    int (*close)(int);
    int (*connect)(int, const struct sockaddr *, socklen_t);
    int (*setsockopt)(int, int, int, const void *, socklen_t);
    int (*getsockopt)(int, int, int, void *, socklen_t *);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*recv)(int, void *, size_t, int);
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*writev)(int, const struct iovec *, int);
    int (*epoll_ctl)(int, int, int, struct epoll_event *);
    int (*getaddrinfo)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    ssize_t (*getrandom)(void *, size_t, unsigned);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    int (*madvise)(void *, size_t, int);
    int (*poll_init)(uv_loop_t *, uv_poll_t *, int);
    int (*poll_start)(uv_poll_t *, int, uv_poll_cb);
    int (*random)(uv_loop_t *, uv_random_t *, void *, size_t, unsigned, uv_random_cb);
    int (*uv_getaddrinfo)(uv_loop_t *, uv_getaddrinfo_t *, uv_getaddrinfo_cb, const char *,
                          const char *, const struct addrinfo *);
    redisReader *(*reader_create)(void);
    int (*reader_feed)(redisReader *, const char *, size_t);
} real;

/* Names are resolved on first use: some are needed before main(). */
#define REAL(member, name) (find(&real.member, sizeof(real.member), name), real.member)

static void find(void *place, size_t size, const char *name) {
    void *found = NULL;
    memcpy(&found, place, size);
    if (found == NULL) {
        found = dlsym(RTLD_NEXT, name);
        assert(found != NULL);
        memcpy(place, &found, size);
    }
}

/* Whether this call fails now. libuv's threads call getaddrinfo(), at any time. */
static bool strikes(enum call call) {
    struct call_hook *hook = &call_hook;
    if (call == CALL_GETADDRINFO ? hook->safe : !hook->inside) {
        return false;
    }
    size_t n = __atomic_add_fetch(&hook->count[call], 1, __ATOMIC_RELAXED);
    bool hit = call == hook->call && hook->fail_at > 0 &&
               (n == hook->fail_at || (hook->and_later && n > hook->fail_at));
    hook->struck += hit;
    return hit;
}

static int refuse(void) {
    errno = call_hook.error;
    return -1;
}

static bool is_ours(int fd) {
    return call_hook.inside && fd >= 0 && fd < DESCRIPTORS_MAX && is_socket[fd];
}

void call_hook_reset(void) {
    call_hook = (struct call_hook){.sockets_most = -1};
}

/* -- Descriptors that are used up -- */

static int count_sockets(void) {
    int count = 0;
    for (size_t i = 0; i < DESCRIPTORS_MAX; i++) {
        count += is_socket[i];
    }
    return count;
}

/* Lowers the system's limit, so that the kernel refuses the next descriptor. */
static void lower_limit(void) {
    struct rlimit lower;
    int next = dup(STDERR_FILENO);
    assert(next >= 0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &limit);
    lower = limit;
    lower.rlim_cur = (rlim_t)next;
    setrlimit(RLIMIT_NOFILE, &lower);
}

void call_hook_now_in(enum scene_where where) {
    call_hook.inside = where == SCENE_LIBRARY;
    call_hook.safe = where == SCENE_SAFE;
}

int socket(int family, int type, int protocol) {
    bool inside = call_hook.inside;
    if (strikes(CALL_SOCKET)) {
        return refuse();
    }
    bool used_up = inside && call_hook.sockets_most >= 0;
    used_up = used_up && count_sockets() >= call_hook.sockets_most;
    if (used_up) {
        lower_limit();
    }
    int fd = REAL(socket, "socket")(family, type, protocol);
    call_hook.inheritable += inside && family != AF_NETLINK && (type & SOCK_CLOEXEC) == 0;
    if (used_up) {
        int error = errno;
        call_hook.struck++;
        setrlimit(RLIMIT_NOFILE, &limit);
        errno = error;
    }
    if (fd >= 0 && fd < DESCRIPTORS_MAX) {
        is_socket[fd] = inside && family != AF_NETLINK;
    }
    return fd;
}

int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS_MAX) {
        is_socket[fd] = false;
    }
    return REAL(close, "close")(fd);
}

/* -- Connecting -- */

#ifdef __GLIBC__ /* the parameter is a union of pointers to all kinds of addresses */
#define ADDRESS_ARG __CONST_SOCKADDR_ARG
#define ADDRESS_OF(arg) (arg).__sockaddr__
#else
#define ADDRESS_ARG const struct sockaddr *
#define ADDRESS_OF(arg) (arg)
#endif

int connect(int fd, ADDRESS_ARG address, socklen_t size) {
    if (is_ours(fd) && strikes(CALL_CONNECT)) {
        return refuse();
    }
    return REAL(connect, "connect")(fd, ADDRESS_OF(address), size);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
    if (is_ours(fd) && strikes(CALL_SETSOCKOPT)) {
        return refuse();
    }
    return REAL(setsockopt, "setsockopt")(fd, level, name, value, size);
}

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict size) {
    if (is_ours(fd) && strikes(CALL_GETSOCKOPT)) {
        return refuse();
    }
    return REAL(getsockopt, "getsockopt")(fd, level, name, value, size);
}

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict list) {
    if (strikes(CALL_GETADDRINFO)) {
        return call_hook.error;
    }
    return REAL(getaddrinfo, "getaddrinfo")(node, service, hints, list);
}

/* -- Bytes -- */

static size_t least(size_t size, size_t most) {
    return most > 0 && size > most ? most : size;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    if (is_ours(fd)) {
        call_hook.writes += (flags & MSG_NOSIGNAL) == 0;
        if (strikes(CALL_SEND)) {
            return refuse();
        }
        size = least(size, call_hook.send_most);
    }
    return REAL(send, "send")(fd, bytes, size, flags);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    call_hook.writes += is_ours(fd);
    return REAL(write, "write")(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    call_hook.writes += is_ours(fd);
    return REAL(writev, "writev")(fd, parts, count);
}

static bool read_strikes(int fd, size_t *size, ssize_t *result) {
    if (!is_ours(fd)) {
        return false;
    }
    *size = least(*size, call_hook.read_most);
    bool hit = strikes(CALL_READ);
    *result = call_hook.error == CALL_END_OF_FILE ? 0 : -1;
    return hit;
}

ssize_t read(int fd, void *bytes, size_t size) {
    ssize_t result = 0;
    if (read_strikes(fd, &size, &result)) {
        errno = call_hook.error;
        return result;
    }
    return REAL(read, "read")(fd, bytes, size);
}

ssize_t recv(int fd, void *bytes, size_t size, int flags) {
    ssize_t result = 0;
    if (read_strikes(fd, &size, &result)) {
        errno = call_hook.error;
        return result;
    }
    return REAL(recv, "recv")(fd, bytes, size, flags);
}

/* -- Memory -- */

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    if (strikes(CALL_MMAP)) {
        errno = call_hook.error;
        return MAP_FAILED;
    }
    void *memory = REAL(mmap, "mmap")(address, size, protection, flags, fd, offset);
    call_hook.mapped += call_hook.inside && memory != MAP_FAILED ? size : 0;
    return memory;
}

int munmap(void *address, size_t size) {
    call_hook.mapped -= call_hook.inside ? size : 0;
    return REAL(munmap, "munmap")(address, size);
}

int madvise(void *address, size_t size, int advice) {
    if (call_hook.inside && call_hook.without_page) {
        errno = EINVAL;
        return -1;
    }
    return strikes(CALL_MADVISE) ? refuse() : REAL(madvise, "madvise")(address, size, advice);
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
    if (call_hook.inside && strikes(CALL_GETRANDOM)) {
        return refuse();
    }
    return REAL(getrandom, "getrandom")(bytes, size, flags);
}

/* -- libuv -- */

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    if (in_poll_init && operation == EPOLL_CTL_ADD && strikes(CALL_EPOLL_CTL)) {
        return refuse();
    }
    return REAL(epoll_ctl, "epoll_ctl")(epoll, operation, fd, event);
}

int uv_poll_init(uv_loop_t *loop, uv_poll_t *handle, int fd) {
    if (strikes(CALL_UV_POLL_INIT)) {
        return call_hook.error;
    }
    in_poll_init = true;
    int status = REAL(poll_init, "uv_poll_init")(loop, handle, fd);
    in_poll_init = false;
    return status;
}

int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb callback) {
    if (strikes(CALL_UV_POLL_START)) {
        return call_hook.error;
    }
    return REAL(poll_start, "uv_poll_start")(handle, events, callback);
}

int uv_random(uv_loop_t *loop, uv_random_t *request, void *bytes, size_t size, unsigned flags,
              uv_random_cb callback) {
    if (strikes(CALL_UV_RANDOM)) {
        return call_hook.error;
    }
    return REAL(random, "uv_random")(loop, request, bytes, size, flags, callback);
}

int uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb callback,
                   const char *node, const char *service, const struct addrinfo *hints) {
    if (strikes(CALL_UV_GETADDRINFO)) {
        return call_hook.error;
    }
    return REAL(uv_getaddrinfo, "uv_getaddrinfo")(loop, request, callback, node, service, hints);
}

/* -- hiredis -- */

redisReader *redisReaderCreate(void) {
    return strikes(CALL_READER_CREATE) ? NULL : REAL(reader_create, "redisReaderCreate")();
}

int redisReaderFeed(redisReader *reader, const char *bytes, size_t size) {
    if (strikes(CALL_READER_FEED)) {
        return REDIS_ERR;
    }
    return REAL(reader_feed, "redisReaderFeed")(reader, bytes, size);
}
