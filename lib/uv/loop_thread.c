/* See loop_thread.h. */
#include "uv/loop_thread.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include "base/memory.h"

struct rl_loop_thread {
    const redlock_allocator *memory;
    const struct rl_loop_thread_events *events;
    void *owner;
    uv_thread_t thread;
    uv_thread_t self; /* the same, written by the thread itself before anything else */
    uv_loop_t loop;
    uv_async_t wake;
};

static void wake_cb(uv_async_t *wake) {
    const struct rl_loop_thread *thread = wake->data;
    thread->events->woken(thread->owner);
}

static void run(void *data) {
    struct rl_loop_thread *thread = data;
    thread->self = uv_thread_self();
#ifdef __linux__
    pthread_setname_np(pthread_self(), "redlock");
#endif
    if (!thread->events->begin(thread->owner, &thread->loop)) {
        rl_loop_thread_stop(thread);
    }
    uv_run(&thread->loop, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&thread->loop);
    assert(busy == 0);
    (void)busy;
    thread->events->end(thread->owner);
}

static int start(struct rl_loop_thread *thread) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&blocked, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* the new thread inherits it */
    int error = uv_thread_create(&thread->thread, run, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* 0, or an error of libuv; nothing is left then. */
static int make(struct rl_loop_thread *thread) {
    int error = uv_loop_init(&thread->loop);
    if (error != 0) {
        return error;
    }
    error = uv_async_init(&thread->loop, &thread->wake, wake_cb);
    if (error == 0) {
        thread->wake.data = thread;
        error = start(thread);
        if (error == 0) {
            return 0;
        }
        uv_close((uv_handle_t *)&thread->wake, NULL);
        uv_run(&thread->loop, UV_RUN_DEFAULT);
    }
    uv_loop_close(&thread->loop);
    return error;
}

struct rl_loop_thread *rl_loop_thread_new(const redlock_allocator *memory,
                                          const struct rl_loop_thread_events *events, void *owner,
                                          const char **error) {
    assert(events->begin != NULL && events->woken != NULL && events->end != NULL);
    struct rl_loop_thread *thread = rl_alloc(memory, 1, sizeof *thread);
    *error = NULL;
    if (thread == NULL) {
        return NULL;
    }
    thread->memory = memory;
    thread->events = events;
    thread->owner = owner;
    int status = make(thread);
    if (status != 0) {
        *error = uv_strerror(status);
        rl_free(memory, thread);
        return NULL;
    }
    return thread;
}

void rl_loop_thread_wake(struct rl_loop_thread *thread) {
    uv_async_send(&thread->wake); /* fails only on a handle that is closing */
}

void rl_loop_thread_stop(struct rl_loop_thread *thread) {
    assert(rl_loop_thread_is_self(thread));
    uv_close((uv_handle_t *)&thread->wake, NULL);
}

bool rl_loop_thread_is_self(const struct rl_loop_thread *thread) {
    uv_thread_t self = uv_thread_self();
    return uv_thread_equal(&self, &thread->self) != 0;
}

void rl_loop_thread_join(struct rl_loop_thread *thread) {
    assert(!rl_loop_thread_is_self(thread));
    uv_thread_join(&thread->thread);
}

void rl_loop_thread_free(struct rl_loop_thread *thread) {
    rl_free(thread->memory, thread);
}
