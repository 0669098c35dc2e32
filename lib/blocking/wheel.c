/* See wheel.h. */
#include "blocking/wheel.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "blocking/gate.h"
#include "client/recipe.h"

#define NS_PER_MS UINT64_C(1000000)
#define ALONE_MIN 8

/* Its address identifies the thread. */
static _Thread_local char here;

void rl_wheel_take(redlock_blocking *blocking) {
    assert(atomic_load(&blocking->driver) == NULL);
    atomic_store_explicit(&blocking->driver, &here, memory_order_relaxed);
    if (blocking->client != NULL) {
        rl_recipe_take_over(blocking->client);
    }
}

void rl_wheel_let_go(redlock_blocking *blocking) {
    assert(rl_wheel_is_mine(blocking));
    atomic_store_explicit(&blocking->driver, NULL, memory_order_relaxed);
}

bool rl_wheel_is_mine(const redlock_blocking *blocking) {
    return atomic_load_explicit(&blocking->driver, memory_order_relaxed) == &here;
}

uint64_t rl_wheel_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* the clock of the loop and of the gate's conditions */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Whether no code of the program may run in the loop. */
static bool may_drive(const redlock_blocking *blocking) {
    assert(rl_wheel_is_mine(blocking));
    return !blocking->has_own_code && blocking->listeners == 0;
}

/* With the gate closed, by the thread with the wheel: whether no thread needs the wheel for a
 * while. Sets due_ns. */
bool rl_wheel_may_let_go(redlock_blocking *blocking, int timeout_ms) {
    assert(rl_wheel_is_mine(blocking));
    assert(blocking->sent >= blocking->answered);
    blocking->due_ns = UINT64_MAX;
    if (timeout_ms >= 0) {
        blocking->due_ns = rl_wheel_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
    }
    return blocking->sent == blocking->answered && may_drive(blocking) && !blocking->is_closing &&
           (timeout_ms < 0 || timeout_ms > RL_REST_MS);
}

void rl_wheel_call(redlock_blocking *blocking) {
    assert(!rl_wheel_is_mine(blocking));
    pthread_cond_broadcast(&blocking->changed);
}

void rl_wheel_consider(redlock_blocking *blocking) {
    assert(rl_wheel_is_mine(blocking));
    if (blocking->answered == blocking->considered) {
        return;
    }
    blocking->considered = blocking->answered;
    if (blocking->sent != blocking->answered) {
        blocking->alone = 0;
    } else if (blocking->alone < ALONE_MIN) {
        blocking->alone++;
    }
    if (blocking->alone == ALONE_MIN && blocking->wheel == RL_WHEEL_THREAD && may_drive(blocking)) {
        rl_loop_thread_pause(blocking->thread);
    }
}
