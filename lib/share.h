/* Reentrancy: lock objects of one owner that share one hold.
 *
 * The lock object whose acquire was granted carries the hold: its core has the token. Others of the
 * same owner and the same resources share it (`via` points to the carrier), and one object may
 * share it several times (`depth`). The hold ends on the nodes when nobody uses it any more, also
 * if the carrier itself was released, or freed, long before.
 *
 *     a: acquire (owner 7) ---- granted ---------- release -> a is not held, its core goes on
 *     b:             acquire (owner 7) -- granted at once ------------- release -> on the nodes
 *
 * Failure modes: the hold is lost, and all who use it are told; it is lost between an acquire that
 * joins and its callback, and the callback says so; a user is freed or the client is closed.
 *
 * Can a hold be left behind with no user? Every way out of using it (release, free, cancel, close)
 * goes through share_leave(), which releases the hold if that was the last.
 * Can memory go too early? A sharer has a reference to its carrier; a carrier never points to a
 * sharer that is not in its list, and a sharer leaves the list before it goes.
 */
#ifndef RL_SHARE_H
#define RL_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "client.h"

/* The lock object whose core is asked for this one: the carrier, or itself. */
redlock_lock *rl_share_carrier(const redlock_lock *lock);

/* Held, by the word of its callback. */
bool rl_share_is_held(const redlock_lock *lock);

/* Whether other objects use the hold that this object uses, or carries. */
bool rl_share_has_others(const redlock_lock *lock);

/* The carrier of a hold of these resources by this owner, or NULL. part: it holds some of them, or
 * more than them. */
redlock_lock *rl_share_find(redlock_lock *lock, uint64_t owner, bool *part);

/* The acquire that was just submitted for lock succeeds by joining. */
void rl_share_join(redlock_lock *lock, redlock_lock *carrier);

/* The lock's own acquire was told: those of its owner who wait behind it need not. */
void rl_share_admit(redlock_lock *carrier);

/* The core's hold was lost. */
void rl_share_lost(redlock_lock *carrier, int status);

/* The watchdog has extended, or tried to. */
void rl_share_renewed(redlock_lock *carrier, int status);

/* The release that was just submitted for lock. */
void rl_share_release(redlock_lock *lock);

/* The only user of the hold lets go of it. Returns false if it was lost at this very moment. */
bool rl_share_disown(redlock_lock *lock);

/* A pending join is cancelled. Returns false if there is none. */
bool rl_share_cancel(redlock_lock *lock);

/* The object is given up, or the client is closed: all that it does or holds ends. */
void rl_share_abandon(redlock_lock *lock);

/* The operation of which the core has told the end: of this object or of one that shares it. */
struct rl_op *rl_share_op(redlock_lock *carrier, enum rl_op_kind kind, redlock_lock **whose);

/* An operation of lock is done. */
void rl_share_end(redlock_lock *lock, enum rl_op_kind kind, int status);

#endif
