/* The blocking interface, step by step: the test is the loop thread, and stands in for
 * lib/uv/loop_thread.c, so that it controls when the loop waits and how long a wake-up takes. So a
 * missing wake-up shows as a wrong number, not as a call that sometimes hangs. */
#ifndef UNIT_ASK_SCENE_H
#define UNIT_ASK_SCENE_H

#include "unit/check.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "blocking/ask.h"
#include "blocking/drive.h"
#include "blocking/gate.h"

#define CALLS_MAX 3

struct rl_loop_thread {
    pthread_t self;
    atomic_int wakes;   /* wake-ups that have begun */
    atomic_int at_gate; /* wake-ups by a thread that had closed the gate */
    atomic_bool holds;  /* the next wake-up is delayed until `go_on` */
    sem_t go_on;
    int pauses;
    int turns;    /* of callers that run the loop */
    bool is_slow; /* no answer comes within a stint */
    int timeout_ms;
};

static struct rl_loop_thread loop;
static redlock_blocking client;
static struct rl_ask *waiting; /* for an answer of the nodes */

/* -- In place of lib/uv -- */

bool rl_loop_thread_new(struct rl_loop_thread **thread, const redlock_allocator *memory,
                        const struct rl_loop_thread_events *events, void *owner,
                        const char **error) {
    (void)thread, (void)memory, (void)events, (void)owner, (void)error;
    return false;
}

/* The gate distinguishes its owner from other threads: see begin(). */
void rl_loop_thread_wake(struct rl_loop_thread *thread) {
    bool held_up = atomic_exchange(&thread->holds, false);
    if (pthread_mutex_lock(&client.gate) != 0) {
        atomic_fetch_add(&thread->at_gate, 1);
    } else {
        pthread_mutex_unlock(&client.gate);
    }
    atomic_fetch_add(&thread->wakes, 1);
    if (held_up) {
        sem_wait(&thread->go_on);
    }
}

void rl_loop_thread_stop(struct rl_loop_thread *thread) {
}

bool rl_loop_thread_is_self(const struct rl_loop_thread *thread) {
    return pthread_equal(thread->self, pthread_self()) != 0;
}

void rl_loop_thread_join(struct rl_loop_thread *thread) {
}

void rl_loop_thread_pause(struct rl_loop_thread *thread) {
    thread->pauses++;
}

void rl_loop_thread_begin_stint(struct rl_loop_thread *thread, uint64_t ms) {
    (void)thread, (void)ms;
}

bool rl_loop_thread_run_once(struct rl_loop_thread *thread) {
    thread->turns++;
    rl_ask_before_wait(&client);
    if (thread->is_slow) {
        return false;
    }
    while (waiting != NULL) {
        struct rl_ask *ask = waiting;
        waiting = NULL;
        rl_ask_answer(ask, 0);
    }
    rl_ask_after_wait(&client);
    return true;
}

void rl_loop_thread_end_stint(struct rl_loop_thread *thread) {
}

void rl_loop_thread_run_now(struct rl_loop_thread *thread) {
    thread->timeout_ms = -1;
}

int rl_loop_thread_timeout_ms(struct rl_loop_thread *thread) {
    return thread->timeout_ms;
}

void rl_loop_thread_free(struct rl_loop_thread *thread) {
}

/* -- Calls -- */

struct call {
    pthread_t thread;
    struct rl_ask ask;
    int answer; /* the answer; -1: none yet */
    int returned;
};

static struct call calls[CALLS_MAX];
static struct call *ran[CALLS_MAX]; /* in the order in which they ran */
static int n_ran;
static struct call *asks_meanwhile; /* started while another one runs */

static inline int wakes(void) {
    assert_int_equal(atomic_load(&loop.at_gate), 0);
    return atomic_load(&loop.wakes);
}

static inline int listed(void) {
    int n = 0;
    rl_gate_close(&client);
    for (const struct rl_queued *at = client.asks.first; at != NULL;) {
        at = at != client.asks.last ? at->next : NULL;
        n++;
    }
    rl_gate_open(&client);
    return n;
}

/* Waits without a limit: if it never happens, the suite times out. */
static inline void wait_for(int (*what)(void), int value) {
    while (what() != value) {
        sched_yield();
    }
}

static inline void *send(void *data) {
    struct call *call = data;
    call->returned = rl_ask_send(&client, &call->ask);
    return NULL;
}

static inline void start(struct call *call) {
    assert_int_equal(pthread_create(&call->thread, NULL, send, call), 0);
}

static inline void run(struct rl_ask *ask) {
    struct call *call = (struct call *)((char *)ask - offsetof(struct call, ask));
    ran[n_ran++] = call;
    if (asks_meanwhile != NULL) {
        start(asks_meanwhile);
        asks_meanwhile = NULL;
        wait_for(listed, 1);
    }
    if (call->answer <= 0) {
        rl_ask_answer(ask, call->answer);
    }
}

static inline void returns(struct call *call, int status) {
    pthread_join(call->thread, NULL);
    assert_int_equal(call->returned, status);
}

static inline int begin(void **state) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    loop = (struct rl_loop_thread){.self = pthread_self(), .timeout_ms = -1};
    waiting = NULL;
    sem_init(&loop.go_on, 0, 0);
    memset(&client, 0, sizeof client);
    client.thread = &loop;
    atomic_init(&client.references, 1);
    rl_fork_begin(&client.fork);
    pthread_mutex_init(&client.gate, &kind);
    pthread_mutexattr_destroy(&kind);
    pthread_cond_init(&client.changed, NULL);
    memset(calls, 0, sizeof calls);
    for (int i = 0; i < CALLS_MAX; i++) {
        calls[i].ask.run = run;
        calls[i].answer = -10 - i;
    }
    n_ran = 0;
    rl_wheel_take(&client);
    rl_ask_before_wait(&client);
    return 0;
}

static inline int end(void **state) {
    assert_int_equal(atomic_load(&client.references), 1);
    pthread_mutex_destroy(&client.gate);
    pthread_cond_destroy(&client.changed);
    rl_fork_end(&client.fork);
    sem_destroy(&loop.go_on);
    return 0;
}

#endif
