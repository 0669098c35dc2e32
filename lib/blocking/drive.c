/* Decides which thread runs the client's loop, and when that changes.
 *
 * Happy path: one thread locks and unlocks. Waking the loop thread and then its caller costs more
 * than the rest of a lock, so the loop thread leaves the loop after ALONE_MIN asks that came one by
 * one. From then on each caller runs the loop itself while it waits, and leaves it with its answer.
 * If no caller comes for REST_MS, or a timer is due, the loop thread takes the loop back. If a
 * caller leaves while others wait, the loop thread gets the loop at once, and keeps it.
 *
 * Failure modes: the loop thread takes over an answer that takes longer than STINT_MS, and a client
 * that is closing. It also runs everything of a client in which code of the program may run
 * (on_lost, a trace hook, an allocator), as promised for such code, and a call on a small stack.
 *
 * What is late if no thread runs the loop for REST_MS? No call, since its caller would run the
 * loop. No timer either: due_ns says when the first one is due, and the loop thread takes the loop
 * for it. (No test shows that: a thread that leaves the loop free has seen no timer due within
 * REST_MS, so without due_ns a timer would be late by no more than that.) Bytes that arrive
 * meanwhile are read before their deadline is checked (heard_ns() of base/world.h).
 */
#include "blocking/drive.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/require.h"
#include "base/units.h"
#include "blocking/gate.h"
#include "client/recipe.h"

#define REST_MS 2 /* how long the loop may go without a thread that runs it */
#define ALONE_MIN 8
#define STINT_MS 5
/* For the whole library, and libuv: the events of one wait take 12 KB, and a TLS handshake needs
 * some 30. */
#define STACK_ROOM ((size_t)128 * 1024)

/* -- The stack -- */

struct bounds {
    bool is_known;
    uintptr_t low;
    uintptr_t high;
};

/* Asks the system once for each thread. If it does not know, or the program has made the stack
 * itself (a fiber's), there is no room. */
static struct bounds ask_system(void) {
    struct bounds bounds = {.is_known = true};
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
            bounds.low = (uintptr_t)low;
            bounds.high = bounds.low + size;
        }
        pthread_attr_destroy(&attributes);
    }
    assert(bounds.low <= bounds.high);
    return bounds;
}

/* Whether the calling thread's stack has room for so many bytes. Does not use the address of a
 * variable, which a sanitizer may place elsewhere. */
static bool stack_has_room(size_t bytes) {
    static _Thread_local struct bounds stack;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!stack.is_known) {
        stack = ask_system();
    }
    return here > stack.low && here <= stack.high && here - stack.low >= bytes;
}

/* -- The wheel -- */

/* Its address identifies the thread. */
static _Thread_local char here;

void rl_wheel_take(redlock_blocking *blocking) {
    assert(atomic_load(&blocking->driver) == NULL);
    atomic_store_explicit(&blocking->driver, &here, memory_order_relaxed);
    if (blocking->client != NULL) {
        rl_recipe_take_over(blocking->client);
    }
}

/* The calling thread no longer runs the loop: `wheel` already shows this, or will before the gate
 * opens. */
static void wheel_let_go(redlock_blocking *blocking) {
    assert(rl_wheel_is_mine(blocking));
    atomic_store_explicit(&blocking->driver, NULL, memory_order_relaxed);
}

bool rl_wheel_is_mine(const redlock_blocking *blocking) {
    return atomic_load_explicit(&blocking->driver, memory_order_relaxed) == &here;
}

/* The clock of the loop and of the gate's conditions. */
static uint64_t gate_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Whether no code of the program may run in the loop. */
static bool may_drive(const redlock_blocking *blocking) {
    assert(rl_wheel_is_mine(blocking));
    return !blocking->has_own_code && blocking->listeners == 0;
}

/* With the gate closed, by the thread with the wheel: whether no thread needs the wheel for
 * REST_MS. timeout_ms: how long the loop would wait; below 0: for ever. Sets due_ns. */
static bool may_let_go(redlock_blocking *blocking, int timeout_ms) {
    assert(rl_wheel_is_mine(blocking));
    assert(blocking->sent >= blocking->answered);
    blocking->due_ns = UINT64_MAX;
    if (timeout_ms >= 0) {
        blocking->due_ns = gate_now_ns() + (uint64_t)timeout_ms * RL_NS_PER_MS;
    }
    return blocking->sent == blocking->answered && may_drive(blocking) && !blocking->is_closing &&
           (timeout_ms < 0 || timeout_ms > REST_MS);
}

void rl_wheel_call(redlock_blocking *blocking) {
    assert(!rl_wheel_is_mine(blocking));
    pthread_cond_broadcast(&blocking->changed);
}

/* By the thread with the wheel, with the gate closed and all answers delivered: notes whether
 * callers come one by one. If so, the loop thread leaves its loop for them. */
static void consider_callers(redlock_blocking *blocking) {
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

/* -- Asks -- */

void rl_ask_answer(struct rl_ask *ask, int status) {
    redlock_blocking *blocking = ask->blocking;
    assert(rl_wheel_is_mine(blocking));
    RL_REQUIRE(!ask->is_done); /* else its caller may have returned, and its stack may be gone */
    assert(status <= 0);
    ask->status = status;
    ask->is_done = true;
    blocking->answered++;
    rl_queue_add(&blocking->answers, &ask->queued);
    if (!blocking->keeps_answers) {
        rl_ask_tell(blocking);
    }
}

void rl_ask_tell(redlock_blocking *blocking) {
    struct rl_queued *item;
    assert(rl_wheel_is_mine(blocking));
    while ((item = rl_queue_take(&blocking->answers)) != NULL) {
        struct rl_ask *ask = RL_CONTAINER(item, struct rl_ask, queued);
        assert(ask->blocking == blocking && ask->is_done);
        int error = sem_post(&ask->answered); /* it belongs to the caller again */
        assert(error == 0);
        (void)error;
    }
}

/* Wakes the callers of all answered asks, and of later ones at once from now on. */
static void tell_all(redlock_blocking *blocking) {
    blocking->keeps_answers = false;
    rl_ask_tell(blocking);
    assert(blocking->answers.first == NULL);
}

/* With the gate closed: takes the list, or nothing if only the loop thread may run it: an ask that
 * closes the client, or one that may lock a mutex with on_lost, which another caller has just
 * made. */
static struct rl_queue take_list(redlock_blocking *blocking) {
    struct rl_queue asks = blocking->asks;
    bool is_for_thread = blocking->is_closing || blocking->listeners > 0;
    if (is_for_thread && !rl_loop_thread_is_self(blocking->thread)) {
        assert(blocking->wheel == RL_WHEEL_CALLER);
        blocking->leaves = true;
        return (struct rl_queue){.first = NULL};
    }
    blocking->asks.first = NULL;
    return asks;
}

/* Takes the list, and runs its asks. */
static void run_all(redlock_blocking *blocking, bool is_asleep) {
    assert(rl_wheel_is_mine(blocking));
    rl_gate_close(blocking);
    struct rl_queue asks = take_list(blocking); /* no other thread changes it */
    struct rl_queued *item;
    blocking->is_asleep = is_asleep;
    if (is_asleep) {
        consider_callers(blocking);
    }
    rl_gate_open(blocking);
    while ((item = rl_queue_take(&asks)) != NULL) {
        struct rl_ask *ask = RL_CONTAINER(item, struct rl_ask, queued);
        assert(ask->blocking == blocking && !ask->is_done);
        ask->run(ask);
    }
}

void rl_ask_before_wait(void *owner) {
    redlock_blocking *blocking = owner;
    tell_all(blocking);
    run_all(blocking, true);
    if (blocking->leaves) { /* this thread must not wait */
        rl_loop_thread_wake(blocking->thread);
    }
}

void rl_ask_after_wait(void *owner) {
    redlock_blocking *blocking = owner;
    blocking->keeps_answers = true;
    run_all(blocking, false);
}

/* -- A caller -- */

/* First does the work that the last turn has left: commands may be waiting to be sent. */
static int finish(redlock_blocking *blocking) {
    int timeout_ms = rl_loop_thread_timeout_ms(blocking->thread);
    if (timeout_ms == 0) {
        rl_loop_thread_run_now(blocking->thread);
        timeout_ms = rl_loop_thread_timeout_ms(blocking->thread);
    }
    tell_all(blocking);
    return timeout_ms;
}

static void decline(redlock_blocking *blocking) {
    rl_gate_close(blocking);
    assert(blocking->wheel == RL_WHEEL_CALLER && blocking->sent > blocking->answered);
    blocking->wheel = RL_WHEEL_THREAD;
    rl_gate_open(blocking);
    rl_wheel_call(blocking);
}

/* The system is asked for the bounds of the stack only now: a thread that must not make system
 * calls can keep the wheel from being free (blocking.h). */
void rl_drive_until(redlock_blocking *blocking, const struct rl_ask *ask) {
    if (!stack_has_room(STACK_ROOM)) {
        decline(blocking);
        return;
    }
    rl_wheel_take(blocking);
    rl_loop_thread_begin_stint(blocking->thread, STINT_MS);
    rl_ask_after_wait(blocking);
    while (!ask->is_done && !blocking->leaves && rl_loop_thread_run_once(blocking->thread)) {
    }
    rl_loop_thread_end_stint(blocking->thread);
    int timeout_ms = finish(blocking);
    rl_gate_close(blocking);
    assert(blocking->wheel == RL_WHEEL_CALLER);
    bool is_free = may_let_go(blocking, timeout_ms);
    if (blocking->sent != blocking->answered) {
        blocking->alone = 0;
    }
    blocking->leaves = blocking->is_asleep = false;
    blocking->stints++;
    blocking->wheel = is_free ? RL_WHEEL_FREE : RL_WHEEL_THREAD;
    wheel_let_go(blocking);
    rl_gate_open(blocking);
    if (!is_free) {
        rl_wheel_call(blocking);
    }
}

/* With the gate closed before and after. */
static void wait_for_wheel(redlock_blocking *blocking) {
    while (blocking->wheel != RL_WHEEL_THREAD) {
        uint64_t stints = blocking->stints;
        uint64_t until_ns = gate_now_ns() + REST_MS * RL_NS_PER_MS;
        if (blocking->wheel == RL_WHEEL_FREE && blocking->due_ns < until_ns) {
            until_ns = blocking->due_ns;
        }
        bool is_over = !rl_gate_wait_until(blocking, &blocking->changed, until_ns);
        assert(blocking->stints >= stints);
        if (is_over && blocking->wheel == RL_WHEEL_FREE &&
            (blocking->stints == stints || blocking->due_ns <= until_ns)) {
            blocking->wheel = RL_WHEEL_THREAD;
        }
    }
}

void rl_drive_rest(void *owner) {
    redlock_blocking *blocking = owner;
    tell_all(blocking);
    int timeout_ms = rl_loop_thread_timeout_ms(blocking->thread);
    rl_gate_close(blocking);
    assert(blocking->wheel == RL_WHEEL_THREAD);
    if (may_let_go(blocking, timeout_ms)) {
        blocking->wheel = RL_WHEEL_FREE;
        wheel_let_go(blocking);
        wait_for_wheel(blocking);
        rl_wheel_take(blocking);
    }
    rl_gate_open(blocking);
    rl_ask_after_wait(blocking); /* runs the asks that wait for it */
}
