/* The life of a lock object: its memory, which lasts as long as there is a reference to it, its
 * operations, and the users of its hold. */
#ifndef RL_LOCK_LIFE_H
#define RL_LOCK_LIFE_H

#include "base/require.h"
#include "client/state.h"

/* The first reference, the maker's: the client knows the lock from now on. */
void rl_lock_enlist(redlock_lock *lock);
/* Frees the lock despite all references: the client is closed. */
void rl_lock_destroy(redlock_lock *lock);

/* Whether its next hold, or the present one, may linger (reentrancy.h). */
static inline bool rl_lock_may_linger(const redlock_lock *lock) {
    return lock->extras != NULL && lock->extras->linger.ms != 0;
}

static inline void rl_lock_ref(redlock_lock *lock) {
    RL_REQUIRE(lock->references > 0); /* a lock that is being freed cannot be kept */
    lock->references++;
}

/* The lock may be freed by this. */
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
 * callback is called. The code that ends one puts its lock into the queue that the turn empties.
 *
 * An acquire and a release are never pending at one time: each is refused as BUSY beside the other
 * (lock.c), so they share their memory. An extension may be pending beside a release.
 */

/* The lock's pending operation of this kind; NULL: there is none. */
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
/* From now on messages say why a call was refused, until the next one; NULL: none was. A text that
 * is no constant is copied; without memory the message just says that an argument is invalid. */
void rl_lock_refused(redlock_lock *lock, const char *text, bool copies);
/* From now on messages are about this status, and not about a call that was refused before. */
void rl_lock_note(redlock_lock *lock, int status, enum rl_words words);

/* The queues that the turn empties: work is queued here, and done there. So nothing has to call the
 * turn, and a reply that is being read does not step another lock synchronously: a thousand waiters
 * that fail at once are not a thousand nested calls.
 *
 * A lock is in each of them at most once, with a reference. */

/* The lock has callbacks to run. No effect if it is in the queue already; the same holds for the
 * other queues. */
void rl_ready_done(redlock_lock *lock);
/* The lock's on_lost is to run. */
void rl_ready_lost(redlock_lock *lock);
/* The lock is to be stepped: its turn in line has come, or it is to try soon. */
void rl_ready_step(redlock_lock *lock);

/* The first one whose on_lost is to run, with its reference; NULL if there is none. */
redlock_lock *rl_ready_take_lost(redlock_client *client);

/* Whether user code is to run. */
bool rl_ready_has_callbacks(const redlock_client *client);

/* -- The users of a hold, and the outcome for each of them --
 *
 * The lock object whose acquire was granted is the primary: its core has the token. Others of the
 * same owner and the same resources share it (followers, whose `primary` points to it), and one
 * object may share it several times (`depth`). Nothing here steps a lock: that is reentrancy.h.
 *
 * Can memory go too early? A follower has a reference to its primary; a primary never points to a
 * follower that is not in its list, and a follower leaves the list before it goes.
 */

/* The lock object whose core acts for this one: its primary, or itself. */
static inline redlock_lock *rl_hold_primary(const redlock_lock *lock) {
    redlock_lock *primary = lock->extras != NULL ? lock->extras->primary : NULL;
    return primary != NULL ? primary : (redlock_lock *)(uintptr_t)lock;
}

/* The owner for which the object was acquired last; 0: none. */
uint64_t rl_hold_owner(const redlock_lock *lock);

/* Memory for an owner, on_renew or linger_ms, which few acquires want. False: there is none. */
bool rl_hold_reserve(redlock_lock *lock, const redlock_acquire_options *full);

/* Whether the object holds, as its callback has said. */
bool rl_hold_is_held(const redlock_lock *lock);

/* Whether the object uses the hold: its callback has said so, or is about to. rl_hold_has_users():
 * whether any object does. */
bool rl_hold_uses(const redlock_lock *lock);
bool rl_hold_has_users(const redlock_lock *primary);

/* Whether other objects use the hold that this object uses, or is the primary of. */
bool rl_hold_has_others(const redlock_lock *lock);

/* The same name in the other mode: the writers' resource for the readers', and vice versa; NULL:
 * there is none. */
struct rl_resource *rl_hold_other_mode(const redlock_lock *lock,
                                       const struct rl_resource *resource);

/* Whether the lock was released and lingers (reentrancy.h). rl_hold_wake_ns(): when that ends, or
 * else the core's deadline. */
bool rl_hold_lingers(const redlock_lock *lock);
uint64_t rl_hold_wake_ns(const redlock_lock *lock);

/* The object shares the hold from now on; no effect on the primary itself. */
void rl_hold_attach(redlock_lock *lock, redlock_lock *primary);
/* The object no longer shares the hold. Without another reference the primary may be freed. */
void rl_hold_detach(redlock_lock *lock);

/* Ends an acquire that has joined with another status after all. */
void rl_hold_end_join(redlock_lock *lock, int status, enum rl_words words);

/* Sets the object whose extension or release the primary's core carries out; NULL clears it.
 * rl_hold_user_of() returns that object, or the primary if there is none. */
void rl_hold_act_for(redlock_lock *primary, enum rl_op_kind kind, redlock_lock *lock);
redlock_lock *rl_hold_user_of(redlock_lock *primary, enum rl_op_kind kind);

/* -- What the core reports, to all users of the hold -- */

/* An operation on the hold is done, for this object or one that shares it. */
void rl_hold_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words);

/* The watchdog has extended, or tried to. */
void rl_hold_renewed(redlock_lock *primary, int status);

/* The hold was lost. */
void rl_hold_lost(redlock_lock *primary, int status);

#endif
