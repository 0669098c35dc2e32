/* A client with its own loop thread: opening, closing, and calls on the client as a whole.
 *
 * Opening: makes everything that can fail on this side first, then the thread, which opens the
 * asynchronous client on its loop. The opener waits for the thread's result; after an error, the
 * thread has already cleaned up its loop and is joined.
 *
 * Closing: the last ask closes the asynchronous client, which ends all pending operations; when the
 * client is closed (on_close) the wake-up handle is closed, the loop has nothing left and ends, the
 * thread reports that it is down and ends, too, and the closer joins it.
 *
 * Failure modes: no memory, thread or pipe: an error, nothing is left. No quorum: an error, with a
 * client that keeps trying. In a child after fork(): nothing is touched.
 */

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/sized.h"
#include "blocking/ask.h"
#include "blocking/drive.h"
#include "blocking/gate.h"
#include "blocking/hold.h"
#include "blocking/make.h"

/* -- The loop thread -- */

static void tell_opener(redlock_blocking *blocking, int status) {
    rl_gate_close(blocking);
    assert(!blocking->is_open);
    blocking->options = NULL;
    blocking->open_status = status;
    blocking->is_open = true;
    pthread_cond_broadcast(&blocking->changed);
    rl_gate_open(blocking);
}

static void open_cb(redlock_client *client, int status, void *data) {
    redlock_blocking *blocking = data;
    assert(client == blocking->client && blocking->options != NULL); /* the opener waits */
    assert(status != REDLOCK_ERR_CANCELED); /* no other thread can close it yet */
    if (status != 0) {
        redlock_client_message(client, blocking->options->error, blocking->options->error_size);
    }
    tell_opener(blocking, status);
}

static bool begin(void *owner, struct uv_loop_s *loop) {
    redlock_blocking *blocking = owner;
    rl_wheel_take(blocking);
    redlock_client_options options = *blocking->options;
    options.background = 0; /* the thread ends when nothing is on its loop */
    int status = redlock_client_open(&blocking->client, loop, &options, open_cb, blocking);
    assert((status == 0) == (blocking->client != NULL)); /* wait_until_open() relies on it */
    blocking->begin_status = status;
    return status == 0;
}

static void end(void *owner) {
    redlock_blocking *blocking = owner;
    if (blocking->begin_status != 0) {
        tell_opener(blocking, blocking->begin_status);
    }
    rl_ask_tell(blocking);
    rl_gate_close(blocking);
    assert(blocking->is_open); /* else the opener would wait for ever */
    assert(!blocking->is_down);
    assert(blocking->mutexes.first == NULL); /* rl_hold_drop_all() */
    blocking->is_down = true;
    pthread_cond_broadcast(&blocking->changed);
    rl_gate_open(blocking);
}

static const struct rl_loop_thread_events thread_events = {
    .begin = begin,
    .before_wait = rl_ask_before_wait,
    .after_wait = rl_ask_after_wait,
    .paused = rl_drive_rest,
    .end = end,
};

/* -- Opening -- */

static const char no_memory[] = "out of memory";

/* Returns NULL, or a sentence; in that case nothing is left. */
static const char *make_parts(redlock_blocking *blocking) {
    const char *error = NULL;
    pthread_condattr_t clock;
    int code = pthread_mutex_init(&blocking->gate, NULL);
    if (code != 0) {
        return strerror(code);
    }
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    code = pthread_cond_init(&blocking->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (code != 0) {
        error = strerror(code);
        goto no_cond;
    }
    if (rl_loop_thread_new(&blocking->thread, &blocking->memory, &thread_events, blocking,
                           &error)) {
        return NULL;
    }
    if (error == NULL) {
        error = no_memory;
    }
    pthread_cond_destroy(&blocking->changed);
no_cond:
    pthread_mutex_destroy(&blocking->gate);
    return error;
}

static int wait_until_open(redlock_blocking *blocking) {
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    rl_gate_close(blocking);
    while (!blocking->is_open) {
        rl_gate_wait(blocking, &blocking->changed);
    }
    int status = blocking->open_status;
    assert(blocking->options ==
           NULL); /* the loop thread no longer uses them: they are the opener's */
    rl_gate_open(blocking);
    if (blocking->client == NULL) { /* no client: the thread ends */
        rl_loop_thread_join(blocking->thread);
    }
    pthread_setcancelstate(cancel_state, NULL);
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
        return rl_sized_refuse(options, sizeof *options, offsetof(redlock_client_options, error),
                               "REDLOCK_CLIENT_OPTIONS_INIT");
    }
    const redlock_allocator *user = options->allocator;
    if (user != NULL && (user->malloc == NULL || user->free == NULL)) {
        return rl_error_invalid(options, "%s", "allocator: malloc and free must both be set");
    }
    redlock_allocator memory;
    rl_memory_init(&memory, user);
    redlock_blocking *blocking = rl_alloc(&memory, 1, sizeof *blocking);
    if (blocking == NULL) {
        return rl_error_set(options->error, options->error_size, REDLOCK_ERR_NOMEM, "%s",
                            "out of memory");
    }
    blocking->memory = memory;
    rl_fork_begin(&blocking->fork);
    blocking->options = options;
    blocking->has_own_code =
        options->trace != NULL || options->metrics_label != NULL || user != NULL;
    atomic_init(&blocking->references, 1);
    const char *error = make_parts(blocking);
    if (error != NULL) {
        rl_fork_end(&blocking->fork);
        rl_free(&memory, blocking);
        return rl_error_set(options->error, options->error_size,
                            error == no_memory ? REDLOCK_ERR_NOMEM : REDLOCK_ERR_SYSTEM, "%s",
                            error);
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
    assert(blocking->is_closing && status == 0);
    assert(client == blocking->client);
    (void)client, (void)status;
    rl_hold_drop_all(blocking);
    rl_loop_thread_stop(blocking->thread);
}

/* No caller waits for this ask: the closer joins the thread. */
static void run_close(struct rl_ask *ask) {
    redlock_blocking *blocking = ask->blocking;
    assert(blocking->asks.first == NULL); /* it is the last of the list that was taken */
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
    if (status != 0) {
        return status;
    }
    int cancel_state; /* the wake-up is a cancellation point, and the ask is on this stack */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    status = rl_ask_send_last(blocking, &ask);
    if (status == 0) {
        rl_loop_thread_join(blocking->thread);
        assert(blocking->is_down && blocking->asks.first == NULL);
        rl_blocking_unref(blocking);
    }
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

/* -- Reading -- */

static void run_stats(struct rl_ask *ask) {
    rl_ask_answer(ask, redlock_client_stats(ask->blocking->client, ask->stats));
}

int redlock_blocking_stats(redlock_blocking *blocking, redlock_stats *stats) {
    struct rl_ask ask = {.run = run_stats, .stats = stats};
    return blocking == NULL || stats == NULL ? REDLOCK_ERR_INVALID : rl_ask_send(blocking, &ask);
}

static void run_metrics(struct rl_ask *ask) {
    const int length =
        redlock_metrics_format(ask->blocking->client, ask->metrics, ask->text, ask->text_size);
    ask->ms = length;
    rl_ask_answer(ask, length < 0 ? length : 0);
}

int redlock_blocking_metrics(redlock_blocking *blocking, enum redlock_metrics_text text,
                             char *buffer, size_t size) {
    struct rl_ask ask = {.run = run_metrics, .metrics = text, .text = buffer, .text_size = size};
    const int status = blocking == NULL ? REDLOCK_ERR_INVALID : rl_ask_send(blocking, &ask);
    return status != 0 ? status : (int)ask.ms;
}

static void run_message(struct rl_ask *ask) {
    redlock_client_message(ask->blocking->client, ask->text, ask->text_size);
    rl_ask_answer(ask, 0);
}

const char *redlock_blocking_message(redlock_blocking *blocking, char *buffer, size_t size) {
    struct rl_ask ask = {.run = run_message, .text = buffer, .text_size = size};
    if (buffer == NULL || size == 0) {
        return "";
    }
    buffer[0] = '\0';
    int status = blocking != NULL ? rl_ask_send(blocking, &ask) : 0;
    if (status != 0) {
        rl_error_copy(buffer, size, redlock_strerror(status));
    }
    return buffer;
}

/* -- Credentials -- */

/* The strings belong to the caller, which waits: no further copy of a password exists here. */
struct rl_credentials_ask {
    struct rl_ask ask;
    size_t node;
    const char *user;
    const char *password;
};

static void run_set(struct rl_ask *ask) {
    const struct rl_credentials_ask *set = RL_CONTAINER(ask, struct rl_credentials_ask, ask);
    assert(ask->run == run_set);
    rl_ask_answer(ask, redlock_client_set_credentials(ask->blocking->client, set->node, set->user,
                                                      set->password));
}

int redlock_blocking_set_credentials(redlock_blocking *blocking, size_t node, const char *user,
                                     const char *password) {
    struct rl_credentials_ask set = {
        .ask = {.run = run_set}, .node = node, .user = user, .password = password};
    return blocking == NULL ? REDLOCK_ERR_INVALID : rl_ask_send(blocking, &set.ask);
}
