/* A thread with its own loop, for blocking.h: woken from any thread, stopped from within.
 *
 * Happy path: begin() runs in the thread, then the loop. It calls before_wait() before each wait
 * for events, and after_wait() after it; rl_loop_thread_wake() ends a wait. After
 * rl_loop_thread_stop() the loop ends when nothing else is on it; then end() runs. In paused() the
 * owner may let another thread run the loop, by rl_loop_thread_run_once(); the owner ensures that
 * only one does.
 *
 * Failure modes: no memory, descriptors or thread: nothing is left behind. If begin() fails, end()
 * runs.
 *
 * Can a wake-up be lost? No: it is a counter in a descriptor (eventfd), which the loop polls, and
 * resets to 0 between a wait and its after_wait(). So an after_wait() follows that sees everything
 * from before the wake-up.
 *
 * Why not uv_async_send()? It must not be called after the handle is closed, and callers wake the
 * loop after they have released everything that would make the closer wait (blocking/state.h). The
 * descriptor lives until rl_loop_thread_free(). And while such a caller is inside, libuv's loop
 * spins.
 *
 * Can a signal handler of the program run here? No: the process's signals are blocked in this
 * thread, and go to the program's threads. Signals that a fault of this thread raises are not
 * blocked: the program may have a handler that reports crashes.
 */
#ifndef RL_UV_LOOP_THREAD_H
#define RL_UV_LOOP_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/redlock.h"

struct uv_loop_s;
struct rl_loop_thread;

/* All in the thread. */
struct rl_loop_thread_events {
    /* The first event. False: the thread must end; nothing is on the loop. */
    bool (*begin)(void *owner, struct uv_loop_s *loop);
    /* The loop is about to wait, and has done everything else before it. */
    void (*before_wait)(void *owner);
    /* The loop has waited, and read what arrived. Runs before the client's turn, which processes
     * it; in another order, answers and commands would be sent later. */
    void (*after_wait)(void *owner);
    /* After rl_loop_thread_pause(), outside of the loop, which goes on when this returns. */
    void (*paused)(void *owner);
    /* The last event: the loop has been closed. */
    void (*end)(void *owner);
};

/* Sets *thread before the thread runs. False: there is no thread, and *error is a sentence, or NULL
 * for no memory. events and memory must outlive it. */
bool rl_loop_thread_new(struct rl_loop_thread **thread, const redlock_allocator *memory,
                        const struct rl_loop_thread_events *events, void *owner,
                        const char **error);

/* Any thread, before rl_loop_thread_free(). One system call. */
void rl_loop_thread_wake(struct rl_loop_thread *thread);
/* Within the thread, in before_wait() or after_wait(): paused() follows after this iteration. */
void rl_loop_thread_pause(struct rl_loop_thread *thread);

/* For the thread that runs the loop while it is paused: runs one iteration. False: the stint, a
 * time limit that ends a wait, is over. */
void rl_loop_thread_begin_stint(struct rl_loop_thread *thread, uint64_t ms);
bool rl_loop_thread_run_once(struct rl_loop_thread *thread);
void rl_loop_thread_end_stint(struct rl_loop_thread *thread);
/* Runs one iteration without waiting. */
void rl_loop_thread_run_now(struct rl_loop_thread *thread);
/* For the thread that runs the loop: how long the loop would wait. 0: it has work to do; below 0:
 * for ever. */
int rl_loop_thread_timeout_ms(struct rl_loop_thread *thread);

/* Within the thread: neither before_wait() nor after_wait() comes any more. */
void rl_loop_thread_stop(struct rl_loop_thread *thread);
/* Whether the calling thread is this one. Any thread that has seen begin() return. */
bool rl_loop_thread_is_self(const struct rl_loop_thread *thread);
/* Waits for the thread's end. Once. */
void rl_loop_thread_join(struct rl_loop_thread *thread);
/* Frees its memory, after that. */
void rl_loop_thread_free(struct rl_loop_thread *thread);

#endif
