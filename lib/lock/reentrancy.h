/* Reentrancy: how lock objects of one owner join and leave one shared hold (life.h).
 *
 * The hold is released on the nodes when no object uses it any more, even if its primary was
 * released or freed long before.
 *
 *     a: acquire (owner 7) ---- granted ---------- release -> a is not held, its core goes on
 *     b:             acquire (owner 7) -- granted at once ------------- release -> on the nodes
 *
 * Failure modes: if the hold is lost, each user's on_lost runs; if it is lost between an acquire
 * that joins and its callback, the callback reports that; a user is freed, or the client is closed.
 *
 * Can a hold be left behind with no user? No: every way out of using it (release, free, cancel,
 * close) goes through leave(), which releases the hold if that was the last.
 */
#ifndef RL_LOCK_REENTRANCY_H
#define RL_LOCK_REENTRANCY_H

#include "client/state.h"

/* The primary of this owner's hold of these resources, or NULL. *why: 0, or why the owner's hold
 * cannot be shared: PART_HELD (it covers only some of the resources, or others as well),
 * WOULD_DEADLOCK (it is a reader's, and this lock would wait for it to end). */
redlock_lock *rl_reentrancy_find(redlock_lock *lock, uint64_t owner, int *why);

/* Makes the acquire that was just submitted for lock succeed by joining. */
void rl_reentrancy_join(redlock_lock *lock, redlock_lock *primary);

/* The primary's own acquire was reported. Pending acquires of its owner, in either mode, join the
 * hold, or fail because they would wait for it. */
void rl_reentrancy_admit(redlock_lock *primary);

/* Performs the release that was just submitted for lock. */
void rl_reentrancy_release(redlock_lock *lock);

/* The only user of the hold disowns it. Returns false if the hold is already lost. */
bool rl_reentrancy_disown(redlock_lock *lock);

/* Cancels a pending join. Returns false if there is none. */
bool rl_reentrancy_cancel(redlock_lock *lock);

/* The object is freed, or the client is closed: ends all its operations and its use of a hold. */
void rl_reentrancy_abandon(redlock_lock *lock);

/* -- Lingering --
 *
 * A released lock stays on the nodes for linger_ms, so that its next acquire needs no round trip.
 *
 *     held -- release --> lingers -- acquire --> held      the same hold: its token, its validity
 *                            |
 *                            +-- recalled, or over --> released in the background
 *
 * Happy path: the release succeeds at once, and the core keeps holding, without a user (life.h). To
 * the user the lock is not held: it is not valid, and cannot be extended or released. The object's
 * next acquire, with the same options, also succeeds at once. This lasts until linger_ms after the
 * first of these releases; a later release goes to the nodes.
 *
 * Lingering ends early when another client wants the lock: home notifies the holder of the first in
 * line (wait/hear.h), and the release passes the keys to that client. It also ends when another
 * lock object of this client wants the resource, when this client may no longer hear of others,
 * when the object is freed or used for something else, and when the client is closed.
 *
 * Failure modes: a lingering lock is not extended, so too little validity may be left for a useful
 * hold; it is then released, and the acquire asks the nodes. The program blocks the loop, or its
 * process is stopped: the keys expire like any hold's. A client that does not stand in line (of
 * another library, or with a single try) is refused meanwhile and recalls nothing. Home published
 * its message before this client listened there, or another home did than this client computes: the
 * waiting client gets the lock when linger_ms is over.
 *
 * Can two clients hold it? No: to the nodes and to the core it is one hold with one token, and the
 * usual proof of validity applies (core/lock.h, 1). An acquire that resumes it joins that hold:
 * both the acquire and its callback check the clock, and a loss in between fails the acquire.
 *
 * Can a key be orphaned? No: the core holds, with a deadline before its loss, and each end above is
 * RL_EV_ABANDON or the loss, which release everywhere, as for a lock that is freed.
 *
 * Can a callback be missed or run twice? No: the release ends its operation here instead of
 * stepping the core, in which no operation is pending; the acquire ends as a join does. Meanwhile
 * the core has no user to report to (depth is 0).
 *
 * Can a waiting client wait for ever? No: acquires do not prolong the time, which ends linger_ms
 * after the first release. A lock does not linger at all if another client was seen to want it, or
 * if this client began to listen only after the winning attempt had begun.
 */

/* Prepares for a new hold, which may linger for up to ms. */
void rl_linger_reset(redlock_lock *lock, uint32_t ms);

/* Whether an acquire with these options can resume the lingering hold. rl_linger_resume() makes the
 * submitted acquire do so. */
bool rl_linger_suits(const redlock_lock *lock, const struct rl_acquire *acquire, uint32_t ms);
void rl_linger_resume(redlock_lock *lock);

/* Releases the lock if it lingers. rl_linger_recall() releases all locks of this client that linger
 * on one of its resources. */
void rl_linger_end(redlock_lock *lock);
void rl_linger_recall(const redlock_lock *lock);

#endif
