/* The library's loop, as Python drives it: by a thread that waits in it, or by asyncio, which
 * watches its file descriptor.
 *
 * No Python code runs inside a callback of the library. A callback records the event in the item of
 * its client, lock or election, and puts the item into the loop's list; Python reads the list when
 * the library has returned. So an exception, a garbage collection or a fork in Python never finds
 * the library in the middle of a step, and a thread takes the GIL once for all events of a turn.
 *
 * Memory: Python owns loops and items. An item must live until each operation that was begun with
 * it has been recorded, even after its lock was freed, and is not in the list by then: Python
 * empties the list before it makes another call.
 *
 * Validity and the fence are the exception: a callback writes them where each thread reads them.
 * Can Python take a lock for valid that another client has? No: on_lost clears its validity in the
 * turn whose end sends the release, whether or not the loop's thread can take the GIL just then.
 *
 * Threads: all on the loop's thread, except py_loop_wake(), py_is_valid(), py_left_ns() and
 * py_fence(). */
#ifndef BINDINGS_PYTHON_GLUE_H
#define BINDINGS_PYTHON_GLUE_H

#include <redlock/election.h>
#include <redlock/redlock.h>
#include <redlock/semaphore.h>
#include <uv.h>

enum py_event {
    PY_DONE = 1,     /* an acquire, a release, a resignation, the opening or closing of a client */
    PY_EXTENDED = 2, /* an extension or a change of the mode */
    PY_LOST = 4,     /* a hold, a leadership */
    PY_ELECTED = 8,
    PY_LEADER = 16, /* another candidate leads */
    PY_BITS = 8
};

struct py_item {
    uint64_t id; /* Python's */
    struct py_loop *loop;
    struct py_item *next;
    unsigned events; /* not read by Python yet; in the list if there are any */
    int done;        /* statuses of the events */
    int extended;
    int lost;
    _Atomic uint64_t valid_until_ns; /* of a hold; 0: none */
    _Atomic uint64_t fence;          /* 0: none */
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

struct py_loop {
    uv_loop_t uv;
    uv_async_t wake;
    struct py_item *first, *last;
    int is_woken;
};

/* -- What Python calls: build.py reads it -- */

/* 0, or libuv's error. */
int py_loop_open(struct py_loop *loop);
/* Call it after its client was closed. */
void py_loop_close(struct py_loop *loop);
/* For a thread: returns when there is an event, or after py_loop_wake(). */
void py_loop_wait(struct py_loop *loop);
/* For another loop: does what is due, without waiting. Returns after how many ms it must be called
 * again even if the descriptor is silent; -1: never. */
int py_loop_turn(struct py_loop *loop);
int py_loop_fd(const struct py_loop *loop);
/* Any thread. */
void py_loop_wake(struct py_loop *loop);
/* For up to n items that have events: their id << PY_BITS and the events, which are cleared.
 * Returns how many. A status is valid until the next event of its kind. */
size_t py_loop_take(struct py_loop *loop, uint64_t *words, size_t n);

/* Whether the hold is valid now, for how long, and its fence. Any thread. */
int py_is_valid(const struct py_item *item);
int64_t py_left_ns(const struct py_item *item);
uint64_t py_fence(const struct py_item *item);

/* The library's functions with the callbacks of an item. */
int py_open(redlock_client **client, const redlock_client_options *options, struct py_item *item);
int py_close(redlock_client *client, struct py_item *item);
/* Makes the lock and begins to acquire it. After an error *lock is NULL, and error has its text. */
int py_acquire(redlock_client *client, const redlock_lock_options *lock_options,
               const redlock_acquire_options *options, struct py_item *item, redlock_lock **lock,
               char *error, size_t error_size);
/* The same with a released lock, which stays released after an error. */
int py_acquire_again(redlock_lock *lock, const redlock_acquire_options *options,
                     struct py_item *item);
int py_release(redlock_lock *lock, struct py_item *item);
void py_free(redlock_lock *lock, struct py_item *item);
int py_extend(redlock_lock *lock, int64_t ttl_ms, struct py_item *item);
int py_upgrade(redlock_lock *lock, struct py_item *item);
int py_downgrade(redlock_lock *lock, struct py_item *item);
int py_election(redlock_client *client, const redlock_election_options *options, int observes,
                struct py_item *item, redlock_election **election, char *error, size_t error_size);
int py_resign(redlock_election *election, struct py_item *item);

#endif
