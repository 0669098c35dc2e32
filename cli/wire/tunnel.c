/* See tunnel.h. */
#include "wire/tunnel.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

#include "nodes/tls.h"
#include "redlock/redlock.h"

static bool refuse(redisContext *context, const char *why) {
    context->err = RL_TUNNEL_ERR;
    snprintf(context->errstr, sizeof context->errstr, "%s", why);
    return false;
}

#ifdef RL_WITH_TLS

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/world.h"
#include "tls/context.h"
#include "tls/peer.h"

#define NS_PER_MS UINT64_C(1000000)
#define PIECE 16384

struct rl_tunnel {
    struct rl_world world;  /* the first member: dial() alone is there */
    struct rl_stream under; /* its only stream */
    struct rl_tls *tls;
    struct rl_dialer *dialer;
    struct rl_stream *stream;
    int socket;      /* to the node */
    int plain;       /* to the context */
    bool is_carried; /* by the thread, which may wait for the context to read */
    bool is_up;
    bool is_over;
    bool wants_room;
    int error; /* the error that the stream below ends with next; 0: none */
    pthread_t thread;
    bool is_tls_end; /* why is about TLS */
    size_t from, to;
    char why[RL_TUNNEL_WHY_MAX];
    char bytes[PIECE]; /* bytes of the context to be sent: from `from` to `to` */
};

static void *tunnel_malloc(size_t size, void *data) {
    (void)data;
    return malloc(size);
}

static void tunnel_free(void *pointer, void *data) {
    (void)data;
    free(pointer);
}

static const redlock_allocator memory = {tunnel_malloc, tunnel_free, NULL};

/* -- The world: one socket -- */

static struct rl_tunnel *tunnel_of(struct rl_stream *stream) {
    return (struct rl_tunnel *)(void *)((char *)stream - offsetof(struct rl_tunnel, under));
}

static size_t under_write(struct rl_stream *stream, const char *bytes, size_t length) {
    struct rl_tunnel *t = tunnel_of(stream);
    ssize_t n = send(t->socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        t->error = errno;
        return 0;
    }
    size_t taken = n > 0 ? (size_t)n : 0;
    t->wants_room = taken < length;
    return taken;
}

static void under_fail(struct rl_stream *stream, int error) {
    tunnel_of(stream)->error = error;
}

static void under_close(struct rl_stream *stream) {
    (void)stream; /* the tunnel closes the socket */
}

static const struct rl_stream_ops under_ops = {.write = under_write,
                                               .fail = under_fail,
                                               .close = under_close};

static struct rl_stream *dial(struct rl_world *world, const struct rl_address *to,
                              const struct rl_stream_events *events, void *owner, int *error) {
    struct rl_tunnel *t = (struct rl_tunnel *)(void *)world;
    (void)to, (void)error;
    t->under = (struct rl_stream){.ops = &under_ops, .events = events, .owner = owner};
    return &t->under;
}

static const struct rl_world_ops world_ops = {.dial = dial};

/* -- The stream with TLS -- */

static void send_rest(struct rl_tunnel *t) {
    if (t->from < t->to && t->is_up && !t->is_over) {
        t->from += t->stream->ops->write(t->stream, t->bytes + t->from, t->to - t->from);
    }
}

static void on_up(void *owner) {
    ((struct rl_tunnel *)owner)->is_up = true;
}

static void on_bytes(void *owner, const char *bytes, size_t length) {
    struct rl_tunnel *t = owner;
    while (length > 0 && !t->is_over) {
        ssize_t n =
            send(t->plain, bytes, length, MSG_NOSIGNAL | (t->is_carried ? 0 : MSG_DONTWAIT));
        if (n < 0 && errno != EINTR) {
            t->is_over = true; /* the context has gone */
        }
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
}

static void on_room(void *owner) {
    send_rest(owner);
}

static void on_end(void *owner, int error, const char *detail) {
    struct rl_tunnel *t = owner;
    t->is_over = true;
    t->is_tls_end = error < 0;
    snprintf(t->why, sizeof t->why, "%s",
             detail[0] != '\0' ? detail
             : error > 0       ? strerror(error)
                               : "the server closed the connection");
}

static const struct rl_stream_events owner_events = {NULL, on_up, on_bytes, on_room, on_end};

/* -- Carrying -- */

static void read_socket(struct rl_tunnel *t) {
    char bytes[PIECE];
    ssize_t n = recv(t->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
        t->under.events->bytes(t->under.owner, bytes, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        t->under.events->end(t->under.owner, n == 0 ? 0 : errno, "");
    }
}

static void read_plain(struct rl_tunnel *t) {
    ssize_t n = recv(t->plain, t->bytes, sizeof t->bytes, MSG_DONTWAIT);
    if (n > 0) {
        t->from = 0;
        t->to = (size_t)n;
        send_rest(t);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        t->is_over = true;
    }
}

/* Handles at most one event of each end. until_ns: UINT64_MAX for ever. */
static void carry(struct rl_tunnel *t, uint64_t until_ns) {
    uint64_t now_ns = redlock_now_ns();
    struct pollfd polled[] = {
        {.fd = t->socket, .events = (short)(POLLIN | (t->wants_room ? POLLOUT : 0))},
        {.fd = t->is_up ? t->plain : -1, .events = (short)(t->from == t->to ? POLLIN : 0)}};
    int wait_ms = until_ns == UINT64_MAX ? -1
                  : until_ns > now_ns    ? (int)((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS)
                                         : 0;
    if (t->error != 0) {
        t->under.events->end(t->under.owner, t->error, "");
        return;
    }
    if (poll(polled, 2, wait_ms) < 0 && errno != EINTR) {
        t->is_over = true;
    }
    if (!t->is_over && (polled[0].revents & POLLOUT)) {
        t->wants_room = false;
        t->under.events->room(t->under.owner);
    }
    if (!t->is_over && (polled[0].revents & (POLLIN | POLLHUP | POLLERR))) {
        read_socket(t);
    }
    if (!t->is_over && polled[1].revents != 0) {
        if (t->from < t->to) {
            t->is_over = true; /* the context was closed before all was sent */
        } else {
            read_plain(t);
        }
    }
}

static void tunnel_close(struct rl_tunnel *t) {
    if (t->stream != NULL) {
        t->stream->ops->close(t->stream);
    }
    rl_tls_peer_free(t->dialer);
    rl_tls_free(t->tls);
    if (t->socket >= 0) {
        close(t->socket);
    }
    if (t->plain >= 0) {
        close(t->plain);
    }
    free(t);
}

static void *carry_all(void *data) {
    struct rl_tunnel *t = data;
    while (!t->is_over) {
        carry(t, UINT64_MAX);
    }
    shutdown(t->plain, SHUT_RDWR); /* the context sees the end */
    return NULL;
}

void rl_tunnel_end(struct rl_tunnel *t, char why[RL_TUNNEL_WHY_MAX]) {
    pthread_join(t->thread, NULL); /* the context's end is closed: it waits no longer */
    if (t->is_tls_end) {
        snprintf(why, RL_TUNNEL_WHY_MAX, "%s", t->why);
    }
    tunnel_close(t);
}

/* -- Beginning -- */

/* Puts one end of a socket pair in the place of the context's descriptor. */
static bool take_socket(struct rl_tunnel *t, redisContext *context) {
    int pair[2];
    t->socket = fcntl(context->fd, F_DUPFD_CLOEXEC, 0);
    if (t->socket < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return refuse(context, strerror(errno));
    }
    t->plain = pair[1];
    bool taken = dup3(pair[0], context->fd, O_CLOEXEC) >= 0;
    close(pair[0]);
    return taken || refuse(context, strerror(errno));
}

static bool shake_hands(struct rl_tunnel *t, redisContext *context, int64_t limit_ms) {
    static const struct rl_address there;
    int error = 0;
    uint64_t until_ns = redlock_now_ns() + (uint64_t)limit_ms * NS_PER_MS;
    t->stream = t->dialer->dial(t->dialer, &t->world, &there, &owner_events, t, &error);
    if (t->stream == NULL) {
        return refuse(context, strerror(error));
    }
    t->under.events->up(t->under.owner);
    while (!t->is_up && !t->is_over && redlock_now_ns() < until_ns) {
        carry(t, until_ns);
    }
    return (t->is_up && !t->is_over) ||
           refuse(context, t->is_over ? t->why : "no TLS handshake in time; is it a TLS port?");
}

static bool start_thread(struct rl_tunnel *t, redisContext *context) {
    t->is_carried = true;
    int error = pthread_create(&t->thread, NULL, carry_all, t);
    if (error != 0) {
        t->is_carried = false;
        return refuse(context, strerror(error));
    }
    return true;
}

struct rl_tunnel *rl_tunnel_open(redisContext *context, const struct rl_args *args,
                                 const struct rl_url_tls *tls, const char *host) {
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    char error[REDLOCK_MESSAGE_MAX] = "";
    struct rl_tunnel *t = calloc(1, sizeof *t);
    if (t == NULL) {
        refuse(context, "out of memory");
        return NULL;
    }
    rl_args_tls(args, &options);
    struct rl_tls_settings settings = rl_client_tls_settings(&options, tls);
    t->world.ops = &world_ops;
    t->socket = t->plain = -1;
    bool begun = false;
    if (rl_tls_new(&t->tls, &memory, &settings, error, sizeof error) != 0) {
        refuse(context, error);
    } else {
        t->dialer = rl_tls_peer_new(t->tls, rl_client_tls_name(&options, tls, host));
        begun = t->dialer != NULL ? take_socket(t, context) &&
                                        shake_hands(t, context, args->connect_timeout_ms) &&
                                        start_thread(t, context)
                                  : refuse(context, "out of memory");
    }
    if (!begun) {
        tunnel_close(t);
    }
    return begun ? t : NULL;
}

int rl_tunnel_check_files(const struct rl_tls_settings *settings, const char *node, char *error,
                          size_t size) {
    char why[REDLOCK_MESSAGE_MAX - 256] = "";
    struct rl_tls *tls = NULL;
    int status = rl_tls_new(&tls, &memory, settings, why, sizeof why);
    snprintf(error, size, "node %.200s: %s", node, why);
    rl_tls_free(tls);
    return status;
}

#else

int rl_tunnel_check_files(const struct rl_tls_settings *settings, const char *node, char *error,
                          size_t size) {
    (void)settings, (void)node, (void)error, (void)size;
    return 0;
}

struct rl_tunnel *rl_tunnel_open(redisContext *context, const struct rl_args *args,
                                 const struct rl_url_tls *tls, const char *host) {
    (void)args, (void)tls, (void)host;
    refuse(context, redlock_strerror(REDLOCK_ERR_NO_TLS));
    return NULL;
}

void rl_tunnel_end(struct rl_tunnel *t, char why[RL_TUNNEL_WHY_MAX]) {
    (void)t, (void)why;
}

#endif
