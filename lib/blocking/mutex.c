/* The mutex's public functions: check arguments, determine the owner, and ask the loop thread
 * (state.h). Calls that need not wait read atomics (valid.h), or read under the gate.
 */
#include "blocking/mutex.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/sized.h"
#include "blocking/ask.h"
#include "blocking/gate.h"
#include "blocking/hold.h"
#include "blocking/make.h"
#include "blocking/valid.h"

#define TIMEOUT_MS_MAX (INT64_C(4294967294)) /* the limit of redlock_acquire() */

static uint64_t owner_of_call(const redlock_mutex *mutex) {
    assert(mutex->number > REDLOCK_OWNER_MAX);
    return mutex->own_owner != 0 ? mutex->own_owner : rl_owner_of_thread();
}

/* -- Making and freeing -- */

int rl_mutex_new(redlock_blocking *blocking, struct rl_making *making) {
    const uint64_t owner = making->options.owner;
    assert(making->made == NULL);
    if (blocking == NULL || making->target == NULL) {
        return rl_error_invalid(making, "%s", "the client or the lock options are NULL");
    }
    if (owner > REDLOCK_OWNER_MAX && owner != REDLOCK_OWNER_OBJECT) {
        return rl_error_invalid(
            making, "%s",
            "owner is above REDLOCK_OWNER_MAX: the upper half of the numbers is for "
            "threads");
    }
    char sentence[REDLOCK_MESSAGE_MAX] = "";
    struct rl_ask ask = {.run = rl_hold_make, .making = making};
    ask.text = sentence;
    ask.text_size = sizeof sentence;
    int status = rl_ask_send(blocking, &ask);
    if (status != 0) {
        return rl_error_set(making->error, making->error_size, status, "%s",
                            sentence[0] != '\0' ? sentence : redlock_strerror(status));
    }
    assert(making->made != NULL && making->made->blocking == blocking);
    return 0;
}

int redlock_mutex_new_with(redlock_blocking *blocking, const redlock_lock_options *lock,
                           const redlock_mutex_options *user, redlock_mutex **out) {
    redlock_mutex_options o = REDLOCK_MUTEX_OPTIONS_INIT;
    if (out == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    *out = NULL;
    if (user != NULL && !rl_sized_take(&o, sizeof o, user, user->size)) {
        return rl_sized_refuse(user, sizeof o, offsetof(redlock_mutex_options, error),
                               "REDLOCK_MUTEX_OPTIONS_INIT");
    }
    struct rl_making making = {RL_MAKING_OF(&o, lock), .options.kind = RL_KIND_MUTEX,
                               .options.owner = o.owner, .options.on_lost.mutex = o.on_lost};
    making.options.acquire.linger_ms = o.linger_ms;
    int status = rl_mutex_new(blocking, &making);
    *out = making.made;
    return status;
}

int redlock_mutex_new(redlock_blocking *blocking, const void *resource, size_t length,
                      const redlock_mutex_options *options, redlock_mutex **mutex) {
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes one = {resource, length};
    lock.resources = &one;
    lock.n_resources = 1;
    return redlock_mutex_new_with(blocking, &lock, options, mutex);
}

/* The client is being closed, and its thread uses the mutex until it is down. */
static void wait_until_down(redlock_blocking *blocking) {
    int cancel_state; /* else the gate would stay closed */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    rl_gate_close(blocking);
    assert(blocking->is_closing);
    while (!blocking->is_down) {
        rl_gate_wait(blocking, &blocking->changed);
    }
    rl_gate_open(blocking);
    pthread_setcancelstate(cancel_state, NULL);
}

int redlock_mutex_free(redlock_mutex *mutex) {
    struct rl_ask ask = {.run = rl_hold_free, .mutex = mutex};
    if (mutex == NULL) {
        return 0;
    }
    redlock_blocking *blocking = mutex->blocking;
    ask.owner = owner_of_call(mutex);
    int status = rl_ask_send(blocking, &ask);
    if (status == REDLOCK_ERR_CLOSED) {
        wait_until_down(blocking);
    } else if (status != 0) {
        return status;
    }
    rl_hold_drop_memory(mutex);
    rl_blocking_unref(blocking);
    return 0;
}

/* -- Calls that wait -- */

/* The outcome of this thread's last call of redlock_mutex_lock(), which another thread's call must
 * not change. Identified by a number, since a new mutex may have the address of a freed one. */
static _Thread_local struct {
    uint64_t mutex;
    int status;
} last_attempt;

/* A call that did not reach the loop thread has no sentence yet. */
static int ask_loop(redlock_mutex *mutex, struct rl_ask *ask) {
    assert(ask->run != NULL && ask->mutex == NULL);
    assert(ask->ms >= 0 || ask->run != rl_hold_lock || ask->ms == REDLOCK_NO_LIMIT);
    ask->mutex = mutex;
    ask->owner = owner_of_call(mutex);
    int status = rl_ask_send(mutex->blocking, ask);
    if (status == REDLOCK_ERR_CLOSED || status == REDLOCK_ERR_WRONG_THREAD ||
        status == REDLOCK_ERR_SYSTEM) {
        rl_mutex_say(mutex, redlock_strerror(status));
    }
    return status;
}

bool rl_mutex_is_timeout(int64_t timeout_ms) {
    return (timeout_ms >= 0 && timeout_ms <= TIMEOUT_MS_MAX) || timeout_ms == REDLOCK_NO_LIMIT;
}

static int refuse_timeout(redlock_mutex *mutex, int64_t timeout_ms) {
    char sentence[REDLOCK_MESSAGE_MAX];
    assert(!rl_mutex_is_timeout(timeout_ms));
    if (rl_ask_check(mutex->blocking) == 0) {
        last_attempt.mutex = 0;
        snprintf(sentence, sizeof sentence,
                 "timeout_ms is %lld: it must be 0 to %lld, or REDLOCK_NO_LIMIT",
                 (long long)timeout_ms, (long long)TIMEOUT_MS_MAX);
        rl_mutex_say(mutex, sentence);
    }
    return REDLOCK_ERR_INVALID;
}

int rl_mutex_lock(redlock_mutex *mutex, enum redlock_mode mode, int64_t timeout_ms, bool is_slow) {
    struct rl_ask ask = {.run = rl_hold_lock, .mode = mode, .is_slow = is_slow, .ms = timeout_ms};
    assert(mode == REDLOCK_EXCLUSIVE || mode == REDLOCK_SHARED);
    if (mutex == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    if (!rl_mutex_is_timeout(timeout_ms)) {
        return refuse_timeout(mutex, timeout_ms);
    }
    int status = ask_loop(mutex, &ask);
    last_attempt.mutex = mutex->number;
    last_attempt.status = ask.attempt;
    return status;
}

int rl_mutex_ask(redlock_mutex *mutex, void (*run)(struct rl_ask *ask), int64_t ms) {
    struct rl_ask ask = {.run = run, .ms = ms};
    return mutex != NULL ? ask_loop(mutex, &ask) : REDLOCK_ERR_INVALID;
}

int redlock_mutex_lock(redlock_mutex *mutex, int64_t timeout_ms) {
    return rl_mutex_lock(mutex, REDLOCK_EXCLUSIVE, timeout_ms, false);
}

int redlock_mutex_try_lock(redlock_mutex *mutex) {
    return rl_mutex_lock(mutex, REDLOCK_EXCLUSIVE, 0, false);
}

int redlock_mutex_unlock(redlock_mutex *mutex) {
    return rl_mutex_ask(mutex, rl_hold_unlock, 0);
}

int redlock_mutex_extend(redlock_mutex *mutex, int64_t ttl_ms) {
    return rl_mutex_ask(mutex, rl_hold_extend, ttl_ms);
}

int redlock_mutex_alive(redlock_mutex *mutex) {
    return rl_mutex_ask(mutex, rl_hold_alive, 0);
}

int redlock_mutex_attempt_status(const redlock_mutex *mutex) {
    if (mutex == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    return last_attempt.mutex == mutex->number ? last_attempt.status : 0;
}

/* -- Reading -- */

int redlock_mutex_is_valid(const redlock_mutex *mutex) {
    return mutex != NULL && rl_valid_left_ns(mutex, owner_of_call(mutex)) > 0;
}

int64_t redlock_mutex_remaining_ms(const redlock_mutex *mutex) {
    return mutex == NULL ? 0 : (int64_t)(rl_valid_left_ns(mutex, owner_of_call(mutex)) / 1000000);
}

/* Copies the grant that the caller may see: of its hold; in on_lost, of the lost one. A grant is
 * written together with its owner, which is cleared before another owner follows. Returns 0,
 * NOT_HELD or FORKED. */
static int read_grant(const redlock_mutex *mutex, struct rl_grant *grant) {
    const int status = rl_ask_check(mutex->blocking);
    if (status == REDLOCK_ERR_FORKED) {
        return status;
    }
    rl_gate_close(mutex->blocking);
    const struct rl_hold *hold = status == REDLOCK_ERR_WRONG_THREAD
                                     ? mutex->lost
                                     : rl_valid_hold(mutex, owner_of_call(mutex));
    if (hold != NULL) {
        *grant = hold->grant;
    }
    rl_gate_open(mutex->blocking);
    return hold != NULL ? 0 : REDLOCK_ERR_NOT_HELD;
}

int redlock_mutex_token(redlock_mutex *mutex, char *buffer, size_t size) {
    struct rl_grant grant;
    if (mutex == NULL || buffer == NULL || size <= REDLOCK_TOKEN_LENGTH) {
        rl_error_copy(buffer, size, "");
        return REDLOCK_ERR_INVALID;
    }
    const int status = read_grant(mutex, &grant);
    rl_error_copy(buffer, size, status == 0 ? grant.token : "");
    return status;
}

uint64_t redlock_mutex_fence(redlock_mutex *mutex) {
    struct rl_grant grant;
    return mutex != NULL && read_grant(mutex, &grant) == 0 ? grant.fence : 0;
}

int32_t rl_mutex_slot(redlock_mutex *mutex, size_t index) {
    struct rl_grant grant;
    if (mutex == NULL || index >= REDLOCK_TAKE_MAX || read_grant(mutex, &grant) != 0) {
        return REDLOCK_NO_SLOT;
    }
    assert(mutex->options.kind == RL_KIND_SEMAPHORE);
    assert(grant.slots[index] < REDLOCK_PERMITS_MAX);
    return grant.slots[index];
}

const char *redlock_mutex_message(const redlock_mutex *mutex, char *buffer, size_t size) {
    if (buffer == NULL || size == 0) {
        return "";
    }
    buffer[0] = '\0';
    if (mutex == NULL) {
        return buffer;
    }
    if (rl_ask_check(mutex->blocking) == REDLOCK_ERR_FORKED) {
        rl_error_copy(buffer, size, redlock_strerror(REDLOCK_ERR_FORKED));
        return buffer;
    }
    rl_gate_close(mutex->blocking);
    rl_error_copy(buffer, size, mutex->message);
    rl_gate_open(mutex->blocking);
    return buffer;
}
