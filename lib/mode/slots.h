/* The slots of a permit, as others may see them. */
#ifndef RL_MODE_SLOTS_H
#define RL_MODE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/state.h"

/* Of a lock that is made of a semaphore; its memory. */
void rl_slots_init(redlock_lock *lock, struct rl_permit *permit);

/* The slots of the present token, or the last. */
const struct rl_slots *rl_slots_of(const redlock_lock *lock);

/* ... of one that is to be adopted or released; whether they were named. */
void rl_slots_name(redlock_lock *lock, const int32_t *slots, size_t n);
bool rl_slots_is_named(const redlock_lock *lock);

/* The slots of the primary are the lock's, from now on, for its user. */
void rl_slots_tell(redlock_lock *lock, const redlock_lock *primary);
const struct rl_slots *rl_slots_told(const redlock_lock *lock);

/* How many permits there are, as a node said that keeps another number. */
uint16_t rl_slots_kept(const redlock_lock *lock);

/* From which slot on to look for free ones: RL_NO_SLOT: any. Of any lock. */
uint16_t rl_slots_from(const redlock_lock *lock);

/* Nothing was free for the last attempt. Of any lock. */
bool rl_slots_found_none(const redlock_lock *lock);

#endif
