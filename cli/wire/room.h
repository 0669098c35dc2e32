/* Connections to the nodes, for commands that query them directly. */
#ifndef RL_CLI_WIRE_ROOM_H
#define RL_CLI_WIRE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "base/world.h"
#include "core/quorum.h"
#include "redis/config.h"
#include "redis/info.h"
#include "redis/url.h"
#include "redlock/redlock.h"

/* -- socket.c -- */

#define RL_SOCKET_FIRST_MAX 64

struct redisContext;
struct redisReply;

struct rl_socket {
    struct rl_world world;        /* the first member: its dial() alone is there */
    struct rl_stream under;       /* the socket */
    struct rl_stream *stream;     /* ... or TLS on it */
    struct redisContext *context; /* NULL: not open. It has the socket, the parser and the error */
    bool is_up;
    bool wants_room;
    int error; /* the socket ends with it next; 0: it does not */
    char *out; /* commands to be sent: from `from` to `to` */
    size_t from, to, room;
    int pieces; /* of an answer */

    char first[RL_SOCKET_FIRST_MAX]; /* of the server; they stay when it is closed */
    size_t first_length;
};

/* connect_ms: for the connection, and again for the handshake of TLS. dialer: of TLS; NULL:
 * without. False: rl_socket_error() says why; rl_socket_close() is needed all the same. */
bool rl_socket_open(struct rl_socket *s, int64_t connect_ms, const struct rl_url *url,
                    struct rl_dialer *dialer);
/* Also if it is not open. */
void rl_socket_close(struct rl_socket *s);

/* Appends bytes to be sent. */
void rl_socket_put(struct rl_socket *s, const char *bytes, size_t length);

/* The next answer, whole within answer_ms, and not longer than 64 MiB or a million elements (with
 * hiredis 1.0 and later); or NULL. */
struct redisReply *rl_socket_reply(struct rl_socket *s, int64_t answer_ms);

/* Sends what was put, and waits so long for the server's first bytes. */
void rl_socket_hear_first(struct rl_socket *s, int64_t ms);

/* Whether it has failed; whether in TLS; and why. */
bool rl_socket_has_failed(const struct rl_socket *s);
bool rl_socket_has_failed_in_tls(const struct rl_socket *s);
const char *rl_socket_error(const struct rl_socket *s);

/* -- wire.c -- */

#define RL_WIRE_TEXT_MAX 128

struct redisReply;

struct rl_wire {
    struct rl_url url;
    struct rl_url_tls tls; /* what it says about that */
    redlock_allocator memory;
    struct rl_tls *context;   /* with what its files have; NULL: without TLS */
    struct rl_dialer *dialer; /* the same */
    const struct rl_args *args;

    int64_t answer_ms; /* how long a whole answer may take */

    struct rl_socket socket;
    bool is_connected; /* the port takes connections; TLS, if wanted, is there */

    /* That of its set, by the last handshake; NULL: the node has none, or it may not be read. */
    struct rl_config *config;

    const char *failed_at;          /* "connect", "TLS", "AUTH" or "SELECT", or NULL */
    char failure[RL_WIRE_TEXT_MAX]; /* why; or why the last answer was none, see below */
};

/* To what the URL names. One at a time. False: failed_at and failure say why; rl_wire_disconnect()
 * is needed all the same. */
bool rl_wire_connect(struct rl_wire *wire);

/* If there is a connection. Before rl_wires_free(). */
void rl_wire_disconnect(struct rl_wire *wire);

/* Logs in, selects the database, looks whether the node answers, and reads its configuration, as a
 * client does. False: failed_at and failure say why. */
bool rl_wire_hello(struct rl_wire *wire);

/* Two steps: as redisAppendCommand() and redisAppendCommandArgv(); and the answer. */
void rl_wire_ask(struct rl_wire *wire, const char *format, ...);
void rl_wire_ask_argv(struct rl_wire *wire, size_t n, const char **argv, const size_t *lengths);
struct redisReply *rl_wire_reply(struct rl_wire *wire);
/* Both: as redisCommand(), but the whole answer must arrive in time, and not be endless. */
#define rl_wire_command(wire, ...) (rl_wire_ask((wire), __VA_ARGS__), rl_wire_reply(wire))

/* The reply; or NULL if it is none or an error, which is left in wire->failure. */
struct redisReply *rl_wire_checked(struct rl_wire *wire, struct redisReply *reply);

/* Whether it is an answer to SCAN: the next cursor, as a short text, and names. */
#define RL_WIRE_CURSOR_MAX 24
bool rl_wire_is_scan(const struct redisReply *reply);

/* A node's clock, and how long an answer takes.
 *
 * Each question is sent when the one before it has been answered, so that the node's own time is
 * measured and not that of a queue. The fastest answer gives the clock most exactly.
 *
 * Failure mode: TIME is forbidden, or the answer is not Redis's: nothing is known, or no more than
 * before. */
#define RL_WIRE_SAMPLES 5

struct rl_wire_clock {
    bool is_known;
    double latency_ms, latency_max_ms; /* of the samples: the fastest, the slowest */
    double samples_ms[RL_WIRE_SAMPLES];
    int n_samples;
    double ahead_ms; /* of this machine's, from the fastest sample */
    double error_ms; /* half of its round trip */
};

/* Asks n times, at most RL_WIRE_SAMPLES. */
void rl_wire_clock(struct rl_wire *wire, int n, struct rl_wire_clock *clock);

/* INFO, field by field: "name:value", parsed as by the library (redis/info.h). A field that a
 * server does not have is the empty text, or the number 0. */
struct rl_wire_info {
    struct rl_info judged;         /* what a client's guard takes from it */
    char server[RL_WIRE_TEXT_MAX]; /* "Redis" or "Valkey", and its own version */
    char version[RL_WIRE_TEXT_MAX];
    char mode[RL_WIRE_TEXT_MAX]; /* standalone, cluster, sentinel */
    char run_id[RL_WIRE_TEXT_MAX], replid[RL_WIRE_TEXT_MAX];
    char role[RL_WIRE_TEXT_MAX];
    char master_host[RL_WIRE_TEXT_MAX], master_port[RL_WIRE_TEXT_MAX]; /* of a replica */
    char policy[RL_WIRE_TEXT_MAX];
    char aof_write[RL_WIRE_TEXT_MAX]; /* aof_last_write_status */
    int64_t replicas, uptime_s, clients, commands, commands_per_s;
    int64_t maxmemory, used_memory, aof_enabled, loading, evicted;
};

/* text: the answer to INFO. */
void rl_wire_info_read(const char *text, struct rl_wire_info *info);

/* One field: its first RL_WIRE_TEXT_MAX - 1 bytes, fit for a terminal: as rl_text(). */
const char *rl_wire_info_text(const char *info, const char *name);

/* -- members.c -- */

struct rl_members {
    struct rl_config config;             /* epoch 0: there is none */
    rl_mask sets[2][RL_CONFIG_SETS_MAX]; /* the nodes of the old sets, and of the new ones */
    rl_mask all;                         /* of any set */
};

void rl_members_none(struct rl_members *members, size_t n_nodes);
void rl_members_begin(struct rl_members *members, const struct rl_config *config);
/* This member of the configuration is this node. */
void rl_members_place(struct rl_members *members, uint32_t member, uint32_t node);

/* Who decides about the resource. */
struct rl_sides rl_members_of(const struct rl_members *members, const void *resource,
                              size_t length);

/* Whether there is more than one set, so that a name says something. */
bool rl_members_have_names(const struct rl_members *members);
/* The name of the set of a resource, and of a node; while sets are being changed that of the new
 * one. "": the sets have no names, or the node is no member. */
const char *rl_members_set_of(const struct rl_members *members, const void *resource,
                              size_t length);
const char *rl_members_set_at(const struct rl_members *members, uint32_t node);

/* Nodes of which a majority must be there: those of a set. */
struct rl_node_group {
    char name[RL_CONFIG_NAME_MAX + 16]; /* "set b", "the old nodes"; "": there is no other */
    rl_mask nodes;
};

#define RL_GROUPS_MAX (2 * RL_CONFIG_SETS_MAX)

/* Each of them once: the sets, then old ones of other nodes. Returns how many there are. */
size_t rl_members_groups(const struct rl_members *members,
                         struct rl_node_group groups[RL_GROUPS_MAX]);

/* The first group of which these nodes are no majority. False: there is none. */
bool rl_members_lack(const struct rl_members *members, rl_mask nodes, struct rl_node_group *group);

/* How many votes any resource needs, at most, of one group. */
uint32_t rl_members_needed(const struct rl_members *members);

/* -- wires.c -- */

struct redisReply;

struct rl_wires {
    const struct rl_args *args;
    struct rl_wire *all; /* those of args->nodes first; they stay where they are */
    size_t n;
    int64_t answer_ms;
    struct rl_members members;
    bool are_divided;
};

/* args lives on. Returns 0, or says why not and returns the
 * exit status. From then on SIGPIPE is ignored: output that nobody reads is reported
 * (rl_output_flush()). */
int rl_wires_open(struct rl_wires *wires, const struct rl_args *args);

/* How long a whole answer may take: a slow node must be reported as slow, not as dead. */
int64_t rl_wires_answer_ms(const struct rl_args *args);

/* Disconnects, and wipes the passwords. Also after an rl_wires_open() that failed. */
void rl_wires_close(struct rl_wires *wires);

/* Runs ask(item) for each node, a thread each, and waits for all; then for the nodes that were
 * found by that. items: room for REDLOCK_NODES_MAX, of size bytes, each of which begins with a
 * struct rl_wire *, which is set before. */
void rl_wires_each(struct rl_wires *wires, void *items, size_t size, void (*ask)(void *item));

/* One wire more, by its URL, with the credentials of another if it has none. Returns 0, or says why
 * not and returns the exit status. */
int rl_wire_open(struct rl_wire *wire, const struct rl_args *args, const char *text,
                 const struct rl_wire *like);
void rl_wire_close(struct rl_wire *wire);

/* A node's reply to one command, to be freed, or why there is none. */
struct rl_wire_answer {
    struct redisReply *reply; /* NULL, or no error */
    char why[RL_WIRE_TEXT_MAX];
    char node[sizeof((struct rl_url *)0)->name]; /* its name */
};

/* Sends a command to all nodes at once, over connections of its own; argv as of
 * redisFormatCommandArgv(). Each whole answer may take answer_ms. Returns how many nodes were
 * asked. Does not touch SIGPIPE. */
size_t rl_wires_ask(const struct rl_args *args, int64_t answer_ms, size_t n, const char **argv,
                    const size_t *lengths, struct rl_wire_answer answers[REDLOCK_NODES_MAX]);

/* Runs ask(item) for each of n items of `size` bytes, a thread each, and waits for all. */
void rl_threads_run(void *items, size_t size, size_t n, void (*ask)(void *item));

#endif
