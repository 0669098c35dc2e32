/* Semaphores: k permits of a resource, on a quorum of nodes. redlock.h has the common rules
 * (callbacks, waiting, threads, NULL, messages, sizes, units).
 *
 *     redlock_lock_new_with(), with options.permits = k -> redlock_acquire() -> work
 *         -> redlock_release()
 *
 * A lock object with `permits` is a holder of one permit, or of several (`take`). It supports
 * everything that a lock does: it waits in turn, is extended, is lost at the end of its validity,
 * has a fence, and is adopted by its token. A program that wants several permits one by one makes
 * several lock objects.
 *
 * Each permit is a slot with a number from 0 to k - 1, which no other holder has at the same time:
 * a worker's id, a shard, a port. redlock_lock_slot() returns it.
 *
 * At most k hold, by the same argument as for a lock: a slot is a lock (docs/waiting.md).
 * A counter on each node would not do: five nodes that grant two permits each have ten votes,
 * enough for three holders with a majority each.
 *
 * An acquire asks one node, home, which slots are free, and then all nodes for these: two round
 * trips. If none is free it waits in turn with all clients that wait for permits of the resource.
 * A client that waits for several permits blocks those behind it until they are free: otherwise
 * clients that want one permit each could keep it waiting for ever.
 *
 * With a single try (tries = 1), REDLOCK_ERR_HELD says that home had fewer free slots than the lock
 * takes, or that others wait for them, or that other nodes refused the slots that home named. A
 * slot counts as taken while home reserves it for another client to which it has named it, for 250
 * ms, even if that client does not take it. The acquire waits for this client's own earlier
 * releases, which therefore count; a release of another client that has not reached home does not.
 *
 * k is the same for all clients. The nodes keep it for a day after the last acquire. While a permit
 * is in use, an acquire with another k ends with REDLOCK_ERR_PERMITS if too few nodes for a quorum
 * have the same k, and its message has both numbers. (An extension does not count as an acquire. If
 * all holders have held for longer than a day, another k is accepted.)
 * redlock_set_permits() changes it.
 *
 * A resource's permits and a lock of the same resource are independent.
 */
#ifndef REDLOCK_SEMAPHORE_H
#define REDLOCK_SEMAPHORE_H

#include "redlock/token.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The slot of a permit: number `index` of those that the last grant has (of `take`, from 0). Also
 * after the lock was lost or released; REDLOCK_NO_SLOT while it is being acquired, if the last
 * acquire failed, if there are not so many, and of a lock without `permits`. Since 0.1. */
REDLOCK_API int32_t redlock_lock_slot(const redlock_lock *lock, size_t index);

/* Names the slots of a token, before redlock_adopt() or redlock_release_token(): a token alone does
 * not say which of them it was granted. n: as many as the lock takes, each below its permits, in
 * any order, none twice.
 *
 * Returns 0, REDLOCK_ERR_INVALID (redlock_lock_message() says what is wrong; also of a lock without
 * `permits`), REDLOCK_ERR_BUSY, REDLOCK_ERR_ALREADY_HELD, REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED.
 * Since 0.1. */
REDLOCK_API int redlock_lock_set_slots(redlock_lock *lock, const int32_t *slots, size_t n);

/* Sets the number of permits of a semaphore, for all clients: 1 to REDLOCK_PERMITS_MAX. Lock
 * objects keep their number, and their acquires end with REDLOCK_ERR_PERMITS while others hold
 * permits: make new ones. Held permits stay held. If the number is raised, the new slots are
 * available at once, also to waiting clients with the new number. If it is lowered, the slots above
 * are no longer granted, and more than k are held until their holders have released them.
 *
 * The callback's status, as of a query: 0, a quorum of nodes has the new number, and a node that
 * has not is skipped, and adopts it as soon as no permit is held there; REDLOCK_ERR_NO_QUORUM,
 * fewer answered (call again: nodes without an answer may have changed it); REDLOCK_ERR_CANCELED,
 * the client was closed. redlock_query_node() returns each node's status.
 *
 * Returns 0, REDLOCK_ERR_INVALID (an argument is NULL or out of range), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM. Since 0.1. */
REDLOCK_API int redlock_set_permits(redlock_client *client, const void *resource, size_t length,
                                    int32_t permits, redlock_query_cb on_done, void *data);

/* Asks every node for the holders of a semaphore's permits; changes nothing. max: slots 0 to max -
 * 1 are queried, 1 to REDLOCK_PERMITS_MAX. The callback and its status: as for
 * redlock_query_holder(), and redlock_query_node() says which nodes have answered for all their
 * slots. After a node's first answer these are requested, as long as an answer comes in each
 * node_timeout_ms, and for 16 times that at most; a permit that changes hands meanwhile may be
 * missing.
 * Slots above a number of permits that was lowered are found, too. While the query is pending it
 * takes about half a kilobyte for each of the max slots and each node. Where users are restricted
 * by an ACL, this needs GET, EXISTS, PTTL, GETRANGE and the keys "libredlock:permits:*",
 * "libredlock:slot:*" in scripts.
 *
 * Returns as redlock_query_waiters(). Since 0.1. */
REDLOCK_API int redlock_query_slots(redlock_client *client, const void *resource, size_t length,
                                    size_t max, redlock_query_cb on_done, void *data);

/* The number of permits that node number index of redlock_query_node() keeps; 0: none, or it has
 * not answered. Nodes may disagree for a moment after redlock_set_permits(), or for longer if it
 * did not reach them. Since 0.1. */
REDLOCK_API int32_t redlock_query_permits(const redlock_query *query, size_t index);

/* A slot that is held or reserved. Begin with REDLOCK_SLOT_INIT. */
typedef struct redlock_slot {
    size_t size;          /* set by the initializer */
    int32_t number;       /* from 0 */
    const char *token;    /* "" if it is reserved, or its value is not of this library's kind */
    const char *holder;   /* as in redlock_node_holder */
    size_t votes;         /* of how many nodes; one server has one. Fewer than a quorum: not held */
    int64_t remaining_ms; /* until fewer than a quorum have it; 0: fewer have it now; -1: for ever.
                           * Of a reservation: until it ends */
    uint64_t fence;       /* the last that the nodes know of this slot: the holder's, if it acquired
                           * with `fencing`, else one before it had; 0: none */
    int is_reserved;      /* 1: for the next in line; no client holds it */
} redlock_slot;

#define REDLOCK_SLOT_INIT \
    { sizeof(redlock_slot), 0, NULL, NULL, 0, 0, 0, 0 }

/* REDLOCK_SLOT_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_slot_init(redlock_slot *slot, size_t size);

/* Number index of the slots that are held or reserved, in the order of their numbers, by a query
 * for slots. Where nodes have several holders in one, that of most nodes. The strings are valid
 * during the callback. Returns 0, or REDLOCK_ERR_INVALID (NULL, there are not so many, size
 * unknown). Since 0.1. */
REDLOCK_API int redlock_query_slot(const redlock_query *query, size_t index, redlock_slot *slot);

/* Asks every node for the waiters for permits, as redlock_query_waiters() does for a lock: the
 * answers are read by redlock_query_waiting() and redlock_query_waiter(), the next one first, and
 * redlock_waiter.take says how many permits each wants. Since 0.1. */
REDLOCK_API int redlock_query_permit_waiters(redlock_client *client, const void *resource,
                                             size_t length, size_t max, redlock_query_cb on_done,
                                             void *data);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_SEMAPHORE_H */
