/* A thread with a loop of its own, for blocking.h: woken from any thread, stopped from within.
 *
 * Happy path: begin() in the thread, then the loop runs, with woken() after each
 * rl_loop_thread_wake() (several may make one); rl_loop_thread_stop(), the loop ends when nothing
 * else is on it, end().
 *
 * Failure modes: no memory, no descriptors, no thread: nothing is left. begin() fails: end()
 * comes.
 *
 * Can a wake-up be lost? libuv calls back after the last of them. Can a handler of the program's
 * run here? No: signals of the process are for the program's threads. Those that a fault of this
 * thread raises stay: the program may have a handler that reports crashes.
 */
#ifndef RL_UV_LOOP_THREAD_H
#define RL_UV_LOOP_THREAD_H

#include <stdbool.h>

#include "redlock/redlock.h"

struct uv_loop_s;
struct rl_loop_thread;

/* All in the thread. */
struct rl_loop_thread_events {
    /* The first one. False: the thread is to end; nothing is on the loop. */
    bool (*begin)(void *owner, struct uv_loop_s *loop);
    void (*woken)(void *owner);
    /* The last one: the loop has been closed. */
    void (*end)(void *owner);
};

/* NULL and *error, a sentence, or NULL for no memory. events and memory must outlive it. */
struct rl_loop_thread *rl_loop_thread_new(const redlock_allocator *memory,
                                          const struct rl_loop_thread_events *events, void *owner,
                                          const char **error);

/* Any thread, before rl_loop_thread_stop(). */
void rl_loop_thread_wake(struct rl_loop_thread *thread);
/* Within the thread: no wake-ups come any more. */
void rl_loop_thread_stop(struct rl_loop_thread *thread);
/* Whether the calling thread is this one. Any thread that has seen begin() return. */
bool rl_loop_thread_is_self(const struct rl_loop_thread *thread);
/* Waits for its end. Once. */
void rl_loop_thread_join(struct rl_loop_thread *thread);
/* Its memory, after that. */
void rl_loop_thread_free(struct rl_loop_thread *thread);

#endif
