/* The nodes, for commands that query them directly: one connection to each that blocks (socket.h),
 * with a time limit for every question. It does not use the library's client, so that its findings
 * are independent of it.
 *
 * Happy path: rl_wires_open() for all nodes (wires.h); in a thread for each, so that a slow node
 * delays no other, rl_wire_connect(), rl_wire_hello(), questions, rl_wire_disconnect().
 *
 *     redisReply *reply = rl_wire_command(wire, "TIME");      one question
 *     rl_wire_ask(wire, ...);                                 several at once,
 *     redisReply *reply = rl_wire_reply(wire);                and an answer to each, in order
 *
 * Failure modes: no connection, no TLS, a refused password:
 * wire->failed_at and wire->failure say so. The answer is incomplete in time, or too long: no
 * reply, and the connection has failed, so that no more is asked on it.
 *
 * This folder uses these internal headers of the library: the grammar of URLs (redis/url.h), INFO
 * (redis/info.h), the configuration of sets and who decides by it (redis/config.h, core/quorum.h),
 * the first bytes of other servers (redis/reply.h), and the TLS of clients
 * (tls/context.h, tls/stream.h, nodes/tls.h, and base/world.h and base/memory.h, of which its
 * streams are made). A second parser of URLs, or a second verdict about a certificate, would one
 * day differ. In cli/ only this folder, doctor/, scan/ and set/ use internal headers of the
 * library. */
#ifndef RL_CLI_WIRE_WIRE_H
#define RL_CLI_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "args.h"
#include "base/memory.h"
#include "redis/config.h"
#include "redis/info.h"
#include "redis/url.h"
#include "redlock/redlock.h"
#include "wire/socket.h"

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

/* As redisCommand(), but the whole answer must arrive in time, and not be endless. */
struct redisReply *rl_wire_command(struct rl_wire *wire, const char *format, ...);
/* The same in two steps: as redisAppendCommand() and redisAppendCommandArgv(); and the answer. */
void rl_wire_ask(struct rl_wire *wire, const char *format, ...);
void rl_wire_ask_argv(struct rl_wire *wire, size_t n, const char **argv, const size_t *lengths);
struct redisReply *rl_wire_reply(struct rl_wire *wire);

/* The reply; or NULL if it is none or an error, which is left in wire->failure. */
struct redisReply *rl_wire_checked(struct rl_wire *wire, struct redisReply *reply);

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

/* One field: its first RL_WIRE_TEXT_MAX - 1 bytes, fit for a terminal. Returns out. */
const char *rl_wire_info_text(const char *info, const char *name, char out[RL_WIRE_TEXT_MAX]);
int64_t rl_wire_info_number(const char *info, const char *name);

#endif
