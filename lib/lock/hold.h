/* The users of a hold, and the outcome for each of them.
 *
 * The lock object whose acquire was granted is the primary: its core has the token. Others of the
 * same owner and the same resources share it (followers, whose `primary` points to it), and one
 * object may share it several times (`depth`). Nothing here steps a lock: that is reentrancy.h.
 *
 * Can memory go too early? A follower has a reference to its primary; a primary never points to a
 * follower that is not in its list, and a follower leaves the list before it goes.
 */
#ifndef RL_LOCK_HOLD_H
#define RL_LOCK_HOLD_H

#include "client/state.h"

/* The lock object whose core acts for this one: its primary, or itself. */
redlock_lock *rl_hold_primary(const redlock_lock *lock);

/* The owner for which the object was acquired last; 0: none. */
uint64_t rl_hold_owner(const redlock_lock *lock);

/* Memory for an owner, on_renew or linger_ms, which few acquires want. False: there is none. */
bool rl_hold_reserve(redlock_lock *lock, const redlock_acquire_options *full);

/* Whether the object holds, as its callback has said. */
bool rl_hold_is_held(const redlock_lock *lock);

/* Whether the object uses the hold: its callback has said so, or is about to. And: whether any
 * object does. */
bool rl_hold_uses(const redlock_lock *lock);
bool rl_hold_has_users(const redlock_lock *primary);

/* Whether other objects use the hold that this object uses, or is the primary of. */
bool rl_hold_has_others(const redlock_lock *lock);

/* The same name in the other mode: the writers' resource for the readers', and vice versa; NULL:
 * there is none. */
struct rl_resource *rl_hold_other_mode(const redlock_lock *lock,
                                       const struct rl_resource *resource);

/* Whether the lock holds for nobody, and until then waits for its next acquire (linger.h). And: its
 * deadline, which is that of its core otherwise. */
bool rl_hold_lingers(const redlock_lock *lock);
uint64_t rl_hold_wake_ns(const redlock_lock *lock);

/* The object shares the hold from now on; no effect on the primary itself. */
void rl_hold_attach(redlock_lock *lock, redlock_lock *primary);
/* The object no longer shares the hold. Without another reference the primary may be freed. */
void rl_hold_detach(redlock_lock *lock);

/* Ends an acquire that has joined with another status after all. */
void rl_hold_end_join(redlock_lock *lock, int status, enum rl_words words);

/* The object whose extension or release the primary's core carries out from now on; NULL: none's.
 * And: that object, the primary itself if there is none. */
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
