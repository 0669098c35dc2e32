/* The waitlists of a client's locks (core/waitlist.h), driven: locks enter, leave and get their
 * turn.
 *
 * The loop's turn gives a lock its turn, after the callbacks and before the flush, so that the next
 * lock's SET follows the previous lock's release in one write. Turns are not given synchronously: a
 * thousand waiters that fail at once must not be a thousand nested calls.
 *
 * Readers ask all at once. The first that is refused becomes the active one and stands in line
 * among other clients; readers that are refused, or arrive, meanwhile wait behind it. When it is
 * granted, they all ask as if in their turn: a turn is for all readers of a client. Permits of a
 * semaphore behave like readers, except that a grant lets only the next one go on, which then
 * stands in line.
 */
#ifndef RL_WAIT_WAITING_H
#define RL_WAIT_WAITING_H

#include "client/state.h"

/* Whether a lock of ours that wants one of this lock's resources waits in the line of another
 * resource. This lock must not wait for it: the holder of that other resource may be waiting for
 * this lock. So this lock asks the nodes, and pauses if it is refused. */
bool rl_waiting_stands_apart(const redlock_lock *lock);

/* Whether the lock is the one that asks or holds, or waits for all of ours. It must be in line. */
bool rl_waiting_is_active(const redlock_lock *lock);

/* The release of a token begins. */
void rl_waiting_reset(redlock_lock *lock);

/* An acquire or an adoption begins: enters the waitlist of each of its resources. Returns whether
 * the lock must wait; if not may_wait, it does so for locks of this client only. */
bool rl_waiting_enter(redlock_lock *lock, bool may_wait);

/* Whether the lock's turn has come while writers wait: it must keep new readers off. */
bool rl_waiting_shuts(const redlock_lock *lock);

/* Whether another lock of this client asks for one of the lock's resources, or holds it. */
bool rl_waiting_is_busy(const redlock_lock *lock);

/* Why a waiting lock waits: HELD, or why the lock ahead of it is not granted either. */
int rl_waiting_status(const redlock_lock *lock);
/* The same in words; or that the lock waits in line among other clients. */
enum rl_words rl_waiting_words(const redlock_lock *lock, int status);

/* To be called after every step of a lock: a lock that no longer asks, holds or waits leaves the
 * waitlists, and the next ones get their turn. */
void rl_waiting_update(redlock_lock *lock);

#endif
