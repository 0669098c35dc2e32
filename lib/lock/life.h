/* The life of a lock object: its reference-counted memory, its operations, and the users of its
 * hold. */
#ifndef RL_LOCK_LIFE_H
#define RL_LOCK_LIFE_H

#include "base/require.h"
#include "client/state.h"

/* Takes the first reference, for the maker, and adds the lock to the client. */
void rl_lock_enlist(redlock_lock *lock);
/* Frees the lock despite all references, since the client is closed. */
void rl_lock_destroy(redlock_lock *lock);

/* Whether its current or next hold may linger (reentrancy.h). */
static inline bool rl_lock_may_linger(const redlock_lock *lock) {
    return lock->extras != NULL && lock->extras->linger.ms != 0;
}

static inline void rl_lock_ref(redlock_lock *lock) {
    RL_REQUIRE(lock->references > 0); /* too late for a lock that is being freed */
    lock->references++;
}

/* May free the lock. */
static inline void rl_lock_unref(redlock_lock *lock) {
    RL_REQUIRE(lock->references > 0);
    if (--lock->references == 0) {
        rl_lock_destroy(lock);
    }
}

/* An operation of the user: submitted, then done, then delivered.
 *
 * Can a callback run twice or never? An operation is submitted by setting is_active, ended by
 * setting is_done (once, it asserts), and delivered (delivery.h) by clearing both before the
 * callback is called. The code that ends an operation puts its lock into the queue that the turn
 * empties.
 *
 * An acquire and a release are never pending together, since lock.c refuses the second as BUSY; so
 * they share their memory. An extension may be pending beside a release.
 */

/* The lock's pending operation of this kind; NULL: none. */
static inline struct rl_op *rl_op_of(const redlock_lock *lock, enum rl_op_kind kind) {
    const struct rl_op *op = &lock->ops[kind == RL_OP_EXTEND];
    return op->is_active && op->kind == kind ? (struct rl_op *)(uintptr_t)op : NULL;
}

void rl_op_submit(redlock_lock *lock, enum rl_op_kind kind, redlock_lock_cb callback, void *data);
/* words: what a message adds to the status. */
void rl_op_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words);
/* Counts the result in the statistics. */
void rl_op_count(redlock_stats *stats, enum rl_op_kind kind, int status);

int rl_lock_status(enum rl_result result);
/* Sets what messages say about a refused call, until the next call; NULL: the call was accepted.
 * copies: the text is not a constant; without memory for the copy, the message only says that an
 * argument is invalid. */
void rl_lock_refused(redlock_lock *lock, const char *text, bool copies);
/* Makes messages describe this status instead of an earlier refused call. */
void rl_lock_note(redlock_lock *lock, int status, enum rl_words words);

/* The queues that the turn empties. Work is queued here and done there, so nothing calls the turn,
 * and reading a reply does not step another lock synchronously: a thousand waiters that fail at
 * once are not a thousand nested calls.
 *
 * A lock is in each queue at most once, with a reference. */

/* Queues the lock, which has callbacks to run. Here and below: no effect if it is queued
 * already. */
void rl_ready_done(redlock_lock *lock);
/* Queues the lock, whose on_lost must run. */
void rl_ready_lost(redlock_lock *lock);
/* Queues the lock to be stepped: its turn in line has come, or it should try soon. */
void rl_ready_step(redlock_lock *lock);

/* Takes the first lock whose on_lost must run, with its reference; NULL: none. */
redlock_lock *rl_ready_take_lost(redlock_client *client);

/* Whether there are callbacks to run. */
bool rl_ready_has_callbacks(const redlock_client *client);

/* -- The users of a hold, and the outcome for each of them --
 *
 * The lock object whose acquire was granted is the primary: its core has the token. Other objects
 * of the same owner and resources share it (followers, whose `primary` points to it), and one
 * object may share it several times (`depth`). Nothing here steps a lock; reentrancy.h does.
 *
 * Can memory be freed too early? No: a follower has a reference to its primary; a primary points
 * only to followers in its list, and a follower leaves the list before it is freed.
 */

/* The lock object whose core acts for this one: its primary, or itself. */
static inline redlock_lock *rl_hold_primary(const redlock_lock *lock) {
    redlock_lock *primary = lock->extras != NULL ? lock->extras->primary : NULL;
    return primary != NULL ? primary : (redlock_lock *)(uintptr_t)lock;
}

/* The owner for which the object was acquired last; 0: none. */
uint64_t rl_hold_owner(const redlock_lock *lock);

/* Allocates memory for an owner, on_renew or linger_ms, which few acquires use. False: no
 * memory. */
bool rl_hold_reserve(redlock_lock *lock, const redlock_acquire_options *full);

/* Whether the object holds the lock, as its callback has reported. */
bool rl_hold_is_held(const redlock_lock *lock);

/* Whether the object uses the hold: its callback has reported that, or is about to.
 * rl_hold_has_users(): whether any object does. */
bool rl_hold_uses(const redlock_lock *lock);
bool rl_hold_has_users(const redlock_lock *primary);

/* Whether other objects use the hold that this object uses, or is the primary of. */
bool rl_hold_has_others(const redlock_lock *lock);

/* The resource of the same name in the other mode, readers' or writers'; NULL: none. */
struct rl_resource *rl_hold_other_mode(const redlock_lock *lock,
                                       const struct rl_resource *resource);

/* Whether the lock was released and lingers (reentrancy.h). rl_hold_wake_ns(): when lingering ends;
 * otherwise the core's deadline. */
bool rl_hold_lingers(const redlock_lock *lock);
uint64_t rl_hold_wake_ns(const redlock_lock *lock);

/* Makes the object share the hold; no effect on the primary itself. */
void rl_hold_attach(redlock_lock *lock, redlock_lock *primary);
/* Ends the sharing. Frees the primary if there is no other reference. */
void rl_hold_detach(redlock_lock *lock);

/* Changes the status of an acquire that has already joined a hold. */
void rl_hold_end_join(redlock_lock *lock, int status, enum rl_words words);

/* Sets the object whose extension or release the primary's core carries out; NULL clears it.
 * rl_hold_user_of() returns that object, or the primary if there is none. */
void rl_hold_act_for(redlock_lock *primary, enum rl_op_kind kind, redlock_lock *lock);
redlock_lock *rl_hold_user_of(redlock_lock *primary, enum rl_op_kind kind);

/* -- What the core reports, to all users of the hold -- */

/* An operation on the hold is done, for this object or for one that shares the hold. */
void rl_hold_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words);

/* The watchdog has extended, or tried to. */
void rl_hold_renewed(redlock_lock *primary, int status);

/* The hold was lost. */
void rl_hold_lost(redlock_lock *primary, int status);

#endif
