/* The addon: libredlock on Node.js's own loop.
 *
 *     lib/client.js -> open() -> acquire() ... -> deliver(): what has ended, as events -> close()
 *
 * The JavaScript beside it is its only caller, so the number of arguments is not checked; a user's
 * values are, and are refused with an Error whose `code` is the name of a status. JavaScript knows
 * a lock or an election by a small number, its entry's. Nothing here depends on the garbage
 * collector: an entry lives from acquire() until it is released, lost or not granted, even if
 * JavaScript has dropped it.
 *
 * Can an event reach JavaScript after its environment began to end? No: is_ending is set by the
 * cleanup hook, before anything is closed, and deliver() asks it. Can memory go before libuv has
 * let go of it? No: the client lives until its keeper is closed, which follows on_close, and the
 * cleanup hook waits for that. Can an entry's number mean another lock to a late callback? No: a
 * callback has the entry's address, and an entry is free only when its lock has no callback left.
 *
 * Threads: all of it belongs to one environment, and a worker thread has its own; there is no
 * global state. */
#ifndef NODE_ADDON_H
#define NODE_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "redlock/election.h"
#include "redlock/redlock.h"
#include "redlock/semaphore.h"

/* -- Events -- */

/* X(name): JavaScript gets the names in this order, and has a function for each. */
#define NODE_EVENTS(X) \
    X(opened)          \
    X(closed)          \
    X(acquired)        \
    X(extended)        \
    X(released)        \
    X(lost)            \
    X(elected)         \
    X(deposed)         \
    X(leader)          \
    X(resigned)
#define NODE_EVENT_ENUM(name) NODE_##name,
enum node_event_type { NODE_EVENTS(NODE_EVENT_ENUM) NODE_N_EVENTS };

struct node_event {
    enum node_event_type type;
    uint32_t id;      /* of the entry */
    int status;       /* not 0: `text` says why */
    const char *text; /* NULL: none */
    const char *name; /* a leader, or the name of an attempt's status; NULL: `number` counts */
    uint64_t number;  /* a fence */
};

/* -- Clients and their entries -- */

struct node_client;

/* A lock from acquire() on, or an election. */
struct node_entry {
    struct node_client *client;
    uint32_t id;
    uint32_t next_free;
    redlock_lock *lock; /* both NULL: the entry is free */
    redlock_election *election;
    bool is_extending;
    bool is_lost; /* reported to JavaScript; only the pending extension is left */
};

struct node_client {
    napi_env env;
    redlock_client *client; /* NULL: closed */
    napi_ref deliver;
    napi_async_context context;
    napi_async_cleanup_hook_handle cleanup;
    uv_async_t keeper; /* keeps the process alive while `busy` is not 0 */
    uint32_t busy;     /* entries in use, plus 1 while it opens and 1 while it closes */
    uint32_t number;   /* JavaScript's number for it */
    struct node_client *next;
    bool is_closing;
    bool is_ending;
    uint32_t n_entries, first_free; /* first_free == n_entries: none */
    struct node_entry **entries;
};

/* NULL: no memory. */
struct node_entry *node_entry_take(struct node_client *client);
/* Call it after the lock or election was freed. */
void node_entry_drop(struct node_entry *entry);

/* Calls JavaScript, which may do anything; so it is the last thing that a callback does. */
void node_deliver(struct node_client *client, const struct node_event *event);

/* -- Arguments -- */

/* An option, and where it goes. JavaScript passes options as an array of pairs: a number, which is
 * the row of the table, and the value. */
struct node_option {
    const char *name;
    enum node_option_kind {
        NODE_MS,    /* int64_t */
        NODE_LIMIT, /* the same; Infinity is REDLOCK_NO_LIMIT */
        NODE_RATIO, /* double */
        NODE_COUNT, /* int32_t */
        NODE_FLAG,  /* int */
        NODE_GUARD, /* enum redlock_guard, by its name */
        NODE_TEXT   /* const char *, kept in node_texts */
    } kind;
    size_t offset;
};

#define NODE_TEXTS_MAX (REDLOCK_RESOURCES_MAX + 8)
struct node_texts {
    size_t n;
    char *items[NODE_TEXTS_MAX];
};

/* Both throw if they return false. target was set by its initializer. */
bool node_read_options(napi_env env, napi_value pairs, const struct node_option *table,
                       void *target, struct node_texts *texts);
/* NULL after a throw. Without its length it has no zeros inside. */
const char *node_read_text(napi_env env, napi_value value, const char *what, size_t *length,
                           struct node_texts *texts);
void node_texts_free(struct node_texts *texts);

#define NODE_ARGS_MAX 4
/* A function's arguments; those that were not given are undefined. */
void node_args(napi_env env, napi_callback_info info, napi_value argv[NODE_ARGS_MAX]);

/* The client of a number. For a closed one it returns a client that is closing, without entries. */
struct node_client *node_read_client(napi_env env, napi_value value);
/* The arguments of most functions: a client and the number of an entry in use. NULL after a throw.
 * argv, if it is not NULL, gets all of them. */
struct node_entry *node_read_entry(napi_env env, napi_callback_info info,
                                   napi_value argv[NODE_ARGS_MAX]);

/* An array of texts, or a single one: n of them, at most max. False after a throw. */
bool node_read_list(napi_env env, napi_value value, const char *what, uint32_t max, uint32_t *n,
                    redlock_bytes *items, struct node_texts *texts);

/* Throws an Error with this status's name as its code. Returns NULL, for `return`. */
napi_value node_throw(napi_env env, int status, const char *text);
napi_value node_number(napi_env env, double number);
napi_value node_text(napi_env env, const char *text);

/* -- JavaScript's functions -- */

typedef struct node_function {
    const char *name;
    napi_callback call;
} node_function;

extern const node_function node_client_functions[], node_lock_functions[],
    node_election_functions[]; /* the last row's name is NULL */
extern const struct node_option node_client_options[], node_lock_options[], node_election_options[];

#endif
