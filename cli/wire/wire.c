/* The nodes, for commands that query them directly: a blocking connection to each (socket.c), with
 * a time limit for every question. It does not use the library's client, so that its findings are
 * independent of it.
 *
 * Happy path: rl_wires_open() for all nodes (wires.c); then, in a thread per node, so that a slow
 * node does not delay the others, rl_wire_connect(), rl_wire_hello(), questions,
 * rl_wire_disconnect().
 *
 *     redisReply *reply = rl_wire_command(wire, "TIME");      one question
 *     rl_wire_ask(wire, ...);                                 several at once,
 *     redisReply *reply = rl_wire_reply(wire);                and an answer to each, in order
 *
 * Failure modes: no connection, no TLS, a refused password: wire->failed_at and wire->failure say
 * so. The answer is not complete in time, or too long: there is no reply, and the connection has
 * failed and is not used again.
 *
 * This folder uses these internal headers of the library: the grammar of URLs (redis/url.h), INFO
 * (redis/info.h), the configuration of sets and the quorums that follow from it (redis/config.h,
 * core/quorum.h), the first bytes of other servers (redis/reply.h), and the TLS of clients
 * (tls/context.h, tls/stream.h, nodes/tls.h, and base/world.h and base/memory.h, of which its
 * streams are made). A second parser of URLs, or a second check of certificates, would sooner or
 * later differ. In cli/ only this folder, doctor/, scan/ and set/ use internal headers of the
 * library. */
#include "wire/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "say.h"
#include "tool/utf8.h"

static bool fail(struct rl_wire *wire, const char *step, const char *why) {
    wire->failed_at = step;
    tool_utf8_clean(why, strlen(why), wire->failure, sizeof wire->failure);
    return false;
}

static const char *failed_step(const struct rl_wire *wire, const char *otherwise) {
    return rl_socket_has_failed_in_tls(&wire->socket) ? "TLS"
           : rl_socket_has_failed(&wire->socket)      ? "connect"
                                                      : otherwise;
}

bool rl_wire_connect(struct rl_wire *wire) {
    if (!rl_socket_open(&wire->socket, wire->args->client.connect_timeout_ms, &wire->url,
                        wire->dialer)) {
        return fail(wire, failed_step(wire, NULL), rl_socket_error(&wire->socket));
    }
    wire->is_connected = true;
    return true;
}

void rl_wire_disconnect(struct rl_wire *wire) {
    rl_socket_close(&wire->socket);
}

/* text: allocated by hiredis; length < 0: it was out of memory. */
static void put(struct rl_wire *wire, char *text, long long length) {
    if (length < 0) {
        exit(rl_fail(RL_EXIT_SYSTEM, "out of memory"));
    }
    rl_socket_put(&wire->socket, text, (size_t)length);
    redisFreeCommand(text);
}

void rl_wire_ask(struct rl_wire *wire, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const long long length = redisvFormatCommand(&text, format, args);
    va_end(args);
    put(wire, text, length);
}

void rl_wire_ask_argv(struct rl_wire *wire, size_t n, const char **argv, const size_t *lengths) {
    char *text = NULL;
    const long long length = redisFormatCommandArgv(&text, (int)n, argv, lengths);
    put(wire, text, length);
}

redisReply *rl_wire_reply(struct rl_wire *wire) {
    return rl_socket_reply(&wire->socket, wire->answer_ms);
}

redisReply *rl_wire_checked(struct rl_wire *wire, redisReply *reply) {
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fail(wire, wire->failed_at, reply != NULL ? reply->str : rl_socket_error(&wire->socket));
        freeReplyObject(reply);
        return NULL;
    }
    wire->failure[0] = '\0';
    return reply;
}

bool rl_wire_is_scan(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[0]->len < RL_WIRE_CURSOR_MAX &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* -- Logging in -- */

/* Cuts "ERR unknown command 'AUTH', with args beginning with: ...", which the password follows. */
static void hide_arguments(redisReply *reply) {
    char *at = reply != NULL && reply->type == REDIS_REPLY_ERROR ? strstr(reply->str, ", with args")
                                                                 : NULL;
    if (at != NULL) {
        explicit_bzero(at, strlen(at));
    }
}

/* Checks the reply of a step of the login, and frees it. Returns whether it is good. */
static bool step(struct rl_wire *wire, const char *name, redisReply *reply) {
    if (rl_wire_checked(wire, reply) == NULL) {
        wire->failed_at = failed_step(wire, name);
        return false;
    }
    freeReplyObject(reply);
    return true;
}

/* By GETRANGE, since read-only users have that right (redlock doctor --acl --read-only). */
static void read_config(struct rl_wire *wire) {
    redisReply *reply = rl_wire_command(wire, "GETRANGE " RL_CONFIG_KEY " 0 -1");
    free(wire->config);
    wire->config = NULL;
    if (reply != NULL && reply->type == REDIS_REPLY_STRING && reply->len > 0) {
        wire->config = rl_must_alloc(1, sizeof *wire->config);
        if (!rl_config_parse(wire->config, reply->str, reply->len)) {
            free(wire->config);
            wire->config = NULL;
        }
    }
    freeReplyObject(reply);
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
    const bool is_error = reply != NULL && reply->type == REDIS_REPLY_ERROR;
    const bool must_log_in = is_error && strncmp(reply->str, "NOAUTH", 6) == 0;
    if (reply != NULL && !must_log_in) {
        read_config(wire);
    }
    /* A node that is protected, or has too many clients, says so and closes the connection. */
    const bool is_good = !must_log_in && !rl_socket_has_failed(&wire->socket);
    if (!is_good) {
        fail(wire, must_log_in ? "AUTH" : failed_step(wire, "connect"),
             is_error ? reply->str : rl_socket_error(&wire->socket));
    }
    freeReplyObject(reply);
    return is_good;
}

static double now_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool is_count(const redisReply *reply) {
    return reply->str != NULL && reply->len > 0 && reply->len < 19 &&
           strspn(reply->str, "0123456789") == reply->len;
}

static bool is_time(const redisReply *reply) {
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           is_count(reply->element[0]) && is_count(reply->element[1]);
}

static bool sample(struct rl_wire *wire, struct rl_wire_clock *clock) {
    double sent_ms = now_ms(CLOCK_MONOTONIC), wall_ms = now_ms(CLOCK_REALTIME);
    redisReply *reply = rl_wire_checked(wire, rl_wire_command(wire, "TIME"));
    double trip_ms = now_ms(CLOCK_MONOTONIC) - sent_ms;
    bool is_good = is_time(reply);
    if (is_good && (!clock->is_known || trip_ms < clock->latency_ms)) {
        double theirs_ms =
            strtod(reply->element[0]->str, NULL) * 1e3 + strtod(reply->element[1]->str, NULL) / 1e3;
        clock->latency_ms = trip_ms;
        clock->error_ms = trip_ms / 2;
        clock->ahead_ms = theirs_ms - (wall_ms + trip_ms / 2);
        clock->is_known = true;
    }
    if (is_good) {
        clock->samples_ms[clock->n_samples++] = trip_ms;
    }
    clock->latency_max_ms = trip_ms > clock->latency_max_ms ? trip_ms : clock->latency_max_ms;
    freeReplyObject(reply);
    return is_good;
}

void rl_wire_clock(struct rl_wire *wire, int n, struct rl_wire_clock *clock) {
    *clock = (struct rl_wire_clock){0};
    assert(n <= RL_WIRE_SAMPLES);
    while (clock->n_samples < n && sample(wire, clock)) {
    }
}

const char *rl_wire_info_text(const char *info, const char *name) {
    const size_t length = strlen(name);
    const char *at = info, *end = info + strlen(info);
    struct rl_info_line line;
    while (rl_info_next(&at, end, &line)) {
        if (line.name_length == length && memcmp(line.name, name, length) == 0) {
            return rl_text_bytes(line.value, line.value_length, RL_WIRE_TEXT_MAX);
        }
    }
    return "";
}

#define NUMBER_MAX (INT64_MAX / 1000) /* also a number of seconds can be counted in ms */
#define TEXT(name, field) \
    { name, offsetof(struct rl_wire_info, field), false }
#define NUMBER(name, field) \
    { name, offsetof(struct rl_wire_info, field), true }

static const struct {
    const char *name;
    size_t offset;
    bool is_number;
} fields[] = {
    TEXT("server_mode", mode), /* Valkey's; overwritten by the next one, if present */
    TEXT("redis_mode", mode),
    TEXT("redis_version", version),
    TEXT("valkey_version", version),
    TEXT("run_id", run_id),
    TEXT("master_replid", replid),
    TEXT("role", role),
    TEXT("master_host", master_host),
    TEXT("master_port", master_port),
    TEXT("maxmemory_policy", policy),
    TEXT("aof_last_write_status", aof_write),
    NUMBER("connected_slaves", replicas),
    NUMBER("uptime_in_seconds", uptime_s),
    NUMBER("connected_clients", clients),
    NUMBER("total_commands_processed", commands),
    NUMBER("instantaneous_ops_per_sec", commands_per_s),
    NUMBER("maxmemory", maxmemory),
    NUMBER("used_memory", used_memory),
    NUMBER("aof_enabled", aof_enabled),
    NUMBER("loading", loading),
    NUMBER("evicted_keys", evicted),
};

void rl_wire_info_read(const char *text, struct rl_wire_info *info) {
    *info = (struct rl_wire_info){.server = "Redis"};
    rl_info_read(&info->judged, text, strlen(text));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char *field = (char *)info + fields[i].offset;
        const char *found = rl_wire_info_text(text, fields[i].name);
        if (fields[i].is_number) {
            const int64_t number = strtoll(found, NULL, 10);
            *(int64_t *)(void *)field = number < 0 ? 0 : number < NUMBER_MAX ? number : NUMBER_MAX;
        } else if (found[0] != '\0') {
            memcpy(field, found, strlen(found) + 1);
        }
    }
    if (strcmp(rl_wire_info_text(text, "server_name"), "valkey") == 0) {
        snprintf(info->server, sizeof info->server, "Valkey");
    }
}
