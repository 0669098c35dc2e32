/* See connection.h. */
#include "wire/connection.h"

#include <assert.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "redis/reply.h"
#include "redlock/redlock.h"
#include "tool/utf8.h"
#include "wire/tunnel.h"

#define NS_PER_MS UINT64_C(1000000)

static struct timeval timeval_of(int64_t ms) {
    return (struct timeval){.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

static bool fail(struct rl_wire *wire, const char *step, const char *why) {
    wire->failed_at = step;
    tool_utf8_clean(why, strlen(why), wire->failure, sizeof wire->failure);
    return false;
}

bool rl_wire_connect(struct rl_wire *wire) {
    const struct rl_url *url = &wire->url;
    struct timeval connect = timeval_of(wire->args->connect_timeout_ms);
    assert(wire->context == NULL && wire->tunnel == NULL);
    wire->tls_end[0] = '\0';
    wire->first_length = 0;
    redisContext *context = url->kind == RL_URL_UNIX
                                ? redisConnectUnixWithTimeout(url->path, connect)
                                : redisConnectWithTimeout(url->host, url->port, connect);
    wire->context = context;
    if (context == NULL) {
        return fail(wire, "connect", "out of memory");
    }
    if (context->err == 0 && url->is_tls) {
        wire->tunnel = rl_wire_tunnel(wire); /* or the context has the error */
    }
    if (context->err != 0) {
        return fail(wire, context->err == RL_WIRE_ERR_TLS ? "TLS" : "connect", rl_wire_error(wire));
    }
    redisSetTimeout(context, timeval_of(wire->answer_ms));
    wire->is_connected = true;
    return true;
}

void rl_wire_disconnect(struct rl_wire *wire) {
    if (wire->context != NULL) {
        redisFree(wire->context);
        wire->context = NULL;
    }
    if (wire->tunnel != NULL) {
        rl_wire_tunnel_end(wire->tunnel, wire->tls_end);
        wire->tunnel = NULL;
    }
}

/* hiredis sets the socket's timeout, and a read that ran into it fails with EAGAIN. */
const char *rl_wire_error(const struct rl_wire *wire) {
    const redisContext *context = wire->context;
    bool is_timeout =
        context->err == REDIS_ERR_IO && strcmp(context->errstr, strerror(EAGAIN)) == 0;
    return is_timeout ? "no answer in time" : context->errstr;
}

/* -- One answer -- */

static void break_off(redisContext *context, int error, const char *why) {
    context->err = error;
    snprintf(context->errstr, sizeof context->errstr, "%s", why);
}

/* Whether the socket has something before until_ns. */
static bool is_readable(redisContext *context, uint64_t until_ns) {
    struct pollfd polled = {.fd = context->fd, .events = POLLIN};
    for (;;) {
        uint64_t now_ns = redlock_now_ns();
        int found = now_ns < until_ns
                        ? poll(&polled, 1, (int)((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS))
                        : 0;
        if (found == 0) {
            break_off(context, REDIS_ERR_IO, strerror(EAGAIN)); /* as if the socket had said it */
        } else if (found < 0 && errno == EINTR) {
            continue;
        } else if (found < 0) {
            break_off(context, REDIS_ERR_IO, strerror(errno));
        }
        return found > 0;
    }
}

/* hiredis keeps nothing of an answer that it does not understand. */
static void note_first(struct rl_wire *wire) {
    if (wire->first_length == 0) {
        ssize_t got = recv(wire->context->fd, wire->first, sizeof wire->first, MSG_PEEK);
        wire->first_length = got > 0 ? (size_t)got : 0;
    }
}

static void break_off_odd(const struct rl_wire *wire) {
    const redisReader *reader = wire->context->reader;
    char why[64];
    const char *stranger = rl_reply_stranger(wire->first, wire->first_length);
    snprintf(why, sizeof why, "not Redis: %s", stranger != NULL ? stranger : "");
    break_off(wire->context, reader->err, stranger != NULL ? why : reader->errstr);
}

redisReply *rl_wire_reply(struct rl_wire *wire) {
    redisContext *context = wire->context;
    uint64_t until_ns = redlock_now_ns() + (uint64_t)wire->answer_ms * NS_PER_MS;
    int is_written = 0;
#if HIREDIS_MAJOR >= 1
    context->reader->maxelements = wire->elements_max;
#endif
    while (!is_written) {
        if (redisBufferWrite(context, &is_written) != REDIS_OK) {
            return NULL; /* or the context had failed before */
        }
    }
    void *reply = NULL;
    for (int pieces = 0; pieces < wire->pieces_max; pieces++) {
        if (redisReaderGetReply(context->reader, &reply) != REDIS_OK) {
            break_off_odd(wire);
            return NULL;
        }
        if (reply != NULL) {
            return reply;
        }
        if (!is_readable(context, until_ns)) {
            return NULL;
        }
        note_first(wire);
        if (redisBufferRead(context) != REDIS_OK) {
            return NULL;
        }
    }
    break_off(context, REDIS_ERR_PROTOCOL, "an endless answer");
    return NULL;
}

redisReply *rl_wire_command(struct rl_wire *wire, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int status = redisvAppendCommand(wire->context, format, args);
    va_end(args);
    return status == REDIS_OK ? rl_wire_reply(wire) : NULL;
}

redisReply *rl_wire_checked(struct rl_wire *wire, redisReply *reply) {
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fail(wire, wire->failed_at, reply != NULL ? reply->str : rl_wire_error(wire));
        if (reply != NULL) {
            freeReplyObject(reply);
        }
        return NULL;
    }
    wire->failure[0] = '\0';
    return reply;
}

/* -- Logging in -- */

/* "ERR unknown command 'AUTH', with args beginning with: ...": the password follows. */
static void hide_arguments(redisReply *reply) {
    char *at = reply != NULL && reply->type == REDIS_REPLY_ERROR ? strstr(reply->str, ", with args")
                                                                 : NULL;
    if (at != NULL) {
        explicit_bzero(at, strlen(at));
    }
}

/* Whether the reply is a good one; frees it. */
static bool step(struct rl_wire *wire, const char *name, redisReply *reply) {
    if (rl_wire_checked(wire, reply) == NULL) {
        wire->failed_at = wire->context->err != 0 ? "connect" : name;
        return false;
    }
    freeReplyObject(reply);
    return true;
}

bool rl_wire_hello(struct rl_wire *wire) {
    const struct rl_url *url = &wire->url;
    redisReply *reply = NULL;
    if (url->has_password) {
        reply = url->user[0] != '\0' ? rl_wire_command(wire, "AUTH %s %s", url->user, url->password)
                                     : rl_wire_command(wire, "AUTH %s", url->password);
        hide_arguments(reply);
        if (!step(wire, "AUTH", reply)) {
            return false;
        }
    }
    if (url->db != 0 && !step(wire, "SELECT", rl_wire_command(wire, "SELECT %u", url->db))) {
        return false;
    }
    reply = rl_wire_command(wire, "PING");
    bool must_log_in =
        reply != NULL && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOAUTH", 6) == 0;
    if (reply == NULL || must_log_in) {
        fail(wire, must_log_in ? "AUTH" : "connect",
             reply != NULL ? reply->str : rl_wire_error(wire));
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return reply != NULL && !must_log_in;
}
