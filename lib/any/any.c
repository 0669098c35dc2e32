/* Acquires one of several locks by a chain of ordinary acquires, one lock after the other.
 *
 * Happy path: each round tries each lock once, in random order, with one attempt; the first grant
 * is the result. If all are held and time is left, the next round begins with the lock that was
 * refused last: an acquire that lasts as long as a pause, and waits in line if it can.
 *
 * Failure modes: if the nodes fail, the round is over, since the next lock would wait for the same
 * nodes. A lock that is in use elsewhere in the program, or was freed, is skipped.
 *
 * Can two locks be held in the end? No: the next acquire is submitted in the callback of the
 * previous one, which has failed and whose keys are being released.
 *
 * Can a cancellation be missed between two locks? No: whenever the program's code runs, exactly one
 * lock of the chain has a pending acquire. redlock_cancel(), redlock_lock_free() and closing the
 * client end that with CANCELED, even if it has already failed and its callback has not run.
 *
 * Can the callback run twice or never? It runs where the chain ends, in the callback of an acquire,
 * which runs once. In a child after fork() no callback runs, and the memory is freed with the
 * client.
 */
#include <assert.h>
#include <string.h>

#include "base/sized.h"
#include "client/recipe.h"
#include "redlock/redlock.h"

struct any {
    struct rl_recipe recipe;
    redlock_acquire_options options; /* the caller's */
    redlock_lock_cb on_done;
    void *data;
    uint64_t began_ns;
    int64_t rounds; /* left, including this one; or REDLOCK_NO_LIMIT */
    size_t n;
    size_t tried; /* locks[0] to locks[tried - 1], in this round */
    bool pauses;  /* the pending acquire includes the pause between two rounds */
    redlock_lock *locks[];
};

/* -- The chain -- */

static void on_tried(redlock_lock *lock, int status, void *data);

/* The time that is left; 0: none. */
static int64_t left_ms(const struct any *any) {
    const uint64_t spent_ns = rl_client_now_ns(any->recipe.client) - any->began_ns;
    const int64_t spent_ms = (int64_t)(spent_ns / 1000000);
    if (any->options.wait_ms == REDLOCK_NO_LIMIT) {
        return INT64_MAX;
    }
    return spent_ms < any->options.wait_ms ? any->options.wait_ms - spent_ms : 0;
}

/* Sets the options of an acquire that lasts for the pause between two rounds. Without a line it
 * makes an attempt, pauses for half of that time, and makes another attempt. False: not enough time
 * is left. */
static bool set_pause(const struct any *any, redlock_acquire_options *options) {
    const uint64_t random = rl_client_random(any->recipe.client);
    const int64_t jitter_ms = (int64_t)(random % ((uint64_t)options->jitter_ms + 1));
    options->tries = REDLOCK_NO_LIMIT;
    options->wait_ms = options->delay_ms + jitter_ms + 1;
    options->delay_ms = options->wait_ms / 2;
    options->jitter_ms = 0;
    return options->wait_ms < left_ms(any);
}

/* Submits an acquire of locks[at], which was not tried in this round. Returns as redlock_acquire()
 * does, or REDLOCK_ERR_DEADLINE. The deadline does not cut a try short: its result would say
 * nothing about the lock. */
static int submit(struct any *any, size_t at, bool pauses) {
    redlock_acquire_options options = any->options;
    redlock_lock *lock = any->locks[at];
    assert(at >= any->tried && at < any->n);
    any->locks[at] = any->locks[any->tried];
    any->locks[any->tried++] = lock;
    any->pauses = pauses;
    options.wait_ms = 0; /* one attempt */
    const bool is_in_time =
        pauses ? set_pause(any, &options) : any->options.wait_ms == 0 || left_ms(any) > 0;
    return is_in_time ? redlock_acquire(lock, &options, on_tried, any) : REDLOCK_ERR_DEADLINE;
}

/* Submits an acquire of another lock of this round. Returns 0, REDLOCK_ERR_DEADLINE, or why the
 * last one could not be submitted. */
static int go_on(struct any *any) {
    int status = REDLOCK_ERR_HELD;
    while (any->tried < any->n && status != 0 && status != REDLOCK_ERR_DEADLINE) {
        const uint64_t random = rl_client_random(any->recipe.client);
        status = submit(any, any->tried + random % (any->n - any->tried), false);
    }
    return status;
}

static int go_round_again(struct any *any, const redlock_lock *last) {
    size_t at = 0;
    while (any->locks[at] != last) {
        at++;
    }
    any->tried = 0;
    if (any->rounds != REDLOCK_NO_LIMIT) {
        any->rounds--;
    }
    const int status = submit(any, at, true);
    return status == 0 || status == REDLOCK_ERR_DEADLINE ? status : go_on(any);
}

static void any_free(struct any *any) {
    for (size_t i = 0; i < any->n; i++) {
        rl_recipe_drop(any->locks[i]);
    }
    rl_recipe_free(&any->recipe);
}

static void on_tried(redlock_lock *lock, int status, void *data) {
    struct any *any = data;
    if (status == REDLOCK_ERR_DEADLINE && any->pauses && left_ms(any) > 0) {
        status = redlock_lock_attempt_status(lock) != 0 ? redlock_lock_attempt_status(lock)
                                                        : REDLOCK_ERR_HELD;
    }
    const bool is_outage = status == REDLOCK_ERR_NO_QUORUM || status == REDLOCK_ERR_EXPIRED;
    if (status == REDLOCK_ERR_HELD || is_outage) {
        int next = is_outage && !any->pauses ? status : go_on(any);
        if (next != 0 && next != REDLOCK_ERR_DEADLINE && any->rounds != 1) {
            next = go_round_again(any, lock);
        }
        if (next == 0) {
            return;
        }
        status = next == REDLOCK_ERR_DEADLINE ? next : status;
    }
    if (any->on_done != NULL) {
        any->on_done(lock, status, any->data);
    }
    any_free(any);
}

/* -- The beginning -- */

static int check(redlock_lock *const *locks, size_t n, const redlock_acquire_options *options) {
    if (locks == NULL || n < 1 || n > REDLOCK_ANY_MAX || locks[0] == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    redlock_client *client = redlock_lock_client(locks[0]);
    int status = rl_recipe_enter(client, "redlock_acquire_any");
    for (size_t i = 0; status == 0 && i < n; i++) {
        if (locks[i] == NULL || redlock_lock_client(locks[i]) != client ||
            rl_recipe_is_freed(locks[i]) || rl_recipe_check_acquire(locks[i], options) != 0) {
            status = REDLOCK_ERR_INVALID;
        }
    }
    return status;
}

int redlock_acquire_any(redlock_lock *const *locks, size_t n,
                        const redlock_acquire_options *options, redlock_lock_cb on_done,
                        void *data) {
    int status = check(locks, n, options);
    if (status != 0) {
        return status;
    }
    redlock_client *client = redlock_lock_client(locks[0]);
    struct rl_recipe *recipe =
        rl_recipe_new(client, sizeof(struct any) + n * sizeof(redlock_lock *));
    if (recipe == NULL) {
        return REDLOCK_ERR_NOMEM;
    }
    struct any *any = RL_CONTAINER(recipe, struct any, recipe);
    any->recipe.end = rl_recipe_free; /* the chain is over, except in a child after fork() */
    any->options = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    if (options != NULL) { /* checked by check() */
        rl_sized_take(&any->options, sizeof any->options, options, options->size);
    }
    any->on_done = on_done;
    any->data = data;
    any->began_ns = rl_client_now_ns(client);
    any->rounds = any->options.wait_ms == 0 ? 1 : any->options.tries;
    any->n = n;
    memcpy(any->locks, locks, n * sizeof(redlock_lock *));
    for (size_t i = 0; i < n; i++) {
        rl_recipe_keep(locks[i]);
    }
    status = go_on(any);
    if (status != 0) {
        any_free(any);
    }
    return status;
}
