/* The read/write lock: a mutex that several owners may hold at one time. Only the mode that a call
 * asks for differs (hold.c), so this file has just names and types.
 */
#include <stddef.h>

#include "base/sized.h"
#include "blocking/hold.h"
#include "blocking/mutex.h"

static redlock_mutex *inner(const redlock_rwlock *rwlock) {
    return (redlock_mutex *)(uintptr_t)rwlock;
}

/* -- Making and freeing -- */

int redlock_rwlock_new_with(redlock_blocking *blocking, const redlock_lock_options *lock,
                            const redlock_rwlock_options *user, redlock_rwlock **out) {
    redlock_rwlock_options o = REDLOCK_RWLOCK_OPTIONS_INIT;
    if (out == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    *out = NULL;
    if (user != NULL && !rl_sized_take(&o, sizeof o, user, user->size)) {
        return rl_sized_refuse(user, sizeof o, offsetof(redlock_rwlock_options, error),
                               "REDLOCK_RWLOCK_OPTIONS_INIT");
    }
    struct rl_making making = {RL_MAKING_OF(&o, lock), .options.kind = RL_KIND_RWLOCK,
                               .options.owner = o.owner, .options.on_lost.rwlock = o.on_lost};
    int status = rl_mutex_new(blocking, &making);
    *out = (redlock_rwlock *)making.made;
    return status;
}

int redlock_rwlock_new(redlock_blocking *blocking, const void *resource, size_t length,
                       const redlock_rwlock_options *options, redlock_rwlock **rwlock) {
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes one = {resource, length};
    lock.resources = &one;
    lock.n_resources = 1;
    return redlock_rwlock_new_with(blocking, &lock, options, rwlock);
}

int redlock_rwlock_free(redlock_rwlock *rwlock) {
    return redlock_mutex_free(inner(rwlock));
}

/* -- Calls that wait -- */

int redlock_rwlock_rdlock(redlock_rwlock *rwlock, int64_t timeout_ms) {
    return rl_mutex_lock(inner(rwlock), REDLOCK_SHARED, timeout_ms, false);
}

int redlock_rwlock_wrlock(redlock_rwlock *rwlock, int64_t timeout_ms) {
    return rl_mutex_lock(inner(rwlock), REDLOCK_EXCLUSIVE, timeout_ms, false);
}

int redlock_rwlock_try_rdlock(redlock_rwlock *rwlock) {
    return redlock_rwlock_rdlock(rwlock, 0);
}

int redlock_rwlock_try_wrlock(redlock_rwlock *rwlock) {
    return redlock_rwlock_wrlock(rwlock, 0);
}

int redlock_rwlock_unlock(redlock_rwlock *rwlock) {
    return redlock_mutex_unlock(inner(rwlock));
}

int redlock_rwlock_extend(redlock_rwlock *rwlock, int64_t ttl_ms) {
    return redlock_mutex_extend(inner(rwlock), ttl_ms);
}

int redlock_rwlock_alive(redlock_rwlock *rwlock) {
    return redlock_mutex_alive(inner(rwlock));
}

int redlock_rwlock_downgrade(redlock_rwlock *rwlock) {
    return rl_mutex_ask(inner(rwlock), rl_hold_downgrade, 0);
}

int redlock_rwlock_try_upgrade(redlock_rwlock *rwlock) {
    return rl_mutex_ask(inner(rwlock), rl_hold_upgrade, 0);
}

/* -- Reading -- */

int redlock_rwlock_attempt_status(const redlock_rwlock *rwlock) {
    return redlock_mutex_attempt_status(inner(rwlock));
}

int redlock_rwlock_is_valid(const redlock_rwlock *rwlock) {
    return redlock_mutex_is_valid(inner(rwlock));
}

int64_t redlock_rwlock_remaining_ms(const redlock_rwlock *rwlock) {
    return redlock_mutex_remaining_ms(inner(rwlock));
}

int redlock_rwlock_token(redlock_rwlock *rwlock, char *buffer, size_t size) {
    return redlock_mutex_token(inner(rwlock), buffer, size);
}

uint64_t redlock_rwlock_fence(redlock_rwlock *rwlock) {
    return redlock_mutex_fence(inner(rwlock));
}

const char *redlock_rwlock_message(const redlock_rwlock *rwlock, char *buffer, size_t size) {
    return redlock_mutex_message(inner(rwlock), buffer, size);
}
