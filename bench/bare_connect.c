/* A hiredis connection from a node's URL: see bare_connect.h for purpose, use and failure modes. */
#include "bare_connect.h"

#include <assert.h>
#include <hiredis/adapters/libuv.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_MAX 256

/* Empty parts are absent. */
struct url_parts {
    char user[PART_MAX];
    char password[PART_MAX];
    char host[PART_MAX];
    char path[PART_MAX];
    int port;
    int db;
};

static int copy_part(char *part, const char *start, size_t length) {
    if (length >= PART_MAX) {
        return -1;
    }
    memcpy(part, start, length);
    part[length] = '\0';
    return 0;
}

/* A number at the start of *text, which moves behind it. -1 if there is none. */
static int take_number(const char **text, int max) {
    char *end;
    long value = strtol(*text, &end, 10);
    if (end == *text || value < 0 || value > max) {
        return -1;
    }
    *text = end;
    return (int)value;
}

static int parse_credentials(struct url_parts *parts, const char **text) {
    const char *at = strrchr(*text, '@');
    if (at == NULL) {
        return 0;
    }
    const char *colon = memchr(*text, ':', (size_t)(at - *text));
    if (colon == NULL || copy_part(parts->user, *text, (size_t)(colon - *text)) != 0 ||
        copy_part(parts->password, colon + 1, (size_t)(at - colon) - 1) != 0) {
        return -1;
    }
    *text = at + 1;
    return 0;
}

static int parse_host(struct url_parts *parts, const char **text) {
    bool bracket = **text == '[';
    *text += bracket ? 1 : 0;
    size_t length = strcspn(*text, bracket ? "]" : ":/");
    if (length == 0 || copy_part(parts->host, *text, length) != 0) {
        return -1;
    }
    *text += length + (bracket && (*text)[length] == ']' ? 1 : 0);
    parts->port = 6379;
    if (**text == ':') {
        ++*text;
        parts->port = take_number(text, 65535);
    }
    return parts->port < 0 ? -1 : 0;
}

static int parse_tcp(struct url_parts *parts, const char *text) {
    if (parse_credentials(parts, &text) != 0 || parse_host(parts, &text) != 0) {
        return -1;
    }
    if (*text == '/' && text[1] != '\0') {
        text++;
        parts->db = take_number(&text, 1 << 20);
    } else if (*text == '/') {
        text++;
    }
    return parts->db < 0 || *text != '\0' ? -1 : 0;
}

static int parse_unix(struct url_parts *parts, const char *text) {
    size_t length = strcspn(text, "?");
    if (copy_part(parts->path, text, length) != 0) {
        return -1;
    }
    text += length;
    if (strncmp(text, "?db=", 4) == 0) {
        text += 4;
        parts->db = take_number(&text, 1 << 20);
    }
    return parts->db < 0 || *text != '\0' ? -1 : 0;
}

static int parse_url(struct url_parts *parts, const char *url) {
    memset(parts, 0, sizeof(*parts));
    if (strchr(url, '%') != NULL) {
        return -1;
    }
    if (strncmp(url, "redis://", 8) == 0) {
        return parse_tcp(parts, url + 8);
    }
    return strncmp(url, "unix://", 7) == 0 ? parse_unix(parts, url + 7) : -1;
}

static void queue_setup(redisAsyncContext *context, const struct url_parts *parts) {
    if (parts->user[0] != '\0') {
        redisAsyncCommand(context, NULL, NULL, "AUTH %s %s", parts->user, parts->password);
    } else if (parts->password[0] != '\0') {
        redisAsyncCommand(context, NULL, NULL, "AUTH %s", parts->password);
    }
    if (parts->db != 0) {
        redisAsyncCommand(context, NULL, NULL, "SELECT %d", parts->db);
    }
}

redisAsyncContext *rl_bench_bare_connect(uv_loop_t *loop, const char *url, char *error,
                                         size_t error_size) {
    assert(error != NULL && error_size > 0);
    struct url_parts parts;
    if (parse_url(&parts, url) != 0) {
        snprintf(error, error_size,
                 "a node URL is not for the bare fan-out, which knows only "
                 "redis://[[user]:password@]host[:port][/db] and unix:///path[?db=n], without "
                 "percent-encoding");
        return NULL;
    }
    redisAsyncContext *context = parts.path[0] != '\0' ? redisAsyncConnectUnix(parts.path)
                                                       : redisAsyncConnect(parts.host, parts.port);
    if (context == NULL || context->err != 0 || redisLibuvAttach(context, loop) != REDIS_OK) {
        snprintf(error, error_size, "bare fan-out: %s: %s",
                 parts.path[0] != '\0' ? parts.path : parts.host,
                 context != NULL && context->err != 0 ? context->errstr : "cannot connect");
        if (context != NULL) {
            redisAsyncFree(context);
        }
        return NULL;
    }
    queue_setup(context, &parts);
    return context;
}
