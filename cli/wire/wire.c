/* See wire.h. */
#include "wire/wire.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "exits.h"
#include "nodes/tls.h"
#include "redlock/redlock.h"
#include "say.h"
#include "tls/stream.h"
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
    if (!rl_socket_open(&wire->socket, wire->args->connect_timeout_ms, &wire->url, wire->dialer)) {
        return fail(wire, failed_step(wire, NULL), rl_socket_error(&wire->socket));
    }
    wire->is_connected = true;
    return true;
}

void rl_wire_disconnect(struct rl_wire *wire) {
    rl_socket_close(&wire->socket);
}

/* text: hiredis's; length below 0: it had no memory for it. */
static void put(struct rl_wire *wire, char *text, long long length) {
    if (length < 0) {
        exit(rl_fail(RL_EXIT_SYSTEM, "out of memory"));
    }
    rl_socket_put(&wire->socket, text, (size_t)length);
    redisFreeCommand(text);
}

static void put_format(struct rl_wire *wire, const char *format, va_list args) {
    char *text = NULL;
    const long long length = redisvFormatCommand(&text, format, args);
    put(wire, text, length);
}

void rl_wire_ask(struct rl_wire *wire, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_format(wire, format, args);
    va_end(args);
}

void rl_wire_ask_argv(struct rl_wire *wire, size_t n, const char **argv, const size_t *lengths) {
    char *text = NULL;
    const long long length = redisFormatCommandArgv(&text, (int)n, argv, lengths);
    put(wire, text, length);
}

redisReply *rl_wire_reply(struct rl_wire *wire) {
    return rl_socket_reply(&wire->socket, wire->answer_ms);
}

redisReply *rl_wire_command(struct rl_wire *wire, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_format(wire, format, args);
    va_end(args);
    return rl_wire_reply(wire);
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
        wire->failed_at = failed_step(wire, name);
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
        fail(wire, must_log_in ? "AUTH" : failed_step(wire, "connect"),
             reply != NULL ? reply->str : rl_socket_error(&wire->socket));
    }
    freeReplyObject(reply);
    return reply != NULL && !must_log_in;
}

static double now_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool is_time(const redisReply *reply) {
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->str != NULL && reply->element[1]->str != NULL;
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

const char *rl_wire_info_text(const char *info, const char *name, char out[RL_WIRE_TEXT_MAX]) {
    const size_t length = strlen(name);
    const char *at = info, *end = info + strlen(info);
    struct rl_info_line line;
    out[0] = '\0';
    while (rl_info_next(&at, end, &line)) {
        if (line.name_length == length && memcmp(line.name, name, length) == 0) {
            return tool_utf8_clean(line.value, line.value_length, out, RL_WIRE_TEXT_MAX);
        }
    }
    return out;
}

int64_t rl_wire_info_number(const char *info, const char *name) {
    char text[RL_WIRE_TEXT_MAX];
    return strtoll(rl_wire_info_text(info, name, text), NULL, 10);
}

#define TEXT(name, field) \
    { name, offsetof(struct rl_wire_info, field), false }
#define NUMBER(name, field) \
    { name, offsetof(struct rl_wire_info, field), true }

static const struct {
    const char *name;
    size_t offset;
    bool is_number;
} fields[] = {
    TEXT("server_mode", mode), /* Valkey's; overwritten by the next where that is */
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
    char found[RL_WIRE_TEXT_MAX];
    *info = (struct rl_wire_info){.server = "Redis"};
    rl_info_read(&info->judged, text, strlen(text));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char *field = (char *)info + fields[i].offset;
        rl_wire_info_text(text, fields[i].name, found);
        if (fields[i].is_number) {
            *(int64_t *)(void *)field = strtoll(found, NULL, 10);
        } else if (found[0] != '\0') {
            memcpy(field, found, sizeof found);
        }
    }
    if (strcmp(rl_wire_info_text(text, "server_name", found), "valkey") == 0) {
        snprintf(info->server, sizeof info->server, "Valkey");
    }
}

#define ANSWER_MS_MIN 1000

int64_t rl_wires_answer_ms(const struct rl_args *args) {
    int64_t ms = 4 * args->node_timeout_ms;
    return ms > ANSWER_MS_MIN ? ms : ANSWER_MS_MIN;
}

static int parse(struct rl_wire *wire, const struct rl_args *args, const char *text) {
    char error[REDLOCK_MESSAGE_MAX];
    wire->text = text;
    wire->args = args;
    if (rl_url_parse_tls(text, &wire->url, &wire->tls, error, sizeof error) != 0) {
        return rl_fail(RL_EXIT_USAGE, "%s: %s", args->nodes_from, error);
    }
    if (wire->url.is_tls && !redlock_has_tls()) {
        return rl_fail(RL_EXIT_USAGE, "%s: %s: %s", args->nodes_from, wire->url.name,
                       redlock_strerror(REDLOCK_ERR_NO_TLS));
    }
    if (args->password.text[0] != '\0') {
        struct rl_url *url = &wire->url;
        url->has_password = true;
        snprintf(url->user, sizeof url->user, "%s", args->user != NULL ? args->user : "");
        snprintf(url->password, sizeof url->password, "%s", args->password.text);
    }
    return 0;
}

/* Checks the TLS settings of a node, and reads its files. Returns a status, and why in error. */
static int make_tls(struct rl_wire *wire, const redlock_client_options *options, char *error,
                    size_t size) {
    const struct rl_tls_settings settings = rl_client_tls_settings(options, &wire->tls);
    const char *name = rl_client_tls_name(options, &wire->tls, wire->url.host);
    int status = rl_client_tls_check_node(&settings, name, wire->url.name, error, size);
#ifdef RL_WITH_TLS
    char why[REDLOCK_MESSAGE_MAX - 256] = "out of memory";
    rl_memory_init(&wire->memory, NULL);
    if (status == 0) {
        status = rl_tls_new(&wire->context, &wire->memory, &settings, why, sizeof why);
        wire->dialer = status == 0 ? rl_tls_peer_new(wire->context, name) : NULL;
        if (wire->dialer == NULL) {
            status = status != 0 ? status : REDLOCK_ERR_NOMEM;
            snprintf(error, size, "node %.200s: %s", wire->url.name, why);
        }
    }
#endif
    return status;
}

/* TLS, for all nodes. Returns 0, or says why not and returns the exit status. */
static int make_all_tls(struct rl_wire *wires, size_t n) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    bool has_tls = false;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.error = error;
    options.error_size = sizeof error;
    rl_args_tls(wires[0].args, &options);
    int status = rl_client_tls_check(&options);
    for (size_t i = 0; i < n && status == 0; i++) {
        if (wires[i].url.is_tls) {
            has_tls = true;
            status = make_tls(&wires[i], &options, error, sizeof error);
        }
    }
    if (status == 0) {
        status = rl_client_tls_check_use(&options, has_tls);
    }
    return status != 0 ? rl_fail(RL_EXIT_USAGE, "%s", error) : 0;
}

static int open_all(struct rl_wire **wires, const struct rl_args *args, int64_t answer_ms) {
    int status = 0;
    assert(args->nodes.n > 0 && args->nodes.n <= REDLOCK_NODES_MAX);
    struct rl_wire *opened = rl_must_alloc(args->nodes.n, sizeof *opened);
    for (size_t i = 0; status == 0 && i < args->nodes.n; i++) {
        opened[i].answer_ms = answer_ms;
        status = parse(&opened[i], args, args->nodes.items[i]);
    }
    if (status == 0) {
        status = make_all_tls(opened, args->nodes.n);
    }
    if (status != 0) {
        rl_wires_free(opened, args->nodes.n);
        return status;
    }
    *wires = opened;
    return 0;
}

int rl_wires_open(struct rl_wire **wires, const struct rl_args *args, int64_t answer_ms) {
    signal(SIGPIPE, SIG_IGN);
    return open_all(wires, args, answer_ms);
}

void rl_wires_free(struct rl_wire *wires, size_t n) {
    if (wires == NULL) {
        return;
    }
#ifdef RL_WITH_TLS
    for (size_t i = 0; i < n; i++) {
        rl_tls_peer_free(wires[i].dialer);
        rl_tls_free(wires[i].context);
    }
#endif
    explicit_bzero(wires, n * sizeof *wires);
    free(wires);
}

void rl_wires_each(void *items, size_t size, size_t n, void (*ask)(void *item)) {
    uv_thread_t threads[REDLOCK_NODES_MAX];
    bool runs[REDLOCK_NODES_MAX];
    assert(n <= REDLOCK_NODES_MAX);
    for (size_t i = 0; i < n; i++) {
        void *item = (char *)items + i * size;
        runs[i] = uv_thread_create(&threads[i], ask, item) == 0;
        if (!runs[i]) {
            ask(item);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (runs[i]) {
            uv_thread_join(&threads[i]);
        }
    }
}

/* A command for one node. */
struct errand {
    struct rl_wire *wire;
    size_t n;
    const char **argv;
    const size_t *lengths;
    struct rl_wire_answer *answer;
};

static void run_errand(void *data) {
    const struct errand *errand = data;
    struct rl_wire *wire = errand->wire;
    if (rl_wire_connect(wire) && rl_wire_hello(wire)) {
        rl_wire_ask_argv(wire, errand->n, errand->argv, errand->lengths);
        errand->answer->reply = rl_wire_checked(wire, rl_wire_reply(wire));
    }
    memcpy(errand->answer->why, wire->failure, sizeof wire->failure);
    rl_wire_disconnect(wire);
}

void rl_wires_ask(const struct rl_args *args, size_t n, const char **argv, const size_t *lengths,
                  struct rl_wire_answer answers[REDLOCK_NODES_MAX]) {
    struct errand errands[REDLOCK_NODES_MAX];
    struct rl_wire *wires = NULL;
    for (size_t i = 0; i < args->nodes.n; i++) {
        answers[i] = (struct rl_wire_answer){.why = "it could not be asked"};
    }
    if (open_all(&wires, args, rl_wires_answer_ms(args)) == 0) {
        for (size_t i = 0; i < args->nodes.n; i++) {
            errands[i] = (struct errand){&wires[i], n, argv, lengths, &answers[i]};
        }
        rl_wires_each(errands, sizeof errands[0], args->nodes.n, run_errand);
        rl_wires_free(wires, args->nodes.n);
    }
}
