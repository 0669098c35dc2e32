/* The slots of a permit, as other modules see them. */
#ifndef RL_MODE_SLOTS_H
#define RL_MODE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/state.h"

/* Sets up a new semaphore lock; permit: its memory. */
void rl_slots_init(redlock_lock *lock, struct rl_permit *permit);

/* The slots of the present token, or of the last one. */
const struct rl_slots *rl_slots_of(const redlock_lock *lock);

/* Sets the slots of a token that is to be adopted or released. And: whether they were set. */
void rl_slots_name(redlock_lock *lock, const int32_t *slots, size_t n);
bool rl_slots_is_named(const redlock_lock *lock);

/* From now on the lock reports the primary's slots to its user. */
void rl_slots_tell(redlock_lock *lock, const redlock_lock *primary);
const struct rl_slots *rl_slots_told(const redlock_lock *lock);

/* The number of permits according to a node that keeps another number than the lock's. */
uint16_t rl_slots_kept(const redlock_lock *lock);

/* The slot from which to look for free ones; RL_NO_SLOT: any. For any lock. */
uint16_t rl_slots_from(const redlock_lock *lock);

/* Whether no slot was free for the last attempt. For any lock. */
bool rl_slots_found_none(const redlock_lock *lock);

#endif
