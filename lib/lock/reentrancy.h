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

#include <stdbool.h>
#include <stdint.h>

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

#endif
