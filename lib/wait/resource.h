/* The resources that the locks of a client are of: each once, however many locks are of it, with
 * the line of those who want it (core/waitlist.h). A hash table that grows with the locks.
 *
 * Who reads and who writes stand in lines of their own (modes, redis/command.h), and the nodes
 * decide between the two, as between two clients. So a resource is a name and a kind: what is here
 * twice, once for each kind, has one name on the nodes, and one home.
 *
 * Where other clients were seen to want a resource, it outlives its last lock: whoever makes a lock
 * for each use and frees it behind the release would forget at once that others wait, and pass them
 * again and again. The last RL_RESOURCES_KEPT of those are kept, without a reference; the signs
 * themselves expire (core/line.h), so that nobody has to look at them.
 *
 * Failure modes: no memory for a resource, and the lock is not made; no memory for a larger table,
 * and looking up becomes slower; more contended resources in turn than are kept, each with a lock
 * for each use, and the first release of each may be passed by a newcomer again.
 */
#ifndef RL_RESOURCE_H
#define RL_RESOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/memory.h"
#include "core/deadline.h"
#include "core/line.h"
#include "core/waitlist.h"
#include "redis/command_data.h"

#define RL_RESOURCES_KEPT 256u

struct rl_resource {
    struct rl_resource *next; /* in its chain */
    struct rl_resources *table;
    struct rl_waitlist turns;    /* of this client's locks */
    struct rl_line line;         /* their place among all clients, see line.h */
    struct redlock_lock *placed; /* ... which has its holder's name; a reference, NULL: no place */
    struct rl_link waits;        /* while they are in line: in the client's */
    struct rl_link passed;       /* see struct rl_lines */
    uint32_t listens;            /* nodes that are listened to for this resource, as a mask */
    uint32_t passed_by;          /* nodes that have said that their key has the place's token */
    char *successor; /* who comes next when a lock of ours goes; NULL or "": it is not known */
    struct rl_deadline due; /* whatever the line waits for */
    struct rl_subscription
        *subscription; /* if releases of it are listened for (notification.h), or NULL */
    uint64_t hash;
    uint64_t home_hash;  /* the same for all clients and kinds */
    uint32_t references; /* 0: it is kept */
    uint32_t kept_at;    /* ... here */
    uint32_t kind;       /* rl_resource_kind() */
    uint32_t length;
    char bytes[];
};

/* enum rl_mode; of a semaphore also how many permits each takes, of how many: who wants another
 * number waits on its own, and does not share a hold. */
static inline uint32_t rl_resource_kind(uint8_t mode, uint8_t take, uint16_t permits) {
    return (uint32_t)permits << 16 | (uint32_t)take << 8 | mode;
}

static inline uint8_t rl_resource_take(const struct rl_resource *resource) {
    return (uint8_t)(resource->kind >> 8);
}

/* All zero but `memory`, `due` and `seed`: empty. */
struct rl_resources {
    const redlock_allocator *memory;
    rl_due_cb due; /* of each resource's deadline */
    struct rl_resource **chains;
    uint64_t seed; /* any number: names that share a chain in one client do not in another */
    uint32_t chain_count;
    uint32_t count;
    uint32_t kept_count;
    uint32_t kept_next; /* where the oldest of those kept is, if no place is free */
    struct rl_resource *kept[RL_RESOURCES_KEPT];
};

/* A reference to the resource of this kind and name, which is made if there is none; NULL without
 * memory. */
struct rl_resource *rl_resource_get(struct rl_resources *table, uint32_t kind, const void *bytes,
                                    size_t length);

/* The resource of this kind and name, or NULL; no reference is added. */
struct rl_resource *rl_resource_find(const struct rl_resources *table, uint32_t kind,
                                     const void *bytes, size_t length);

void rl_resource_put(struct rl_resources *table, struct rl_resource *resource);

/* Who comes next; "": nobody, or it is not known any more. Without memory it is not known. */
void rl_resource_set_successor(struct rl_resource *resource, const char *value);

/* Frees the table and what is kept; every reference has been put back. */
void rl_resources_free(struct rl_resources *table);

#endif
