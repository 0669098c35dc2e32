/* See pair.h. */
#include "server/pair.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "redis/command.h"
#include "server/frames.h"
#include "server/random_commands.h"
#include "server/server_keys.h"

#define BEGIN_US UINT64_C(1700000000000000)
#define STANDS_PPM (-1000000)
#define DATABASES 2 /* that random_commands.c uses */

static void demand(bool truth, const char *what) {
    if (!truth) {
        fprintf(stderr, "# pair: %s: %s\n", what, strerror(errno));
        exit(99);
    }
}

__attribute__((format(printf, 2, 3))) static bool differ(struct pair *pair, const char *format,
                                                         ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(pair->problem, sizeof pair->problem, format, list);
    va_end(list);
    return false;
}

static void note(struct pair *pair, const char *who, uint32_t connection, const char *data,
                 size_t length) {
    fprintf(pair->story, "# %s %u: ", who, connection);
    frames_show(pair->story, data, length);
}

/* -- The real server, by itself -- */

redisContext *pair_control(const struct pair *pair, size_t node, const char *password) {
    redisContext *context = redisConnect("127.0.0.1", rl_local_nodes_port(pair->nodes, node));
    demand(context != NULL && context->err == 0, "connect");
    if (password != NULL) {
        redisReply *reply = redisCommand(context, "AUTH %s", password);
        demand(reply != NULL && reply->type == REDIS_REPLY_STATUS, "AUTH");
        freeReplyObject(reply);
    }
    return context;
}

long long pair_tell(struct pair *pair, const char *format, ...) {
    va_list list;
    va_start(list, format);
    redisReply *reply = redisvCommand(pair->control, format, list);
    va_end(list);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "# %s: %s\n", format, reply != NULL ? reply->str : "no answer");
        exit(99);
    }
    long long integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}

bool pair_info_says(struct pair *pair, const char *text) {
    redisReply *reply = redisCommand(pair->control, "INFO");
    demand(reply != NULL && reply->type == REDIS_REPLY_STRING, "INFO");
    bool says = strstr(reply->str, text) != NULL;
    freeReplyObject(reply);
    return says;
}

/* Whether the server knows the command: it then misses arguments. */
static bool knows(const struct pair *pair, const char *command) {
    redisReply *reply = redisCommand(pair->control, command);
    demand(reply != NULL && reply->type == REDIS_REPLY_ERROR, command);
    bool is_known = strncmp(reply->str, "ERR wrong number", 16) == 0;
    freeReplyObject(reply);
    return is_known;
}

/* -- Time -- */

void pair_pass(struct pair *pair, uint64_t us) {
    const uint64_t next = 1 - pair->clock->active;
    pair->now_us += us;
    pair->clock->settings[next].base_ns = (int64_t)pair->now_us * 1000;
    pair->clock->settings[next].rate_ppm = STANDS_PPM;
    __atomic_store_n(&pair->clock->active, next, __ATOMIC_RELEASE);
}

/* Makes the clock of the servers that start now, which need the file until they have started. */
static void make_clock(struct pair *pair, char path[]) {
    int file = mkstemp(path);
    demand(file >= 0 && ftruncate(file, sizeof *pair->clock) == 0, "clock");
    pair->clock = mmap(NULL, sizeof *pair->clock, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    demand(pair->clock != MAP_FAILED, "mmap");
    close(file);
    setenv("LD_PRELOAD", CLOCK_LIBRARY, 1);
    setenv("REDLOCK_CLOCK_FILE", path, 1);
    pair_pass(pair, BEGIN_US);
}

/* -- Life -- */

void pair_start(struct pair *pair, size_t n, const char *const *args, const char *password) {
    struct rl_local_nodes_options options = {.n = n, .args = args};
    char error[512] = "", path[] = "/tmp/redlock-clock.XXXXXX";
    memset(pair, 0, sizeof *pair);
    make_clock(pair, path);
    int started = rl_local_nodes_start(&pair->nodes, &options, error, sizeof error);
    unsetenv("LD_PRELOAD");
    unlink(path);
    if (started != 0) {
        fprintf(stderr, "# %s\n", error);
        exit(99);
    }
    pair->control = pair_control(pair, 0, password);
    pair_tell(pair, "DEBUG SET-ACTIVE-EXPIRE 0");
    pair->ours = server_new(1, pair->now_us);
    if (pair_info_says(pair, "valkey_version:")) {
        pair->ours->words = SERVER_VALKEY;
    } else {
        pair->ours->words =
            pair_info_says(pair, "redis_version:7.0.") ? SERVER_REDIS_7 : SERVER_REDIS_8;
    }
    pair->ours->has_32_bits = pair_info_says(pair, "arch_bits:32");
    pair->ours->native = knows(pair, "DELIFEQ") ? SERVER_DELIFEQ
                         : knows(pair, "DELEX") ? SERVER_DELEX
                                                : SERVER_SCRIPT_ONLY;
    for (uint32_t i = 0; i < PAIR_CONNECTIONS; i++) {
        pair->connections[i].fd = -1;
    }
    pair->story = open_memstream(&pair->story_text, &pair->story_length);
    demand(pair->story != NULL, "open_memstream");
}

static void hang_up(struct pair_connection *connection) {
    if (connection->fd >= 0) {
        close(connection->fd);
        connection->fd = -1;
        server_disconnect(connection->ours);
        connection->heard.length = 0;
    }
}

void pair_stop(struct pair *pair) {
    for (uint32_t i = 0; i < PAIR_CONNECTIONS; i++) {
        hang_up(&pair->connections[i]);
        bytes_free(&pair->connections[i].heard);
    }
    server_free(pair->ours);
    redisFree(pair->control);
    rl_local_nodes_stop(pair->nodes);
    munmap(pair->clock, sizeof *pair->clock);
    fclose(pair->story);
    free(pair->story_text);
}

static void call_up(struct pair *pair, uint32_t which) {
    struct pair_connection *connection = &pair->connections[which];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    address.sin_port = htons((uint16_t)rl_local_nodes_port(pair->nodes, 0));
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    demand(connection->fd >= 0, "socket");
    demand(connect(connection->fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->ours = server_connect(pair->ours, NULL);
}

void pair_begin(struct pair *pair, uint64_t seed) {
    for (uint32_t i = 0; i < PAIR_CONNECTIONS; i++) {
        hang_up(&pair->connections[i]);
    }
    pair->random = seed;
    pair->problem[0] = '\0';
    rewind(pair->story);
    if (!pair->is_blind) {
        server_forget_scripts(pair->ours);
        pair_tell(pair, "SCRIPT FLUSH");
    }
}

/* -- An exchange -- */

/* All that is left, or at random less. */
static size_t some_of(struct pair *pair, size_t left) {
    return random_pick(&pair->random, 4) == 0 ? 1 + random_pick(&pair->random, (uint32_t)left)
                                              : left;
}

static void send_real(struct pair *pair, const struct pair_connection *connection,
                      const struct bytes *wire) {
    size_t at = 0;
    while (at < wire->length) {
        size_t piece = some_of(pair, wire->length - at);
        ssize_t n = send(connection->fd, wire->data + at, piece, MSG_NOSIGNAL);
        if (n < 0) {
            return; /* it has closed: what it sent before counts */
        }
        at += (size_t)n;
    }
}

static void tell_ours(struct pair *pair, const struct pair_connection *connection,
                      const struct bytes *wire) {
    size_t at = 0;
    while (at < wire->length) {
        size_t piece = some_of(pair, wire->length - at);
        server_receive(connection->ours, wire->data + at, piece, pair->now_us);
        at += piece;
    }
}

/* Reads more from the real server. False: it has closed, or sends nothing. */
static bool hear(struct pair_connection *connection) {
    char buffer[16384];
    struct pollfd poll_fd = {connection->fd, POLLIN, 0};
    int ready = poll(&poll_fd, 1, PAIR_PATIENCE_MS);
    ssize_t n = ready == 1 ? recv(connection->fd, buffer, sizeof buffer, 0) : 0;
    if (n > 0) {
        bytes_append(&connection->heard, buffer, (size_t)n);
    }
    return n > 0;
}

/* Waits for as many replies as our server sent, and compares. */
static bool compare(struct pair *pair, uint32_t which) {
    struct pair_connection *connection = &pair->connections[which];
    if (connection->fd < 0 || connection->ours->output.length == 0) {
        return true;
    }
    struct bytes *ours = &connection->ours->output, *real = &connection->heard;
    size_t count = frames_count(ours->data, ours->length);
    ssize_t length = frames_length(real->data, real->length, count);
    while (length < 0 && hear(connection)) {
        length = frames_length(real->data, real->length, count);
    }
    size_t shown = length < 0 ? real->length : (size_t)length;
    bool same = length >= 0 && frames_same(real->data, shown, ours->data, ours->length);
    note(pair, "real", which, real->data, shown);
    if (!same) {
        note(pair, "ours", which, ours->data, ours->length);
        differ(pair, length < 0 ? "too few answers on connection %u" : "connection %u differs",
               which);
    }
    bytes_consume(real, shown);
    ours->length = 0;
    return same;
}

/* The server in memory has closed; the real one must close as well. */
static bool compare_end(struct pair *pair, uint32_t which) {
    struct pair_connection *connection = &pair->connections[which];
    size_t before = connection->heard.length;
    bool more = hear(connection);
    if (more || before > 0) {
        return differ(pair, "connection %u is not closed", which);
    }
    hang_up(connection);
    return true;
}

bool pair_say(struct pair *pair, uint32_t which, const struct bytes *wire) {
    if (pair->connections[which].fd < 0) {
        call_up(pair, which);
    }
    const struct pair_connection *connection = &pair->connections[which];
    note(pair, "said", which, wire->data, wire->length);
    pair->said++;
    tell_ours(pair, connection, wire);
    send_real(pair, connection, wire);
    bool same = compare(pair, which);
    for (uint32_t i = 0; i < PAIR_CONNECTIONS; i++) { /* messages to other connections */
        same = (i == which || compare(pair, i)) && same;
    }
    return connection->ours->ended ? compare_end(pair, which) && same : same;
}

/* -- Keys -- */

struct found { /* a key on the real server */
    redisReply *type, *expires, *value, *elements, *members;
};

static redisReply *answer(struct pair *pair) {
    void *reply = NULL;
    demand(redisGetReply(pair->control, &reply) == REDIS_OK, "answer");
    return reply;
}

static void ask_for(struct pair *pair, const struct resp_arg *key) {
    redisAppendCommand(pair->control, "TYPE %b", key->data, key->length);
    redisAppendCommand(pair->control, "PEXPIRETIME %b", key->data, key->length);
    redisAppendCommand(pair->control, "GET %b", key->data, key->length);
    redisAppendCommand(pair->control, "LLEN %b", key->data, key->length);
    redisAppendCommand(pair->control, "ZRANGE %b 0 -1 WITHSCORES", key->data, key->length);
}

/* Calls `with` for each key of each database. */
static void look(struct pair *pair,
                 void (*with)(struct pair *pair, uint32_t db, const struct resp_arg *key,
                              const struct found *found)) {
    for (uint32_t db = 0; db < DATABASES; db++) {
        redisAppendCommand(pair->control, "SELECT %u", db);
        for (size_t i = 0; random_key(i) != NULL; i++) {
            ask_for(pair, random_key(i));
        }
        freeReplyObject(answer(pair));
        for (size_t i = 0; random_key(i) != NULL; i++) {
            struct found found = {.type = answer(pair)};
            found.expires = answer(pair);
            found.value = answer(pair);
            found.elements = answer(pair);
            found.members = answer(pair);
            with(pair, db, random_key(i), &found);
            freeReplyObject(found.type);
            freeReplyObject(found.expires);
            freeReplyObject(found.value);
            freeReplyObject(found.elements);
            freeReplyObject(found.members);
        }
    }
}

static bool is_same_line(const redisReply *members, const struct server_key *ours) {
    bool same = members->elements == 2 * (size_t)ours->elements;
    for (uint32_t i = 0; same && i < ours->elements; i++) {
        const redisReply *name = members->element[2 * i];
        struct server_member member;
        same = server_line_at(ours, i, &member) && member.name.length == name->len &&
               memcmp(member.name.data, name->str, name->len) == 0 &&
               fabs(member.score - atof(members->element[2 * i + 1]->str)) <= 0;
    }
    return same;
}

static void check_key(struct pair *pair, uint32_t db, const struct resp_arg *key,
                      const struct found *found) {
    const struct server_key *ours =
        server_get(pair->ours, db, key->data, key->length, pair->now_us);
    const char *type = ours == NULL         ? "none"
                       : ours->is_line      ? "zset"
                       : ours->elements > 0 ? "list"
                                            : "string";
    long long expires = ours == NULL                          ? -2
                        : ours->expires_ms == SERVER_NEVER_MS ? -1
                                                              : (long long)ours->expires_ms;
    bool same = strcmp(found->type->str, type) == 0 && found->expires->integer == expires;
    if (same && strcmp(type, "string") == 0) {
        same = found->value->len == ours->value.length &&
               memcmp(found->value->str, ours->value.data, ours->value.length) == 0;
    } else if (same && strcmp(type, "list") == 0) {
        same = found->elements->integer == (long long)ours->elements;
    }
    if (same && ours != NULL && ours->is_line) {
        same = is_same_line(found->members, ours);
    }
    if (!same) {
        fprintf(pair->story, "# key \"%.*s\" of database %u\n#   real: %s until %lld: %s\n",
                (int)key->length, key->data, db, found->type->str, found->expires->integer,
                found->value->str != NULL ? found->value->str : "");
        fprintf(pair->story, "#   ours: %s until %lld: %s\n", type, expires,
                ours != NULL ? ours->value.data : "");
        differ(pair, "a key differs");
    }
}

bool pair_check_keys(struct pair *pair) {
    if (!pair->is_blind) {
        look(pair, check_key);
    }
    return pair->problem[0] == '\0';
}

static void take_key(struct pair *pair, uint32_t db, const struct resp_arg *key,
                     const struct found *found) {
    bool is_list = strcmp(found->type->str, "list") == 0;
    bool is_line = strcmp(found->type->str, "zset") == 0;
    if (strcmp(found->type->str, "none") == 0) {
        server_remove(pair->ours, db, key->data, key->length);
        return;
    }
    bool is_string = !is_list && !is_line;
    server_put(pair->ours, db, key->data, key->length, is_string ? found->value->str : "",
               is_string ? (size_t)found->value->len : 0,
               found->expires->integer < 0 ? SERVER_NEVER_MS : (uint64_t)found->expires->integer);
    keys_find(&pair->ours->keys, db, key)->elements =
        is_list ? (uint32_t)found->elements->integer : 0;
    for (size_t i = 0; is_line && i < found->members->elements; i += 2) {
        const redisReply *name = found->members->element[i];
        server_put_member(pair->ours, db, key->data, key->length, name->str, name->len,
                          atof(found->members->element[i + 1]->str));
    }
}

void pair_take_over(struct pair *pair) {
    look(pair, take_key);
}
