/* A client with a loop thread of its own: opening, closing, and what is asked of it as a whole.
 *
 * Opening: everything that can fail on this side is made first, then the thread, which opens the
 * asynchronous client on its loop. The opener waits for the thread's word; if it is an error the
 * thread has already cleaned its loop and is joined.
 *
 * Closing: the last ask closes the asynchronous client, which ends what is under way; when that has
 * gone (on_close) the wake-up handle is closed, the loop has nothing left and ends, the thread says
 * that it is down and ends too, and the closer joins it.
 *
 * Failure modes: no memory, thread or pipe: an error, nothing is left. No quorum: an error with a
 * client that goes on trying. In a child after fork(): nothing is touched.
 */
#include "blocking.h"
#include "client.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "memory.h"

/* -- The loop thread -- */

static void wake_cb(uv_async_t *wake) {
    rl_ask_run_all(wake->data);
}

static void tell_opener(redlock_blocking *blocking, int status) {
    uv_mutex_lock(&blocking->gate);
    assert(!blocking->is_open);
    blocking->options = NULL;
    blocking->open_status = status;
    blocking->is_open = true;
    uv_cond_broadcast(&blocking->changed);
    uv_mutex_unlock(&blocking->gate);
}

static void open_cb(redlock_client *client, int status, void *data) {
    redlock_blocking *blocking = data;
    assert(status != REDLOCK_ERR_CANCELED); /* nobody else can close it yet */
    if (status != 0) {
        rl_ask_say(blocking->options->error, blocking->options->error_size,
                   redlock_client_message(client));
    }
    tell_opener(blocking, status);
}

static void run_loop(void *data) {
    redlock_blocking *blocking = data;
    blocking->loop_thread = uv_thread_self();
#ifdef __linux__
    pthread_setname_np(pthread_self(), "redlock");
#endif
    int status = redlock_client_open(&blocking->client, &blocking->loop, blocking->options, open_cb,
                                     blocking);
    if (status != 0) {
        uv_close((uv_handle_t *)&blocking->wake, NULL);
    }
    uv_run(&blocking->loop, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&blocking->loop);
    assert(busy == 0);
    (void)busy;
    if (status != 0) {
        tell_opener(blocking, status);
    }
    uv_mutex_lock(&blocking->gate);
    blocking->is_down = true;
    uv_cond_broadcast(&blocking->changed);
    uv_mutex_unlock(&blocking->gate);
}

/* Signals of the process are for the program's threads. Those that a fault of this thread raises
 * stay: the program may have a handler that reports crashes. */
static int start_thread(redlock_blocking *blocking) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&blocked, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* the new thread inherits it */
    int error = uv_thread_create(&blocking->thread, run_loop, blocking);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* -- Opening -- */

/* 0, or an error of libuv; nothing is left then. */
static int make_parts(redlock_blocking *blocking) {
    int error = uv_mutex_init(&blocking->gate);
    if (error != 0) {
        return error;
    }
    error = uv_cond_init(&blocking->changed);
    if (error != 0) {
        goto no_cond;
    }
    error = uv_loop_init(&blocking->loop);
    if (error != 0) {
        goto no_loop;
    }
    error = uv_async_init(&blocking->loop, &blocking->wake, wake_cb);
    if (error != 0) {
        goto no_async;
    }
    blocking->wake.data = blocking;
    error = start_thread(blocking);
    if (error == 0) {
        return 0;
    }
    uv_close((uv_handle_t *)&blocking->wake, NULL);
    uv_run(&blocking->loop, UV_RUN_DEFAULT);
no_async:
    uv_loop_close(&blocking->loop);
no_loop:
    uv_cond_destroy(&blocking->changed);
no_cond:
    uv_mutex_destroy(&blocking->gate);
    return error;
}

static int wait_until_open(redlock_blocking *blocking) {
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    uv_mutex_lock(&blocking->gate);
    while (!blocking->is_open) {
        uv_cond_wait(&blocking->changed, &blocking->gate);
    }
    int status = blocking->open_status;
    uv_mutex_unlock(&blocking->gate);
    if (blocking->client == NULL) { /* there is none: the thread ends */
        uv_thread_join(&blocking->thread);
    }
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

static int fail_open(const redlock_client_options *options, int status, const char *sentence) {
    rl_ask_say(options->error, options->error_size, sentence);
    return status;
}

int redlock_blocking_open(redlock_blocking **out, const redlock_client_options *options) {
    if (out == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    *out = NULL;
    if (options == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    if (options->size != sizeof *options) {
        return rl_options_refuse_size(options, sizeof *options,
                                      offsetof(redlock_client_options, error),
                                      "REDLOCK_CLIENT_OPTIONS_INIT");
    }
    const redlock_allocator *user = options->allocator;
    if (user != NULL && (user->malloc == NULL || user->free == NULL)) {
        return fail_open(options, REDLOCK_ERR_INVALID,
                         "allocator: malloc and free must both be set");
    }
    redlock_allocator memory;
    rl_memory_init(&memory, user);
    redlock_blocking *blocking = rl_alloc(&memory, 1, sizeof *blocking);
    if (blocking == NULL) {
        return fail_open(options, REDLOCK_ERR_NOMEM, "out of memory");
    }
    blocking->memory = memory;
    rl_fork_begin(&blocking->fork);
    blocking->options = options;
    atomic_init(&blocking->references, 1);
    int error = make_parts(blocking);
    if (error != 0) {
        rl_fork_end(&blocking->fork);
        rl_free(&memory, blocking);
        return fail_open(options, REDLOCK_ERR_SYSTEM, uv_strerror(error));
    }
    int status = wait_until_open(blocking);
    if (blocking->client == NULL) {
        rl_blocking_unref(blocking);
        return status;
    }
    *out = blocking;
    return status;
}

/* -- Closing -- */

static void close_cb(redlock_client *client, int status, void *data) {
    redlock_blocking *blocking = data;
    (void)client, (void)status;
    rl_hold_drop_all(blocking);
    uv_close((uv_handle_t *)&blocking->wake, NULL);
}

/* Nobody waits for this ask: the closer joins the thread. */
static void run_close(struct rl_ask *ask) {
    redlock_blocking *blocking = ask->blocking;
    rl_hold_end_all(blocking);
    int status = redlock_client_close(blocking->client, close_cb, blocking);
    assert(status == 0);
    (void)status;
}

int redlock_blocking_close(redlock_blocking *blocking) {
    struct rl_ask ask = {.run = run_close};
    if (blocking == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    int status = rl_ask_check(blocking);
    if (status == 0) {
        status = rl_ask_send_last(blocking, &ask);
    }
    if (status != 0) {
        return status;
    }
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    uv_thread_join(&blocking->thread);
    pthread_setcancelstate(cancel_state, NULL);
    rl_blocking_unref(blocking);
    return 0;
}

/* -- Looking -- */

static void run_stats(struct rl_ask *ask) {
    rl_ask_answer(ask, redlock_client_stats(ask->blocking->client, ask->stats));
}

int redlock_blocking_stats(redlock_blocking *blocking, redlock_stats *stats) {
    struct rl_ask ask = {.run = run_stats, .stats = stats};
    return blocking == NULL || stats == NULL ? REDLOCK_ERR_INVALID : rl_ask_send(blocking, &ask);
}

static void run_message(struct rl_ask *ask) {
    rl_ask_say(ask->text, ask->text_size, redlock_client_message(ask->blocking->client));
    rl_ask_answer(ask, 0);
}

int redlock_blocking_message(redlock_blocking *blocking, char *buffer, size_t size) {
    struct rl_ask ask = {.run = run_message, .text = buffer, .text_size = size};
    if (blocking == NULL || buffer == NULL || size == 0) {
        return REDLOCK_ERR_INVALID;
    }
    buffer[0] = '\0';
    return rl_ask_send(blocking, &ask);
}
