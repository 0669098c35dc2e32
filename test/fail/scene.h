/* One whole story of a client, to be played again and again while something different fails in it.
 *
 *     open on five fake nodes; A acquires, B is refused; A extends; the client gets another user; B
 *     waits, is cancelled, waits again and is freed; one node forgets its scripts and one dies; A
 *     releases; the dead one comes back and is told; a leader is elected after a stranger, by a
 *     notice if it can be heard, and resigns; C waits in line behind a stranger, has a turn in vain
 *     and another, and releases; it waits again, loses its home and is cancelled; of a semaphore P
 *     holds all permits, Q waits for one, has its turn, and holds it while the number of permits
 *     changes; then, with nothing failing any more, a last lock is acquired and released, which
 *     must work; close
 *
 * What must hold however it went is asserted by scene_play(): a call returned REDLOCK_ERR_NOMEM if
 * memory failed in it, and only then; each callback that was promised came once and none that was
 * not, A and B, P and Q never held together, no key is left on a node unless an owed release was
 * counted as dropped, and both loops close with nothing left on them.
 *
 * The nodes run on a loop of their own, which is turned by the same thread in between. So whatever
 * is made to fail while scene_options.now_in has said SCENE_LIBRARY strikes the library, hiredis
 * and libuv, and never the nodes or the test.
 *
 * Nobody waits for time: where nothing comes but what the clock brings, the clocks of the process
 * are set forward (clock_hook.h). Most of a story in which much fails is pauses and timeouts. */
#ifndef FAIL_SCENE_H
#define FAIL_SCENE_H

#include "redlock/redlock.h"
#include "testing.h"

#define SCENE_NODES 5
#define SCENE_QUORUM 3
#define SCENE_TIMEOUT_MS 250  /* node_timeout_ms where little fails ... */
#define SCENE_HASTY_MS 15     /* ... and where so much fails that it will have to be waited for */
#define SCENE_NOT_SUBMITTED 1 /* of an operation that could not be tried */

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
    SCENE_QUERY_PERMIT, /* who waits for one */
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
    SCENE_LIBRARY, /* the library is: what is to fail fails */
    SCENE_SAFE     /* nothing may fail, in no thread, until SCENE_LIBRARY is said again */
};

struct scene_options {
    const redlock_allocator *allocator;     /* NULL: malloc */
    void (*now_in)(enum scene_where where); /* NULL: nobody asks */
    size_t (*failed)(void);                 /* allocations so far; NULL: none is made to */
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
    int stalled;                       /* connections given up because the node did not answer */
    size_t slots;                      /* of the semaphore, that were found in use */
    size_t waiters;                    /* ... and how many wait for it */
    size_t keys;                       /* left on the nodes */
    char error[REDLOCK_MESSAGE_MAX];   /* of opening */
    char message[REDLOCK_MESSAGE_MAX]; /* redlock_client_message() once opening was over */
};

void scene_play(const struct scene_options *options, struct scene_result *result);

/* Asserts that all went well, as it does when nothing fails. */
void scene_assert_clean(const struct scene_result *result);

/* A way in which allocations fail. */
struct scene_sweep {
    /* Plays with a failure at the nth allocation, 0: none, and at all later ones or not. */
    void (*play)(struct scene_result *result, size_t fail_at, bool and_later);
    const size_t *calls, *struck; /* of the last play: allocations, and those that failed */
    size_t fewest;                /* allocations of the whole story, how ever it is timed */
    bool may_stall;
};

/* Plays without a failure; and with failures at 1, 2, ... until the story is over before one. After
 * the 20th every one to third fails, with and_later every one to fifth: by the seed. */
void scene_sweep_none(const struct scene_sweep *sweep);
void scene_sweep(const struct scene_sweep *sweep, bool and_later);

/* Open file descriptors of this process. */
size_t scene_descriptors(void);

#endif /* FAIL_SCENE_H */
