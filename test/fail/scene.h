/* One whole story of a client, which tests play again and again while something different fails in
 * it.
 *
 *     open on five fake nodes; A acquires, B is refused; A extends; the client gets another user; B
 *     waits, is cancelled, waits again and is freed; one node forgets its scripts and one dies; A
 *     releases; the dead one comes back and is told; a leader is elected after a stranger, by a
 *     notice if it can be heard, and resigns; C waits in line behind a stranger, misses a turn,
 *     gets another, and releases; it waits again, loses its home and is cancelled; of a semaphore P
 *     holds all permits, Q waits for one, has its turn, and holds it while the number of permits
 *     changes; then, with nothing failing any more, a last lock is acquired and released, which
 *     must work; close
 *
 * scene_play() asserts what must hold whatever failed: a call returned REDLOCK_ERR_NOMEM if and
 * only if memory failed in it; each callback that was promised came once, and no other came; A and
 * B, P and Q never held together; no key is left on a node unless a pending release was counted as
 * dropped; and both loops close with nothing left on them.
 *
 * The nodes run on their own loop, which the same thread turns in between. So a failure while
 * scene_options.now_in has reported SCENE_LIBRARY strikes the library, hiredis or libuv, and never
 * the nodes or the test.
 *
 * Nothing waits for time: when only a timer can come next, the clocks of the process are set
 * forward (clock_hook.h). A story in which much fails consists mostly of pauses and timeouts. */
#ifndef FAIL_SCENE_H
#define FAIL_SCENE_H

#include "redlock/redlock.h"
#include "testing.h"

#define SCENE_NODES 5
#define SCENE_QUORUM 3
#define SCENE_TIMEOUT_MS 250  /* node_timeout_ms where little fails ... */
#define SCENE_HASTY_MS 15     /* where so much fails that timeouts are waited for */
#define SCENE_NOT_SUBMITTED 1 /* an operation that could not be tried */

enum scene_op {
    SCENE_OPEN,
    SCENE_ACQUIRE_A,
    SCENE_ACQUIRE_B,
    SCENE_RELEASE_B, /* if it was B that acquired */
    SCENE_EXTEND_A,
    SCENE_WAIT_B,
    SCENE_FREE_B,
    SCENE_RELEASE_A,
    SCENE_ELECT,
    SCENE_RESIGN,
    SCENE_TURN_C,
    SCENE_RELEASE_C,
    SCENE_LEAVE_C,
    SCENE_PERMITS_P,
    SCENE_PERMIT_Q,
    SCENE_QUERY_SLOTS,
    SCENE_QUERY_PERMIT, /* which clients wait for one */
    SCENE_RELEASE_P,
    SCENE_SET_PERMITS,
    SCENE_OLD_NUMBER, /* P again, while Q holds by another number */
    SCENE_RELEASE_Q,
    SCENE_TAKEN_OVER, /* P again, while nobody holds */
    SCENE_RELEASE_ALL,
    SCENE_LAST_ACQUIRE,
    SCENE_LAST_RELEASE,
    SCENE_CLOSE,
    SCENE_OPS
};

enum scene_where {
    SCENE_TEST,    /* the test or the nodes are at work; threads may be looking names up */
    SCENE_LIBRARY, /* the library is at work: failures strike */
    SCENE_SAFE     /* nothing may fail, in no thread, until the next SCENE_LIBRARY */
};

struct scene_options {
    const redlock_allocator *allocator;     /* NULL: malloc */
    void (*now_in)(enum scene_where where); /* NULL: not called */
    size_t (*failed)(void);                 /* allocations so far; NULL: none fails */
    bool by_name;                           /* nodes 3 to 5 as localhost, to be looked up */
    int64_t node_timeout_ms;                /* connecting may take four times as long */
};

struct scene_told { /* one operation */
    int returned;   /* by the call, or SCENE_NOT_SUBMITTED */
    int calls;
    int status;
};

struct scene_result {
    struct scene_told told[SCENE_OPS];
    redlock_stats stats;               /* as on_close saw them */
    int lost;                          /* calls of on_lost */
    int stalled;                       /* connections dropped because the node did not answer */
    size_t slots;                      /* of the semaphore, that were found in use */
    size_t waiters;                    /* clients in its line */
    size_t keys;                       /* left on the nodes */
    char error[REDLOCK_MESSAGE_MAX];   /* of opening */
    char message[REDLOCK_MESSAGE_MAX]; /* redlock_client_message() once opening was over */
};

void scene_play(const struct scene_options *options, struct scene_result *result);

/* Asserts the result of a play in which nothing fails. */
void scene_assert_clean(const struct scene_result *result);

/* Open file descriptors of this process. */
size_t scene_descriptors(void);

#endif /* FAIL_SCENE_H */
