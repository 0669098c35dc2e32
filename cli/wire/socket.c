/* A blocking connection to a node, with a time limit for every wait. hiredis connects, and parses
 * the answers; the bytes go through a stream, as in a client, so that TLS, which not all versions
 * of hiredis have, is the library's (lib/tls), with its messages about certificates.
 *
 * Happy path: rl_socket_open() connects and shakes hands, rl_socket_put() appends commands, each
 * rl_socket_reply() sends what is left of them and gives the next answer, rl_socket_close().
 *
 * Why not redisCommand()? Its timeout restarts with each byte: a server that sends one now and
 * then, or that never stops, would block the command forever; the latter would also fill the
 * memory.
 *
 * Failure modes: no connection or no handshake in time, a rejected certificate, an answer that is
 * not complete in time, or too long: rl_socket_error() says so, and nothing more is sent or
 * received. With TLS 1.3, a server verifies the client's certificate after the handshake: then the
 * first answer fails. */
#include "wire/room.h"

#include <assert.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "redis/reply.h"
#include "say.h"

#define PIECE 16384
#define PIECES_MAX 4096
#define ELEMENTS_MAX 1048576 /* SCAN with COUNT 1000 may return many */
#define TLS_ERROR 64         /* a context's err; hiredis's own values are small */

/* -- Errors: the first one stays -- */

static bool fail(struct rl_socket *s, int error, const char *why) {
    redisContext *context = s->context;
    if (context->err == 0) {
        context->err = error;
        snprintf(context->errstr, sizeof context->errstr, "%s", why);
    }
    return false;
}

bool rl_socket_has_failed(const struct rl_socket *s) {
    return s->context == NULL || s->context->err != 0;
}

bool rl_socket_has_failed_in_tls(const struct rl_socket *s) {
    return s->context != NULL && s->context->err == TLS_ERROR;
}

/* EAGAIN means a read that ran into the socket's timeout; a unix socket with a full queue reports
 * it, too. */
const char *rl_socket_error(const struct rl_socket *s) {
    const redisContext *context = s->context;
    if (context == NULL) {
        return "out of memory";
    }
    bool is_timeout =
        context->err == REDIS_ERR_IO && strcmp(context->errstr, strerror(EAGAIN)) == 0;
    return is_timeout ? "no answer in time" : context->errstr;
}

/* -- The socket, as a stream -- */

static struct rl_socket *socket_of(struct rl_stream *under) {
    return (struct rl_socket *)(void *)((char *)under - offsetof(struct rl_socket, under));
}

static size_t under_write(struct rl_stream *under, const char *bytes, size_t length) {
    struct rl_socket *s = socket_of(under);
    ssize_t n = send(s->context->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        s->error = errno;
        return 0;
    }
    size_t taken = n > 0 ? (size_t)n : 0;
    s->wants_room = taken < length;
    return taken;
}

static void under_fail(struct rl_stream *under, int error) {
    socket_of(under)->error = error;
}

static void under_close(struct rl_stream *under) {
    (void)under; /* the context owns the socket */
}

static const struct rl_stream_ops under_ops = {.write = under_write,
                                               .fail = under_fail,
                                               .close = under_close};

static struct rl_stream *dial(struct rl_world *world, const struct rl_address *to,
                              const struct rl_stream_events *events, void *owner, int *error) {
    struct rl_socket *s = (struct rl_socket *)(void *)world;
    (void)to, (void)error;
    s->under = (struct rl_stream){.ops = &under_ops, .events = events, .owner = owner};
    return &s->under;
}

static const struct rl_world_ops world_ops = {.dial = dial};

static void read_socket(struct rl_socket *s) {
    char bytes[PIECE];
    ssize_t n = recv(s->context->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
        s->under.events->bytes(s->under.owner, bytes, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        s->under.events->end(s->under.owner, n == 0 ? 0 : errno, "");
    }
}

/* Waits for the socket, and handles one event of each kind. False: the time is over. */
static bool pass(struct rl_socket *s, uint64_t until_ns) {
    const uint64_t now_ns = redlock_now_ns();
    struct pollfd polled = {.fd = s->context->fd,
                            .events = (short)(POLLIN | (s->wants_room ? POLLOUT : 0))};
    if (now_ns >= until_ns) {
        return false;
    }
    if (s->error != 0) {
        read_socket(s); /* the node's last bytes may contain the reason */
        if (!rl_socket_has_failed(s)) {
            s->under.events->end(s->under.owner, s->error, "");
        }
        return true;
    }
    if (poll(&polled, 1, (int)((until_ns - now_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS)) < 0 &&
        errno != EINTR) {
        fail(s, REDIS_ERR_IO, strerror(errno));
        return true;
    }
    if (polled.revents & POLLOUT) {
        s->wants_room = false;
        s->under.events->room(s->under.owner);
    }
    if (!rl_socket_has_failed(s) && (polled.revents & (POLLIN | POLLHUP | POLLERR))) {
        read_socket(s);
    }
    return true;
}

/* -- The stream of commands and answers -- */

static void send_rest(struct rl_socket *s) {
    if (s->is_up && s->from < s->to) {
        s->from += s->stream->ops->write(s->stream, s->out + s->from, s->to - s->from);
    }
}

static void on_up(void *owner) {
    ((struct rl_socket *)owner)->is_up = true;
}

/* Keeps the first bytes: hiredis discards an answer that it cannot parse. */
static void on_bytes(void *owner, const char *bytes, size_t length) {
    struct rl_socket *s = owner;
    if (s->first_length == 0) {
        s->first_length = length < sizeof s->first ? length : sizeof s->first;
        memcpy(s->first, bytes, s->first_length);
    }
    s->pieces++;
    redisReaderFeed(s->context->reader, bytes, length);
}

static void on_room(void *owner) {
    send_rest(owner);
}

/* A reset is reported as an end of the connection: which of the two arrives is chance. */
static void on_end(void *owner, int error, const char *detail) {
    struct rl_socket *s = owner;
    if (!s->is_up || error < 0) {
        fail(s, TLS_ERROR,
             detail[0] != '\0' ? detail
             : error > 0       ? strerror(error)
                               : "the server closed the connection");
    } else if (error > 0 && error != ECONNRESET) {
        fail(s, REDIS_ERR_IO, strerror(error));
    } else {
        fail(s, REDIS_ERR_EOF, "Server closed the connection");
    }
}

static const struct rl_stream_events owner_events = {NULL, on_up, on_bytes, on_room, on_end};

void rl_socket_put(struct rl_socket *s, const char *bytes, size_t length) {
    if (s->from == s->to) {
        s->from = s->to = 0;
    }
    while (s->room - s->to < length) {
        s->out = rl_must_grow(s->out, s->room, &s->room, 1);
    }
    memcpy(s->out + s->to, bytes, length);
    s->to += length;
}

static void say_odd(struct rl_socket *s) {
    const redisReader *reader = s->context->reader;
    const char *stranger = rl_reply_stranger(s->first, s->first_length);
    fail(s, reader->err, stranger != NULL ? rl_text("not Redis: %s", stranger) : reader->errstr);
}

redisReply *rl_socket_reply(struct rl_socket *s, int64_t answer_ms) {
    const uint64_t until_ns = redlock_now_ns() + (uint64_t)answer_ms * RL_NS_PER_MS;
    void *reply = NULL;
#if HIREDIS_MAJOR >= 1
    s->context->reader->maxelements = ELEMENTS_MAX;
#endif
    s->pieces = 0;
    send_rest(s);
    for (;;) {
        if (redisReaderGetReply(s->context->reader, &reply) != REDIS_OK) {
            say_odd(s);
        }
        if (reply != NULL || rl_socket_has_failed(s)) {
            return reply;
        }
        if (s->pieces > PIECES_MAX) {
            fail(s, REDIS_ERR_PROTOCOL, "an endless answer");
        } else if (!pass(s, until_ns)) {
            fail(s, REDIS_ERR_IO, strerror(EAGAIN));
        }
    }
}

void rl_socket_hear_first(struct rl_socket *s, int64_t ms) {
    const uint64_t until_ns = redlock_now_ns() + (uint64_t)ms * RL_NS_PER_MS;
    send_rest(s);
    while (s->first_length == 0 && !rl_socket_has_failed(s) && pass(s, until_ns)) {
    }
}

/* -- Opening and closing -- */

bool rl_socket_open(struct rl_socket *s, int64_t connect_ms, const struct rl_url *url,
                    struct rl_dialer *dialer) {
    static const struct rl_address there;
    const uint64_t until_ns = redlock_now_ns() + (uint64_t)connect_ms * RL_NS_PER_MS;
    const struct timeval limit = {.tv_sec = (time_t)(connect_ms / 1000),
                                  .tv_usec = (suseconds_t)(connect_ms % 1000 * 1000)};
    int error = ENOMEM;
    assert(s->context == NULL);
    *s = (struct rl_socket){.world.ops = &world_ops};
    s->context = url->kind == RL_URL_UNIX ? redisConnectUnixWithTimeout(url->path, limit)
                                          : redisConnectWithTimeout(url->host, url->port, limit);
    if (rl_socket_has_failed(s)) {
        return false;
    }
    s->stream = dialer != NULL ? dialer->dial(dialer, &s->world, &there, &owner_events, s, &error)
                               : dial(&s->world, &there, &owner_events, s, &error);
    if (s->stream == NULL) {
        return fail(s, TLS_ERROR, strerror(error));
    }
    s->under.events->up(s->under.owner);
    while (!s->is_up && !rl_socket_has_failed(s)) {
        if (!pass(s, until_ns)) {
            fail(s, TLS_ERROR, "no TLS handshake in time; is it a TLS port?");
        }
    }
    return !rl_socket_has_failed(s);
}

void rl_socket_close(struct rl_socket *s) {
    if (s->context == NULL) {
        return;
    }
    if (s->stream != NULL) {
        s->stream->ops->close(s->stream);
    }
    redisFree(s->context);
    if (s->out != NULL) {
        explicit_bzero(s->out, s->room); /* with a password */
        free(s->out);
    }
    s->context = NULL;
}
