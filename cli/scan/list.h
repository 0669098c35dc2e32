/* Merges what each node has into one list of locks. Pure: no I/O.
 *
 * A lock is held by the client whose token is on a quorum of the nodes that decide about the
 * resource (wire/members.h), including those that are down; by readers if a quorum has it as shared
 * and at least one reader has a lease on a quorum. Slots of a semaphore count like locks. Tokens
 * without a quorum are left over, or belong to an attempt in progress. Any other value belongs to
 * another library. Keys on other nodes than those that decide are strays, and count for nothing.
 *
 * Failure modes: too few nodes were read: nothing has a quorum, and everything is shown as left
 * over. */
#ifndef RL_CLI_SCAN_LIST_H
#define RL_CLI_SCAN_LIST_H

#include "scan/seen.h"
#include "wire/members.h"

enum rl_lock_class {
    RL_LOCK_HELD,     /* by a quorum */
    RL_LOCK_FREE,     /* clients wait for it, or it is kept for one of them */
    RL_LOCK_LEFTOVER, /* tokens, or leases, without a quorum */
    RL_LOCK_FOREIGN,  /* of another library, possibly without a quorum */
    RL_LOCK_KICKED,   /* nothing but the note of a kick */
    RL_LOCK_STRAY,    /* nothing but keys on nodes that do not decide about it */
    RL_LOCK_CLASSES
};

enum rl_lock_mode { RL_LOCK_EXCLUSIVE, RL_LOCK_SHARED, RL_LOCK_PERMITS };

/* One holder, or left-over tokens of one. */
struct rl_holding {
    const char *token;  /* "": another library's */
    const char *holder; /* its name, "": none; or another library's value */
    int slot;           /* of a semaphore, else -1 */
    uint32_t votes;     /* nodes that have it */
    bool has_quorum;
    int64_t remaining_ms; /* on a quorum; without one: on the node where it lives longest */
    uint64_t fence;       /* the last one of this lock or slot; 0: none */
    int64_t age_ms;       /* since the fence was given; -1: not known */
};

struct rl_lock {
    const char *name;
    size_t length;
    enum rl_lock_class class;
    enum rl_lock_mode mode;
    const struct rl_holding *holdings; /* those with a quorum first */
    size_t n_holdings;
    uint64_t holders;     /* with a quorum; there may be more readers than are listed */
    uint32_t nodes;       /* how many decide about it; */
    uint32_t needed;      /* ... and how many of them make a quorum, at least */
    rl_mask strays;       /* others that have a key of it, as bits */
    const char *set;      /* the name of its set, the new one while it is changed; "": none */
    uint32_t permits;     /* of a semaphore, as a node keeps it; 0: none does */
    uint32_t votes;       /* the fewest of those with a quorum; without: the most */
    int64_t remaining_ms; /* the longest of them; RL_SEEN_FOR_EVER; 0: there is none */
    uint64_t fence;
    int64_t age_ms;                   /* the longest of them; -1: not known */
    uint64_t waiting, waiting_shared; /* clients, and how many of them want to read */
    int64_t waited_ms;                /* the longest */
    const char *next;                 /* the member of a line that has waited longest; "": none */
    const char *const *kicks;         /* the notes, oldest first; of the first lock of a name */
    size_t n_kicks;
};

struct rl_list {
    struct rl_memory memory;
    struct rl_lock *locks;
    size_t n, room;
    size_t counts[RL_LOCK_CLASSES];
    uint64_t waiting;
};

/* Sorts what was read of a node into the order that rl_list_merge() needs. */
void rl_list_prepare(struct rl_seen_node *node);

/* list: freed, or zero. wall_us: now, by the wall clock. The data that nodes refer to must live
 * on. */
void rl_list_merge(struct rl_list *list, const struct rl_seen_node *nodes, size_t n,
                   const struct rl_members *members, int64_t wall_us);

void rl_list_free(struct rl_list *list);

/* By their bytes; a shorter one is before those that it begins. */
int rl_list_compare_names(const char *x, size_t x_length, const char *y, size_t y_length);

#endif
