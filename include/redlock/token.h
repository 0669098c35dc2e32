/* Locks by their token: handed from one process to another, released by a script.
 *
 * The token is what a lock is on the nodes. Whoever has it can go on holding the lock, or end it:
 *
 *     process A: redlock_acquire(), redlock_lock_token(), redlock_disown()
 *     process B: redlock_adopt() with that token, work, redlock_release()
 *
 * Failure modes: nobody adopts, and the keys end by their ttl. Two processes adopt one token: they
 * are one holder for the nodes, and nothing keeps them apart; hand a token to one.
 *
 * Threads, units and the callback contract: as in redlock.h.
 */
#ifndef REDLOCK_TOKEN_H
#define REDLOCK_TOKEN_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes over a lock that is held by its token, for instance in another process: extends it on every
 * node and, if a quorum renewed it, holds it from now on as if it had been acquired. The lock must
 * be of the same resources and have the same holder. options: as for redlock_acquire(); tries,
 * wait_ms, delay_ms, jitter_ms and owner have no meaning here. The callback's status:
 *     0                       the lock is held
 *     REDLOCK_ERR_LOST        too many nodes answered that the token is not there
 *     REDLOCK_ERR_NO_QUORUM   too many nodes did not answer
 *     REDLOCK_ERR_EXPIRED     a quorum renewed it too late
 *     REDLOCK_ERR_CANCELED    as for redlock_acquire()
 * After an error nothing is released: it may be held by whoever else has the token.
 *
 * Returns as redlock_acquire(); REDLOCK_ERR_INVALID also if token is not REDLOCK_TOKEN_LENGTH hex
 * digits, REDLOCK_ERR_BUSY also while another lock of this client holds the resource or asks for
 * it. Since 0.1. */
REDLOCK_API int redlock_adopt(redlock_lock *lock, const char *token,
                              const redlock_acquire_options *options, redlock_lock_cb on_done,
                              void *data);

/* The opposite: the lock is not held by this object any more, but its keys stay until their ttl
 * ends, and whoever has the token can adopt or release it. An extension under way ends with
 * REDLOCK_ERR_CANCELED. on_lost does not run.
 *
 * Returns 0, REDLOCK_ERR_NOT_HELD, REDLOCK_ERR_BUSY (shared by other objects of its owner),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_disown(redlock_lock *lock);

/* Releases by its token what this object does not hold: on every node the keys are deleted if they
 * have the token. redlock_lock_outcome() tells for each node whether it was there. The callback's
 * status and the errors: as for redlock_release(), and REDLOCK_ERR_ALREADY_HELD, and
 * REDLOCK_ERR_INVALID (token is not REDLOCK_TOKEN_LENGTH hex digits). Since 0.1. */
REDLOCK_API int redlock_release_token(redlock_lock *lock, const char *token,
                                      redlock_lock_cb on_done, void *data);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_TOKEN_H */
