/* Functions for a read/write lock (rwlock.c) and a semaphore's holder (semaphore.c), which are
 * mutexes of another kind. */
#ifndef RL_BLOCKING_MUTEX_H
#define RL_BLOCKING_MUTEX_H

#include "blocking/state.h"

/* Makes a mutex. Returns the status; making->error says where its sentence goes. */
int rl_mutex_new(redlock_blocking *blocking, struct rl_making *making);
/* Whether redlock_mutex_lock() accepts this timeout. */
bool rl_mutex_is_timeout(int64_t timeout_ms);
/* As redlock_mutex_lock(), in either mode. is_slow: instead of several pauses, it waits in line, or
 * pauses once for half of the time. */
int rl_mutex_lock(redlock_mutex *mutex, enum redlock_mode mode, int64_t timeout_ms, bool is_slow);
/* Any other waiting call of the owner. */
int rl_mutex_ask(redlock_mutex *mutex, void (*run)(struct rl_ask *ask), int64_t ms);
/* As redlock_mutex_fence(), for the slots: REDLOCK_NO_SLOT for none. */
int32_t rl_mutex_slot(redlock_mutex *mutex, size_t index);

/* The initializer of a struct rl_making, for what the options of all three have in common. */
#define RL_MAKING_OF(from, lock)                                                            \
    .target = (lock), .error = (from)->error, .error_size = (from)->error_size,             \
    .options.has_on_lost = (from)->on_lost != NULL, .options.lost_data = (from)->lost_data, \
    .options.acquire = {                                                                    \
        .size = sizeof(redlock_acquire_options),                                            \
        .ttl_ms = (from)->ttl_ms,                                                           \
        .tries = REDLOCK_NO_LIMIT,                                                          \
        .delay_ms = (from)->delay_ms,                                                       \
        .jitter_ms = (from)->jitter_ms,                                                     \
        .min_validity_ms = (from)->min_validity_ms,                                         \
        .auto_extend = (from)->auto_extend,                                                 \
        .renew_ms = (from)->renew_ms,                                                       \
        .max_hold_ms = (from)->max_hold_ms,                                                 \
        .fencing = (from)->fencing,                                                         \
        .max_silence_ms = (from)->max_silence_ms,                                           \
    }

#endif
