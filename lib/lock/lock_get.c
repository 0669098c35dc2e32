/* What may be asked of a lock of the public interface: nothing here changes it. */
#include <assert.h>

#include "client/env.h"
#include "client/own.h"
#include "lock/hold.h"

int redlock_lock_is_valid(const redlock_lock *lock) {
    if (lock != NULL) {
        rl_own(lock->client, __func__);
    }
    return lock != NULL && lock->reentry.depth > 0 && !rl_io_is_forked(&lock->client->io) &&
           rl_lock_is_valid(&rl_hold_primary(lock)->core, rl_client_now_ns(lock->client));
}

uint64_t redlock_lock_valid_until_ns(const redlock_lock *lock) {
    if (lock != NULL) {
        rl_own(lock->client, __func__);
    }
    bool held = lock != NULL && rl_hold_is_held(lock) && !rl_io_is_forked(&lock->client->io);
    return held ? rl_hold_primary(lock)->core.valid_until_ns : 0;
}

int64_t redlock_lock_remaining_ms(const redlock_lock *lock) {
    uint64_t until_ns = redlock_lock_valid_until_ns(lock);
    uint64_t now_ns = until_ns != 0 ? rl_client_now_ns(lock->client) : 0;
    return until_ns > now_ns ? (int64_t)((until_ns - now_ns) / RL_NS_PER_MS) : 0;
}

const char *redlock_lock_token(const redlock_lock *lock) {
    return lock != NULL ? rl_hold_primary(lock)->core.token : "";
}

enum redlock_mode redlock_lock_mode(const redlock_lock *lock) {
    const bool shared = lock != NULL && rl_hold_primary(lock)->holding.mode == RL_SHARED;
    return shared ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
}

uint64_t redlock_lock_fence(const redlock_lock *lock) {
    return lock != NULL ? lock->fence : 0;
}

int32_t redlock_lock_slot(const redlock_lock *lock, size_t index) {
    const struct rl_permit *permit = lock != NULL ? lock->permit : NULL;
    return permit != NULL && index < permit->told.n ? permit->told.at[index] : REDLOCK_NO_SLOT;
}

const void *redlock_lock_resource(const redlock_lock *lock, size_t *length) {
    const struct rl_resource *first = lock != NULL ? lock->resources[0] : NULL;
    if (length != NULL) {
        *length = first != NULL ? first->length : 0;
    }
    return first != NULL ? first->bytes : NULL;
}

void redlock_lock_set_data(redlock_lock *lock, void *data) {
    if (lock != NULL) {
        lock->user_data = data;
    }
}

void *redlock_lock_data(const redlock_lock *lock) {
    return lock != NULL ? lock->user_data : NULL;
}

redlock_client *redlock_lock_client(const redlock_lock *lock) {
    return lock != NULL ? lock->client : NULL;
}
