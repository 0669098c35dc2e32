/* Reentrancy: lock objects of one owner that share one hold (hold.h): how they come and go.
 *
 * The hold ends on the nodes when no object uses it any more, also if its primary was
 * released, or freed, long before.
 *
 *     a: acquire (owner 7) ---- granted ---------- release -> a is not held, its core goes on
 *     b:             acquire (owner 7) -- granted at once ------------- release -> on the nodes
 *
 * Failure modes: the hold is lost, and the on_lost of all who use it run; it is lost between an
 * acquire that joins and its callback, and the callback says so; a user is freed or the client is
 * closed.
 *
 * Can a hold be left behind with no user? Every way out of using it (release, free, cancel, close)
 * goes through leave(), which releases the hold if that was the last.
 */
#ifndef RL_LOCK_REENTRANCY_H
#define RL_LOCK_REENTRANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

/* The primary of a hold of these resources by this owner, or NULL. *why: 0, or why its owner has
 * one that cannot be shared: PART_HELD (it is of some of them, or of more), WOULD_DEADLOCK (it
 * reads, and this lock would wait for that to end). */
redlock_lock *rl_reentrancy_find(redlock_lock *lock, uint64_t owner, int *why);

/* The acquire that was just submitted for lock succeeds by joining. */
void rl_reentrancy_join(redlock_lock *lock, redlock_lock *primary);

/* The lock's own acquire was reported: those of its owner that ask or wait, in either mode, need
 * not; or are told that they would wait for it. */
void rl_reentrancy_admit(redlock_lock *primary);

/* The release that was just submitted for lock. */
void rl_reentrancy_release(redlock_lock *lock);

/* The only user of the hold lets go of it. Returns false if it has been lost by now. */
bool rl_reentrancy_disown(redlock_lock *lock);

/* A pending join is cancelled. Returns false if there is none. */
bool rl_reentrancy_cancel(redlock_lock *lock);

/* The object is given up, or the client is closed: all that it does or holds ends. */
void rl_reentrancy_abandon(redlock_lock *lock);

#endif
