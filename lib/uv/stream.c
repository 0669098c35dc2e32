/* See stream.h. */
#include "uv/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/require.h"
#include "uv/state.h"

struct rl_uv_stream {
    struct rl_stream base;
    struct rl_uv_world *world;
    struct rl_uv_stream *next; /* the next one that is not closed */
    struct rl_uv_stream **at;
    int fd;
    int error; /* kept for the next turn, 0: none */
    bool is_up;
    bool is_over;
    bool is_closed;
    bool wants_room;
    bool is_cut; /* a write has failed, and the peer's last bytes may be unread */
    uv_poll_t poll;
};

static void poll_cb(uv_poll_t *poll, int status, int events);

static struct rl_uv_stream *stream_of(struct rl_stream *stream) {
    return (struct rl_uv_stream *)(void *)stream;
}

/* -- The end -- */

static void stream_freed(uv_handle_t *handle) {
    struct rl_uv_stream *s = handle->data;
    struct rl_uv_world *w = s->world;
    assert(s->is_closed);
    rl_free(&w->memory, s);
    rl_uv_closed(w);
}

static void stream_close(struct rl_stream *stream) {
    struct rl_uv_stream *s = stream_of(stream);
    RL_REQUIRE(!s->is_closed); /* another socket may have its descriptor */
    assert(*s->at == s);
    s->is_closed = true;
    *s->at = s->next;
    if (s->next != NULL) {
        s->next->at = s->at;
    }
    uv_close((uv_handle_t *)&s->poll, stream_freed); /* first: it takes the socket out of epoll */
    close(s->fd);
}

static void stream_end(struct rl_uv_stream *s, int error) {
    RL_REQUIRE(!s->is_closed && !s->is_over); /* one end */
    s->is_over = true;
    uv_poll_stop(&s->poll);
    s->base.events->end(s->base.owner, error, "");
}

static void stream_fail(struct rl_uv_stream *s, int error) {
    assert(error > 0);
    assert(!s->is_over && !s->is_closed);
    if (s->error == 0) {
        s->error = error;
        s->world->has_failed = true;
        rl_uv_wake(s->world);
    }
}

static ssize_t stream_receive(struct rl_uv_stream *s) {
    struct rl_uv_world *w = s->world;
    ssize_t n;
    assert(s->is_up);
    do {
        n = recv(s->fd, w->input, sizeof w->input, 0);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Reads the peer's last bytes, which may give the reason. One piece, as in a poll. */
static void stream_hear_out(struct rl_uv_stream *s) {
    ssize_t n = stream_receive(s);
    assert(s->error != 0);
    s->is_cut = false;
    if (n > 0) {
        s->base.events->bytes(s->base.owner, s->world->input, (size_t)n);
    }
}

/* Starts over each time, since an owner may close any stream. */
void rl_uv_end_failed(struct rl_uv_world *w) {
    assert(w->in_turn);
    while (w->has_failed) {
        struct rl_uv_stream *s = w->streams;
        while (s != NULL && (s->error == 0 || s->is_over)) {
            s = s->next;
        }
        w->has_failed = s != NULL;
        if (s != NULL && s->is_cut) {
            stream_hear_out(s);
        } else if (s != NULL) {
            stream_end(s, s->error);
        }
    }
}

/* The loop polls this descriptor: libuv aborts if it is missing in a child that goes on with the
 * loop, and removing it might change the parent's epoll. So another socket takes its number. */
static void replace(int fd) {
    int nothing = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (nothing < 0 || dup3(nothing, fd, O_CLOEXEC) < 0) {
        close(fd);
    }
    if (nothing >= 0) {
        close(nothing);
    }
}

void rl_uv_abandon(struct rl_uv_world *w) {
    assert(rl_fork_is_child(&w->fork));
    for (struct rl_uv_stream *s = w->streams; s != NULL; s = s->next) {
        assert(!s->is_closed && *s->at == s);
        if (uv_is_active((uv_handle_t *)&s->poll)) {
            replace(s->fd);
        } else {
            close(s->fd);
        }
    }
    w->streams = NULL;
}

/* -- Bytes -- */

static int stream_poll(struct rl_uv_stream *s) {
    assert(!s->is_closed && !s->is_over);
    bool writable = !s->is_up || s->wants_room;
    return -uv_poll_start(&s->poll, UV_READABLE | (writable ? UV_WRITABLE : 0), poll_cb);
}

static void stream_poll_on(struct rl_uv_stream *s) {
    int error = stream_poll(s);
    if (error != 0) {
        stream_fail(s, error);
    }
}

static size_t stream_write(struct rl_stream *stream, const char *bytes, size_t length) {
    struct rl_uv_stream *s = stream_of(stream);
    ssize_t n;
    assert(s->is_up && !s->is_over && !s->is_closed);
    if (s->error != 0 || length == 0) {
        return 0;
    }
    do {
        n = send(s->fd, bytes, length, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        s->is_cut = true;
        stream_fail(s, errno);
        return 0;
    }
    size_t taken = n > 0 ? (size_t)n : 0;
    assert(taken <= length);
    if (taken < length && !s->wants_room) {
        s->wants_room = true;
        stream_poll_on(s);
    }
    return taken;
}

/* The real error of a failed poll: libuv always calls it EBADF. */
static int stream_error(const struct rl_uv_stream *s, int otherwise) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
        error = errno;
    }
    return error != 0 ? error : otherwise;
}

static void stream_connecting(struct rl_uv_stream *s, int status, int events) {
    assert(s->error == 0); /* nothing was written yet */
    int error = stream_error(s, status < 0 ? ECONNABORTED : 0);
    if (error != 0) {
        stream_end(s, error);
    } else if (events & UV_WRITABLE) {
        s->is_up = true;
        stream_poll_on(s);
        s->base.events->up(s->base.owner);
    }
}

/* Bytes that arrived before an error are delivered before it. */
static void stream_read(struct rl_uv_stream *s, int status) {
    struct rl_uv_world *w = s->world;
    ssize_t n = stream_receive(s);
    if (n == 0) {
        stream_end(s, 0);
    } else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        stream_end(s, errno);
    } else if (n < 0 && status < 0) {
        stream_end(s, stream_error(s, ECONNRESET));
    } else if (n > 0) {
        w->has_more |= (size_t)n == sizeof w->input || status < 0;
        if (status < 0) {
            stream_poll_on(s); /* libuv has stopped it */
        }
        s->base.events->bytes(s->base.owner, w->input, (size_t)n);
    }
}

static void poll_cb(uv_poll_t *poll, int status, int events) {
    struct rl_uv_stream *s = poll->data;
    if (rl_fork_is_child(&s->world->fork)) {
        uv_poll_stop(poll);
        return;
    }
    assert(!s->is_closed && !s->is_over);
    if (!s->is_up) {
        stream_connecting(s, status, events);
        return;
    }
    if (s->error != 0) {
        return; /* the turn ends it */
    }
    if (status < 0 || (events & UV_READABLE)) {
        stream_read(s, status);
    }
    if ((events & UV_WRITABLE) && s->wants_room && !s->is_closed && !s->is_over && s->error == 0) {
        s->wants_room = false;
        s->base.events->room(s->base.owner);
        if (!s->wants_room && !s->is_closed && s->error == 0) {
            stream_poll_on(s);
        }
    }
}

/* -- Dialing -- */

static void stream_fail_later(struct rl_stream *stream, int error) {
    struct rl_uv_stream *s = stream_of(stream);
    assert(s->is_up);
    stream_fail(s, error);
}

static const struct rl_stream_ops stream_ops = {.write = stream_write,
                                                .fail = stream_fail_later,
                                                .close = stream_close};

/* Sends commands without delay, and detects a dead peer while idle. A failure here is ignored.
 */
static void tune(int fd, int family) {
    int on = 1, idle_s = 15, interval_s = 5, probes = 3;
    if (family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    }
}

/* Returns a socket that is connecting; or -1 and *error. EAGAIN means a unix socket whose queue is
 * full: no event would ever follow. */
static int connect_to(const struct rl_address *to, int *error) {
    int family = to->storage.ss_family;
    assert(to->length > 0 && to->length <= sizeof to->storage);
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *error = errno;
        return -1;
    }
    tune(fd, family);
    const struct sockaddr *address = (const struct sockaddr *)(const void *)&to->storage;
    if (connect(fd, address, to->length) != 0 && errno != EINPROGRESS) {
        *error = errno;
        close(fd);
        return -1;
    }
    return fd;
}

static bool stream_open(struct rl_uv_stream *s, int *error) {
    *error = -uv_poll_init(s->world->loop, &s->poll, s->fd);
    if (*error != 0) {
        close(s->fd);
        rl_free(&s->world->memory, s);
        return false;
    }
    rl_uv_refer(s->world, (uv_handle_t *)&s->poll);
    s->poll.data = s;
    s->next = s->world->streams;
    s->at = &s->world->streams;
    if (s->next != NULL) {
        assert(s->next->at == &s->world->streams);
        s->next->at = &s->next;
    }
    s->world->streams = s;
    rl_uv_opened(s->world, 1);
    *error = stream_poll(s);
    if (*error != 0) {
        stream_close(&s->base); /* libuv must release it */
        return false;
    }
    return true;
}

struct rl_stream *rl_uv_dial(struct rl_uv_world *w, const struct rl_address *to,
                             const struct rl_stream_events *events, void *owner, int *error) {
    assert(w->is_started && !w->is_closing);
    assert(events->up != NULL && events->bytes != NULL);
    assert(events->room != NULL && events->end != NULL);
    struct rl_uv_stream *s = rl_alloc(&w->memory, 1, sizeof *s);
    if (s == NULL) {
        *error = ENOMEM;
        return NULL;
    }
    s->base = (struct rl_stream){.ops = &stream_ops, .events = events, .owner = owner};
    s->world = w;
    s->fd = connect_to(to, error);
    if (s->fd < 0) {
        rl_free(&w->memory, s);
        return NULL;
    }
    return stream_open(s, error) ? &s->base : NULL;
}
