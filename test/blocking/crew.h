/* What the tests of the blocking API share: a client on the nodes of the live fixture
 * (live/live.h), and threads that use it.
 *
 * Only the main thread may use cmocka's assertions, so a thread leaves what it saw in its struct
 * member, and the main thread checks it after crew_join(). The main thread waits for the others
 * with LIVE_POLL(live, ...). */
#ifndef BLOCKING_CREW_H
#define BLOCKING_CREW_H

#include <stdatomic.h>

#include "live/live.h"
#include "redlock/blocking.h"
#include "redlock/rwlock.h"
#include "redlock/semaphore_blocking.h"

struct member {
    uv_thread_t thread;
    redlock_blocking *blocking;
    redlock_mutex *mutex;
    redlock_rwlock *rwlock;
    redlock_semaphore *semaphore;
    int64_t timeout_ms;
    int status;       /* of its last call */
    int other;        /* for the test's own use */
    atomic_int stage; /* the thread's progress, with a meaning of the test's own */
    uv_sem_t go_on;   /* posted by crew_go_on() */
    void *data;
};

void crew_start(struct member *member, void (*run)(void *member));
void crew_join(struct member *member);

/* For a thread: waits for the test's crew_go_on(). */
void crew_wait(struct member *member);
void crew_go_on(struct member *member);

/* A thread's work: one call, its status in ->status, then stage 1. */
void crew_lock(void *member);   /* redlock_mutex_lock(->timeout_ms) */
void crew_unlock(void *member); /* redlock_mutex_unlock() */
void crew_extend(void *member); /* redlock_mutex_extend(->timeout_ms) */
void crew_alive(void *member);  /* redlock_mutex_alive() */

/* A thread's work: locks (->status, stage 1), waits, unlocks (->other). */
void crew_hold(void *member);

/* Does a thread's work in another thread; returns its status. */
int crew_do(redlock_mutex *mutex, void (*run)(void *member), int64_t ms);

/* One call in another thread, which unlocks again; returns the call's status. */
int crew_try(redlock_rwlock *rwlock, int (*call)(redlock_rwlock *rwlock));

/* A client on all nodes of the fixture: reconnect_max_ms is 100, node_timeout_ms the default. */
redlock_blocking *crew_open(const struct live *live);
redlock_mutex *crew_mutex(redlock_blocking *blocking, const char *resource,
                          const redlock_mutex_options *options);
redlock_rwlock *crew_rwlock(redlock_blocking *blocking, const char *resource,
                            const redlock_rwlock_options *options);
redlock_stats crew_stats(redlock_blocking *blocking);

/* A case with five nodes and a client on them, which is closed after the body. */
#define CREW_TEST(name)                                                   \
    static void name##_on(struct live *live, redlock_blocking *blocking); \
    LIVE_TEST(name) {                                                     \
        live_start(live, 5, NULL);                                        \
        redlock_blocking *blocking = crew_open(live);                     \
        name##_on(live, blocking);                                        \
        crew_end(live, blocking);                                         \
    }                                                                     \
    static void name##_on(struct live *live, redlock_blocking *blocking)

/* Closes what is not NULL, and the fixture. */
void crew_end(struct live *live, redlock_blocking *blocking);

#endif
