/* The waitlists of a client's locks (core/waitlist.h), driven: who comes, who leaves, whose turn it
 * is.
 *
 * Turns are given by the loop's turn, after the callbacks and before the flush, so that the SET of
 * the next follows the release of the one before it in one write. They are not given synchronously:
 * a thousand waiters that fail at once must not be a thousand nested calls.
 *
 * Readers ask all at once. The first that is refused becomes the active one and stands in line with
 * other clients; those that are refused, or come, while it does so wait behind it. When it is
 * granted, they all ask as in their turn: a turn is that of all readers of a client. Permits of a
 * semaphore are as readers, but for the last: then the next one stands in line.
 */
#ifndef RL_WAIT_WAITING_H
#define RL_WAIT_WAITING_H

#include <stdbool.h>

#include "client/state.h"

struct rl_turn {
    bool pauses; /* it is to let others go first */
    bool takes;  /* it is that of another lock of ours among all clients, too */
};

/* Whether locks of this client may hold it side by side: those that ask or hold are not in each
 * other's way, and one that must wait for other clients waits for all of ours. */
bool rl_waiting_is_beside(const redlock_lock *lock);

/* Whether one of ours that wants one of its resources waits in the line of another resource. It
 * must not be waited for: that may be held by who waits for this lock. So this one asks the nodes,
 * and pauses where it is refused. */
bool rl_waiting_stands_apart(const redlock_lock *lock);

/* Whether it is the one that asks or holds, or that waits for all of ours. In line. */
bool rl_waiting_is_active(const redlock_lock *lock);

/* Of a lock that is made; tickets: memory for one for each of its resources. And it wants its i-th
 * resource, which it has. */
void rl_waiting_init(redlock_lock *lock, struct rl_ticket *tickets);
void rl_waiting_want(redlock_lock *lock, uint32_t i);

/* An acquire, an adoption or the release of a token begins. */
void rl_waiting_reset(redlock_lock *lock);

/* Into the line of each of its resources. Returns whether it must wait. */
bool rl_waiting_enter(redlock_lock *lock);

/* Whether its turn has come while writers wait: it is to keep new readers off. */
bool rl_waiting_shuts(const redlock_lock *lock);

/* Whether another lock of this client asks for one of the lock's resources, or holds it. */
bool rl_waiting_is_busy(const redlock_lock *lock);

/* What holds up a lock that waits: HELD, or why the one before it is not granted either. */
int rl_waiting_status(const redlock_lock *lock);
/* That in words; or that other clients do, which it is in line with. */
enum rl_words rl_waiting_words(const redlock_lock *lock, int status);

/* Whether its turn among this client's locks has come; and takes that. */
bool rl_waiting_has_turn(const redlock_lock *lock);
bool rl_waiting_take_turn(redlock_lock *lock, struct rl_turn *turn);

/* To be called after every step of a lock: one that neither asks, holds nor waits leaves the lines,
 * and the next ones are given their turn. */
void rl_waiting_update(redlock_lock *lock);

#endif
