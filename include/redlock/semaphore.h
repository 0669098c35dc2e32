/* Semaphores: k permits of a resource, on a quorum of nodes. What holds for all of it (callbacks,
 * waiting, threads, NULL, messages, sizes, units) is said in redlock.h.
 *
 *     redlock_lock_new_with(), with options.permits = k -> redlock_acquire() -> work
 *         -> redlock_release()
 *
 * A lock object with `permits` is a holder of one permit, or of several (`take`). All that can be
 * done with a lock can be done with it: it waits in turn, is extended, is lost at the end of its
 * validity, has a fence, is adopted by its token. A program that wants several permits one by one
 * makes several lock objects.
 *
 * Each permit is a slot with a number from 0 to k - 1, which no other holder has at the same time:
 * a worker's id, a shard, a port. redlock_lock_slot() tells it.
 *
 * At most k hold, by the same argument as for a lock: a slot is a lock (docs/guarantees.md).
 * Counting permits on each node would not do: five nodes that count two permits each have ten to
 * give, and three holders need nine.
 *
 * An acquire asks one node, home, which slots are free, and then all nodes for these: two round
 * trips. If none is free it waits in turn with all clients that wait for permits of the resource.
 * Who wants several and cannot have them yet keeps those behind it waiting: else many who want one
 * would keep it waiting for ever.
 *
 * With a single try (tries = 1), REDLOCK_ERR_HELD says that home had not as many slots as the lock
 * takes, or that others wait for them, or that other nodes refused those that it named. A slot
 * counts as taken while it is reserved: for a client that home has named it to, which has 250 ms to
 * take it, and may not. A release of this client's own, submitted before, counts: it is
 * waited for. One of another client's that has not reached home does not.
 *
 * k is the same for all clients. The nodes keep it, for a day after the last acquire; while a
 * permit is in use an acquire with another k ends with REDLOCK_ERR_PERMITS, and its message has
 * both numbers: when so many nodes have another one that no quorum is left. (An extension does not
 * count as an acquire. Where all who hold have done so for longer than a day, another k is taken
 * over.) redlock_set_permits() changes it.
 *
 * A resource's permits, and a lock of the same resource, have nothing to do with each other.
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

/* Names the slots that a token is of, before redlock_adopt() or redlock_release_token(): a token
 * alone does not say which of them it was granted. n: as many as the lock takes, each below its
 * permits, in any order, none twice.
 *
 * Returns 0, REDLOCK_ERR_INVALID (redlock_lock_message() says what is wrong; also of a lock without
 * `permits`), REDLOCK_ERR_BUSY, REDLOCK_ERR_ALREADY_HELD, REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED.
 * Since 0.1. */
REDLOCK_API int redlock_lock_set_slots(redlock_lock *lock, const int32_t *slots, size_t n);

/* How many permits a semaphore has from now on, for all clients: 1 to REDLOCK_PERMITS_MAX. Lock
 * objects keep their number, and their acquires end with REDLOCK_ERR_PERMITS while others hold
 * permits: make new ones. What is held stays held. Raised: the new slots are given at once, also to
 * those that wait and ask for as many. Lowered: the slots above are given no more, and until
 * their holders have released them more than k hold.
 *
 * The callback's status, as of a query: 0, a quorum of nodes has the new number, and one that has
 * not is passed over, and takes it over as soon as nobody has a permit there;
 * REDLOCK_ERR_NO_QUORUM, fewer answered (ask again: it may be done where no answer came);
 * REDLOCK_ERR_CANCELED, the client was closed. redlock_query_node() of the query tells each node's
 * status.
 *
 * Returns 0, REDLOCK_ERR_INVALID (an argument is NULL or out of range), REDLOCK_ERR_CLOSED,
 * REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM. Since 0.1. */
REDLOCK_API int redlock_set_permits(redlock_client *client, const void *resource, size_t length,
                                    int32_t permits, redlock_query_cb on_done, void *data);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_SEMAPHORE_H */
