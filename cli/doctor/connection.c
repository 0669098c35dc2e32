/* See connection.h. */
#include "doctor/connection.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "doctor/tunnel.h"
#include "redlock/redlock.h"

#define NS_PER_MS UINT64_C(1000000)
#define ANSWER_MS_MIN 1000 /* a slow node is to be called slow, not dead */
#define READS_MAX 256      /* of at most 16 KiB each; INFO takes one or two */
#if HIREDIS_MAJOR >= 1
#define ELEMENTS_MAX 1024 /* an array of more is no answer to what doctor asks */
#endif

static int64_t answer_ms_of(const struct rl_args *args) {
    int64_t ms = 4 * args->node_timeout_ms;
    return ms > ANSWER_MS_MIN ? ms : ANSWER_MS_MIN;
}

static struct timeval timeval_of(int64_t ms) {
    return (struct timeval){.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

redisContext *rl_doctor_connect(struct rl_facts *facts) {
    const struct rl_url *url = &facts->url;
    struct timeval connect = timeval_of(facts->args->connect_timeout_ms);
    redisContext *context = url->kind == RL_URL_UNIX
                                ? redisConnectUnixWithTimeout(url->path, connect)
                                : redisConnectWithTimeout(url->host, url->port, connect);
    if (context != NULL && context->err == 0 && url->is_tls) {
        facts->tunnel = rl_doctor_tunnel(facts, context); /* or the context has the error */
    }
    if (context != NULL && context->err == 0) {
        redisSetTimeout(context, timeval_of(answer_ms_of(facts->args)));
    }
    return context;
}

void rl_doctor_disconnect(struct rl_facts *facts, redisContext *context) {
    if (context != NULL) {
        redisFree(context);
    }
    if (facts->tunnel != NULL) {
        rl_doctor_tunnel_end(facts->tunnel, facts->tls_end);
        facts->tunnel = NULL;
    }
}

/* hiredis sets the socket's timeout, and a read that ran into it fails with EAGAIN. */
const char *rl_doctor_error(const redisContext *context) {
    bool is_timeout =
        context->err == REDIS_ERR_IO && strcmp(context->errstr, strerror(EAGAIN)) == 0;
    return is_timeout ? "no answer in time" : context->errstr;
}

static void fail(redisContext *context, int error, const char *why) {
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
            fail(context, REDIS_ERR_IO, strerror(EAGAIN)); /* as if the socket had said it */
        } else if (found < 0 && errno == EINTR) {
            continue;
        } else if (found < 0) {
            fail(context, REDIS_ERR_IO, strerror(errno));
        }
        return found > 0;
    }
}

static redisReply *read_reply(redisContext *context, uint64_t until_ns) {
    void *reply = NULL;
    for (int reads = 0; reads < READS_MAX; reads++) {
        if (redisReaderGetReply(context->reader, &reply) != REDIS_OK) {
            fail(context, context->reader->err, context->reader->errstr);
            return NULL;
        }
        if (reply != NULL) {
            return reply;
        }
        if (!is_readable(context, until_ns) || redisBufferRead(context) != REDIS_OK) {
            return NULL;
        }
    }
    fail(context, REDIS_ERR_PROTOCOL, "an endless answer");
    return NULL;
}

redisReply *rl_doctor_reply(const struct rl_facts *facts, redisContext *context) {
    uint64_t until_ns = redlock_now_ns() + (uint64_t)answer_ms_of(facts->args) * NS_PER_MS;
    int is_written = 0;
#if HIREDIS_MAJOR >= 1
    context->reader->maxelements = ELEMENTS_MAX;
#endif
    while (!is_written) {
        if (redisBufferWrite(context, &is_written) != REDIS_OK) {
            return NULL; /* or the context had failed before */
        }
    }
    return read_reply(context, until_ns);
}

redisReply *rl_doctor_command(const struct rl_facts *facts, redisContext *context,
                              const char *format, ...) {
    va_list args;
    va_start(args, format);
    int status = redisvAppendCommand(context, format, args);
    va_end(args);
    return status == REDIS_OK ? rl_doctor_reply(facts, context) : NULL;
}
