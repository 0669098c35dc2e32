/* What the files of the server share. Others include server.h only.
 *
 *     server.c            a server and its connections: made, fed, restarted
 *     server_keys.c       the table of keys
 *     server_commands.c   which commands there are, who may run them when, and those on connections
 *     server_data.c       the commands on keys
 *     server_plain.c      those that only clients of other libraries send
 *     server_strangers.c  scripts that are not the library's; server_lua.c runs them
 *     server_script.c     EVAL and its like, and what redis.call() is to a script
 *     server_script_line.c     what the scripts do with lines
 *     server_script_readers.c  what they do with leases
 *     server_script_permit.c   what the scripts of a semaphore share
 *     server_effects.c         the library's scripts, in C
 *     server_effects_line.c    those of them that know the line
 *     server_effects_permit.c  those of a semaphore
 *     server_effects_release.c  those that hand on
 *     server_effects_shared.c  those of readers
 *     server_line.c       the line
 *     server_channels.c   subscribers and messages
 *     server_users.c      AUTH and what users may do
 *     server_info.c       INFO */
#ifndef SERVER_SERVER_PARTS_H
#define SERVER_SERVER_PARTS_H

#include "server/server.h"
#include "server/server_keys.h"
#include "server/splitmix.h"

enum {
    CALL_WRITES = 1 << 0,
    CALL_DENYOOM = 1 << 1,
    CALL_LOADING = 1 << 2,  /* while loading, too */
    CALL_STALE = 1 << 3,    /* on a replica without its primary, too */
    CALL_STRANGER = 1 << 4, /* without AUTH, too */
    CALL_BUSY = 1 << 5,     /* while a script runs, too */
    CALL_LISTENER = 1 << 6, /* while subscribed, too */
};

struct call { /* what a command's function sees */
    struct server *server;
    struct server_connection *connection;
    const struct resp_arg *args;
    size_t count;
    uint64_t now_ms;
    uint64_t now_us;
    bool is_full;       /* nothing was driven out that would make room */
    const char *script; /* set by EVAL and EVALSHA: see struct server_ran */
};

/* One of the kinds of command that there are, and its place in a mask of what a user may not do. */
struct rule {
    const char *name; /* "get", "script|load" */
    int arity;        /* with the name; -2: two or more */
    uint32_t flags;
    uint8_t first_key; /* the place of the first key; 0: it has none */
    bool all_keys;     /* all that follow are keys as well */
    void (*run)(struct call *call);
};

/* -- server.c -- */

static inline bool is_set(const struct server *server, enum server_broken broken) {
    return (server->broken & (uint32_t)broken) != 0;
}

/* -- server_commands.c -- */

const struct rule *rule_of(const char *name);
uint32_t rule_index(const struct rule *rule);

/* An error that keeps a command from running because of what the server is, without '-'; NULL:
 * none. */
const char *write_refusal(const struct server *server);

#define OOM_TEXT "OOM command not allowed when used memory > 'maxmemory'."
#define MASTERDOWN_TEXT \
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
#define WRONGTYPE_TEXT "WRONGTYPE Operation against a key holding the wrong kind of value"
#define NO_INTEGER_TEXT "ERR value is not an integer or out of range"

void reply_bulk(struct call *call, const void *data, size_t length);
void reply_number(struct call *call, long long number);
void reply_line(struct call *call, const char *line); /* "+OK", "$-1" */
void reply_error(struct call *call, const char *text);
void reply_error_format(struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void reply_wrong_number(struct call *call, const char *name);

/* -- server_data.c: what keys are to commands and to scripts -- */

/* The key of the connection's database if it is there now. */
struct server_key *find_key(struct call *call, const struct resp_arg *name);

void put_key(struct call *call, const struct resp_arg *name, const struct resp_arg *value,
             uint64_t expires_ms);
void expire_key(struct call *call, struct server_key *key, long long when_ms);
void delete_key(struct call *call, struct server_key *key);
long long pttl_of(const struct call *call, const struct server_key *key);
const char *type_of(const struct server_key *key); /* NULL: "none" */

/* The end of a life that SET gives from now on. Returns an error without '-', or NULL. */
const char *read_ttl(const struct call *call, const struct resp_arg *text, long long unit,
                     uint64_t *expires_ms);

void do_del(struct call *call);
void do_delex(struct call *call);
void do_delifeq(struct call *call);
void do_flushall(struct call *call);
void do_get(struct call *call);
void do_getrange(struct call *call);
void do_pexpire(struct call *call);
void do_pexpireat(struct call *call);
void do_pexpiretime(struct call *call);
void do_pttl(struct call *call);
void do_rpush(struct call *call);
void do_set(struct call *call);
void do_type(struct call *call);

/* PEXPIRE and its like: name, the argument's unit in ms, and what it counts from. */
void expire_by(struct call *call, const char *name, long long unit_ms, long long from_ms);

/* -- server_plain.c -- */

void do_client_id(struct call *call);
void do_echo(struct call *call);
void do_exists(struct call *call);
void do_expire(struct call *call);
void do_incr(struct call *call);
void do_mget(struct call *call);
void do_ok(struct call *call);
void do_psetex(struct call *call);
void do_setex(struct call *call);
void do_setnx(struct call *call);
void do_time(struct call *call);
void do_ttl(struct call *call);

/* -- server_script.c -- */

struct script_run {
    struct call *call;
    const char *sha1;
    const struct resp_arg *keys, *args;
    size_t n_keys, n_args;
    bool has_written;
    bool is_over;     /* an error was raised, or an answer given */
    const char *text; /* of the script */
    char error[256];  /* room for one */
};

/* Why a script may not run this command now, without '-', or NULL. key, channel: what the user has
 * to be allowed besides, or NULL. */
const char *script_refusal(struct script_run *run, const char *name, const struct resp_arg *key,
                           const struct resp_arg *channel);

/* redis.call(). at: a piece of the script's text, in the line of the call; an error names that
 * line. A name, a value or a ttl that is NULL is Lua's nil. An error that is raised is the answer:
 * then is_over is set, and the effect must return. Values are valid until the next write. */
bool script_get(struct script_run *run, const char *at, const struct resp_arg *name,
                struct resp_arg *value);
void script_set(struct script_run *run, const char *at, const struct resp_arg *name,
                const struct resp_arg *value, bool only_new, const struct resp_arg *ttl_ms);
void script_pexpire(struct script_run *run, const char *at, const struct resp_arg *name, double ms);
void script_pexpire_by(struct script_run *run, const char *at, const struct resp_arg *name,
                       const struct resp_arg *ms);
double script_pttl(struct script_run *run, const char *at, const struct resp_arg *name);
void script_del(struct script_run *run, const char *at, const struct resp_arg *name);
/* For commands that only read. */
const struct server_key *script_look(struct script_run *run, const char *at, const char *command,
                                     const struct resp_arg *name);

/* redis.pcall(): an error comes back, without '-'; NULL: none. */
const char *script_try_get(struct script_run *run, const struct resp_arg *name,
                           struct resp_arg *value, bool *is_there);
const char *script_try_set(struct script_run *run, const struct resp_arg *name,
                           const struct resp_arg *value, const struct resp_arg *ttl_ms);
void script_try_pexpire(struct script_run *run, const struct resp_arg *name,
                        const struct resp_arg *ms);
void script_try_publish(struct script_run *run, const struct resp_arg *name);
bool script_is_wrong_type(const char *error);

/* server_effects.c: math.max() of the key's life and ARGV[2], and PEXPIRE; the counters of n keys,
 * counted on from *fence: false, the script is over. */
void script_extend(struct script_run *run, const struct resp_arg *name);
bool script_count_on(struct script_run *run, double n, bool has_fence, double *fence);

/* The same: "... is not the counter of a fence"; what an extension does to a counter, the fence
 * being this argument. */
void script_return_no_counter(struct script_run *run, const struct resp_arg *name);
void script_keep_counter(struct script_run *run, const struct resp_arg *name, size_t fence_at);

/* Lua's own: KEYS[i] and ARGV[i] (NULL: nil), tonumber(), ==. */
const struct resp_arg *script_key(const struct script_run *run, double i);
const struct resp_arg *script_arg(const struct script_run *run, size_t i);
bool script_number(const struct resp_arg *text, double *number);
bool script_same(const struct resp_arg *a, const struct resp_arg *b);

/* error(), and what a script returns. */
void script_raise(struct script_run *run, const char *at, const char *error);
void script_raise_if(struct script_run *run, const char *at, const char *error); /* not NULL */
void script_fail(struct script_run *run, const char *at, const char *error);     /* Lua's own */
void script_return(struct script_run *run, long long number);
void script_return_error(struct script_run *run, const char *error);
void script_answer(struct script_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void do_eval(struct call *call);
void do_evalsha(struct call *call);
void do_script_exists(struct call *call);
void do_script_flush(struct call *call);
void do_script_load(struct call *call);

/* -- server_channels.c -- */

void do_publish(struct call *call);
void do_subscribe(struct call *call);
void do_unsubscribe(struct call *call);
void drop_channels(struct server_connection *connection);

/* -- server_users.c -- */

enum denial { DENIED_NOTHING, DENIED_COMMAND, DENIED_KEY, DENIED_CHANNEL };

void make_default_user(struct server *server);
void free_users(struct server *server);

/* Whom a new connection is without AUTH; NULL: nobody. */
struct server_user *user_without_password(struct server *server);

enum denial denial_of(const struct server_user *user, const struct rule *rule);
bool may_use_key(const struct server_user *user, const struct resp_arg *key);
bool may_use_channel(const struct server_user *user, const struct resp_arg *channel);
void reply_denial(struct call *call, enum denial denial, const char *name);

/* What a script's call of a forbidden command is told, without '-'. */
const char *script_denial(const struct call *call, enum denial denial, const char *name,
                          char text[256]);
void do_auth(struct call *call);

/* -- server_info.c -- */

void do_info(struct call *call);
void free_info(struct server *server);

#endif
