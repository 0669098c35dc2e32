/* All keys on the nodes, and the list of locks that is derived from them. */
#ifndef RL_CLI_SCAN_ROOM_H
#define RL_CLI_SCAN_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "core/guard.h"
#include "kick/room.h"
#include "wire/room.h"

/* -- slice.c -- */

/* Memory for the results of one look at the nodes: allocated piece by piece, freed all at once. */
struct rl_memory {
    void **pieces;
    size_t n, room;
};

/* The memory is zeroed. */
void *rl_memory_take(struct rl_memory *memory, size_t size);
/* Copies length bytes, and adds a terminating zero. */
char *rl_memory_text(struct rl_memory *memory, const char *bytes, size_t length);
void rl_memory_free(struct rl_memory *memory);

/* What a key on a node is, by its name alone: the lock itself, or data that libredlock keeps for
 * it.
 *
 *     NAME                              the lock; also another library's, or no lock at all
 *     libredlock:fence:NAME             its counter
 *     libredlock:readers:{NAME}         who reads it
 *     libredlock:line:{NAME}            who waits for it; line:shared: to read it; line:permits:
 *                                       for permits of it
 *     libredlock:permits:{NAME}         how many permits there are
 *     libredlock:slot:I:{NAME}          permit number I, which has a counter as a lock has
 *     libredlock:kicks:{NAME}           who was kicked (kick/note.c)
 *     libredlock:...                    anything else: order alone, or a newer redlock's
 *
 * No resource's name begins with "libredlock:" (lib/redis/command.h). Pure.
 *
 * Failure mode: any other name with that prefix is RL_KEY_BESIDE, and its value is not read. */
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
    const char *resource; /* the resource's name, within the key's */
    size_t length;
};

/* name: any bytes. key refers to them. */
void rl_key_read(const char *name, size_t length, struct rl_key *key);

#define RL_SEEN_FOR_EVER INT64_C(-1) /* the key never ends */
#define RL_SEEN_READERS_MAX 64       /* leases of one resource that are read: the last to end */
#define RL_SEEN_KICKS_MAX 5

/* A member of a sorted set. */
struct rl_member {
    const char *text;
    int64_t ms; /* of a lease: its remaining time; in a line: the time waited */
};

/* One key. Its pointers refer to the node's memory. */
struct rl_seen {
    const char *resource;
    uint32_t length;
    uint16_t slot;
    uint8_t kind;              /* enum rl_key_kind */
    bool is_gone;              /* it expired while it was read, or has no information */
    bool is_other;             /* not a string: its type is requested */
    int64_t remaining_ms;      /* LOCK, SLOT */
    uint64_t number;           /* FENCE, PERMITS: the number; READERS, LINE: how many */
    const char *value;         /* LOCK, SLOT: its first 106 bytes; or the type, "(hash)" */
    struct rl_member *members; /* READERS; LINE: the first; KICKS: oldest first */
    size_t n_members;
};

/* How the guard of a client that is opened now would judge the node. */
enum rl_seen_standing {
    RL_NODE_VOTES,
    RL_NODE_IN_QUARANTINE, /* votes_in_ms */
    RL_NODE_UNFIT,         /* why: it is a replica, loading, or may evict keys */
    RL_NODE_UNKNOWN        /* INFO is forbidden, or the node is down */
};

struct rl_scan;

struct rl_seen_node {
    struct rl_wire *wire;
    const struct rl_scan *scan; /* the scan that reads the node */
    bool is_member;             /* the node decides about some resources (wire/members.c) */
    bool is_up;                 /* connected, authenticated, and answering */
    bool is_whole;              /* all its keys were read, up to the limit */
    bool is_cut;                /* it has more keys than the limit */
    char why[RL_WIRE_TEXT_MAX]; /* why not is_up, or not is_whole */

    struct rl_memory memory;
    struct rl_seen *seen; /* sorted by name, kind, slot */
    size_t n, room;

    uint64_t keys;    /* that SCAN returned */
    uint64_t others;  /* of these: strings without a ttl, and keys that are not a lock of any
                         library */
    uint64_t refused; /* of these: keys that this user may not read */
    char refusal[RL_WIRE_TEXT_MAX]; /* the node's error for the first of them */
    uint64_t calls;                 /* of SCAN */
    int64_t asked;                  /* commands that this look has sent to the node */
    double took_ms;

    struct rl_wire_clock clock;
    bool has_info;
    char no_info[RL_WIRE_TEXT_MAX];
    struct rl_wire_info info;
    struct rl_guard *guard; /* its state carries over from sweep to sweep */
    enum rl_seen_standing standing;
    const char *unfit; /* "replica", "loading", "evicts" */
    int64_t votes_in_ms;
    int64_t turns;  /* ZPOPMIN: the command that hands a lock to the next client, see list.c */
    int64_t stored; /* keys in this database, as the node reports; -1: it does not */
};

#define RL_SLICE_MAX 512

struct redisReply;

struct rl_slice {
    struct rl_seen_node *node;
    double now_us; /* by the node's clock */

    const struct redisReply *names[RL_SLICE_MAX]; /* of the keys whose answers are outstanding */
    size_t first, n;                              /* the same, in node->seen */
    size_t bytes;
    uint64_t until_ns;
};

/* name, the whole key, lives until the slice ends. */
bool rl_slice_add(struct rl_slice *s, const struct rl_key *key, const struct redisReply *name);
/* Reads the remaining answers. Drops keys without information from node->seen. */
bool rl_slice_end(struct rl_slice *s);

/* -- list.c -- */

enum rl_lock_class {
    RL_LOCK_HELD,     /* by a quorum */
    RL_LOCK_FREE,     /* clients wait for it, or it is reserved for one of them */
    RL_LOCK_LEFTOVER, /* only tokens, or leases, without a quorum */
    RL_LOCK_FOREIGN,  /* of another library, possibly without a quorum */
    RL_LOCK_KICKED,   /* only notes of kicks */
    RL_LOCK_STRAY,    /* only keys on nodes that do not decide about it */
    RL_LOCK_CLASSES
};

enum rl_lock_mode { RL_LOCK_EXCLUSIVE, RL_LOCK_SHARED, RL_LOCK_PERMITS };

/* One holder, or the left-over tokens of one. */
struct rl_holding {
    const char *token;  /* "": another library's */
    const char *holder; /* its name ("": none), or another library's value */
    int slot;           /* of a semaphore; else -1 */
    uint32_t votes;     /* nodes that have it */
    bool has_quorum;
    int64_t remaining_ms; /* on a quorum; without one, on the node where it lives longest */
    uint64_t fence;       /* the latest of this lock or slot; 0: none */
    int64_t age_ms;       /* since the fence was granted; -1: unknown */
};

struct rl_lock {
    const char *name;
    size_t length;
    enum rl_lock_class class;
    enum rl_lock_mode mode;
    const struct rl_holding *holdings; /* those with a quorum first */
    size_t n_holdings;
    uint64_t holders;     /* with a quorum; there may be more readers than are listed */
    uint32_t nodes;       /* how many nodes decide about it */
    uint32_t needed;      /* the fewest of them that make a quorum */
    rl_mask strays;       /* other nodes that have a key of it, as bits */
    const char *set;      /* the name of its set, of the new one during a change; "": none */
    uint32_t permits;     /* of a semaphore, as a node keeps it; 0: no node does */
    uint32_t votes;       /* the fewest of the holdings with a quorum; without a quorum, the most */
    int64_t remaining_ms; /* the longest of the holdings; or RL_SEEN_FOR_EVER; 0: there is none */
    uint64_t fence;
    int64_t age_ms;                    /* the longest of the holdings; -1: unknown */
    uint64_t waiting, waiting_shared;  /* clients that wait, and how many of them to read */
    int64_t waited_ms;                 /* the longest wait */
    const char *next;                  /* the client that has waited longest, as in its line; "":
                                          none */
    const struct rl_kick_notes *kicks; /* of the first lock of a name; NULL: there are none */
};

struct rl_list {
    struct rl_memory memory;
    struct rl_lock *locks;
    size_t n, room;
    size_t counts[RL_LOCK_CLASSES];
    uint64_t waiting;
};

/* Sorts a node's keys into the order that rl_list_merge() needs. */
void rl_list_prepare(struct rl_seen_node *node);

/* list: freed, or zeroed. wall_us: the wall-clock time. The data that nodes refer to must live
 * on. */
void rl_list_merge(struct rl_list *list, const struct rl_seen_node *nodes, size_t n,
                   const struct rl_members *members, int64_t wall_us);

void rl_list_free(struct rl_list *list);

/* Compares bytes; a prefix comes before longer names. */
int rl_list_compare_names(const char *x, size_t x_length, const char *y, size_t y_length);

/* -- cells.c -- */

/* The choices of --sort, in this order (RL_ARGS_ORDERS). */
enum rl_list_order {
    RL_ORDER_NAME,
    RL_ORDER_HOLDER,
    RL_ORDER_VOTES,   /* the fewest first */
    RL_ORDER_FENCE,   /* the latest first */
    RL_ORDER_AGE,     /* the longest first */
    RL_ORDER_LEFT,    /* the shortest first */
    RL_ORDER_WAITING, /* the most first */
    RL_ORDER_LONGEST, /* the longest wait of a first client, first */
    RL_ORDERS
};

/* By class, then by order, then by name. */
void rl_list_sort(struct rl_list *list, enum rl_list_order order);

/* A lock as text, cell by cell: what ls and top show in their columns. All texts are safe for a
 * terminal: unprintable bytes from a node are shown as '?'. */

#define RL_CELL_NAME_MAX 1025

enum rl_cell {
    RL_CELL_SET,
    RL_CELL_MODE,
    RL_CELL_HOLDER,
    RL_CELL_VOTES,
    RL_CELL_FENCE,
    RL_CELL_AGE,
    RL_CELL_LEFT,
    RL_CELL_WAITING,
    RL_CELL_LONGEST,
    RL_CELLS
};

struct rl_cells {
    char name[RL_CELL_NAME_MAX];
    const char *text[RL_CELLS]; /* valid as long as an rl_text() */
};

/* The heads of the columns. */
extern const char *const rl_cell_heads[RL_CELLS];

void rl_cells_fill(struct rl_cells *cells, const struct rl_lock *lock);

/* "exclusive", "shared" or "permits". */
const char *rl_cells_mode(enum rl_lock_mode mode);

/* -- scan.c -- */

/* The nodes, connected or not. */
struct rl_scan {
    struct rl_wires wires;
    struct rl_guard guards[REDLOCK_NODES_MAX];
    int samples; /* of a node's clock */
    bool stays;  /* the nodes stay connected, for another look */
};

struct rl_sweep {
    struct rl_seen_node *nodes;
    size_t n;
    const struct rl_members *members; /* valid until the next sweep of this scan */
    bool are_divided;                 /* the nodes belong to different sets of sets */
    struct rl_list list;              /* by name */
    size_t whole;                     /* nodes whose keys were all read */
    double took_ms;
};

/* --prefix and --max-keys limit what is read. Returns 0, or reports an error and returns the exit
 * status; call rl_wires_close(&scan->wires) in any case. */
int rl_scan_open(struct rl_scan *scan, const struct rl_args *args, int samples, bool stays);
/* sweep: zeroed, or an earlier one of the same scan. */
void rl_scan_sweep(struct rl_scan *scan, struct rl_sweep *sweep);
void rl_sweep_free(struct rl_sweep *sweep);

/* Makes one sweep, calls show(sweep, data), and returns its exit status. */
int rl_scan_once(const struct rl_args *args, int samples,
                 int (*show)(struct rl_sweep *sweep, void *data), void *data);

/* Whether a majority of each set was read: without it, no lock can be shown as held. If not,
 * reports where not, and what it is needed for. */
bool rl_sweep_has_quorum(const struct rl_sweep *sweep, const char *purpose);

#endif
