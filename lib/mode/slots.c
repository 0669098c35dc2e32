/* See slots.h. */
#include "mode/slots.h"

void rl_slots_init(redlock_lock *lock, struct rl_permit *permit) {
    lock->permit = permit;
    permit->from = RL_NO_SLOT;
}

const struct rl_slots *rl_slots_of(const redlock_lock *lock) {
    return &lock->permit->slots;
}

void rl_slots_name(redlock_lock *lock, const int32_t *slots, size_t n) {
    struct rl_permit *permit = lock->permit;
    permit->slots.n = (uint8_t)n;
    for (size_t i = 0; i < n; i++) {
        permit->slots.at[i] = (uint16_t)slots[i];
    }
    permit->is_named = true;
}

bool rl_slots_is_named(const redlock_lock *lock) {
    return lock->permit->is_named;
}

void rl_slots_tell(redlock_lock *lock, const redlock_lock *primary) {
    lock->permit->told = primary->permit->slots;
}

const struct rl_slots *rl_slots_told(const redlock_lock *lock) {
    return &lock->permit->told;
}

uint16_t rl_slots_kept(const redlock_lock *lock) {
    return lock->permit->kept;
}

uint16_t rl_slots_from(const redlock_lock *lock) {
    return lock->permit != NULL ? lock->permit->from : RL_NO_SLOT;
}

bool rl_slots_found_none(const redlock_lock *lock) {
    return lock->permit != NULL && lock->permit->found_none;
}
