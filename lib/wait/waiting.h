/* Drives the waitlists of a client's locks (core/waitlist.h): locks enter, leave and get their
 * turn.
 *
 * The loop's turn gives a lock its turn, after the callbacks and before the flush, so that the next
 * lock's SET follows the previous lock's release in one write. It does so in the loop's turn
 * because a thousand waiters that fail at once must not become a thousand nested calls.
 *
 * Readers all ask at once. The first that is refused becomes the active one and stands in line
 * among other clients; readers that are refused or arrive meanwhile wait behind it. When it is
 * granted, they all ask as if they had the turn: a turn is for all readers of a client. Permits of
 * a semaphore behave like readers, except that a grant lets only the next lock go on, which then
 * stands in line.
 */
#ifndef RL_WAIT_WAITING_H
#define RL_WAIT_WAITING_H

#include "client/state.h"

/* Whether a lock of ours that wants one of this lock's resources waits in the line of another
 * resource. This lock must not wait for that one, since the holder of that other resource may be
 * waiting for this lock. So this lock asks the nodes, and pauses if it is refused. */
bool rl_waiting_stands_apart(const redlock_lock *lock);

/* Whether the lock is the active one of ours. It must be in line. */
bool rl_waiting_is_active(const redlock_lock *lock);

/* The release of a token begins. */
void rl_waiting_reset(redlock_lock *lock);

/* An acquire or an adoption begins: enters the waitlist of each of its resources. Returns whether
 * the lock must wait. Without may_wait it waits only for locks of this client. */
bool rl_waiting_enter(redlock_lock *lock, bool may_wait);

/* The lock waits in the line of this one of its resources (resource_count: of none). Locks of this
 * client that want only its other resources go on: otherwise a program that holds what this lock
 * waits for, and wants one of the others, would wait for itself. */
void rl_waiting_stand(redlock_lock *lock, uint32_t line);
/* Its turn in that line has come. Returns whether it is active for all its resources now. */
bool rl_waiting_take(redlock_lock *lock);

/* Whether the lock's turn has come while writers wait, so that it must keep new readers out. */
bool rl_waiting_shuts(const redlock_lock *lock);

/* Whether another lock of this client asks for or holds one of the lock's resources. */
bool rl_waiting_is_busy(const redlock_lock *lock);

/* Why a waiting lock waits: HELD, or why the lock ahead of it is not granted. */
int rl_waiting_status(const redlock_lock *lock);
/* The words for this status, or for waiting in line among other clients. */
enum rl_words rl_waiting_words(const redlock_lock *lock, int status);

/* Call this after every step of a lock. A lock that no longer asks, holds or waits leaves the
 * waitlists, and the next locks get their turn. */
void rl_waiting_update(redlock_lock *lock);

#endif
