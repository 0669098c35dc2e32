/* The resources of a client's locks, in a hash table that grows with the locks: one entry per
 * resource, with the waitlist of the locks that want it (core/waitlist.h).
 *
 * Readers and writers stand in separate lines (modes, redis/command.h), and the nodes decide
 * between the two as between two clients. So a resource is a name and a kind: two resources that
 * differ only in kind share a name on the nodes, and a home.
 *
 * A resource that other clients were seen to want outlives its last lock: a program that makes a
 * lock for each use and frees it after the release would otherwise forget at once that others wait,
 * and overtake them again and again. The table keeps the last RL_RESOURCES_KEPT of these, without a
 * reference; the signs expire by themselves (core/place.h).
 *
 * Most locks never wait. The memory for waiting (rl_wait) is allocated when a lock of ours must
 * wait for other clients, or a node reports a waiting client, and freed with the resource.
 *
 * Failure modes: without memory for a resource, the lock is not made. Without memory for its
 * rl_wait, its locks do without the line, and do not learn of other clients. Without memory for a
 * larger table, look-ups become slower. If a program makes a lock for each use and alternates
 * between more contended resources than are kept, the first release of each may again let a
 * newcomer overtake.
 */
#ifndef RL_RESOURCE_H
#define RL_RESOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/memory.h"
#include "core/deadline.h"
#include "core/place.h"
#include "core/waitlist.h"
#include "redis/command.h"

#define RL_RESOURCES_KEPT 256u

/* A resource that other clients want: the place of this client's locks among all clients, and the
 * signs of the others. */
struct rl_wait {
    struct rl_resource *resource;
    struct rl_place place;       /* see core/place.h */
    struct redlock_lock *placed; /* has the place's holder name; a reference; NULL: no place */
    struct rl_link waits;        /* while they are in line: in the client's */
    struct rl_link passed;       /* see struct rl_lines */
    rl_mask listens;             /* nodes that the client listens to for this resource, a mask */
    rl_mask passed_by;           /* nodes that have reported a key with the place's token */
    struct rl_deadline due;      /* the line's next deadline */
    uint64_t turn_ns;            /* when the place's turn came */
    uint64_t held;               /* the place by whose token a lock of ours holds; 0: none */
    char successor[RL_VALUE_MAX + 1]; /* the client after ours; "": unknown */
};

struct rl_resource {
    struct rl_resource *next; /* in its chain */
    struct rl_resources *table;
    struct rl_waitlist waitlist; /* of this client's locks */
    struct rl_wait *wait;        /* NULL: no other client was seen to want it yet */
    uint64_t release_until_ns;   /* when the wait for home's answer to a release ends; 0: no wait */
    /* until when home may answer a release that the client's next lock did not await; the lock
     * after it waits, or waiters would be overtaken again and again */
    uint64_t look_until_ns;
    struct rl_subscription *subscription; /* of its releases (notification.h), or NULL */
    uint64_t home_hash;                   /* the same for all clients and kinds */
    uint32_t references;                  /* 0: it is kept */
    uint32_t kept_at;                     /* its index in rl_resources.kept, while it is kept */
    uint32_t kind;                        /* rl_resource_kind() */
    uint32_t length;
    char bytes[];
};

/* The resource of a lock's ticket. */
static inline struct rl_resource *rl_ticket_resource(const struct rl_ticket *ticket) {
    return RL_CONTAINER(ticket->list, struct rl_resource, waitlist);
}

/* The mode (enum rl_mode); for a semaphore also how many permits each lock takes, and of how many.
 * Locks with different numbers wait separately, and do not share a hold. */
static inline uint32_t rl_resource_kind(uint8_t mode, uint8_t take, uint16_t permits) {
    return (uint32_t)permits << 16 | (uint32_t)take << 8 | mode;
}

static inline uint8_t rl_resource_take(const struct rl_resource *resource) {
    return (uint8_t)(resource->kind >> 8);
}

/* Empty if all but `memory` and `seed` is zero. */
struct rl_resources {
    const redlock_allocator *memory;
    struct rl_resource **chains;
    uint64_t seed; /* any number; makes chains differ between clients */
    uint32_t chain_count;
    uint32_t count;
    uint32_t wait_count; /* resources with an rl_wait */
    uint32_t kept_count;
    uint32_t kept_next; /* index of the oldest kept resource, if no slot is free */
    struct rl_resource *kept[RL_RESOURCES_KEPT];
};

/* Returns a reference to the resource of this kind and name; makes it if there is none. NULL: no
 * memory. */
struct rl_resource *rl_resource_get(struct rl_resources *table, uint32_t kind, const void *bytes,
                                    size_t length);

/* The resource of this kind and name, or NULL; adds no reference. */
struct rl_resource *rl_resource_find(const struct rl_resources *table, uint32_t kind,
                                     const void *bytes, size_t length);

void rl_resource_put(struct rl_resources *table, struct rl_resource *resource);

/* Returns its rl_wait; makes it if there is none. NULL: no memory. */
struct rl_wait *rl_resource_wait(struct rl_resource *resource);

/* Its place in line; without an rl_wait it is out, and has no signs of others. */
extern const struct rl_place rl_place_out;
static inline const struct rl_place *rl_resource_place(const struct rl_resource *resource) {
    return resource->wait != NULL ? &resource->wait->place : &rl_place_out;
}

/* Frees the table and the kept resources, when no references are left. */
void rl_resources_free(struct rl_resources *table);

#endif
