/* The data of commands: names of keys, kinds, modes and targets. The functions are in command.h. */
#ifndef RL_REDIS_COMMAND_DATA_H
#define RL_REDIS_COMMAND_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_COMMAND_TOKEN_LEN 40
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
#define RL_PLACE_LEN RL_COMMAND_TOKEN_LEN /* a place in line is the token of the next attempt */
#define RL_VALUE_MAX (RL_COMMAND_TOKEN_LEN + 1 + 64) /* a token, a colon and a holder's name */
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
    uint16_t permits;      /* a semaphore's, which has one resource; 0: no semaphore */
    uint8_t take;          /* how many of them a lock takes */
    const char *holder;
};

enum rl_command_kind {
    /* Each but the first three is the script of that name, for every mode. */
    RL_COMMAND_SET,     /* one resource without a fence, a writer's, if absent: OK, or nil */
    RL_COMMAND_DELIFEQ, /* RELEASE as a command of Valkey 9 and later */
    RL_COMMAND_DELEX,   /* ... of Redis 8.4 and later */
    RL_COMMAND_TAKE,    /* votes for every other acquire, in its turn over reservations */
    RL_COMMAND_RAISE,   /* compare, and set the counters to the fence: 1, or 0 */
    RL_COMMAND_EXTEND, /* compare and pexpire, never to a shorter life, and with a fence raise lower
                            counters: 1, or 0 */
    RL_COMMAND_UPGRADE, /* a reader becomes the writer: yes, or no and an enum rl_upgrade_no */
    RL_COMMAND_RELEASE, /* one key of a writer, without handing on: compare and delete: 1, or 0. A
                            separate script, with the answers of the two native commands */
    RL_COMMAND_READ, /* the holder of one resource: see reply.h, or nil; changes nothing */

    /* The line. Their answers are numbers, see struct rl_line_answer. */
    RL_COMMAND_JOIN,           /* one resource's line, at home. Yes: the turn is this place's */
    RL_COMMAND_RELEASE_LINE,   /* of any number, and reserves or hands on: enum rl_release_mode */
    RL_COMMAND_RELEASE_PERMIT, /* the same of slots */
    RL_COMMAND_LEAVE,          /* one resource's line: yes if it was in it, or had the turn */
    RL_COMMAND_WAITER,         /* one place in one resource's line, or nil; changes nothing */

    RL_COMMAND_READER,      /* one reader of one resource, or nil; changes nothing */
    RL_COMMAND_SET_PERMITS, /* sets the number of permits: 1 */
    RL_COMMAND_SLOT,        /* of all slots, or one of them, or nil; changes nothing */
    RL_COMMAND_HANDSHAKE    /* a step of the handshake, see handshake.h */
};

/* What a RELEASE_LINE does besides giving up the keys that have the value. With a successor the
 * keys become that client's. Otherwise they are deleted if grace_ms is 0, or reserved for so
 * long. */
enum rl_release_mode {
    RL_RELEASE_PLAIN, /* nothing; counts no waiters */
    RL_RELEASE_LOOK,  /* counts the waiters */
    RL_RELEASE_SERVE  /* and hands on to the first in line; without waiters: deleted. At home */
};

/* How a JOIN goes. */
enum rl_join_mode {
    RL_JOIN,      /* its turn, or it stays in line */
    RL_JOIN_PEEK, /* permit: reports free slots; it does not stay */
    RL_JOIN_QUIET /* it stays in line, and gets no turn now */
};

/* Why an UPGRADE was refused: rl_line_answer.which. */
enum rl_upgrade_no {
    RL_UPGRADE_OTHERS = 1,        /* others read */
    RL_UPGRADE_MEETS_UPGRADE = 2, /* and one of them wants to upgrade, too */
    RL_UPGRADE_NO_READER = 3,     /* the lease is gone */
};

#define RL_INTENT_DROP UINT32_MAX

/* A command that was sent and is not answered yet. The caller provides the memory until
 * `answer`. */
struct rl_request {
    struct rl_request *next;
    uint64_t sent_ns;
    uint64_t began_ns;              /* as sent_ns, but never put off: it did not run earlier */
    uint64_t written_ns;            /* when its bytes were given to the system; 0: not yet */
    const struct rl_target *target; /* valid while the request is outstanding */
    const char *successor; /* RELEASE_LINE: the value that it passes the keys to, valid until it is
                              written; NULL or "": not known */
    uint32_t ttl_ms;       /* of the key, in commands that set or extend it */
    uint64_t counter;      /* TAKE, UPGRADE: the floor; RAISE, EXTEND: the fence; RELEASE_LINE: the
                              least fence of the successor; 0: none */
    uint8_t kind;          /* enum rl_command_kind */
    bool whole_script;     /* EVAL rather than EVALSHA; set by rl_node_put_script() */
    bool sent_again;       /* in another form, behind later commands */
    bool announces;        /* a release of a held lock: also publish, if the target notifies */
    uint8_t mode;          /* RELEASE_LINE: enum rl_release_mode */
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
    char token[RL_COMMAND_TOKEN_LEN]; /* READ, WAITER, READER, SLOT: of no meaning */
    struct rl_slots slots;            /* permit: all but JOIN, LEAVE, SET_PERMITS, SLOT, WAITER */
};

#endif
