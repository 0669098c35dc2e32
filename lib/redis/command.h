/* The commands of the protocol, written as RESP once for a whole fan-out.
 *
 * With one resource an acquire is SET with NX and PX, the specification's step 2. Release and
 * extend compare the value and act in one step, by a script: sent by its hash (EVALSHA), and whole
 * (EVAL) to a node that answers NOSCRIPT.
 *
 * A release of one key uses a native command if the node has one: DELIFEQ (Valkey 9), DELEX (Redis
 * 8.4). It does what the script does at half the cost for the node. An error reply to it says
 * nothing about the key, so the script is sent instead: native.h.
 *
 * Extensions stay scripts, though SET with IFEQ would cost a node less (Redis 8.4, Valkey 8.1).
 * That command sets a life instead of prolonging it. A node that was stopped may run it after a
 * later extension to a longer life, on which the client counts (the simulator's --break
 * extend-shortens). A client could keep to one ttl, or count less after an unanswered extension of
 * its own; but a client that adopts a lock (redlock_adopt()) cannot know what the previous holder
 * has sent. A full node also refuses SET, but not PEXPIRE.
 *
 * With several resources each command is one script over all keys. A node sets or renews all of
 * them or none, which is its one vote, so the core needs no change. Why two locks still cannot hold
 * one resource: a grant means that a quorum of nodes have this value under *each* key of the lock;
 * two locks that share a resource would therefore share a node with two values under one key. This
 * also applies to locks of one resource and plain clients, since the keys are the same. A script
 * runs alone on its node, and checks all keys before it sets the first, so a refusal or an error (a
 * key of another type) leaves nothing behind.
 *
 * With a fence the acquire is also this script, which sets the fence's counters (core/fence.h) in
 * the same step. Each resource of the lock has a counter under "libredlock:fence:" and its name,
 * which outlives the key by the retention. A repair is the same script with the fence as its floor;
 * an extension sets the fence again, so that counters last as long as a hold.
 *
 * Can a counter be the key of a lock? Not of ours, since we refuse resources that begin like
 * counters. Nor of another library's: pottery and RedLock.net prefix names with "redlock:",
 * rueidislock with a prefix and a number, the others with nothing. None uses "libredlock:".
 *
 * A lock's script is sent whole the first time on a connection, then by its hash. A node that
 * forgets it afterwards (SCRIPT FLUSH) answers NOSCRIPT, and the client sends the script whole
 * again, behind everything that it has sent meanwhile. Extensions, releases and raises may run that
 * late, since they do nothing if the value is gone. An acquire must not run after its own release,
 * since its keys would stay until their ttl ends: its sender decides first (node_state.h, `again`).
 *
 * The scripts are in lib/redis/scripts/, one per file, which says what it does and why; the build
 * strips their comments and computes their SHA-1. Each version sends fixed bytes: unit/scripts has
 * their hashes, and live/scripts compares them with those that a real node computes.
 *
 * The value is the token, followed by a colon and the holder's name if there is one.
 *
 * The line. The waiters for a resource stand in a line on one node, its home: a ZSET under
 * "libredlock:line:{" resource "}". Only the scripts name it, and do not declare it as a key, so
 * that a node that forbids it does not refuse a vote or a release for that reason. A member of the
 * line is the value of its client's next attempt. A release replaces its own value by the next one:
 * on every node if it knows the next one (it passes the key), else only at home; or it leaves
 * "reserved". All of these expire. TAKE is SET for the client that has the turn: it overwrites only
 * reservations and its own key.
 *
 * Can the line make two holders? No. A value is replaced only after its owner has given it up, and
 * is never sent again: RELEASE_LINE compares it. JOIN writes only where the key is absent or
 * reserved, LEAVE only over its own value, with which no attempt was made. So a vote lasts until
 * its life ends or its owner gives it up, even if the line is lost, or nodes disagree on its order.
 * The core decides what counts as a vote (core/lock.h, 7).
 *
 * Can a holder's value be a reservation? No: a value begins with a token of 40 hex digits.
 *
 * Readers. A shared lock sends the same commands, with the mode as an argument. While readers hold
 * on a node, the resource's key is "redlock:shared", and each reader has a lease: its value in a
 * ZSET under "libredlock:readers:{" resource "}" with the lease's end as its score. Can a reader
 * and a writer both hold? No. A reader's vote is a lease, and the key lives as long as the last
 * lease: both end at the same ms, and no script ends or shortens what another's lease needs. The
 * key refuses SET NX, TAKE and the clients of other libraries, without changes to them. A lease is
 * given only if the key is absent, reserved or shared, so a token refuses it; a lease is extended
 * only while it lives; a release ends only its own lease. So a yes to a reader excludes every
 * writer for as long as it is counted on, and a writer's yes every reader, and two quorums share a
 * node. Readers do not exclude each other. When a reader becomes a writer (UPGRADE), or a writer a
 * reader (EXTEND, shared, that converts), its vote changes in one step on each node, so it always
 * has one. scripts/part_readers.lua and the other scripts give the arguments.
 *
 * The following may be inconsistent, lost or forged: the intent ("libredlock:intent:{r}": a writer
 * waits, so new readers are kept out), the readers' line ("libredlock:line:shared:{r}"),
 * "reserved:shared" (for any reader whose turn it is) and the client that wants to upgrade
 * ("libredlock:upgrade:{r}"). Like the line, they are no votes and affect only order.
 */
#ifndef RL_REDIS_COMMAND_H
#define RL_REDIS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

#define RL_COMMAND_PREFIX "libredlock:" /* of every key that is not a resource's own */
#define RL_COMMAND_COUNTER_PREFIX "libredlock:fence:"
#define RL_COMMAND_SECRET "libredlock:secret"     /* the node's own: release_line.lua */
#define RL_COMMAND_LINE_PREFIX "libredlock:line:" /* then "{", the resource, "}"; and: */
#define RL_COMMAND_LINE_SHARED_PREFIX "libredlock:line:shared:"
#define RL_COMMAND_READERS_PREFIX "libredlock:readers:"
#define RL_COMMAND_INTENT_PREFIX "libredlock:intent:"
#define RL_COMMAND_UPGRADE_PREFIX "libredlock:upgrade:"
#define RL_COMMAND_SLOT_PREFIX "libredlock:slot:"       /* then a number, ":{", the resource, "}" */
#define RL_COMMAND_PERMITS_PREFIX "libredlock:permits:" /* the number of permits */
#define RL_COMMAND_CLIENT_CHANNEL "libredlock:client:"  /* then the client's id */
#define RL_CLIENT_ID_LEN 16                             /* hex digits */
#define RL_VALUE_MAX (RL_TOKEN_LEN + 1 + 64)            /* a token, a colon and a holder's name */
#define RL_RESERVED "reserved"               /* a key's value: reserved for a moment, no holder */
#define RL_RESERVED_SHARED "reserved:shared" /* for any reader whose turn it is */
#define RL_SHARED_VALUE "redlock:shared"     /* of a key that readers hold */

struct rl_bytes {
    const void *data;
    size_t length;
};

enum rl_mode {
    RL_EXCLUSIVE, /* one holder: a writer */
    RL_SHARED,    /* any number of readers */
    RL_PERMIT     /* a number of permits */
};

#define RL_SLOTS_MAX 8 /* that one lock takes */
#define RL_PERMITS_MAX 1024
#define RL_NO_SLOT UINT16_MAX

/* Slots of a semaphore. */
struct rl_slots {
    uint16_t at[RL_SLOTS_MAX];
    uint8_t n;
};

/* The resources and options of a lock. They do not change while a request refers to them. */
struct rl_target {
    const struct rl_bytes *resources;
    uint32_t n;
    uint8_t holder_length; /* 0: none */
    bool notifies;         /* a release is announced */
    uint32_t retention_ms; /* of the counters of fences */
    uint16_t permits;      /* of a semaphore, which has one resource; 0: no semaphore */
    uint8_t take;          /* how many permits a lock takes */
    const char *holder;
};

enum rl_command_kind {
    /* Each but the first three is the script of that name, for every mode. */
    RL_COMMAND_SET,     /* one resource without a fence, a writer's, if absent: OK, or nil */
    RL_COMMAND_DELIFEQ, /* RELEASE as a command of Valkey 9 and later */
    RL_COMMAND_DELEX,   /* RELEASE as a command of Redis 8.4 and later */
    RL_COMMAND_TAKE,    /* every other acquire; in its turn it overwrites reservations */
    RL_COMMAND_RAISE,   /* compare, and set the counters to the fence: 1, or 0 */
    RL_COMMAND_EXTEND, /* compare and pexpire, never to a shorter life, and with a fence raise lower
                            counters: 1, or 0 */
    RL_COMMAND_EXTEND_MANY, /* EXTEND of several locks: node.h */
    RL_COMMAND_UPGRADE,     /* a reader becomes the writer: yes, or no and an enum rl_upgrade_no */
    RL_COMMAND_RELEASE, /* one key of a writer, without handing on: compare and delete: 1, or 0. A
                            separate script, with the answers of the two native commands */
    RL_COMMAND_READ,    /* the holder of one resource: see reply.h, or nil; changes nothing */

    /* The line. Their answers are numbers, see struct rl_line_answer. */
    RL_COMMAND_JOIN,           /* one resource's line, at home. Yes: the turn is this place's */
    RL_COMMAND_RELEASE_LINE,   /* of any number; reserves or hands over: enum rl_release_mode */
    RL_COMMAND_RELEASE_PERMIT, /* the same of slots */
    RL_COMMAND_LEAVE,          /* one resource's line. Yes: it was in line, or had the turn */
    RL_COMMAND_WAITER,         /* one place in one resource's line, or nil; changes nothing */

    RL_COMMAND_READER,      /* one reader of one resource, or nil; changes nothing */
    RL_COMMAND_SET_PERMITS, /* sets the number of permits: 1 */
    RL_COMMAND_SLOT,        /* of all slots, or one of them, or nil; changes nothing */
    RL_COMMAND_HANDSHAKE    /* a step of the handshake, see handshake.h */
};

/* What a RELEASE_LINE does besides giving up the keys that have the value. With a successor it
 * writes that client's value into the keys. Otherwise it reserves them for grace_ms; 0: deletes
 * them. */
enum rl_release_mode {
    RL_RELEASE_PLAIN, /* nothing; counts no waiters */
    RL_RELEASE_LOOK,  /* counts the waiters */
    RL_RELEASE_SERVE  /* counts and serves the first in line; without waiters deletes. At home */
};

/* Kinds of JOIN. */
enum rl_join_mode {
    RL_JOIN,      /* its turn, or it stays in line */
    RL_JOIN_PEEK, /* permit: reports free slots; it does not stay */
    RL_JOIN_QUIET /* it stays in line, and gets no turn now */
};

/* Why an UPGRADE was refused: rl_line_answer.which. */
enum rl_upgrade_no {
    RL_UPGRADE_OTHERS = 1,        /* others read */
    RL_UPGRADE_MEETS_UPGRADE = 2, /* and one of them wants to upgrade too */
    RL_UPGRADE_NO_READER = 3,     /* the lease is gone */
};

#define RL_INTENT_DROP UINT32_MAX

/* A command that was sent and is not answered yet. The caller provides the memory until
 * `answer`. */
struct rl_request {
    struct rl_request *next;
    uint64_t sent_ns;
    uint64_t began_ns;              /* as sent_ns, but never put off: it did not run before this */
    uint64_t written_ns;            /* when the system got its bytes; 0: not yet */
    const struct rl_target *target; /* valid while the request is outstanding */
    const char *successor; /* RELEASE_LINE: the value that it passes the keys to, valid until it is
                              written; NULL or "": not known */
    uint32_t ttl_ms;       /* of the key, in commands that set or extend it */
    uint64_t counter;      /* TAKE, UPGRADE: the floor; RAISE, EXTEND: the fence; RELEASE_LINE: the
                              least fence of the successor; 0: none */
    uint8_t kind;          /* enum rl_command_kind */
    bool whole_script;     /* EVAL rather than EVALSHA; set by rl_node_put_script() */
    bool sent_again;       /* in another form, after later commands */
    bool announces;        /* a release of a held lock: also publish, if the target notifies */
    uint8_t mode;          /* RELEASE_LINE: enum rl_release_mode */
    uint8_t batched;       /* EXTEND: requests from this one that one reply answers; 0: one */
    uint8_t which;      /* JOIN, LEAVE, WAITER, READER: of which resource of the target, from 0 */
    bool converts;      /* EXTEND, shared: turns a key that has the token into a reader's */
    uint8_t lock_mode;  /* enum rl_mode; READ, READER: of no meaning */
    uint8_t join;       /* JOIN: enum rl_join_mode */
    bool has_turn;      /* TAKE: reservations give way to it */
    bool line_only;     /* LEAVE: a key that has the token stays */
    uint16_t from;      /* JOIN, permit: from which slot on to look; RL_NO_SLOT: any */
    uint32_t waited_ms; /* JOIN: the time waited so far */
    uint32_t grace_ms;  /* the life of a reservation, or of a turn: JOIN, LEAVE, RELEASE_LINE */
    uint32_t lease_ms;  /* RELEASE_LINE: for how long the successor has the keys */
    uint32_t index;     /* WAITER, READER: which one, from 0; SLOT: its number; RL_NO_SLOT: all */
    uint32_t shut_ms;   /* TAKE, shared: how long new readers are kept out; 0: they are not */
    uint32_t intent_ms; /* RELEASE_LINE, exclusive: the same where others read; 0: nothing;
                            RL_INTENT_DROP: no longer */
    char token[RL_TOKEN_LEN]; /* READ, WAITER, READER, SLOT: of no meaning */
    struct rl_slots slots;    /* permit: all but JOIN, LEAVE, SET_PERMITS, SLOT, WAITER */
};

#define RL_COMMAND_WIRE_MAX 1024 /* room for a step of the handshake */

/* How many more bytes a release needs than its acquire: by the hash of its script, and whole. An
 * acquire reserves them, so that its release cannot fail for lack of memory. */
#define RL_COMMAND_RELEASE_MORE 320
#define RL_COMMAND_RELEASE_WHOLE 8256

/* Room for every command with this target, whole scripts and the terminating zero included. */
size_t rl_command_room(const struct rl_target *target);

/* Writes the command and a terminating zero (hiredis looks past the end). Returns its length. wire
 * has rl_command_room() bytes. */
size_t rl_command_format(char *wire, const struct rl_request *request);

/* Whether an EXTEND_MANY may include this extension. */
bool rl_command_extends_one_key(const struct rl_request *request);

/* Writes the EXTEND_MANY of n requests, first and those behind it in their list, as
 * rl_command_format() does. rl_command_many_room() bytes suffice, for one also for its EXTEND. */
size_t rl_command_format_many(char *wire, size_t room, const struct rl_request *first, uint32_t n);
size_t rl_command_many_room(const struct rl_request *first, uint32_t n);

/* As rl_command_format() for any list of arguments; 0 if it does not fit into capacity. */
size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count);

/* Whether a command takes the lock, so that it must not run after its own release. */
bool rl_command_acquires(enum rl_command_kind kind);

/* Whether a command gives up keys or a place, so that it is sent even to a clogged node. */
bool rl_command_releases(enum rl_command_kind kind);

/* Whether it runs a script. */
bool rl_command_is_script(enum rl_command_kind kind);

/* Whether it is a release that may serve the next waiter. */
bool rl_command_hands_on(enum rl_command_kind kind);

/* Whether it is a RELEASE that only some servers know. */
bool rl_command_is_native_release(enum rl_command_kind kind);

/* The script of a scripted kind, and its SHA-1 in hex. */
const char *rl_command_script(enum rl_command_kind kind);
const char *rl_command_script_sha1(enum rl_command_kind kind);

/* All scripts, for tests: number index, and its SHA-1; NULL when there are no more. */
const char *rl_command_script_at(size_t index, const char **sha1);

#endif
