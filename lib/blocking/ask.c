/* Takes a call from any thread to the loop thread, and the answer back: see state.h. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "base/memory.h"
#include "base/require.h"
#include "blocking/ask.h"
#include "blocking/drive.h"
#include "blocking/gate.h"

void rl_blocking_ref(redlock_blocking *blocking) {
    uint32_t before = atomic_fetch_add_explicit(&blocking->references, 1, memory_order_relaxed);
    RL_REQUIRE(before > 0); /* a client that is being freed cannot be kept */
    (void)before;
}

void rl_blocking_unref(redlock_blocking *blocking) {
    uint32_t before = atomic_fetch_sub_explicit(&blocking->references, 1, memory_order_acq_rel);
    RL_REQUIRE(before > 0);
    if (before > 1) {
        return;
    }
    assert(blocking->is_down);
    assert(blocking->asks.first == NULL && blocking->answers.first == NULL);
    assert(blocking->mutexes.first == NULL); /* each has a reference until it is freed */
    redlock_allocator memory = blocking->memory;
    int cancel_state; /* closing a descriptor is a cancellation point */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_destroy(&blocking->gate);
    pthread_cond_destroy(&blocking->changed);
    if (blocking->thread != NULL) {
        rl_loop_thread_free(blocking->thread);
    }
    rl_fork_end(&blocking->fork);
    rl_free(&memory, blocking);
    pthread_setcancelstate(cancel_state, NULL);
}

int rl_ask_check(const redlock_blocking *blocking) {
    if (rl_fork_is_child(&blocking->fork)) {
        return REDLOCK_ERR_FORKED;
    }
    return rl_loop_thread_is_self(blocking->thread) ? REDLOCK_ERR_WRONG_THREAD : 0;
}

/* What to do once the gate is open. */
enum next { REST, WAKE, CALL, DRIVE };

/* With the gate closed. */
static enum next put(redlock_blocking *blocking, struct rl_ask *ask, bool can_drive) {
    bool was_asleep = blocking->is_asleep;
    assert(!blocking->is_down); /* no thread would take it */
    ask->blocking = blocking;
    rl_queue_add(&blocking->asks, &ask->queued);
    blocking->sent++;
    blocking->is_asleep = false; /* other callers need not wake it */
    if (blocking->wheel == RL_WHEEL_FREE) {
        blocking->wheel = can_drive ? RL_WHEEL_CALLER : RL_WHEEL_THREAD;
        return can_drive ? DRIVE : CALL;
    }
    return was_asleep ? WAKE : REST;
}

/* The caller's reference, which the client's closer has too, keeps everything that is used here. */
static void go_on(redlock_blocking *blocking, const struct rl_ask *ask, enum next next) {
    if (next == WAKE) {
        rl_loop_thread_wake(blocking->thread);
    } else if (next == CALL) {
        rl_wheel_call(blocking);
    } else if (next == DRIVE) {
        rl_drive_until(blocking, ask);
    }
}

static int send_and_wait(redlock_blocking *blocking, struct rl_ask *ask) {
    enum next next = REST;
    rl_gate_close(blocking);
    bool is_closing = blocking->is_closing;
    if (!is_closing) {
        next = put(blocking, ask, true);
    }
    rl_gate_open(blocking);
    if (is_closing) {
        return REDLOCK_ERR_CLOSED;
    }
    go_on(blocking, ask, next);
    while (sem_wait(&ask->answered) != 0) {
        assert(errno == EINTR); /* a signal handler of the program */
    }
    assert(ask->is_done);
    return ask->status;
}

int rl_ask_send(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = rl_ask_check(blocking);
    if (status != 0) {
        return status;
    }
    if (sem_init(&ask->answered, 0, 0) != 0) {
        return REDLOCK_ERR_SYSTEM;
    }
    int cancel_state;
    rl_blocking_ref(blocking);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    ask->is_done = false;
    ask->asked_ns = redlock_now_ns();
    status = send_and_wait(blocking, ask);
    pthread_setcancelstate(cancel_state, NULL);
    sem_destroy(&ask->answered);
    rl_blocking_unref(blocking);
    return status;
}

int rl_ask_send_last(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = REDLOCK_ERR_CLOSED;
    enum next next = REST;
    rl_gate_close(blocking);
    if (!blocking->is_closing) {
        blocking->is_closing = true;
        next = put(blocking, ask, false);
        status = 0;
    }
    rl_gate_open(blocking);
    go_on(blocking, ask, next);
    return status;
}
