/* Functions for a read/write lock (rwlock.c) and a semaphore's holder (semaphore.c), which begin
 * with a mutex. */
#ifndef RL_BLOCKING_MUTEX_H
#define RL_BLOCKING_MUTEX_H

#include "blocking/state.h"

/* Makes an object from making->target and ->options. Returns the status; the options say where its
 * sentence goes. */
int rl_mutex_new(redlock_blocking *blocking, struct rl_making *making);
/* As redlock_mutex_lock(), in either mode. */
int rl_mutex_lock(redlock_mutex *mutex, enum redlock_mode mode, int64_t timeout_ms);
/* Any other waiting call of the owner. */
int rl_mutex_ask(redlock_mutex *mutex, void (*run)(struct rl_ask *ask), int64_t ms);
/* As redlock_mutex_fence(), for the slots: REDLOCK_NO_SLOT for none. */
int32_t rl_mutex_slot(redlock_mutex *mutex, size_t index);

/* The initializer of redlock_mutex_options for what the options of all three have in common. */
#define RL_MUTEX_OPTIONS_OF(from)                                                             \
    .size = sizeof(redlock_mutex_options), .ttl_ms = (from)->ttl_ms,                          \
    .auto_extend = (from)->auto_extend, .renew_ms = (from)->renew_ms,                         \
    .max_hold_ms = (from)->max_hold_ms, .delay_ms = (from)->delay_ms,                         \
    .jitter_ms = (from)->jitter_ms, .min_validity_ms = (from)->min_validity_ms,               \
    .lost_data = (from)->lost_data, .error = (from)->error, .error_size = (from)->error_size, \
    .fencing = (from)->fencing

#endif
