/* See work.h. */
#include "blocking/work.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#include "base/error.h"
#include "base/require.h"
#include "blocking/gate.h"
#include "blocking/wheel.h"

void rl_ask_answer(struct rl_ask *ask, int status) {
    redlock_blocking *blocking = ask->blocking;
    assert(rl_wheel_is_mine(blocking));
    RL_REQUIRE(!ask->is_done); /* else its caller may have returned, and its stack be gone */
    assert(status <= 0);
    ask->status = status;
    ask->is_done = true;
    ask->next = NULL;
    blocking->answered++;
    if (blocking->last_answer != NULL) {
        blocking->last_answer->next = ask;
    } else {
        blocking->first_answer = ask;
    }
    blocking->last_answer = ask;
    if (!blocking->keeps_answers) {
        rl_ask_tell(blocking);
    }
}

void rl_ask_tell(redlock_blocking *blocking) {
    struct rl_ask *ask = blocking->first_answer;
    assert(rl_wheel_is_mine(blocking));
    blocking->first_answer = blocking->last_answer = NULL;
    while (ask != NULL) {
        struct rl_ask *next = ask->next;
        assert(ask->blocking == blocking && ask->is_done);
        int error = sem_post(&ask->answered); /* it belongs to the caller again */
        assert(error == 0);
        (void)error;
        ask = next;
    }
}

/* With the gate closed: takes the list, or nothing if only the loop thread may run it: an ask that
 * closes the client, or one that may lock a mutex with on_lost, which another caller has just
 * made. */
static struct rl_ask *take_list(redlock_blocking *blocking) {
    struct rl_ask *ask = blocking->first;
    bool is_for_thread = blocking->is_closing || blocking->listeners > 0;
    if (is_for_thread && !rl_loop_thread_is_self(blocking->thread)) {
        assert(blocking->wheel == RL_WHEEL_CALLER);
        blocking->leaves = true;
        return NULL;
    }
    blocking->first = blocking->last = NULL;
    return ask;
}

/* Takes the list, and runs its asks. */
static void run_all(redlock_blocking *blocking, bool is_asleep) {
    assert(rl_wheel_is_mine(blocking));
    rl_gate_close(blocking);
    struct rl_ask *ask = take_list(blocking);
    blocking->is_asleep = is_asleep;
    if (is_asleep) {
        rl_wheel_consider(blocking);
    }
    rl_gate_open(blocking);
    while (ask != NULL) {
        struct rl_ask *next = ask->next; /* no thread changes the list that was taken */
        assert(ask->blocking == blocking && !ask->is_done);
        ask->run(ask);
        ask = next;
    }
}

void rl_ask_tell_all(redlock_blocking *blocking) {
    blocking->keeps_answers = false;
    rl_ask_tell(blocking);
    assert(blocking->first_answer == NULL);
}

void rl_ask_before_wait(redlock_blocking *blocking) {
    rl_ask_tell_all(blocking);
    run_all(blocking, true);
    if (blocking->leaves) { /* this thread must not wait */
        rl_loop_thread_wake(blocking->thread);
    }
}

void rl_ask_after_wait(redlock_blocking *blocking) {
    blocking->keeps_answers = true;
    run_all(blocking, false);
}

void rl_mutex_say(redlock_mutex *mutex, const char *sentence) {
    rl_gate_close(mutex->blocking);
    rl_error_copy(mutex->message, sizeof mutex->message, sentence);
    rl_gate_open(mutex->blocking);
}
