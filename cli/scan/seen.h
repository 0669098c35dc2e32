/* What one node has: its keys, and what it reports about itself. Data only: scan.h fills it in,
 * list.h makes locks of it. */
#ifndef RL_CLI_SCAN_SEEN_H
#define RL_CLI_SCAN_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guard.h"
#include "wire/wire.h"

/* Memory for what one look at the nodes finds: taken piece by piece, given back all at once. */
struct rl_memory {
    struct rl_memory_block *first;
    size_t used;
};

/* Aligned for everything; its bytes are zero. */
void *rl_memory_take(struct rl_memory *memory, size_t size);
/* length bytes, and a zero behind them. */
char *rl_memory_text(struct rl_memory *memory, const char *bytes, size_t length);
void rl_memory_free(struct rl_memory *memory);

/* What a key on a node is, by its name alone: a lock's own, or one that libredlock keeps beside it.
 *
 *     NAME                              the lock; also another library's, or no lock at all
 *     libredlock:fence:NAME             its counter
 *     libredlock:readers:{NAME}         who reads it
 *     libredlock:line:{NAME}            who waits for it; line:shared: to read it; line:permits:
 *                                       for permits of it
 *     libredlock:permits:{NAME}         how many permits there are
 *     libredlock:slot:I:{NAME}          permit number I, which has a counter as a lock has
 *     libredlock:kicks:{NAME}           who was kicked (kick/note.h)
 *     libredlock:...                    anything else: order alone, or a newer redlock's
 *
 * No resource's name begins with "libredlock:" (lib/redis/command.h). Pure.
 *
 * Failure mode: any other name that begins so is RL_KEY_BESIDE, and is not read. */
enum rl_key_kind {
    RL_KEY_LOCK,
    RL_KEY_FENCE,
    RL_KEY_READERS,
    RL_KEY_LINE,
    RL_KEY_LINE_SHARED,
    RL_KEY_LINE_PERMITS,
    RL_KEY_PERMITS,
    RL_KEY_SLOT,
    RL_KEY_SLOT_FENCE,
    RL_KEY_KICKS,
    RL_KEY_BESIDE,
};

struct rl_key {
    enum rl_key_kind kind;
    uint16_t slot;        /* RL_KEY_SLOT, RL_KEY_SLOT_FENCE */
    const char *resource; /* its name, within the key's */
    size_t length;
};

/* name: any bytes. key refers to them. */
void rl_key_read(const char *name, size_t length, struct rl_key *key);

#define RL_SEEN_FOR_EVER INT64_C(-1) /* the key never ends */
#define RL_SEEN_READERS_MAX 64       /* leases of one resource that are read: those that end last */
#define RL_SEEN_KICKS_MAX 5

/* A member of a sorted set. */
struct rl_member {
    const char *text;
    int64_t ms; /* in a lease: the rest of its life; in a line: the time waited */
};

/* One key. What it refers to is in the node's memory. */
struct rl_seen {
    const char *resource;
    uint32_t length;
    uint16_t slot;
    uint8_t kind;              /* enum rl_key_kind */
    bool is_gone;              /* it ended while it was read, or has no information */
    bool is_other;             /* no string: its type is asked for */
    int64_t remaining_ms;      /* LOCK, SLOT */
    uint64_t number;           /* FENCE, PERMITS: the number; READERS, LINE: how many */
    const char *value;         /* LOCK, SLOT: its first 106 bytes; or the type, "(hash)" */
    struct rl_member *members; /* READERS; LINE: the first; KICKS: oldest first */
    size_t n_members;
};

/* What the guard of a client that is opened now would say of the node. */
enum rl_seen_standing {
    RL_NODE_VOTES,
    RL_NODE_IN_QUARANTINE, /* votes_in_ms */
    RL_NODE_UNFIT,         /* why: it is a replica, loading, or may evict keys */
    RL_NODE_UNKNOWN        /* not known: INFO is forbidden, or the node is down */
};

struct rl_scan;

struct rl_seen_node {
    struct rl_wire *wire;
    const struct rl_scan *scan; /* that reads it */
    bool is_member;             /* it decides about some resources (wire/members.h) */
    bool is_up;                 /* connected, authenticated, it answers */
    bool is_whole;              /* all its keys were looked at, up to the limit */
    bool is_cut;                /* there are more than the limit */
    char why[RL_WIRE_TEXT_MAX]; /* why not is_up, or not is_whole */

    struct rl_memory memory;
    struct rl_seen *seen; /* sorted by name, kind, slot */
    size_t n, room;

    uint64_t keys;    /* that it named */
    uint64_t others;  /* of these: strings that never end, and keys that are no lock of any
                         library */
    uint64_t refused; /* of these: keys that this user may not read, */
    char refusal[RL_WIRE_TEXT_MAX]; /* the node's error for the first of them */
    uint64_t calls;                 /* of SCAN */
    int64_t asked;                  /* commands that this look has cost the node */
    double took_ms;

    struct rl_wire_clock clock;
    bool has_info;
    char no_info[RL_WIRE_TEXT_MAX];
    struct rl_wire_info info;
    struct rl_guard *guard; /* of all sweeps, one after the other */
    enum rl_seen_standing standing;
    const char *unfit; /* "replica", "loading", "evicts" */
    int64_t votes_in_ms;
    int64_t turns;  /* ZPOPMIN: the command that hands a lock to the next client, see list.h */
    int64_t stored; /* keys in this database, as it says; -1: it does not */
};

#endif
