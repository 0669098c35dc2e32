/* A holder of permits: a mutex that is its own owner, of a lock with `permits`. Only two things
 * differ: a held permit cannot be acquired again (hold.c), and there are slots. So this file has
 * just names and types.
 */
#include <assert.h>
#include <stddef.h>

#include "redlock/semaphore_blocking.h"

#include "base/error.h"
#include "base/sized.h"
#include "blocking/hold.h"
#include "blocking/mutex.h"

struct redlock_semaphore {
    redlock_mutex mutex; /* the first: a pointer to either is one to the other */
    redlock_semaphore_cb on_lost;
};

static_assert(offsetof(struct redlock_semaphore, mutex) == 0, "lost_cb() goes back from it");

static redlock_mutex *inner(const redlock_semaphore *semaphore) {
    return (redlock_mutex *)(uintptr_t)semaphore;
}

/* -- Making and freeing -- */

static void lost_cb(redlock_mutex *mutex, int status, void *data) {
    redlock_semaphore *semaphore = (redlock_semaphore *)mutex;
    assert(inner(semaphore) == mutex);
    assert(semaphore->on_lost != NULL); /* set before anything could be acquired */
    semaphore->on_lost(semaphore, status, data);
}

static redlock_mutex_options options_of(const redlock_semaphore_options *from) {
    assert(from->size == sizeof *from);
    return (redlock_mutex_options){
        RL_MUTEX_OPTIONS_OF(from),
        .owner = REDLOCK_OWNER_OBJECT,
        .on_lost = from->on_lost != NULL ? lost_cb : NULL,
    };
}

int redlock_semaphore_new_with(redlock_blocking *blocking, const redlock_lock_options *lock,
                               const redlock_semaphore_options *user, redlock_semaphore **out) {
    redlock_semaphore_options full = REDLOCK_SEMAPHORE_OPTIONS_INIT;
    if (out == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    *out = NULL;
    if (user != NULL && !rl_sized_take(&full, sizeof full, user, user->size)) {
        return rl_sized_refuse(user, sizeof full, offsetof(redlock_semaphore_options, error),
                               "REDLOCK_SEMAPHORE_OPTIONS_INIT");
    }
    const redlock_mutex_options options = options_of(&full);
    struct rl_making making = {
        .target = lock, .options = &options, .size = sizeof(redlock_semaphore), .is_permit = true};
    int status = rl_mutex_new(blocking, &making);
    assert((status == 0) == (making.made != NULL));
    if (status == 0) {
        assert(making.made->is_permit && making.made->own_owner != 0);
        *out = (redlock_semaphore *)making.made;
        (*out)->on_lost = full.on_lost;
    }
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

int redlock_semaphore_options_init(redlock_semaphore_options *options, size_t size) {
    static const redlock_semaphore_options fresh = REDLOCK_SEMAPHORE_OPTIONS_INIT;
    return rl_sized_fresh(options, size, &fresh, sizeof fresh);
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
