/* A thread with a loop of its own, for blocking.h: woken from any thread, stopped from within.
 *
 * Happy path: begin() in the thread, then the loop runs. Before each wait for events it calls
 * before_wait(), after it after_wait(), and rl_loop_thread_wake() ends a wait;
 * rl_loop_thread_stop(), the loop ends when nothing else is on it, end(). In paused() the owner
 * may let another thread run the loop, by rl_loop_thread_run_once(): one at a time, which the
 * owner sees to.
 *
 * Failure modes: no memory, no descriptors, no thread: nothing is left. begin() fails: end()
 * comes.
 *
 * Can a wake-up be lost? It is a number in a descriptor (eventfd), which the loop polls, and sets
 * to 0 between a wait and the after_wait() of it. So what was there before a wake-up, an
 * after_wait() sees that comes after it.
 *
 * Why not uv_async_send()? Its callers must not come after the handle is closed, and who wakes does
 * so after he has let go of everything that would hold the closer back (blocking/state.h). The
 * descriptor lives until rl_loop_thread_free(). And while such a caller is inside, libuv's loop
 * spins.
 *
 * Can a handler of the program's run here? No: signals of the process are for the program's
 * threads. Those that a fault of this thread raises stay: the program may have a handler that
 * reports crashes.
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
    /* The first one. False: the thread is to end; nothing is on the loop. */
    bool (*begin)(void *owner, struct uv_loop_s *loop);
    /* The loop is about to wait: after all else that it does before that. */
    void (*before_wait)(void *owner);
    /* It has waited, and read what came: before the client's turn, in which it is dealt with. If
     * either order were another one, answers and commands would go out later, not never. */
    void (*after_wait)(void *owner);
    /* After rl_loop_thread_pause(), outside of the loop: as this returns, it goes on. */
    void (*paused)(void *owner);
    /* The last one: the loop has been closed. */
    void (*end)(void *owner);
};

/* *thread is set before the thread runs. False, and *error, a sentence, or NULL for no memory:
 * there is none. events and memory must outlive it. */
bool rl_loop_thread_new(struct rl_loop_thread **thread, const redlock_allocator *memory,
                        const struct rl_loop_thread_events *events, void *owner,
                        const char **error);

/* Any thread, before rl_loop_thread_free(). One system call. */
void rl_loop_thread_wake(struct rl_loop_thread *thread);
/* Within the thread, in before_wait() or after_wait(): paused() comes, after this iteration. */
void rl_loop_thread_pause(struct rl_loop_thread *thread);

/* Who runs the loop while it is paused: one iteration; false: the stint is over. A stint is a time
 * that ends a wait. */
void rl_loop_thread_begin_stint(struct rl_loop_thread *thread, uint64_t ms);
bool rl_loop_thread_run_once(struct rl_loop_thread *thread);
void rl_loop_thread_end_stint(struct rl_loop_thread *thread);
/* ... one that does not wait. */
void rl_loop_thread_run_now(struct rl_loop_thread *thread);
/* Who runs it: for how long it would wait. 0: it has something to do; below 0: for ever. */
int rl_loop_thread_timeout_ms(struct rl_loop_thread *thread);

/* Within the thread: neither before_wait() nor after_wait() comes any more. */
void rl_loop_thread_stop(struct rl_loop_thread *thread);
/* Whether the calling thread is this one. Any thread that has seen begin() return. */
bool rl_loop_thread_is_self(const struct rl_loop_thread *thread);
/* Waits for its end. Once. */
void rl_loop_thread_join(struct rl_loop_thread *thread);
/* Its memory, after that. */
void rl_loop_thread_free(struct rl_loop_thread *thread);

#endif
