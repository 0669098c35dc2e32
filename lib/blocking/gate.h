/* The gate: the one lock between callers and the loop thread. What is behind it says state.h. */
#ifndef RL_BLOCKING_GATE_H
#define RL_BLOCKING_GATE_H

#include <assert.h>
#include <pthread.h>

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

/* Closed before and after, open meanwhile. */
static inline void rl_gate_wait(redlock_blocking *blocking, pthread_cond_t *condition) {
    int error = pthread_cond_wait(condition, &blocking->gate);
    assert(error == 0);
    (void)error;
}

#endif
