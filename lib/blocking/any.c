/* Locks one of several mutexes, as any/any.c does: a loop in the calling thread tries each with its
 * own options, by a call to the loop thread. Between two rounds it waits for the mutex that was
 * tried last.
 *
 * Can two be locked in the end? No: another one is tried only after a try has failed. Can it wait
 * for ever? Only without a timeout: a try ends in time like any lock, and when the client is
 * closed.
 */
#include <stdbool.h>
#include <stddef.h>

#include "blocking/mutex.h"

struct walk {
    redlock_mutex *const *mutexes;
    size_t n;
    int64_t timeout_ms;
    uint64_t began_ns;
    uint64_t random;
    redlock_mutex *last; /* the last that was tried and is not in use; NULL: none */
};

/* A step of xorshift, which only spreads callers over the mutexes. */
static uint64_t next_random(struct walk *walk) {
    walk->random ^= walk->random << 13;
    walk->random ^= walk->random >> 7;
    walk->random ^= walk->random << 17;
    return walk->random;
}

/* The time that is left; 0: none. */
static int64_t left_ms(const struct walk *walk) {
    const int64_t spent_ms = (int64_t)((redlock_now_ns() - walk->began_ns) / 1000000);
    if (walk->timeout_ms == REDLOCK_NO_LIMIT) {
        return INT64_MAX;
    }
    return spent_ms < walk->timeout_ms ? walk->timeout_ms - spent_ms : 0;
}

/* Whether the program uses the mutex elsewhere, so that it is skipped. A mutex that the caller has
 * locked would be locked again. */
static bool is_in_use(int status) {
    return status == REDLOCK_ERR_BUSY || status == REDLOCK_ERR_LOST ||
           status == REDLOCK_ERR_ALREADY_HELD || status == REDLOCK_ERR_PART_HELD;
}

/* Tries each mutex but the last once, until one is not held by others. status: of the last one. */
static int try_others(struct walk *walk, int status) {
    uint16_t order[REDLOCK_ANY_MAX];
    const redlock_mutex *done = walk->last;
    for (size_t i = 0; i < walk->n; i++) {
        order[i] = (uint16_t)i;
    }
    for (size_t left = walk->n; left > 0 && (status == REDLOCK_ERR_HELD || is_in_use(status));
         left--) {
        const size_t at = next_random(walk) % left;
        redlock_mutex *mutex = walk->mutexes[order[at]];
        order[at] = order[left - 1];
        if (mutex == done || redlock_mutex_is_valid(mutex)) {
            continue;
        }
        if (walk->timeout_ms != 0 && left_ms(walk) == 0) {
            return REDLOCK_ERR_DEADLINE;
        }
        const int next = redlock_mutex_try_lock(mutex);
        if (!is_in_use(next) || is_in_use(status)) {
            status = next;
            walk->last = mutex;
        }
    }
    return status;
}

/* The pause between two rounds, in which the last mutex may be granted. Returns its status; HELD:
 * the next round begins. */
static int pause_round(struct walk *walk) {
    const redlock_acquire_options *options = &walk->last->options.acquire;
    const uint64_t jitter_ms = next_random(walk) % ((uint64_t)options->jitter_ms + 1);
    const int64_t pause_ms = options->delay_ms + (int64_t)jitter_ms + 1;
    if (pause_ms >= left_ms(walk)) {
        return REDLOCK_ERR_DEADLINE;
    }
    const int status = rl_mutex_lock(walk->last, REDLOCK_EXCLUSIVE, pause_ms, true);
    return status == REDLOCK_ERR_DEADLINE ? REDLOCK_ERR_HELD : status;
}

int redlock_mutex_lock_any(redlock_mutex *const *mutexes, size_t n, int64_t timeout_ms,
                           redlock_mutex **locked) {
    struct walk walk = {.mutexes = mutexes, .n = n, .timeout_ms = timeout_ms};
    bool is_good = locked != NULL && mutexes != NULL && n >= 1 && n <= REDLOCK_ANY_MAX &&
                   rl_mutex_is_timeout(timeout_ms);
    if (locked != NULL) {
        *locked = NULL;
    }
    for (size_t i = 0; is_good && i < n; i++) {
        is_good = mutexes[i] != NULL;
    }
    if (!is_good) {
        return REDLOCK_ERR_INVALID;
    }
    walk.began_ns = redlock_now_ns();
    walk.random = walk.began_ns ^ (uint64_t)(uintptr_t)&walk;
    int status = try_others(&walk, REDLOCK_ERR_ALREADY_HELD);
    while (timeout_ms != 0 && (status == REDLOCK_ERR_HELD || status == REDLOCK_ERR_NO_QUORUM ||
                               status == REDLOCK_ERR_EXPIRED)) {
        status = try_others(&walk, pause_round(&walk));
    }
    *locked = walk.last;
    return status;
}
