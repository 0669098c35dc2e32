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
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "redis/command.h"
#include "server/frames.h"
#include "server/random_commands.h"
#include "server/server_keys.h"

#define TAKE_OVER_TRIES 1000
#define SKEW_US 20  /* how far the clocks of two processors may be apart */
#define DATABASES 2 /* that random_commands.c uses */

static void demand(bool truth, const char *what) {
    if (!truth) {
        fprintf(stderr, "# pair: %s: %s\n", what, strerror(errno));
        exit(99);
    }
}

uint64_t pair_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
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

/* Arguments are missing, or the command. */
static bool knows(const struct pair *pair, const char *command) {
    redisReply *reply = redisCommand(pair->control, command);
    demand(reply != NULL && reply->type == REDIS_REPLY_ERROR, command);
    bool is_known = strncmp(reply->str, "ERR wrong number", 16) == 0;
    freeReplyObject(reply);
    return is_known;
}

/* -- Life -- */

void pair_start(struct pair *pair, size_t n, const char *const *args, const char *password) {
    struct rl_local_nodes_options options = {.n = n, .args = args};
    char error[512] = "";
    memset(pair, 0, sizeof *pair);
    if (rl_local_nodes_start(&pair->nodes, &options, error, sizeof error) != 0) {
        fprintf(stderr, "# %s\n", error);
        exit(99);
    }
    pair->control = pair_control(pair, 0, password);
    pair->ours = server_new(1, pair_now_us());
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

/* All that is left, or by chance less. */
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
            return; /* it has closed: what it said before counts */
        }
        at += (size_t)n;
    }
}

static void tell_ours(struct pair *pair, const struct pair_connection *connection,
                      const struct bytes *wire, uint64_t now_us) {
    size_t at = 0;
    while (at < wire->length) {
        size_t piece = some_of(pair, wire->length - at);
        server_receive(connection->ours, wire->data + at, piece, now_us);
        at += piece;
    }
}

/* More of what the real server says. False: it has ended, or says nothing. */
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

/* Waits for as many replies as ours are, and compares. */
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
    snprintf(pair->last, sizeof pair->last, "%.*s", (int)shown, real->data);
    bytes_consume(real, shown);
    ours->length = 0;
    return same;
}

/* The server in memory has closed; the real one has to close as well. */
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

/* Whether a key may be gone or not: Redis 7.2 and later removes keys in their last millisecond
 * already, when its cycle comes across them. */
static bool is_open(const struct pair *pair, uint64_t now_us) {
    uint32_t at = 0;
    const struct server_key *key;
    while (pair->ours->words == SERVER_REDIS_8 &&
           (key = server_keys_next(&pair->ours->keys, &at)) != NULL) {
        if (key->expires_ms == now_us / 1000) {
            return true;
        }
    }
    return false;
}

/* What the real server has told others, at a moment that may have been another one than ours, and
 * ours has not. It has answered on the control connection since, so all of it is here. */
static void drop_strays(struct pair *pair) {
    char buffer[16384];
    for (uint32_t i = 0; i < PAIR_CONNECTIONS; i++) {
        struct pair_connection *connection = &pair->connections[i];
        bool is_up = connection->fd >= 0 && !connection->ours->ended;
        while (is_up && recv(connection->fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) {
        }
        if (is_up) {
            connection->heard.length = 0;
        }
    }
}

bool pair_say(struct pair *pair, uint32_t which, const struct bytes *wire) {
    if (pair->connections[which].fd < 0) {
        call_up(pair, which);
    }
    const struct pair_connection *connection = &pair->connections[which];
    const uint64_t before_us = pair_now_us();
    const bool was_open = is_open(pair, before_us);
    note(pair, "said", which, wire->data, wire->length);
    pair->said++;
    tell_ours(pair, connection, wire, before_us);
    send_real(pair, connection, wire);
    bool same = compare(pair, which);
    const bool is_answered = same || strncmp(pair->problem, "too few", 7) != 0;
    const bool is_exact =
        (before_us - SKEW_US) / 1000 == (pair_now_us() + SKEW_US) / 1000 && !was_open;
    for (uint32_t i = 0; i < PAIR_CONNECTIONS; i++) { /* what others are told because of it */
        same = (i == which || compare(pair, i)) && same;
    }
    pair->exact += is_exact;
    if (!is_exact) {
        pair->last[0] = '\0';
    }
    if (!is_exact && !pair->is_blind) {
        pair_take_over(pair);
        drop_strays(pair);
    }
    if (!same && !is_exact && is_answered) {
        pair->problem[0] = '\0'; /* it may be the time */
        same = true;
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

/* The node's own, so that a slow reader of its answers does not count. */
static uint64_t answered_time(struct pair *pair) {
    redisReply *reply = answer(pair);
    demand(reply->type == REDIS_REPLY_ARRAY && reply->elements == 2, "TIME");
    const uint64_t s = strtoull(reply->element[0]->str, NULL, 10);
    const uint64_t us = strtoull(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return s * 1000000 + us;
}

/* Calls `with` for each key of each database, with all of them as they were in one millisecond,
 * whose time is returned. */
static uint64_t look(struct pair *pair,
                     void (*with)(struct pair *pair, uint32_t db, const struct resp_arg *key,
                                  const struct found *found, uint64_t now_us),
                     uint32_t tries) {
    struct found found[DATABASES][40];
    redisAppendCommand(pair->control, "TIME");
    for (uint32_t db = 0; db < DATABASES; db++) {
        redisAppendCommand(pair->control, "SELECT %u", db);
        for (size_t i = 0; random_key(i) != NULL; i++) {
            ask_for(pair, random_key(i));
        }
    }
    redisAppendCommand(pair->control, "TIME");
    const uint64_t from_us = answered_time(pair);
    for (uint32_t db = 0; db < DATABASES; db++) {
        freeReplyObject(answer(pair));
        for (size_t i = 0; random_key(i) != NULL; i++) {
            found[db][i].type = answer(pair);
            found[db][i].expires = answer(pair);
            found[db][i].value = answer(pair);
            found[db][i].elements = answer(pair);
            found[db][i].members = answer(pair);
        }
    }
    bool is_one_moment = from_us / 1000 == answered_time(pair) / 1000 && !is_open(pair, from_us);
    demand(is_one_moment || tries > 0, "no millisecond is long enough");
    for (uint32_t db = 0; db < DATABASES; db++) {
        for (size_t i = 0; random_key(i) != NULL; i++) {
            if (is_one_moment) {
                with(pair, db, random_key(i), &found[db][i], from_us);
            }
            freeReplyObject(found[db][i].type);
            freeReplyObject(found[db][i].expires);
            freeReplyObject(found[db][i].value);
            freeReplyObject(found[db][i].elements);
            freeReplyObject(found[db][i].members);
        }
    }
    return is_one_moment ? from_us : look(pair, with, tries - 1);
}

/* The scores of a line are of the same millisecond, and no more than that; those of leases are in
 * milliseconds. */
static bool is_same_line(const redisReply *members, const struct server_key *ours) {
    const size_t length = sizeof RL_COMMAND_READERS_PREFIX - 1;
    const bool is_leases = ours->name.length >= length &&
                           memcmp(ours->name.data, RL_COMMAND_READERS_PREFIX, length) == 0;
    const double apart = is_leases ? 0.5 : 1000;
    bool same = members->elements == 2 * (size_t)ours->elements;
    for (uint32_t i = 0; same && i < ours->elements; i++) {
        const redisReply *name = members->element[2 * i];
        struct server_member member;
        same = server_line_at(ours, i, &member) && member.name.length == name->len &&
               memcmp(member.name.data, name->str, name->len) == 0 &&
               fabs(member.score - atof(members->element[2 * i + 1]->str)) < apart;
    }
    return same;
}

static void check_key(struct pair *pair, uint32_t db, const struct resp_arg *key,
                      const struct found *found, uint64_t now_us) {
    const struct server_key *ours = server_get(pair->ours, db, key->data, key->length, now_us);
    const char *type = ours == NULL         ? "none"
                       : ours->is_line      ? "zset"
                       : ours->elements > 0 ? "list"
                                            : "string";
    long long expires = ours == NULL                          ? -2
                        : ours->expires_ms == SERVER_NEVER_MS ? -1
                                                              : (long long)ours->expires_ms;
    bool same = strcmp(found->type->str, type) == 0 && found->expires->integer == expires;
    const bool is_secret =
        key->length == strlen(RANDOM_SECRET) && memcmp(key->data, RANDOM_SECRET, key->length) == 0;
    if (same && strcmp(type, "string") == 0 && !is_secret) {
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
        look(pair, check_key, TAKE_OVER_TRIES);
    }
    return pair->problem[0] == '\0';
}

static void take_key(struct pair *pair, uint32_t db, const struct resp_arg *key,
                     const struct found *found, uint64_t now_us) {
    (void)now_us;
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
    pair->taken_over++;
    look(pair, take_key, TAKE_OVER_TRIES);
}
