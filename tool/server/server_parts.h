/* What the files of the server share. Others include server.h only.
 *
 *     server.c            a server and its connections: made, fed, restarted
 *     server_keys.c       the table of keys
 *     server_commands.c   the table of commands, who may run them when, and those on connections
 *     server_reply.c      what a command replies: bytes, or a value of Lua's
 *     server_data.c       the commands on keys
 *     server_plain.c      those that only clients of other libraries send, or scripts call
 *     server_zset.c       those on a ZSET; server_line.c is what it is in a key
 *     server_script.c     EVAL and its like, and the known scripts
 *     server_lua.c        runs them
 *     server_broken.c     how the library's are broken on purpose
 *     server_channels.c   subscribers and messages
 *     server_users.c      AUTH and what users may do
 *     server_info.c       INFO */
#ifndef SERVER_SERVER_PARTS_H
#define SERVER_SERVER_PARTS_H

#include "base/sha1.h"
#include "server/server.h"
#include "server/server_keys.h"
#include "server/splitmix.h"

struct lua_State;

enum {
    CALL_WRITES = 1 << 0,
    CALL_DENYOOM = 1 << 1,
    CALL_LOADING = 1 << 2,  /* while loading, too */
    CALL_STALE = 1 << 3,    /* on a replica without its primary, too */
    CALL_STRANGER = 1 << 4, /* without AUTH, too */
    CALL_BUSY = 1 << 5,     /* while a script runs, too */
    CALL_LISTENER = 1 << 6, /* while subscribed, too */
    CALL_NOSCRIPT = 1 << 7, /* not in a script */
};

struct call { /* what a command's function sees */
    struct server *server;
    struct server_connection *connection;
    const struct resp_arg *args;
    size_t count;
    uint64_t now_ms;
    uint64_t now_us;
    bool is_full;          /* no key could be evicted to make room */
    const char *script;    /* set by EVAL and EVALSHA: see struct server_ran */
    bool failed;           /* the reply is an error */
    struct lua_State *lua; /* the calling script's; NULL: a client has sent it */
    size_t missing;        /* values of the reply, an array; there are no arrays in arrays */
};

/* A kind of command; its index is its bit in a user's mask of forbidden commands. */
struct rule {
    const char *name; /* "get", "script|load" */
    int arity;        /* with the name; -2: two or more */
    uint32_t flags;
    uint8_t first_key; /* the place of the first key; 0: it has none */
    bool all_keys;     /* all later arguments are keys, too */
    void (*run)(struct call *call);
};

/* -- server.c -- */

static inline bool is_set(const struct server *server, enum server_broken broken) {
    return (server->broken & broken) != 0;
}

/* -- server_commands.c -- */

const struct rule *rule_of(const char *name);
uint32_t rule_index(const struct rule *rule);

#define OOM_TEXT "OOM command not allowed when used memory > 'maxmemory'."
#define MASTERDOWN_TEXT \
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
#define WRONGTYPE_TEXT "WRONGTYPE Operation against a key holding the wrong kind of value"
#define NO_INTEGER_TEXT "ERR value is not an integer or out of range"

/* A command that the running script calls. The reply is on the stack of call->lua. */
void call_in_script(struct call *call, bool *has_written);

/* -- server_reply.c: each is a reply, or the next value of an array's -- */

void reply_bulk(struct call *call, const void *data, size_t length);
void reply_nil(struct call *call);
void reply_number(struct call *call, long long number);
void reply_array(struct call *call, size_t count); /* this many follow */

/* Never in an array. An error comes without '-'. */
void reply_status(struct call *call, const char *text);
void reply_error(struct call *call, const char *text);
void reply_error_line(struct call *call, const char *text, size_t length);
void reply_error_format(struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void reply_wrong_number(struct call *call, const char *name);

/* {ok = text}, {err = text}. */
void push_tagged(struct lua_State *lua, const char *tag, const char *text, size_t length);

/* -- server_data.c: what keys are to commands -- */

/* The key of the connection's database if it is there now. */
struct server_key *find_key(struct call *call, const struct resp_arg *name);

/* The first key, or NULL: it does not exist, or is no string, and then the call has failed. */
const struct server_key *find_string(struct call *call);

void put_key(struct call *call, const struct resp_arg *name, const struct resp_arg *value,
             uint64_t expires_ms);
long long pttl_of(const struct call *call, const struct server_key *key);

/* The time of expiry that SET or the like sets. False: the call has failed. */
bool read_ttl(struct call *call, const char *name, const struct resp_arg *text, long long unit,
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

/* -- server_zset.c -- */

void do_zadd(struct call *call);
void do_zcard(struct call *call);
void do_zcount(struct call *call);
void do_zpopmin(struct call *call);
void do_zrange(struct call *call);
void do_zrangebyscore(struct call *call);
void do_zrank(struct call *call);
void do_zrem(struct call *call);
void do_zremrangebyscore(struct call *call);
void do_zscore(struct call *call);

/* -- server_script.c -- */

struct script {
    const char *name; /* the library's name for it: "release"; NULL: another client's */
    struct bytes text;
    char sha1[RL_SHA1_LEN + 1];
    int function;    /* in the registry of Lua's state; 0: not compiled */
    uint64_t broken; /* compiled with these rules broken */
};

void do_eval(struct call *call);
void do_evalsha(struct call *call);
void do_script_exists(struct call *call);
void do_script_flush(struct call *call);
void do_script_load(struct call *call);

/* -- server_lua.c -- */

/* False: it does not compile, and the error is the reply. */
bool lua_compile(struct call *call, struct script *script, const struct bytes *text);
void lua_forget(struct script *script);
void lua_end(void);

/* Runs the script of an EVAL or EVALSHA with so many keys: the reply is what it returns or
 * raises. */
void lua_run(struct call *call, const struct script *script, size_t keys);

/* -- server_broken.c -- */

/* Changes the text of the library's script. */
void break_script(const char *name, uint64_t broken, struct bytes *text);

/* -- server_channels.c -- */

void do_publish(struct call *call);
void do_pubsub_numsub(struct call *call);
void do_subscribe(struct call *call);
void do_unsubscribe(struct call *call);
void drop_channels(struct server_connection *connection);

/* -- server_users.c -- */

enum denial { DENIED_NOTHING, DENIED_COMMAND, DENIED_KEY, DENIED_CHANNEL };

void make_default_user(struct server *server);
void free_users(struct server *server);

/* The user of a new connection without AUTH; NULL: none. */
struct server_user *user_without_password(struct server *server);

enum denial denial_of(const struct server_user *user, const struct rule *rule);
bool may_use_key(const struct server_user *user, const struct resp_arg *key);
bool may_use_channel(const struct server_user *user, const struct resp_arg *channel);
void reply_denial(struct call *call, enum denial denial, const char *name);

/* The error for a script's call of a forbidden command, without '-'. */
const char *script_denial(const struct call *call, enum denial denial, const char *name,
                          char text[256]);
void do_auth(struct call *call);

/* -- server_info.c -- */

void do_info(struct call *call);
void free_info(struct server *server);

#endif
