/* The gate: the one lock between callers and the loop thread; state.h lists what it protects.
 * "Closed" means locked. */
#ifndef RL_BLOCKING_GATE_H
#define RL_BLOCKING_GATE_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "blocking/state.h"

static inline void rl_gate_close(redlock_blocking *blocking) {
    int error = pthread_mutex_lock(&blocking->gate);
    assert(error == 0);
    (void)error;
}

static inline void rl_gate_open(redlock_blocking *blocking) {
    int error = pthread_mutex_unlock(&blocking->gate);
    assert(error == 0);
    (void)error;
}

/* The gate is closed before and after, and open meanwhile. */
static inline void rl_gate_wait(redlock_blocking *blocking, pthread_cond_t *condition) {
    int error = pthread_cond_wait(condition, &blocking->gate);
    assert(error == 0);
    (void)error;
}

/* As rl_gate_wait(), but at most until this time of CLOCK_MONOTONIC. False: it has passed. */
static inline bool rl_gate_wait_until(redlock_blocking *blocking, pthread_cond_t *condition,
                                      uint64_t until_ns) {
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    int error = pthread_cond_timedwait(condition, &blocking->gate, &until);
    assert(error == 0 || error == ETIMEDOUT);
    return error == 0;
}

#endif
