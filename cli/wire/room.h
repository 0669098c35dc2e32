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
    struct rl_world world;        /* the first member: only its dial() is set */
    struct rl_stream under;       /* the socket */
    struct rl_stream *stream;     /* the socket, or TLS on top of it */
    struct redisContext *context; /* owns the socket, the parser and the error; NULL: not open */
    bool is_up;
    bool wants_room;
    int error; /* the error with which the socket ends next; 0: none */
    char *out; /* unsent commands, from `from` to `to` */
    size_t from, to, room;
    int pieces; /* of an answer */

    char first[RL_SOCKET_FIRST_MAX]; /* the server's first bytes; they stay after closing */
    size_t first_length;
};

/* connect_ms: for the connection, and again for the TLS handshake. dialer: for TLS; NULL: no TLS.
 * False: rl_socket_error() says why; rl_socket_close() is still needed. */
bool rl_socket_open(struct rl_socket *s, int64_t connect_ms, const struct rl_url *url,
                    struct rl_dialer *dialer);
/* The socket need not be open. */
void rl_socket_close(struct rl_socket *s);

/* Appends bytes to be sent. */
void rl_socket_put(struct rl_socket *s, const char *bytes, size_t length);

/* The next answer; NULL if it is not complete within answer_ms, or longer than 64 MiB or (with
 * hiredis 1.0 and later) a million elements. */
struct redisReply *rl_socket_reply(struct rl_socket *s, int64_t answer_ms);

/* Sends what was put, and waits for at most ms for the server's first bytes. */
void rl_socket_hear_first(struct rl_socket *s, int64_t ms);

/* Whether the connection has failed; whether it failed in TLS; and why. */
bool rl_socket_has_failed(const struct rl_socket *s);
bool rl_socket_has_failed_in_tls(const struct rl_socket *s);
const char *rl_socket_error(const struct rl_socket *s);

/* -- wire.c -- */

#define RL_WIRE_TEXT_MAX 128

struct redisReply;

struct rl_wire {
    struct rl_url url;
    struct rl_url_tls tls; /* the URL's parameters for TLS */
    redlock_allocator memory;
    struct rl_tls *context;   /* with the contents of the TLS files; NULL: no TLS */
    struct rl_dialer *dialer; /* NULL: no TLS */
    const struct rl_args *args;

    int64_t answer_ms; /* how long a whole answer may take */

    struct rl_socket socket;
    bool is_connected; /* the port accepts connections; TLS, if wanted, is established */

    /* The set's configuration, read in the last handshake; NULL: the node has none, or the user may
     * not read it. */
    struct rl_config *config;

    const char *failed_at;          /* "connect", "TLS", "AUTH" or "SELECT", or NULL */
    char failure[RL_WIRE_TEXT_MAX]; /* why; or why rl_wire_checked() returned NULL */
};

/* Connects to the node; a wire has one connection at a time. False: failed_at and failure say why;
 * rl_wire_disconnect() is still needed. */
bool rl_wire_connect(struct rl_wire *wire);

/* Closes the connection, if there is one. Call it before rl_wire_close(). */
void rl_wire_disconnect(struct rl_wire *wire);

/* Logs in, selects the database, checks that the node answers, and reads its configuration, as a
 * client does. False: failed_at and failure say why. */
bool rl_wire_hello(struct rl_wire *wire);

/* Two steps: append a command, as redisAppendCommand() and redisAppendCommandArgv(); then read the
 * answer. */
void rl_wire_ask(struct rl_wire *wire, const char *format, ...);
void rl_wire_ask_argv(struct rl_wire *wire, size_t n, const char **argv, const size_t *lengths);
struct redisReply *rl_wire_reply(struct rl_wire *wire);
/* Both steps: as redisCommand(), but with limits on the time and length of the whole answer. */
#define rl_wire_command(wire, ...) (rl_wire_ask((wire), __VA_ARGS__), rl_wire_reply(wire))

/* The reply; or NULL if there is none or it is an error, with the reason in wire->failure. */
struct redisReply *rl_wire_checked(struct rl_wire *wire, struct redisReply *reply);

/* Whether the reply is an answer to SCAN: a cursor that is a short text, and names. */
#define RL_WIRE_CURSOR_MAX 24
bool rl_wire_is_scan(const struct redisReply *reply);

/* A node's clock and latency.
 *
 * Each question is sent only after the previous answer, so that the time does not include a queue.
 * The fastest answer gives the most precise clock.
 *
 * Failure mode: TIME is forbidden, or the reply is unexpected: nothing is known, or no more than
 * before. */
#define RL_WIRE_SAMPLES 5

struct rl_wire_clock {
    bool is_known;
    double latency_ms, latency_max_ms; /* of the samples: the fastest, the slowest */
    double samples_ms[RL_WIRE_SAMPLES];
    int n_samples;
    double ahead_ms; /* the node's clock minus this machine's, from the fastest sample */
    double error_ms; /* half of that sample's round trip */
};

/* Asks n times, at most RL_WIRE_SAMPLES. */
void rl_wire_clock(struct rl_wire *wire, int n, struct rl_wire_clock *clock);

/* The fields of INFO, parsed as in the library (redis/info.h). A missing field is the empty text,
 * or the number 0; so is a negative number. */
struct rl_wire_info {
    struct rl_info judged;         /* the fields that a client's guard uses */
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

/* One field: its first RL_WIRE_TEXT_MAX - 1 bytes, made safe for a terminal. Valid as long as an
 * rl_text(). */
const char *rl_wire_info_text(const char *info, const char *name);

/* -- members.c -- */

struct rl_members {
    struct rl_config config;             /* epoch 0: there is none */
    rl_mask sets[2][RL_CONFIG_SETS_MAX]; /* the nodes of the old sets, and of the new ones */
    rl_mask all;                         /* the nodes of any set */
};

void rl_members_none(struct rl_members *members, size_t n_nodes);
void rl_members_begin(struct rl_members *members, const struct rl_config *config);
/* This member of the configuration is this node. */
void rl_members_place(struct rl_members *members, uint32_t member, uint32_t node);

/* The nodes that decide about the resource. */
struct rl_sides rl_members_of(const struct rl_members *members, const void *resource,
                              size_t length);

/* The name of the set of a resource, and of a node; while sets are being changed, of the new set.
 * "": the sets have no names, or the node is not a member. */
const char *rl_members_set_of(const struct rl_members *members, const void *resource,
                              size_t length);
const char *rl_members_set_at(const struct rl_members *members, uint32_t node);

/* The nodes of one set, of which a majority must be available. */
struct rl_node_group {
    char name[RL_CONFIG_NAME_MAX + 16]; /* "set b", "the old nodes"; "": the only group */
    rl_mask nodes;
};

#define RL_GROUPS_MAX (2 * RL_CONFIG_SETS_MAX)

/* Lists each group once: the sets, then old sets with different nodes. Returns how many there
 * are. */
size_t rl_members_groups(const struct rl_members *members,
                         struct rl_node_group groups[RL_GROUPS_MAX]);

/* Finds the first group of which these nodes are not a majority. False: there is none. */
bool rl_members_lack(const struct rl_members *members, rl_mask nodes, struct rl_node_group *group);

/* The most votes of one group that any resource needs. */
uint32_t rl_members_needed(const struct rl_members *members);

/* -- wires.c -- */

struct redisReply;

struct rl_wires {
    const struct rl_args *args;
    struct rl_wire *all; /* those of args->nodes first; they do not move in memory */
    size_t n;
    int64_t answer_ms;
    struct rl_members members;
    bool are_divided;
};

/* args must live on. Returns 0, or reports an error and returns the exit status. */
int rl_wires_open(struct rl_wires *wires, const struct rl_args *args);

/* How long a whole answer may take: a slow node must be reported as slow, not as dead. */
int64_t rl_wires_answer_ms(const struct rl_args *args);

/* Disconnects, and wipes the passwords. Needed even if rl_wires_open() failed. */
void rl_wires_close(struct rl_wires *wires);

/* Runs ask(item) for each node, in a thread each, and waits for all; then for the nodes that these
 * have named. items: room for REDLOCK_NODES_MAX items of `size` bytes; each begins with a struct
 * rl_wire *, which this sets before it runs ask(). */
void rl_wires_each(struct rl_wires *wires, void *items, size_t size, void (*ask)(void *item));

/* Opens another wire by its URL, with the credentials of `like` if it has none. Returns 0, or
 * reports an error and returns the exit status. */
int rl_wire_open(struct rl_wire *wire, const struct rl_args *args, const char *text,
                 const struct rl_wire *like);
void rl_wire_close(struct rl_wire *wire);

/* A node's reply to one command, to be freed, or why there is none. */
struct rl_wire_answer {
    struct redisReply *reply; /* NULL, or not an error */
    char why[RL_WIRE_TEXT_MAX];
    char node[sizeof((struct rl_url *)0)->name]; /* its name */
};

/* Sends a command to all nodes at once, over separate connections; argv as in
 * redisFormatCommandArgv(). Each whole answer may take answer_ms. Returns how many nodes were
 * asked. */
size_t rl_wires_ask(const struct rl_args *args, int64_t answer_ms, size_t n, const char **argv,
                    const size_t *lengths, struct rl_wire_answer answers[REDLOCK_NODES_MAX]);

/* Runs ask(item) for each of n items of `size` bytes, in a thread each, and waits for all. */
void rl_threads_run(void *items, size_t size, size_t n, void (*ask)(void *item));

#endif
