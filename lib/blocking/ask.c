/* How a call of any thread gets to the loop thread and back: see state.h. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/require.h"
#include "blocking/ask.h"
#include "blocking/gate.h"

void rl_blocking_ref(redlock_blocking *blocking) {
    uint32_t before = atomic_fetch_add_explicit(&blocking->references, 1, memory_order_relaxed);
    RL_REQUIRE(before > 0); /* what goes cannot be kept */
    (void)before;
}

void rl_blocking_unref(redlock_blocking *blocking) {
    uint32_t before = atomic_fetch_sub_explicit(&blocking->references, 1, memory_order_acq_rel);
    RL_REQUIRE(before > 0);
    if (before > 1) {
        return;
    }
    assert(blocking->is_down);
    assert(blocking->first == NULL);
    assert(blocking->mutexes == NULL); /* each has a reference until it is freed */
    redlock_allocator memory = blocking->memory;
    pthread_mutex_destroy(&blocking->gate);
    pthread_cond_destroy(&blocking->changed);
    if (blocking->thread != NULL) {
        rl_loop_thread_free(blocking->thread);
    }
    rl_fork_end(&blocking->fork);
    rl_free(&memory, blocking);
}

int rl_ask_check(const redlock_blocking *blocking) {
    if (rl_fork_is_child(&blocking->fork)) {
        return REDLOCK_ERR_FORKED;
    }
    return rl_loop_thread_is_self(blocking->thread) ? REDLOCK_ERR_WRONG_THREAD : 0;
}

/* With the gate closed. */
static void put(redlock_blocking *blocking, struct rl_ask *ask) {
    assert(!blocking->is_down); /* nobody would take it */
    assert((blocking->first == NULL) == (blocking->last == NULL));
    ask->blocking = blocking;
    ask->next = NULL;
    if (blocking->last != NULL) {
        blocking->last->next = ask;
    } else {
        blocking->first = ask;
    }
    blocking->last = ask;
    rl_loop_thread_wake(blocking->thread);
}

static int send_and_wait(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = REDLOCK_ERR_CLOSED;
    rl_gate_close(blocking);
    if (!blocking->is_closing) {
        put(blocking, ask);
        while (!ask->is_done) {
            rl_gate_wait(blocking, &ask->answered);
        }
        status = ask->status;
        assert(!blocking->is_down || blocking->is_closing);
    }
    rl_gate_open(blocking);
    return status;
}

int rl_ask_send(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = rl_ask_check(blocking);
    if (status != 0) {
        return status;
    }
    if (pthread_cond_init(&ask->answered, NULL) != 0) {
        return REDLOCK_ERR_SYSTEM;
    }
    int cancel_state;
    rl_blocking_ref(blocking);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    ask->is_done = false;
    ask->asked_ns = redlock_now_ns();
    status = send_and_wait(blocking, ask);
    pthread_setcancelstate(cancel_state, NULL);
    pthread_cond_destroy(&ask->answered);
    rl_blocking_unref(blocking);
    return status;
}

int rl_ask_send_last(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = REDLOCK_ERR_CLOSED;
    rl_gate_close(blocking);
    if (!blocking->is_closing) {
        blocking->is_closing = true;
        put(blocking, ask);
        status = 0;
    }
    rl_gate_open(blocking);
    return status;
}

void rl_ask_answer(struct rl_ask *ask, int status) {
    redlock_blocking *blocking = ask->blocking;
    rl_gate_close(blocking);
    assert(rl_loop_thread_is_self(blocking->thread));
    RL_REQUIRE(!ask->is_done); /* else its caller may have gone, with the stack that it is on */
    assert(status <= 0);
    ask->status = status;
    ask->is_done = true;
    pthread_cond_signal(&ask->answered);
    rl_gate_open(blocking);
}

void rl_ask_run_all(redlock_blocking *blocking) {
    assert(rl_loop_thread_is_self(blocking->thread));
    rl_gate_close(blocking);
    struct rl_ask *ask = blocking->first;
    blocking->first = blocking->last = NULL;
    rl_gate_open(blocking);
    while (ask != NULL) {
        struct rl_ask *next = ask->next; /* of the list that was taken: nobody changes it */
        assert(ask->blocking == blocking && !ask->is_done);
        ask->run(ask);
        ask = next;
    }
}

void rl_mutex_say(redlock_mutex *mutex, const char *sentence) {
    rl_gate_close(mutex->blocking);
    rl_error_copy(mutex->message, sizeof mutex->message, sentence);
    rl_gate_open(mutex->blocking);
}
