/* The resources of a client's locks: each once, however many locks it has, with the waitlist of the
 * locks that want it (core/waitlist.h). A hash table that grows with the locks.
 *
 * Readers and writers stand in separate lines (modes, redis/command.h), and the nodes decide
 * between the two, as between two clients. So a resource is a name and a kind: two resources that
 * differ only in kind have one name on the nodes, and one home.
 *
 * A resource that other clients were seen to want outlives its last lock: a program that makes a
 * lock for each use and frees it after the release would otherwise forget at once that others wait,
 * and overtake them again and again. The last RL_RESOURCES_KEPT of these are kept, without a
 * reference; the signs themselves expire (core/place.h), so nothing has to check them.
 *
 * Most resources are never waited for. What waiting needs is allocated when a lock of ours has to
 * wait for other clients, or a node says that one waits, and freed with the resource.
 *
 * Failure modes: without memory for a resource the lock is not made. Without memory for what
 * waiting needs, its locks do without the line, and do not learn of others. Without memory for a
 * larger table look-ups become slower. If more contended resources are used in turn than are kept,
 * with a lock made for each use, the first release of each may again let a newcomer overtake.
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

/* What a resource needs as soon as other clients want it: the place of this client's locks among
 * all clients, and what is known of the others. */
struct rl_wait {
    struct rl_resource *resource;
    struct rl_place place;       /* see core/place.h */
    struct redlock_lock *placed; /* has the place's holder's name; a reference, NULL: no place */
    struct rl_link waits;        /* while they are in line: in the client's */
    struct rl_link passed;       /* see struct rl_lines */
    rl_mask listens;             /* nodes that the client listens to for this resource, a mask */
    rl_mask passed_by;           /* nodes that have reported the place's token in their key */
    struct rl_deadline due;      /* whatever the line waits for */
    uint64_t turn_ns;            /* when the place's turn came */
    uint64_t held;               /* the place whose token a lock of ours holds with; 0: none */
    char successor[RL_VALUE_MAX + 1]; /* the client that comes next after ours; "": not known */
};

struct rl_resource {
    struct rl_resource *next; /* in its chain */
    struct rl_resources *table;
    struct rl_waitlist waitlist; /* of this client's locks */
    struct rl_wait *wait;        /* NULL: no other client was seen to want it, so far */
    uint64_t release_until_ns;   /* until when to wait for home's answer to a release; 0: no wait */
    uint64_t look_until_ns; /* until when home may answer a release whose answer the client's next
                               lock did not wait for; it waits the next time, or waiters would be
                               overtaken again and again */
    struct rl_subscription *subscription; /* of its releases (notification.h), or NULL */
    uint64_t home_hash;                   /* the same for all clients and kinds */
    uint32_t references;                  /* 0: it is kept */
    uint32_t kept_at;                     /* its index in rl_resources.kept, while it is kept */
    uint32_t kind;                        /* rl_resource_kind() */
    uint32_t length;
    char bytes[];
};

/* What a lock's ticket is for. */
static inline struct rl_resource *rl_ticket_resource(const struct rl_ticket *ticket) {
    return RL_CONTAINER(ticket->list, struct rl_resource, waitlist);
}

/* enum rl_mode; for a semaphore also how many permits each lock takes, and of how many: locks that
 * want different numbers wait separately, and do not share a hold. */
static inline uint32_t rl_resource_kind(uint8_t mode, uint8_t take, uint16_t permits) {
    return (uint32_t)permits << 16 | (uint32_t)take << 8 | mode;
}

static inline uint8_t rl_resource_take(const struct rl_resource *resource) {
    return (uint8_t)(resource->kind >> 8);
}

/* All zero but `memory` and `seed`: empty. */
struct rl_resources {
    const redlock_allocator *memory;
    struct rl_resource **chains;
    uint64_t seed; /* any number: names share a chain in one client, and not in another */
    uint32_t chain_count;
    uint32_t count;
    uint32_t wait_count; /* those with an rl_wait */
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

/* Its rl_wait, which is made if there is none; NULL without memory. */
struct rl_wait *rl_resource_wait(struct rl_resource *resource);

/* Its line: out, and without signs of others, as long as it has no rl_wait. */
extern const struct rl_place rl_place_out;
static inline const struct rl_place *rl_resource_place(const struct rl_resource *resource) {
    return resource->wait != NULL ? &resource->wait->place : &rl_place_out;
}

/* Frees the table and the kept resources; every reference has been put back. */
void rl_resources_free(struct rl_resources *table);

#endif
