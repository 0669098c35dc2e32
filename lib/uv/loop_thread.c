/* See loop_thread.h. */
#include "uv/loop_thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory.h"

struct rl_loop_thread {
    const redlock_allocator *memory;
    const struct rl_loop_thread_events *events;
    void *owner;
    uv_thread_t thread;
    uv_thread_t self; /* the same, written by the thread itself first */
    int wake;         /* a descriptor: readable after rl_loop_thread_wake() */
    uv_loop_t loop;
    uv_poll_t poll; /* of wake */
    uv_prepare_t prepare;
    uv_check_t check;
    uv_timer_t stint;
};

/* -- The thread -- */

static void wake_cb(uv_poll_t *poll, int status, int events) {
    const struct rl_loop_thread *thread = poll->data;
    uint64_t number;
    assert(status == 0 && events == UV_READABLE);
    (void)status, (void)events;
    ssize_t n = read(thread->wake, &number, sizeof number); /* sets it to 0; after_wait() is next */
    assert(n == (ssize_t)sizeof number || (n < 0 && errno == EAGAIN));
    (void)n;
}

static void prepare_cb(uv_prepare_t *prepare) {
    const struct rl_loop_thread *thread = prepare->data;
    thread->events->before_wait(thread->owner);
}

static void check_cb(uv_check_t *check) {
    const struct rl_loop_thread *thread = check->data;
    thread->events->after_wait(thread->owner);
}

/* libuv runs the handles of a kind from the last started to the first: the client's, which begin()
 * starts, run between these two. */
static void run(void *data) {
    struct rl_loop_thread *thread = data;
    thread->self = uv_thread_self();
#ifdef __linux__
    pthread_setname_np(pthread_self(), "redlock");
#endif
    uv_prepare_start(&thread->prepare, prepare_cb);
    bool has_begun = thread->events->begin(thread->owner, &thread->loop);
    uv_check_start(&thread->check, check_cb);
    if (!has_begun) {
        rl_loop_thread_stop(thread);
    }
    while (uv_run(&thread->loop, UV_RUN_DEFAULT) != 0) {
        thread->events->paused(thread->owner);
    }
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

/* -- Making -- */

static void close_handles(struct rl_loop_thread *thread) {
    uv_close((uv_handle_t *)&thread->poll, NULL);
    uv_close((uv_handle_t *)&thread->prepare, NULL);
    uv_close((uv_handle_t *)&thread->check, NULL);
    uv_close((uv_handle_t *)&thread->stint, NULL);
}

/* Returns 0, or an error of libuv; in that case nothing is left on the loop. */
static int make_handles(struct rl_loop_thread *thread) {
    int error = uv_poll_init(&thread->loop, &thread->poll, thread->wake);
    if (error != 0) {
        return error;
    }
    uv_prepare_init(&thread->loop, &thread->prepare); /* these three cannot fail */
    uv_timer_init(&thread->loop, &thread->stint);
    uv_check_init(&thread->loop, &thread->check);
    thread->poll.data = thread->prepare.data = thread->check.data = thread;
    error = uv_poll_start(&thread->poll, UV_READABLE, wake_cb);
    error = error == 0 ? start(thread) : error;
    if (error != 0) {
        close_handles(thread);
        uv_run(&thread->loop, UV_RUN_DEFAULT);
    }
    return error;
}

#define LOOP_DESCRIPTORS 6 /* enough for the first loop of a process */

/* For that one libuv aborts the program if there are too few. Returns 0, or an error of libuv. */
static int find_descriptors(int any) {
    int found[LOOP_DESCRIPTORS], n = 0, error = 0, cancel_state;
    while (n < LOOP_DESCRIPTORS && (found[n] = fcntl(any, F_DUPFD_CLOEXEC, 0)) >= 0) {
        n++;
    }
    if (n < LOOP_DESCRIPTORS) {
        error = uv_translate_sys_error(errno);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* close() would end it */
    while (n > 0) {
        close(found[--n]);
    }
    pthread_setcancelstate(cancel_state, NULL);
    return error;
}

/* Returns 0, or an error of libuv; in that case nothing is left. */
static int make(struct rl_loop_thread *thread) {
    thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (thread->wake < 0) {
        return uv_translate_sys_error(errno);
    }
    int error = find_descriptors(thread->wake);
    error = error == 0 ? uv_loop_init(&thread->loop) : error;
    if (error == 0) {
        error = make_handles(thread);
        if (error == 0) {
            return 0;
        }
        uv_loop_close(&thread->loop);
    }
    close(thread->wake);
    return error;
}

bool rl_loop_thread_new(struct rl_loop_thread **out, const redlock_allocator *memory,
                        const struct rl_loop_thread_events *events, void *owner,
                        const char **error) {
    assert(events->begin != NULL && events->end != NULL);
    assert(events->before_wait != NULL && events->after_wait != NULL && events->paused != NULL);
    struct rl_loop_thread *thread = rl_alloc(memory, 1, sizeof *thread);
    *error = NULL;
    *out = thread;
    if (thread == NULL) {
        return false;
    }
    thread->memory = memory;
    thread->events = events;
    thread->owner = owner;
    int status = make(thread);
    if (status != 0) {
        *error = uv_strerror(status);
        rl_free(memory, thread);
        *out = NULL;
        return false;
    }
    return true;
}

/* -- In use -- */

/* The write fails only if the counter is full, and then the loop is awake. */
void rl_loop_thread_wake(struct rl_loop_thread *thread) {
    static const uint64_t one = 1;
    ssize_t n = write(thread->wake, &one, sizeof one);
    assert(n == (ssize_t)sizeof one || (n < 0 && errno == EAGAIN));
    (void)n;
}

void rl_loop_thread_stop(struct rl_loop_thread *thread) {
    assert(rl_loop_thread_is_self(thread));
    close_handles(thread);
}

void rl_loop_thread_pause(struct rl_loop_thread *thread) {
    assert(rl_loop_thread_is_self(thread));
    uv_stop(&thread->loop);
}

/* -- Another thread's turn -- */

/* It only has to become inactive. It may be due before the loop has polled, and libuv before 1.45
 * would then poll until something arrives. */
static void stint_cb(uv_timer_t *stint) {
    uv_stop(stint->loop);
}

void rl_loop_thread_begin_stint(struct rl_loop_thread *thread, uint64_t ms) {
    assert(!uv_is_active((uv_handle_t *)&thread->stint) && ms > 0);
    uv_update_time(&thread->loop);
    uv_timer_start(&thread->stint, stint_cb, ms, 0);
}

bool rl_loop_thread_run_once(struct rl_loop_thread *thread) {
    assert(!rl_loop_thread_is_self(thread));
    uv_run(&thread->loop, UV_RUN_ONCE);
    return uv_is_active((uv_handle_t *)&thread->stint) != 0;
}

void rl_loop_thread_end_stint(struct rl_loop_thread *thread) {
    assert(!rl_loop_thread_is_self(thread));
    uv_timer_stop(&thread->stint);
}

void rl_loop_thread_run_now(struct rl_loop_thread *thread) {
    assert(!rl_loop_thread_is_self(thread));
    uv_run(&thread->loop, UV_RUN_NOWAIT);
}

int rl_loop_thread_timeout_ms(struct rl_loop_thread *thread) {
    uv_update_time(&thread->loop);
    return uv_backend_timeout(&thread->loop);
}

/* -- The end -- */

bool rl_loop_thread_is_self(const struct rl_loop_thread *thread) {
    uv_thread_t self = uv_thread_self();
    return uv_thread_equal(&self, &thread->self) != 0;
}

void rl_loop_thread_join(struct rl_loop_thread *thread) {
    assert(!rl_loop_thread_is_self(thread));
    uv_thread_join(&thread->thread);
}

void rl_loop_thread_free(struct rl_loop_thread *thread) {
    close(thread->wake); /* the loop that polled it is closed */
    rl_free(thread->memory, thread);
}
