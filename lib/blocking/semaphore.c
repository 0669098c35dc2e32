/* A holder of permits: a mutex that is its own owner, of a lock with `permits`. Only two things
 * differ: a held permit cannot be acquired again (hold.c), and there are slots. So this file has
 * just names and types.
 */
#include <stddef.h>

#include "base/sized.h"
#include "blocking/mutex.h"

static redlock_mutex *inner(const redlock_semaphore *semaphore) {
    return (redlock_mutex *)(uintptr_t)semaphore;
}

/* -- Making and freeing -- */

int redlock_semaphore_new_with(redlock_blocking *blocking, const redlock_lock_options *lock,
                               const redlock_semaphore_options *user, redlock_semaphore **out) {
    redlock_semaphore_options o = REDLOCK_SEMAPHORE_OPTIONS_INIT;
    if (out == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    *out = NULL;
    if (user != NULL && !rl_sized_take(&o, sizeof o, user, user->size)) {
        return rl_sized_refuse(user, sizeof o, offsetof(redlock_semaphore_options, error),
                               "REDLOCK_SEMAPHORE_OPTIONS_INIT");
    }
    struct rl_making making = {RL_MAKING_OF(&o, lock), .options.kind = RL_KIND_SEMAPHORE,
                               .options.owner = REDLOCK_OWNER_OBJECT,
                               .options.on_lost.semaphore = o.on_lost};
    int status = rl_mutex_new(blocking, &making);
    *out = (redlock_semaphore *)making.made;
    return status;
}

int redlock_semaphore_new(redlock_blocking *blocking, const void *resource, size_t length,
                          int32_t permits, const redlock_semaphore_options *options,
                          redlock_semaphore **semaphore) {
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes one = {resource, length};
    lock.resources = &one;
    lock.n_resources = 1;
    lock.permits = permits;
    return redlock_semaphore_new_with(blocking, &lock, options, semaphore);
}

int redlock_semaphore_free(redlock_semaphore *semaphore) {
    return redlock_mutex_free(inner(semaphore));
}

/* -- Calls that wait -- */

int redlock_semaphore_acquire(redlock_semaphore *semaphore, int64_t timeout_ms) {
    return redlock_mutex_lock(inner(semaphore), timeout_ms);
}

int redlock_semaphore_try_acquire(redlock_semaphore *semaphore) {
    return redlock_mutex_lock(inner(semaphore), 0);
}

int redlock_semaphore_release(redlock_semaphore *semaphore) {
    return redlock_mutex_unlock(inner(semaphore));
}

int redlock_semaphore_extend(redlock_semaphore *semaphore, int64_t ttl_ms) {
    return redlock_mutex_extend(inner(semaphore), ttl_ms);
}

int redlock_semaphore_alive(redlock_semaphore *semaphore) {
    return redlock_mutex_alive(inner(semaphore));
}

/* -- Reading -- */

int redlock_semaphore_attempt_status(const redlock_semaphore *semaphore) {
    return redlock_mutex_attempt_status(inner(semaphore));
}

int32_t redlock_semaphore_slot(redlock_semaphore *semaphore, size_t index) {
    return rl_mutex_slot(inner(semaphore), index);
}

int redlock_semaphore_is_valid(const redlock_semaphore *semaphore) {
    return redlock_mutex_is_valid(inner(semaphore));
}

int64_t redlock_semaphore_remaining_ms(const redlock_semaphore *semaphore) {
    return redlock_mutex_remaining_ms(inner(semaphore));
}

int redlock_semaphore_token(redlock_semaphore *semaphore, char *buffer, size_t size) {
    return redlock_mutex_token(inner(semaphore), buffer, size);
}

uint64_t redlock_semaphore_fence(redlock_semaphore *semaphore) {
    return redlock_mutex_fence(inner(semaphore));
}

const char *redlock_semaphore_message(const redlock_semaphore *semaphore, char *buffer,
                                      size_t size) {
    return redlock_mutex_message(inner(semaphore), buffer, size);
}
