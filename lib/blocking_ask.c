/* How a call of any thread gets to the loop thread and back: see blocking.h. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include "blocking.h"
#include "memory.h"

void rl_blocking_ref(redlock_blocking *blocking) {
    atomic_fetch_add_explicit(&blocking->references, 1, memory_order_relaxed);
}

void rl_blocking_unref(redlock_blocking *blocking) {
    if (atomic_fetch_sub_explicit(&blocking->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    assert(blocking->is_down);
    assert(blocking->first == NULL);
    redlock_allocator memory = blocking->memory;
    uv_mutex_destroy(&blocking->gate);
    uv_cond_destroy(&blocking->changed);
    rl_fork_end(&blocking->fork);
    rl_free(&memory, blocking);
}

int rl_ask_check(const redlock_blocking *blocking) {
    if (rl_fork_is_child(&blocking->fork)) {
        return REDLOCK_ERR_FORKED;
    }
    uv_thread_t self = uv_thread_self();
    return uv_thread_equal(&self, &blocking->loop_thread) ? REDLOCK_ERR_WRONG_THREAD : 0;
}

/* With the gate closed. */
static void put(redlock_blocking *blocking, struct rl_ask *ask) {
    ask->blocking = blocking;
    ask->next = NULL;
    if (blocking->last != NULL) {
        blocking->last->next = ask;
    } else {
        blocking->first = ask;
    }
    blocking->last = ask;
    uv_async_send(&blocking->wake); /* fails only on a handle that is closing */
}

static int send_and_wait(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = REDLOCK_ERR_CLOSED;
    uv_mutex_lock(&blocking->gate);
    if (!blocking->is_closing) {
        put(blocking, ask);
        while (!ask->is_done) {
            uv_cond_wait(&ask->answered, &blocking->gate);
        }
        status = ask->status;
    }
    uv_mutex_unlock(&blocking->gate);
    return status;
}

int rl_ask_send(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = rl_ask_check(blocking);
    if (status != 0) {
        return status;
    }
    if (uv_cond_init(&ask->answered) != 0) {
        return REDLOCK_ERR_SYSTEM;
    }
    int cancel_state;
    rl_blocking_ref(blocking);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    ask->is_done = false;
    ask->asked_ns = redlock_now_ns();
    status = send_and_wait(blocking, ask);
    pthread_setcancelstate(cancel_state, NULL);
    uv_cond_destroy(&ask->answered);
    rl_blocking_unref(blocking);
    return status;
}

int rl_ask_send_last(redlock_blocking *blocking, struct rl_ask *ask) {
    int status = REDLOCK_ERR_CLOSED;
    uv_mutex_lock(&blocking->gate);
    if (!blocking->is_closing) {
        blocking->is_closing = true;
        put(blocking, ask);
        status = 0;
    }
    uv_mutex_unlock(&blocking->gate);
    return status;
}

void rl_ask_answer(struct rl_ask *ask, int status) {
    redlock_blocking *blocking = ask->blocking;
    uv_mutex_lock(&blocking->gate);
    assert(!ask->is_done);
    ask->status = status;
    ask->is_done = true;
    uv_cond_signal(&ask->answered);
    uv_mutex_unlock(&blocking->gate);
}

void rl_ask_run_all(redlock_blocking *blocking) {
    uv_mutex_lock(&blocking->gate);
    struct rl_ask *ask = blocking->first;
    blocking->first = blocking->last = NULL;
    uv_mutex_unlock(&blocking->gate);
    while (ask != NULL) {
        struct rl_ask *next = ask->next; /* of the list that was taken: nobody changes it */
        ask->run(ask);
        ask = next;
    }
}

void rl_ask_say(char *text, size_t size, const char *sentence) {
    if (text != NULL && size > 0) {
        snprintf(text, size, "%s", sentence);
    }
}
