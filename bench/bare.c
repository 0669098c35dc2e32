/* The bare fan-out: see bare.h for purpose, use and failure modes. */
#include "bare.h"

#include <assert.h>
#include <hiredis/adapters/libuv.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* -- A connection from a node's URL --
 *
 * connect_url() parses redis://[[user]:password@]host[:port][/db] or unix:///path, connects,
 * attaches the shipped libuv adapter and queues AUTH and SELECT. A URL with percent-encoding or TLS
 * is refused: the bare fan-out is a baseline, not a client. A failure of AUTH or SELECT shows at
 * the next command. */

#define PART_MAX 256
#define GROUPS 11

/* Empty parts are absent. */
struct url_parts {
    char user[PART_MAX];
    char password[PART_MAX];
    char host[PART_MAX];
    char path[PART_MAX];
    int port;
    int db;
};

/* Groups: 2 the user, 3 the password, 5 the host, or 6 an address in brackets, 8 the port, 10 the
 * database; 1 the path, 3 the database. */
static const char tcp_form[] =
    "^redis://(([^:]*):(.*)@)?(([^][@:/]+)|\\[([^]]+)])(:([0-9]{1,5}))?(/([0-9]{0,6}))?$";
static const char unix_form[] = "^unix://([^?]+)(\\?db=([0-9]{1,6}))?$";

/* -1 if the URL does not have this form, or a part is too long. */
static int match(const char *form, const char *url, regmatch_t groups[]) {
    regex_t regex;
    if (regcomp(&regex, form, REG_EXTENDED) != 0) {
        return -1;
    }
    int result = regexec(&regex, url, GROUPS, groups, 0);
    regfree(&regex);
    for (size_t i = 1; result == 0 && i < GROUPS; i++) {
        result = groups[i].rm_so < 0 || groups[i].rm_eo - groups[i].rm_so < PART_MAX ? 0 : -1;
    }
    return result == 0 ? 0 : -1;
}

/* Empty without the group. */
static void copy_part(char part[PART_MAX], const char *url, regmatch_t group) {
    int length = group.rm_so < 0 ? 0 : (int)(group.rm_eo - group.rm_so);
    snprintf(part, PART_MAX, "%.*s", length, length > 0 ? url + group.rm_so : "");
}

static int number_at(const char *url, regmatch_t group, int without) {
    bool is_there = group.rm_so >= 0 && group.rm_eo > group.rm_so;
    return is_there ? (int)strtol(url + group.rm_so, NULL, 10) : without;
}

static int parse_url(struct url_parts *parts, const char *url) {
    regmatch_t groups[GROUPS];
    memset(parts, 0, sizeof(*parts));
    if (strchr(url, '%') != NULL) {
        return -1;
    }
    if (match(unix_form, url, groups) == 0) {
        copy_part(parts->path, url, groups[1]);
        parts->db = number_at(url, groups[3], 0);
        return 0;
    }
    if (match(tcp_form, url, groups) != 0) {
        return -1;
    }
    copy_part(parts->user, url, groups[2]);
    copy_part(parts->password, url, groups[3]);
    copy_part(parts->host, url, groups[groups[5].rm_so >= 0 ? 5 : 6]);
    parts->port = number_at(url, groups[8], 6379);
    parts->db = number_at(url, groups[10], 0);
    return parts->port <= 65535 ? 0 : -1;
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

static redisAsyncContext *connect_url(uv_loop_t *loop, const char *url, char *error,
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

#define NODES_MAX 64
#define TOKEN_LENGTH 40
#define SHA_LENGTH 40
#define KEY_MAX 80
#define OPEN_TIMEOUT_MS 3000

static const char release_script[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
    "return 0";

struct bare_command {
    int n;
    const char *args[6];
    size_t lengths[6];
};

struct bare_worker {
    struct rl_bench_bare *bare;
    uint64_t sent_ns;
    size_t waiting; /* outstanding answers of the fan-out */
    size_t key_length;
    char key[KEY_MAX];
    char token[TOKEN_LENGTH];
};

struct rl_bench_bare {
    struct rl_bench_run *run;
    size_t n;
    redisAsyncContext *nodes[NODES_MAX]; /* NULL once hiredis has freed it */
    size_t loading;                      /* outstanding SCRIPT LOADs */
    uv_timer_t timer;                    /* for them */
    uint64_t random;
    bool is_argv;
    char ttl_text[24];
    size_t ttl_length;
    char sha[SHA_LENGTH + 1];
    char message[256];
    size_t in_flight;
    struct bare_worker workers[];
};

static void fail(struct rl_bench_bare *bare, const char *what, const char *why) {
    if (bare->message[0] == '\0') {
        snprintf(bare->message, sizeof(bare->message), "bare fan-out: %s: %s", what, why);
    }
    rl_bench_run_fail(bare->run);
}

/* -- The cycle -- */

static void send_set(struct bare_worker *worker);

/* xorshift64*: fresh tokens at almost no cost. */
static uint64_t next_random(struct rl_bench_bare *bare) {
    bare->random ^= bare->random >> 12;
    bare->random ^= bare->random << 25;
    bare->random ^= bare->random >> 27;
    return bare->random * UINT64_C(0x2545f4914f6cdd1d);
}

static void draw_token(struct bare_worker *worker) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < TOKEN_LENGTH;) {
        uint64_t bits = next_random(worker->bare);
        for (size_t j = 0; j < 16 && i < TOKEN_LENGTH; j++) {
            worker->token[i++] = digits[bits & 15];
            bits >>= 4;
        }
    }
}

static bool is_wanted(const redisReply *reply) {
    if (reply->type == REDIS_REPLY_INTEGER) {
        return reply->integer == 0 || reply->integer == 1;
    }
    return reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
}

/* True if this was the fan-out's last answer. */
static bool take_answer(struct bare_worker *worker, const redisReply *reply) {
    assert(worker->waiting > 0);
    if (reply == NULL) {
        fail(worker->bare, "a node went away", "connection lost");
        return false;
    }
    if (!is_wanted(reply)) {
        fail(worker->bare, "unexpected answer", reply->str != NULL ? reply->str : "no text");
        return false;
    }
    worker->waiting--;
    return worker->waiting == 0 && !worker->bare->run->is_failed;
}

static void release_cb(redisAsyncContext *context, void *reply, void *data) {
    (void)context;
    struct bare_worker *worker = data;
    if (!take_answer(worker, reply)) {
        return;
    }
    struct rl_bench_run *run = worker->bare->run;
    run->slice->locks++;
    if (rl_bench_run_is_over(run, rl_bench_now_ns())) {
        rl_bench_run_leave(run);
    } else {
        send_set(worker);
    }
}

/* Returns REDIS_OK or REDIS_ERR. */
static int fan_out_argv(struct bare_worker *worker, redisCallbackFn *callback,
                        const struct bare_command *command) {
    struct rl_bench_bare *bare = worker->bare;
    int result = REDIS_OK;
    for (size_t i = 0; i < bare->n && result == REDIS_OK; i++) {
        result = redisAsyncCommandArgv(bare->nodes[i], callback, worker, command->n,
                                       (const char **)(uintptr_t)command->args, command->lengths);
    }
    return result;
}

static int fan_out_formatted(struct bare_worker *worker, redisCallbackFn *callback,
                             const struct bare_command *command) {
    struct rl_bench_bare *bare = worker->bare;
    char *text;
    /* an int in hiredis 0.14, a long long in 1.x */
    long long length = redisFormatCommandArgv(
        &text, command->n, (const char **)(uintptr_t)command->args, command->lengths);
    int result = length < 0 ? REDIS_ERR : REDIS_OK;
    for (size_t i = 0; i < bare->n && result == REDIS_OK; i++) {
        result = redisAsyncFormattedCommand(bare->nodes[i], callback, worker, text, (size_t)length);
    }
    if (length >= 0) {
        redisFreeCommand(text);
    }
    return result;
}

static void fan_out(struct bare_worker *worker, redisCallbackFn *callback,
                    const struct bare_command *command) {
    worker->waiting = worker->bare->n;
    int result = worker->bare->is_argv ? fan_out_argv(worker, callback, command)
                                       : fan_out_formatted(worker, callback, command);
    if (result != REDIS_OK) {
        fail(worker->bare, "a node went away", "cannot send");
    }
}

static void send_release(struct bare_worker *worker) {
    const struct bare_command command = {
        .n = 5,
        .args = {"EVALSHA", worker->bare->sha, "1", worker->key, worker->token},
        .lengths = {7, SHA_LENGTH, 1, worker->key_length, TOKEN_LENGTH},
    };
    fan_out(worker, release_cb, &command);
}

static void set_cb(redisAsyncContext *context, void *reply, void *data) {
    (void)context;
    struct bare_worker *worker = data;
    if (!take_answer(worker, reply)) {
        return;
    }
    struct rl_bench_slice *slice = worker->bare->run->slice;
    rl_bench_hist_record(&slice->grant, rl_bench_now_ns() - worker->sent_ns);
    send_release(worker);
}

static void send_set(struct bare_worker *worker) {
    const struct bare_command command = {
        .n = 6,
        .args = {"SET", worker->key, worker->token, "NX", "PX", worker->bare->ttl_text},
        .lengths = {3, worker->key_length, TOKEN_LENGTH, 2, 2, worker->bare->ttl_length},
    };
    draw_token(worker);
    worker->sent_ns = rl_bench_now_ns();
    fan_out(worker, set_cb, &command);
}

int rl_bench_bare_slice(struct rl_bench_bare *bare, struct rl_bench_slice *slice,
                        int64_t slice_ms) {
    rl_bench_run_begin(bare->run, slice, slice_ms, bare->in_flight, NULL, NULL);
    for (size_t i = 0; i < bare->in_flight; i++) {
        assert(bare->workers[i].waiting == 0);
        send_set(&bare->workers[i]);
    }
    int result = rl_bench_run_finish(bare->run);
    if (result != 0 && bare->message[0] == '\0') {
        snprintf(bare->message, sizeof(bare->message), "bare fan-out: the nodes do not answer");
    }
    return result;
}

const char *rl_bench_bare_message(const struct rl_bench_bare *bare) {
    return bare->message;
}

/* -- Opening and closing -- */

/* After these two callbacks hiredis frees a context, unless it has just connected. */
static void forget(const redisAsyncContext *context) {
    redisAsyncContext **slot = context->data;
    *slot = NULL;
}

static void connect_cb(const redisAsyncContext *context, int status) {
    if (status != REDIS_OK) {
        forget(context);
    }
}

static void disconnect_cb(const redisAsyncContext *context, int status) {
    (void)status;
    forget(context);
}

static void load_cb(redisAsyncContext *context, void *data, void *owner) {
    struct rl_bench_bare *bare = owner;
    const redisReply *reply = data;
    if (reply == NULL) {
        fail(bare, "cannot connect", context->errstr != NULL ? context->errstr : "closed");
    } else if (reply->type != REDIS_REPLY_STRING || strlen(reply->str) != SHA_LENGTH) {
        fail(bare, "SCRIPT LOAD", reply->str != NULL ? reply->str : "unexpected answer");
    } else {
        memcpy(bare->sha, reply->str, SHA_LENGTH + 1);
    }
    assert(bare->loading > 0);
    bare->loading--;
    if (bare->loading == 0) {
        uv_stop(bare->run->loop);
    }
}

static void open_timeout_cb(uv_timer_t *timer) {
    fail(timer->data, "cannot connect", "a node does not answer");
}

/* Runs the loop until all nodes have the script, or one fails. */
static int wait_loaded(struct rl_bench_bare *bare) {
    uv_timer_start(&bare->timer, open_timeout_cb, OPEN_TIMEOUT_MS, 0);
    while (bare->loading > 0 && bare->message[0] == '\0') {
        uv_run(bare->run->loop, UV_RUN_DEFAULT);
    }
    uv_timer_stop(&bare->timer);
    return bare->message[0] == '\0' ? 0 : -1;
}

static struct rl_bench_bare *new_bare(struct rl_bench_run *run,
                                      const struct rl_bench_bare_options *options) {
    struct rl_bench_bare *bare =
        calloc(1, sizeof(*bare) + options->in_flight * sizeof(struct bare_worker));
    if (bare == NULL) {
        return NULL;
    }
    bare->run = run;
    uv_timer_init(run->loop, &bare->timer);
    bare->timer.data = bare;
    bare->in_flight = options->in_flight;
    bare->is_argv = options->is_argv;
    snprintf(bare->ttl_text, sizeof(bare->ttl_text), "%" PRId64, options->ttl_ms);
    bare->ttl_length = strlen(bare->ttl_text);
    bool seeded = getrandom(&bare->random, sizeof(bare->random), 0) > 0;
    bare->random = seeded && bare->random != 0 ? bare->random : 1;
    for (size_t i = 0; i < bare->in_flight; i++) {
        struct bare_worker *worker = &bare->workers[i];
        worker->bare = bare;
        snprintf(worker->key, KEY_MAX, "%s:bare:%zu", options->key_prefix, i);
        worker->key_length = strlen(worker->key);
    }
    return bare;
}

static int open_node(struct rl_bench_bare *bare, const char *url, char *error, size_t error_size) {
    redisAsyncContext **slot = &bare->nodes[bare->n];
    *slot = connect_url(bare->run->loop, url, error, error_size);
    if (*slot == NULL) {
        return -1;
    }
    bare->n++;
    bare->loading++;
    (*slot)->data = slot;
    redisAsyncSetConnectCallback(*slot, connect_cb);
    redisAsyncSetDisconnectCallback(*slot, disconnect_cb);
    redisAsyncCommand(*slot, load_cb, bare, "SCRIPT LOAD %s", release_script);
    return 0;
}

int rl_bench_bare_open(struct rl_bench_bare **bare, struct rl_bench_run *run,
                       const struct rl_bench_bare_options *options, char *error,
                       size_t error_size) {
    assert(options->n_nodes > 0 && options->n_nodes <= NODES_MAX);
    *bare = new_bare(run, options);
    if (*bare == NULL) {
        snprintf(error, error_size, "out of memory");
        return -1;
    }
    for (size_t i = 0; i < options->n_nodes; i++) {
        if (open_node(*bare, options->nodes[i], error, error_size) != 0) {
            return -1;
        }
    }
    if (wait_loaded(*bare) != 0) {
        snprintf(error, error_size, "%s", (*bare)->message);
        return -1;
    }
    return 0;
}

static void closed_cb(uv_handle_t *timer) {
    free(timer->data);
}

void rl_bench_bare_close(struct rl_bench_bare *bare) {
    for (size_t i = 0; bare != NULL && i < bare->n; i++) {
        if (bare->nodes[i] != NULL) {
            redisAsyncFree(bare->nodes[i]);
        }
    }
    if (bare != NULL) {
        uv_close((uv_handle_t *)&bare->timer, closed_cb);
    }
}
