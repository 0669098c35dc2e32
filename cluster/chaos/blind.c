/* A release that does not compare: see blind.h. */
#include "blind.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redlock/redlock.h"

#define NODE_TIMEOUT_MS 200
#define KEY_SIZE 64
#define HOST_SIZE 256

struct blind {
    uv_work_t work;
    const char *const *nodes;
    size_t n_nodes;
    char key[KEY_SIZE];
    int deleted;
    void (*done)(void *data, int deleted);
    void *data;
};

/* Host and port of redis://[user:password@]host[:port][/db]; 0 if it is something else. */
static int take_apart(const char *url, char *host, int *port) {
    static const char scheme[] = "redis://";
    if (strncmp(url, scheme, sizeof(scheme) - 1) != 0) {
        return 0;
    }
    const char *begin = url + sizeof(scheme) - 1;
    const char *at = strchr(begin, '@');
    begin = at != NULL ? at + 1 : begin;
    size_t length = strcspn(begin, ":/");
    if (length == 0 || length >= HOST_SIZE) {
        return 0;
    }
    memcpy(host, begin, length);
    host[length] = '\0';
    *port = begin[length] == ':' ? (int)strtol(begin + length + 1, NULL, 10) : 6379;
    return 1;
}

static int delete_on(const char *url, const char *key) {
    const struct timeval timeout = {0, NODE_TIMEOUT_MS * 1000};
    char host[HOST_SIZE];
    int port, deleted = 0;
    if (!take_apart(url, host, &port)) {
        return 0;
    }
    redisContext *context = redisConnectWithTimeout(host, port, timeout);
    if (context != NULL && context->err == 0 && redisSetTimeout(context, timeout) == REDIS_OK) {
        redisReply *reply = redisCommand(context, "DEL %s", key);
        deleted = reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
        if (reply != NULL) {
            freeReplyObject(reply);
        }
    }
    if (context != NULL) {
        redisFree(context);
    }
    return deleted;
}

static void work_cb(uv_work_t *work) {
    struct blind *blind = work->data;
    for (size_t i = 0; i < blind->n_nodes; i++) {
        blind->deleted += delete_on(blind->nodes[i], blind->key);
    }
}

static void after_cb(uv_work_t *work, int status) {
    struct blind *blind = work->data;
    (void)status;
    blind->done(blind->data, blind->deleted);
    free(blind);
}

int chaos_blind_delete(uv_loop_t *loop, const char *const *nodes, size_t n_nodes, const char *key,
                       void (*done)(void *data, int deleted), void *data) {
    struct blind *blind = calloc(1, sizeof(*blind));
    assert(n_nodes > 0 && done != NULL && strlen(key) < KEY_SIZE);
    if (blind == NULL) {
        return REDLOCK_ERR_NOMEM;
    }
    blind->work.data = blind;
    blind->nodes = nodes;
    blind->n_nodes = n_nodes;
    snprintf(blind->key, sizeof(blind->key), "%s", key);
    blind->done = done;
    blind->data = data;
    if (uv_queue_work(loop, &blind->work, work_cb, after_cb) != 0) {
        free(blind);
        return REDLOCK_ERR_SYSTEM;
    }
    return 0;
}
