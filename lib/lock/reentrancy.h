/* Reentrancy: how lock objects of one owner join and leave one shared hold (life.h).
 *
 * The hold is released on the nodes when no object uses it any more, even if its primary was
 * released, or freed, long before.
 *
 *     a: acquire (owner 7) ---- granted ---------- release -> a is not held, its core goes on
 *     b:             acquire (owner 7) -- granted at once ------------- release -> on the nodes
 *
 * Failure modes: if the hold is lost, the on_lost of each user runs; if it is lost between an
 * acquire that joins and its callback, the callback says so; a user is freed or the client is
 * closed.
 *
 * Can a hold be left behind with no user? No: every way out of using it (release, free, cancel,
 * close) goes through leave(), which releases the hold if that was the last.
 */
#ifndef RL_LOCK_REENTRANCY_H
#define RL_LOCK_REENTRANCY_H

#include "client/state.h"

/* The primary of this owner's hold of these resources, or NULL. *why: 0, or why the owner's hold
 * cannot be shared: PART_HELD (it covers only some of the resources, or others too), WOULD_DEADLOCK
 * (it is a reader's, and this lock would wait for it to end). */
redlock_lock *rl_reentrancy_find(redlock_lock *lock, uint64_t owner, int *why);

/* The acquire that was just submitted for lock succeeds by joining. */
void rl_reentrancy_join(redlock_lock *lock, redlock_lock *primary);

/* The lock's own acquire was reported: pending acquires of its owner, in either mode, join it, or
 * fail because they would wait for it. */
void rl_reentrancy_admit(redlock_lock *primary);

/* Performs the release that was just submitted for lock. */
void rl_reentrancy_release(redlock_lock *lock);

/* The only user of the hold disowns it. Returns false if the hold has been lost by now. */
bool rl_reentrancy_disown(redlock_lock *lock);

/* Cancels a pending join. Returns false if there is none. */
bool rl_reentrancy_cancel(redlock_lock *lock);

/* The object is freed, or the client is closed: ends all its operations and its use of a hold. */
void rl_reentrancy_abandon(redlock_lock *lock);

/* -- Lingering --
 *
 * A lock that was released stays on the nodes for a while, so that its next acquire needs no round
 * trip (linger_ms).
 *
 *     held -- release --> lingers -- acquire --> held      the same hold: its token, its validity
 *                            |
 *                            +-- recalled, or over --> released in the background
 *
 * Happy path: the release is answered at once, and the core goes on holding, for nobody (life.h).
 * For the user the lock is not held: it is not valid, and cannot be extended or released. The next
 * acquire of the object, with the same options, is answered at once, too. That goes on until
 * linger_ms after the first of these releases; a release after that goes to the nodes.
 *
 * It ends early when another client wants the lock: home notifies the holder of the first in line
 * (wait/hear.h), and the release passes the keys on to that client. It also ends when
 * another lock object of this client wants the resource, when this client may no longer hear of
 * others, when the object is freed or used for something else, and when the client is closed.
 *
 * Failure modes: too little validity is left for a useful hold, since a lingering lock is not
 * extended: it is released, and the acquire asks the nodes. The program blocks the loop, or its
 * process is stopped: the keys expire as those of any hold. A client that does not stand in line
 * (another library's, one with a single try) is refused meanwhile and recalls nothing. Home's
 * message was published before this client listened there, or to another home than this client
 * computes: then the lock goes to the client that waits when linger_ms is over.
 *
 * Can two hold it? No: for the nodes and for the core it is one hold with one token, and its
 * validity is proved as ever (core/lock.h, 1). An acquire that goes on with it is a join of that
 * hold (reentrancy.h): the clock is looked at by both, and a loss in between fails the acquire.
 *
 * Can a key be orphaned? No: the core holds, with a deadline before its loss, and each end above is
 * RL_EV_ABANDON or the loss, which release everywhere, as they do for a lock that is freed.
 *
 * Can a callback be missed or run twice? No: the release ends its operation here instead of
 * stepping the core, in which no operation is pending; the acquire ends as a join does. What the
 * core does meanwhile has no user to report to (depth is 0).
 *
 * Can a client that waits be kept waiting for ever? No: acquires do not prolong the time, which is
 * over linger_ms after the first release. A lock does not linger at all if another client was seen
 * to want it, or if the client began to listen only after the attempt that won the hold had begun.
 */

/* Prepares for a new hold, which may linger for up to ms. */
void rl_linger_reset(redlock_lock *lock, uint32_t ms);

/* Whether an acquire with these options can go on with the hold that lingers. rl_linger_resume()
 * makes the operation that was submitted do so. */
bool rl_linger_suits(const redlock_lock *lock, const struct rl_acquire *acquire, uint32_t ms);
void rl_linger_resume(redlock_lock *lock);

/* Releases the lock if it lingers. rl_linger_recall() releases all locks of this client that linger
 * on one of its resources. */
void rl_linger_end(redlock_lock *lock);
void rl_linger_recall(const redlock_lock *lock);

#endif
