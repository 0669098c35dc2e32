/* Which thread runs the client's loop, and when it changes.
 *
 * Happy path: one thread locks and unlocks. Being woken, and waking its caller, costs the loop
 * thread more than the rest of a lock, so it leaves the loop after ALONE_MIN (wheel.c) asks that
 * came one by one; from then on each caller runs the loop itself while it waits, and leaves it with
 * its answer. If no caller has come for RL_REST_MS, or a timer is due, the loop thread takes the
 * loop back. If a caller leaves while others wait, the loop thread gets the loop at once, and keeps
 * it.
 *
 * Failure modes: the loop thread takes over an answer that takes longer than STINT_MS, and a client
 * that is closing. It also runs everything of a client in which code of the program may run
 * (on_lost, a trace hook, an allocator), as promised for such code, and a call on a small stack.
 *
 * What is late if no thread runs the loop for RL_REST_MS? Nothing that a caller waits for, since
 * that caller would run it. Nor are timers: due_ns says when the first one is due, and the loop
 * thread takes the loop for it. (No test shows that: a thread that leaves the loop free has seen no
 * timer due within RL_REST_MS, so without due_ns a timer would be late by no more than that.) Bytes
 * that arrive meanwhile are read before their deadline is checked (heard_ns() of base/world.h).
 */
#include "blocking/drive.h"

#include <assert.h>

#include "base/stack.h"
#include "blocking/gate.h"
#include "blocking/wheel.h"
#include "blocking/work.h"

#define NS_PER_MS UINT64_C(1000000)
#define STINT_MS 5
/* For the whole library, and libuv: the events of one wait take 12 KB, and a TLS handshake needs
 * some 30. */
#define STACK_ROOM ((size_t)128 * 1024)

/* -- A caller -- */

/* Work that the last turn has left to be done at once is done first: commands may be waiting to be
 * sent. */
static int finish(redlock_blocking *blocking) {
    int timeout_ms = rl_loop_thread_timeout_ms(blocking->thread);
    if (timeout_ms == 0) {
        rl_loop_thread_run_now(blocking->thread);
        timeout_ms = rl_loop_thread_timeout_ms(blocking->thread);
    }
    rl_ask_tell_all(blocking);
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
    if (!rl_stack_has_room(STACK_ROOM)) {
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
    bool is_free = rl_wheel_may_let_go(blocking, timeout_ms);
    if (blocking->sent != blocking->answered) {
        blocking->alone = 0;
    }
    blocking->leaves = blocking->is_asleep = false;
    blocking->stints++;
    blocking->wheel = is_free ? RL_WHEEL_FREE : RL_WHEEL_THREAD;
    rl_wheel_let_go(blocking);
    rl_gate_open(blocking);
    if (!is_free) {
        rl_wheel_call(blocking);
    }
}

/* With the gate closed before and after. */
static void wait_for_wheel(redlock_blocking *blocking) {
    while (blocking->wheel != RL_WHEEL_THREAD) {
        uint64_t stints = blocking->stints;
        uint64_t until_ns = rl_wheel_now_ns() + RL_REST_MS * NS_PER_MS;
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

void rl_drive_rest(redlock_blocking *blocking) {
    rl_ask_tell_all(blocking);
    int timeout_ms = rl_loop_thread_timeout_ms(blocking->thread);
    rl_gate_close(blocking);
    assert(blocking->wheel == RL_WHEEL_THREAD);
    if (rl_wheel_may_let_go(blocking, timeout_ms)) {
        blocking->wheel = RL_WHEEL_FREE;
        rl_wheel_let_go(blocking);
        wait_for_wheel(blocking);
        rl_wheel_take(blocking);
    }
    rl_gate_open(blocking);
    rl_ask_after_wait(blocking); /* runs what was put into the list for it */
}
