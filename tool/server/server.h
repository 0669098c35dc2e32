/* A Redis server in memory: bytes of RESP in, bytes of RESP out.
 *
 * Happy path: server_new(), server_connect(), server_receive() with the received bytes, in any
 * pieces; the server's answers are then in the connection's `output`, from where the caller takes
 * them. Fake nodes (test/fake) put it on sockets, the simulator (test/sim) on simulated streams.
 *
 * It has no clock, no socket and no random number of its own: time is an argument, the server's own
 * wall clock in microseconds since 1970, and the same calls always give the same bytes.
 * server/differential compares its replies to the commands that the library sends, and to those
 * that its scripts call, byte for byte with a real redis-server.
 *
 * Keys are as in Redis: the time of expiry is a whole millisecond, and the key exists while the
 * clock, in whole milliseconds, is not past it. Scripts run in Lua 5.1, the library's own and any
 * other; all servers of a process share one state of Lua, so they are in one thread.
 *
 * Failure modes, each a field of struct server that may be set at any time: read-only (a replica),
 * loading, full, unable to persist, too few replicas, busy with a script. Commands, keys and
 * channels may be forbidden to users. A restart (server_restart()) keeps the keys that it is given.
 * Bytes that are no RESP are answered as Redis does, and `ended` is set: the caller closes the
 * connection after the output. Inline commands are unknown. Running out of memory ends the program.
 *
 * Can a caller miss a message to a subscriber? No: if a connection's output grows outside of its
 * own turn, the hook `told` is called. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/bytes.h"
#include "server/resp.h"

#define SERVER_DATABASES 16
#define SERVER_ID_SIZE 41
#define SERVER_NEVER_MS UINT64_MAX

struct server;
struct server_connection;

/* Whose error texts: they differ for errors in scripts and for forbidden commands. */
enum server_words {
    SERVER_REDIS_7, /* Redis 7.0 */
    SERVER_REDIS_8, /* Redis 7.2 and later */
    SERVER_VALKEY,  /* Valkey 9 */
};

/* Whether it has a command that deletes a key which has a value. */
enum server_native {
    SERVER_SCRIPT_ONLY,
    SERVER_DELIFEQ, /* Valkey 9 and later */
    SERVER_DELEX,   /* Redis 8.4 and later */
};

/* -- Keys -- */

struct server_key {
    struct bytes name, value; /* value: without the zero byte behind it */
    uint64_t expires_ms;      /* by the server's clock; SERVER_NEVER_MS: never */
    uint64_t writer;          /* the id of the connection that set it; 0: server_put() */
    uint64_t written_us;      /* by the server's clock: when it was set */
    uint32_t db;
    uint32_t hash;
    uint32_t next;     /* in its bucket */
    uint32_t elements; /* of a list or a line; 0: a string */
    bool is_line;      /* a ZSET, see server_line_at() */
    bool is_used;
};

/* All zero: no keys. Keys are in an array that is never sorted; removed ones leave holes. */
struct server_keys {
    struct server_key *row;
    uint32_t *buckets;
    uint32_t size; /* of the row */
    uint32_t mask; /* the number of buckets is a power of two; less one */
    uint32_t used;
    uint32_t hole; /* the first free place */
};

/* The key, or NULL. An expired key stays until a look-up removes it: see server_has_expired().
 * Valid until the next command. */
const struct server_key *server_keys_find(const struct server_keys *keys, uint32_t db,
                                          const void *name, size_t length);

/* For each key, expired ones included: start with *at 0; NULL at the end. */
const struct server_key *server_keys_next(const struct server_keys *keys, uint32_t *at);

/* A copy of all keys, as on a replica or a disk. `to` is overwritten; its memory is reused. */
void server_keys_copy(struct server_keys *to, const struct server_keys *from);
void server_keys_clear(struct server_keys *keys);
void server_keys_free(struct server_keys *keys);

/* -- What the caller may watch -- */

enum server_change { SERVER_SET, SERVER_EXPIRY, SERVER_DELETED, SERVER_EXPIRED, SERVER_EVICTED };

struct server_ran { /* a command that has run, or was refused; valid only in the hook */
    struct server_connection *connection;
    const struct resp_command *command;
    const char *script; /* the library's script that an EVAL or EVALSHA ran: "release"; else NULL */
    const char *reply;  /* what was appended to the connection's output */
    size_t reply_length;
    uint64_t now_us;
};

/* Each may be NULL. */
struct server_hooks {
    /* A key has just been set, or got another time of expiry, or is about to be removed. by: NULL
     * if the server did it by itself. */
    void (*changed)(void *owner, const struct server_key *key, enum server_change change,
                    const struct server_connection *by);

    void (*ran)(void *owner, const struct server_ran *ran);

    /* A message was appended to this connection's output. */
    void (*told)(void *owner, struct server_connection *connection);
};

/* -- The server -- */

struct server_user;

struct server_info_line;

struct server {
    const struct server_hooks *hooks;
    void *owner;

    /* What it is, as in INFO. */
    char run_id[SERVER_ID_SIZE], replid[SERVER_ID_SIZE];
    uint64_t started_us; /* by its clock */
    uint64_t maxmemory;
    const char *policy; /* of maxmemory; "noeviction" */
    bool has_aof;
    const struct server *twin; /* answers INFO in its place; NULL: itself */
    enum server_words words;
    enum server_native native;
    bool has_32_bits; /* as in its INFO */

    /* Its faults. */
    bool is_replica;  /* READONLY */
    bool is_loading;  /* LOADING; keys do not expire */
    bool is_stale;    /* a replica without its primary that refuses reads: MASTERDOWN */
    bool is_full;     /* OOM; or, unless the policy is noeviction, each command that needs
                         memory evicts a key first */
    bool cannot_save; /* MISCONF */
    bool is_alone;    /* NOREPLICAS */
    bool is_busy;     /* BUSY */
    bool ends_early;  /* keys expire one millisecond earlier; 7.2 and later sometimes do so, up to 1
                         ms before the ttl is over */

    uint64_t broken; /* rules broken on purpose: see server_break() */

    struct server_keys keys;
    struct server_user **users; /* the first is "default" */
    uint32_t n_users;
    struct bytes loaded; /* scripts, a byte each that is not 0 */
    bool is_in_script;   /* a script runs: it sends the commands, not a client */
    struct server_info_line *info;
    uint32_t n_info;
    struct server_connection *first, *last; /* in order of arrival */
    uint32_t n_connections;
    uint64_t connections; /* since its creation: ids count from 1 */
    uint64_t evicted;
    uint64_t random; /* selects the key to evict */
    struct bytes scratch;
};

/* Ways to break keys, connections and the library's scripts: negative controls of the tests. Those
 * of scripts have names only (server_broken.c). */
enum server_broken {
    SERVER_BREAK_LATE_EXPIRY = 1 << 0,
    SERVER_BREAK_ONE_DATABASE = 1 << 1,
    SERVER_BREAK_LOADED_SCRIPTS = 1 << 2,
    SERVER_BREAK_MESSAGES = 1 << 3,
    SERVER_BREAK_BLIND_RELEASE = 1 << 4, /* of native releases, and of scripts */
};

/* The name of number i, whose bit in `broken` is 1 << i, and what is wrong then. NULL: there are no
 * more. */
const char *server_break_name(size_t i, const char **what);

/* The bit of this name; an unknown name ends the program. */
uint64_t server_break(const char *name);

/* A server without keys, up since now. id: any number, for its run ID and replication ID. */
struct server *server_new(uint64_t id, uint64_t now_us);

/* As SCRIPT LOAD answers: 40 hex digits and a zero. */
void server_sha1(const void *script, size_t length, char hex[41]);

/* All connections are closed. */
void server_free(struct server *server);

/* Writes 40 hex digits made of a number. */
void server_make_id(char text[SERVER_ID_SIZE], uint64_t id);

/* A new process: another run id, up since now, no scripts, and no subscriptions; existing
 * connections have ended. kept: the keys that it keeps; &server->keys for all, NULL for none, or
 * those of an earlier time. With a stale replica's keys, set `replid` as well. */
void server_restart(struct server *server, uint64_t id, uint64_t now_us,
                    const struct server_keys *kept);

/* The server loses all keys, or all scripts, without a restart. */
void server_forget_keys(struct server *server);
void server_forget_scripts(struct server *server);

/* Frees what all servers of the process share: Lua's state and the compiled scripts. They are made
 * again when needed. No server may exist. */
void server_forget_compiled(void);

/* Whether a key has expired. */
bool server_has_expired(const struct server *server, const struct server_key *key, uint64_t now_us);

/* Finds a live key, or NULL; plants a key as another client would. */
const struct server_key *server_get(const struct server *server, uint32_t db, const void *name,
                                    size_t length, uint64_t now_us);
void server_put(struct server *server, uint32_t db, const void *name, size_t length,
                const void *value, size_t value_length, uint64_t expires_ms);
void server_remove(struct server *server, uint32_t db, const void *name, size_t length);

/* A client in a line. */
struct server_member {
    struct resp_arg name;
    double score;
};

/* Member number `rank` of a line, from 0; false: the line is shorter, or the key is NULL or no
 * line. Valid until the next command. The second returns a member's rank, or the length of the line
 * if it has no such member. */
bool server_line_at(const struct server_key *key, uint32_t rank, struct server_member *out);
uint32_t server_line_rank(const struct server_key *key, const struct resp_arg *name);

/* Plants a new member; creates the line, without a ttl, if there is none. */
void server_put_member(struct server *server, uint32_t db, const void *key, size_t key_length,
                       const void *name, size_t length, double score);

/* The number of live keys in all databases. */
size_t server_count(const struct server *server, uint64_t now_us);

/* Evicts a key that the policy allows. False: there is none. */
bool server_evict(struct server *server);

/* Sets the value of a line of INFO, true or not; NULL: the true one again. A field that Redis does
 * not have comes last. */
void server_set_info(struct server *server, const char *field, const char *value);

/* -- Users -- */

/* New connections must send AUTH password, or, with a user, AUTH user password: the default user is
 * off then. password NULL: no AUTH is needed. */
void server_set_password(struct server *server, const char *user, const char *password);

/* Creates, or finds, a user with all rights. */
struct server_user *server_add_user(struct server *server, const char *name, const char *password);

/* Forbid a command ("get", "script|load"), or all keys, or all channels, without this prefix. */
void server_deny(struct server_user *user, const char *command);
void server_deny_keys(struct server_user *user, const char *but_with_prefix);
void server_deny_channels(struct server_user *user, const char *but_with_prefix);
void server_allow_all(struct server_user *user);

/* -- Connections -- */

struct server_channel {
    struct bytes name;
};

struct server_connection {
    struct server *server;
    void *owner; /* the caller's */
    struct server_connection *next, *previous;
    uint64_t id;
    struct bytes output; /* the caller consumes it */
    bool ended;          /* to be closed once the output is sent; no more commands run */

    struct bytes input; /* an incomplete command */
    uint32_t db;
    struct server_user *user; /* NULL: not authenticated */
    struct bytes name;
    struct server_channel *channels;
    uint32_t n_channels, channels_size;
};

/* If there are too many clients, the connection has ended, and its output says why. */
struct server_connection *server_connect(struct server *server, void *owner);
void server_disconnect(struct server_connection *connection);

/* Runs the commands that are complete. */
void server_receive(struct server_connection *connection, const void *bytes, size_t length,
                    uint64_t now_us);

/* One command that was parsed elsewhere. */
void server_execute(struct server_connection *connection, const struct resp_command *command,
                    uint64_t now_us);

/* The library's script that an EVAL or EVALSHA runs, loaded or not: "release"; NULL: none, or
 * another command. */
const char *server_script_of(const struct resp_command *command);

/* Publishes as another client would. Returns how many connections receive it. */
size_t server_publish(struct server *server, const void *channel, size_t length,
                      const void *payload, size_t payload_length);

bool server_listens(const struct server_connection *connection, const void *channel, size_t length);

#endif
