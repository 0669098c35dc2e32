/* The loop's side of a mutex: lock objects of the asynchronous API, one for each owner that wants
 * the mutex, holds it, or has lost it and not unlocked it.
 *
 * Happy path: lock takes an unused lock object and submits an acquire for the owner; its callback
 * publishes the validity and answers the caller; unlock withdraws the validity and submits the
 * release, whose callback answers.
 *
 * Failure modes: the owner has locked already (counted here, no node is asked); it reads and wants
 * to write (refused: it would wait for itself); another owner holds it (the asynchronous API keeps
 * the line); the hold is lost (on_lost publishes that at once, and every later unlock reports it);
 * the client is closed (the callbacks report cancellation).
 *
 * The lock object keeps the mode of the hold: a downgrade or an upgrade changes it there, and
 * nothing here.
 *
 * Can two owners see themselves as holders, except as readers? No. A hold's validity is set only
 * when the asynchronous API has reported an acquire, an extension or a renewal of this owner, and
 * is withdrawn before the release is submitted, when the hold is lost, and before the client is
 * closed; that API reports a loss before any later success. rl_valid_publish() asserts that no
 * other writer's validity stands.
 */
#include <assert.h>

#include "base/error.h"
#include "blocking/drive.h"
#include "blocking/gate.h"
#include "blocking/hold.h"
#include "blocking/make.h"
#include "blocking/valid.h"

/* -- Telling -- */

static void publish(struct rl_hold *hold) {
    assert(hold->depth > 0 && !hold->is_lost);
    assert(!hold->is_unlocking); /* validity is withdrawn before the release */
    rl_valid_publish(hold, redlock_lock_valid_until_ns(hold->lock));
}

/* This owner's hold of the mutex, in any state, or NULL. */
static struct rl_hold *hold_of(const redlock_mutex *mutex, uint64_t owner) {
    struct rl_hold *hold = mutex->holds;
    while (hold != NULL && (hold->owner != owner || (hold->depth == 0 && hold->ask == NULL))) {
        hold = hold->next;
    }
    return hold;
}

/* Publishes an extension, or a shortening, in all mutexes that share the hold. */
static void publish_shared(const redlock_blocking *blocking, uint64_t owner) {
    RL_EACH(const redlock_mutex, mutex, &blocking->mutexes, link) {
        struct rl_hold *hold = hold_of(mutex, owner);
        if (hold != NULL && hold->depth > 0 && !hold->is_lost) {
            publish(hold);
        }
    }
}

static void say_as(redlock_mutex *mutex, const redlock_lock *lock) {
    char sentence[REDLOCK_MESSAGE_MAX];
    rl_mutex_say(mutex, redlock_lock_message(lock, sentence, sizeof sentence));
}

/* Answers, with a sentence for a failure; lock: the source of the message, or NULL for the
 * status's.
 */
static void answer(struct rl_ask *ask, redlock_lock *lock, int status) {
    if (status != 0 && lock != NULL) {
        say_as(ask->mutex, lock);
    } else if (status != 0) {
        rl_mutex_say(ask->mutex, redlock_strerror(status));
    }
    rl_ask_answer(ask, status);
}

static void refuse(struct rl_ask *ask, int status, const char *sentence) {
    rl_mutex_say(ask->mutex, sentence);
    rl_ask_answer(ask, status);
}

/* -- Callbacks of the lock objects -- */

/* Runs the program's on_lost. */
static void tell_loss(redlock_mutex *mutex, int status) {
    const struct rl_mutex_options *o = &mutex->options;
    switch (o->kind) {
        case RL_KIND_MUTEX:
            o->on_lost.mutex(mutex, status, o->lost_data);
            break;
        case RL_KIND_RWLOCK:
            o->on_lost.rwlock((redlock_rwlock *)mutex, status, o->lost_data);
            break;
        case RL_KIND_SEMAPHORE:
            o->on_lost.semaphore((redlock_semaphore *)mutex, status, o->lost_data);
            break;
    }
}

static void lost_cb(redlock_lock *lock, int status, void *data) {
    struct rl_hold *hold = data;
    redlock_mutex *mutex = hold->mutex;
    rl_valid_withdraw(hold);
    assert(hold->lock == lock && status < 0);
    assert(hold->depth > 0 || hold->is_unlocking);
    assert(!hold->is_lost); /* once for each hold */
    hold->is_lost = true;
    say_as(mutex, lock);
    if (mutex->options.has_on_lost) {
        assert(mutex->lost == NULL);
        assert(rl_loop_thread_is_self(mutex->blocking->thread)); /* as promised: see drive.c */
        mutex->lost = hold;
        rl_ask_tell(mutex->blocking); /* answered callers do not wait for the program's code */
        tell_loss(mutex, status);
        mutex->lost = NULL;
    }
}

static void renew_cb(redlock_lock *lock, int status, void *data) {
    struct rl_hold *hold = data;
    assert(hold->lock == lock);
    (void)lock, (void)status;
    if (hold->depth > 0 && !hold->is_lost) {
        publish(hold);
    }
}

static struct rl_ask *take_ask(struct rl_hold *hold) {
    struct rl_ask *ask = hold->ask;
    assert(ask != NULL);
    assert(ask->mutex == hold->mutex && ask->owner == hold->owner);
    hold->ask = NULL;
    return ask;
}

static void acquired_cb(redlock_lock *lock, int status, void *data) {
    struct rl_hold *hold = data;
    redlock_mutex *mutex = hold->mutex;
    assert(hold->lock == lock && hold->extend == NULL);
    assert(hold->depth == 0 && !hold->is_unlocking);
    if (status == 0) {
        hold->depth = 1;
        hold->is_lost = false;
        struct rl_grant *grant = &hold->grant;
        rl_gate_close(mutex->blocking); /* owner and grant change as one */
        rl_error_copy(grant->token, sizeof grant->token, redlock_lock_token(lock));
        grant->fence = redlock_lock_fence(lock);
        for (size_t i = 0; i < REDLOCK_TAKE_MAX; i++) {
            grant->slots[i] = redlock_lock_slot(lock, i);
        }
        publish(hold);
        rl_gate_open(mutex->blocking);
    }
    struct rl_ask *ask = take_ask(hold);
    ask->attempt = redlock_lock_attempt_status(lock);
    answer(ask, lock, status);
}

static void released_cb(redlock_lock *lock, int status, void *data) {
    struct rl_hold *hold = data;
    assert(hold->depth == 0 && hold->is_unlocking);
    assert(atomic_load(&hold->valid.owner) == 0); /* cleared before the release */
    hold->is_unlocking = hold->is_lost = false;
    answer(take_ask(hold), lock, status);
}

static void extended_cb(redlock_lock *lock, int status, void *data) {
    struct rl_hold *hold = data;
    struct rl_ask *ask = hold->extend;
    assert(ask != NULL);
    assert(ask->mutex == hold->mutex); /* the hold may have another owner by now */
    hold->extend = NULL;
    if (status == 0 && hold->grant.fence != redlock_lock_fence(lock)) { /* an upgrade changes it */
        rl_gate_close(hold->mutex->blocking);
        hold->grant.fence = redlock_lock_fence(lock);
        rl_gate_open(hold->mutex->blocking);
    }
    if (status == 0) { /* the hold may now have only other users */
        publish_shared(hold->mutex->blocking, hold->owner);
    }
    answer(ask, lock, status);
}

/* -- Lock objects -- */

static bool is_free(const struct rl_hold *hold) {
    return hold->depth == 0 && hold->ask == NULL && hold->extend == NULL;
}

static bool is_held(const redlock_mutex *mutex) {
    for (const struct rl_hold *hold = mutex->holds; hold != NULL; hold = hold->next) {
        if (hold->depth > 0 && !hold->is_lost) {
            return true;
        }
    }
    return false;
}

/* -- Lock -- */

/* How much of the timeout is left, since the loop may have been busy. 0 only if the timeout was 0,
 * which means one attempt, with other statuses. */
static int64_t left_ms(const struct rl_ask *ask) {
    int64_t spent_ms = (int64_t)((redlock_now_ns() - ask->asked_ns) / 1000000);
    assert(spent_ms >= 0);
    if (ask->ms == REDLOCK_NO_LIMIT || ask->ms == 0) {
        return ask->ms;
    }
    return spent_ms < ask->ms ? ask->ms - spent_ms : 1;
}

static int acquire(struct rl_hold *hold, struct rl_ask *ask) {
    assert(hold->mutex == ask->mutex && ask->owner != 0);
    assert(hold->made == ask->mode);
    assert(atomic_load(&hold->valid.owner) == 0); /* cleared by the last owner */
    redlock_acquire_options options = hold->mutex->options.acquire;
    options.wait_ms = left_ms(ask);
    if (ask->is_slow) {
        options.delay_ms = options.wait_ms / 2;
        options.jitter_ms = 0;
    }
    options.on_lost = lost_cb;
    options.lost_data = hold;
    options.on_renew = renew_cb;
    options.renew_data = hold;
    options.owner = ask->owner;
    int status = redlock_acquire(hold->lock, &options, acquired_cb, hold);
    if (status == 0) {
        assert(is_free(hold));
        hold->owner = ask->owner;
        hold->is_lost = false;
        hold->ask = ask;
    }
    return status;
}

#define IN_ANOTHER_THREAD "in use: the owner is locking or unlocking it in another thread"

/* The owner holds it, or has a pending call on it. */
static void lock_again(struct rl_hold *hold, struct rl_ask *ask) {
    assert(hold->mutex == ask->mutex);
    assert(hold->depth > 0 || hold->ask != NULL);
    const bool is_permit = ask->mutex->options.kind == RL_KIND_SEMAPHORE;
    if (hold->ask != NULL) {
        refuse(ask, REDLOCK_ERR_BUSY, IN_ANOTHER_THREAD);
    } else if (hold->is_lost || !redlock_lock_is_valid(hold->lock)) {
        refuse(ask, REDLOCK_ERR_LOST,
               is_permit ? "the permit was lost: release it before it is acquired again"
                         : "the lock was lost: unlock it before it is locked again");
    } else if (is_permit) {
        refuse(ask, REDLOCK_ERR_ALREADY_HELD,
               "this object holds its permit: another permit needs another object");
    } else if (ask->mode == REDLOCK_EXCLUSIVE && redlock_lock_mode(hold->lock) == REDLOCK_SHARED) {
        refuse(
            ask, REDLOCK_ERR_WOULD_DEADLOCK,
            "the caller holds it shared, and would wait for itself: unlock it first, or upgrade");
    } else {
        assert(hold->owner == ask->owner);
        hold->depth++;
        rl_ask_answer(ask, 0);
    }
}

void rl_hold_lock(struct rl_ask *ask) {
    assert(rl_wheel_is_mine(ask->blocking));
    assert(ask->mutex->blocking == ask->blocking);
    redlock_mutex *mutex = ask->mutex;
    struct rl_hold *hold = hold_of(mutex, ask->owner);
    if (hold != NULL) {
        lock_again(hold, ask);
        return;
    }
    /* An unused lock object may still carry the hold of other mutexes of its last owner: it is busy
     * then, and another one is used. */
    int status = REDLOCK_ERR_BUSY;
    for (hold = mutex->holds; hold != NULL && status == REDLOCK_ERR_BUSY; hold = hold->next) {
        if (is_free(hold) && hold->made == ask->mode) {
            status = acquire(hold, ask);
            if (status != 0 && status != REDLOCK_ERR_BUSY) {
                answer(ask, hold->lock, status);
                return;
            }
        }
    }
    if (status == 0) {
        return;
    }
    status = rl_hold_new(mutex, ask->mode, &hold);
    if (status != 0) {
        answer(ask, NULL, status);
        return;
    }
    status = acquire(hold, ask);
    if (status != 0) {
        answer(ask, hold->lock, status);
    }
}

/* -- Unlock -- */

/* Why this owner cannot unlock or extend. */
static int not_his(const redlock_mutex *mutex) {
    return is_held(mutex) ? REDLOCK_ERR_NOT_OWNER : REDLOCK_ERR_NOT_HELD;
}

/* The last unlock of a hold that is valid, or was until now. */
static void unlock_last(struct rl_hold *hold, struct rl_ask *ask) {
    assert(hold->depth == 1 && !hold->is_unlocking);
    assert(hold->owner == ask->owner);
    rl_valid_forget(hold);
    hold->depth = 0;
    if (hold->is_lost) {
        hold->is_lost = false;
        answer(ask, hold->lock, REDLOCK_ERR_LOST);
        return;
    }
    int status = redlock_release(hold->lock, released_cb, hold);
    if (status == 0) {
        hold->is_unlocking = true;
        hold->ask = ask;
    } else {
        answer(ask, hold->lock, status);
    }
}

void rl_hold_unlock(struct rl_ask *ask) {
    assert(rl_wheel_is_mine(ask->blocking));
    assert(ask->mutex->blocking == ask->blocking);
    struct rl_hold *hold = hold_of(ask->mutex, ask->owner);
    if (hold == NULL) {
        answer(ask, NULL, not_his(ask->mutex));
    } else if (hold->ask != NULL) {
        refuse(ask, REDLOCK_ERR_BUSY, IN_ANOTHER_THREAD);
    } else if (hold->depth > 1) {
        bool is_lost = hold->is_lost || !redlock_lock_is_valid(hold->lock);
        hold->depth--;
        answer(ask, hold->is_lost ? hold->lock : NULL, is_lost ? REDLOCK_ERR_LOST : 0);
    } else {
        unlock_last(hold, ask);
    }
}

/* -- Extend, downgrade, upgrade -- */

/* How the asynchronous API changes a hold's mode. */
typedef int (*change_fn)(redlock_lock *lock, redlock_lock_cb callback, void *data);

/* The hold that the ask's owner can prolong; NULL: none, and the ask is answered. */
static struct rl_hold *hold_to_prolong(struct rl_ask *ask) {
    assert(rl_wheel_is_mine(ask->blocking));
    assert(ask->mutex->blocking == ask->blocking);
    struct rl_hold *hold = hold_of(ask->mutex, ask->owner);
    if (hold == NULL || hold->depth == 0) {
        answer(ask, NULL, not_his(ask->mutex));
        return NULL;
    }
    if (hold->is_lost) {
        answer(ask, hold->lock, REDLOCK_ERR_LOST);
        return NULL;
    }
    return hold;
}

/* Extends the hold, or changes its mode. */
static void prolong(struct rl_hold *hold, struct rl_ask *ask, change_fn change) {
    assert(hold->mutex == ask->mutex && hold->owner == ask->owner);
    assert(hold->ask == NULL); /* it is not being locked or unlocked */
    uint64_t until_ns = redlock_lock_valid_until_ns(hold->lock);
    const int status = change != NULL ? change(hold->lock, extended_cb, hold)
                                      : redlock_extend(hold->lock, ask->ms, extended_cb, hold);
    if (status == 0) {
        assert(hold->extend == NULL); /* the asynchronous API has refused a second one */
        hold->extend = ask;
        if (redlock_lock_valid_until_ns(hold->lock) < until_ns) {
            publish_shared(ask->blocking, ask->owner);
        }
    } else if (status == REDLOCK_ERR_NOT_HELD) {
        answer(ask, NULL, REDLOCK_ERR_LOST); /* its validity has just ended */
    } else {
        answer(ask, hold->lock, status);
    }
}

void rl_hold_extend(struct rl_ask *ask) {
    struct rl_hold *hold = hold_to_prolong(ask);
    if (hold != NULL) {
        prolong(hold, ask, NULL);
    }
}

void rl_hold_alive(struct rl_ask *ask) {
    struct rl_hold *hold = hold_to_prolong(ask);
    if (hold != NULL) {
        const int status = redlock_lock_alive(hold->lock);
        answer(ask, NULL, status == REDLOCK_ERR_NOT_HELD ? REDLOCK_ERR_LOST : status);
    }
}

/* A mutex that was locked twice must be unlocked twice in the mode in which it was locked. */
static void change_mode(struct rl_ask *ask, change_fn change) {
    struct rl_hold *hold = hold_to_prolong(ask);
    if (hold != NULL && hold->depth > 1) {
        refuse(ask, REDLOCK_ERR_BUSY, "in use: its owner has locked it more than once");
    } else if (hold != NULL) {
        prolong(hold, ask, change);
    }
}

void rl_hold_downgrade(struct rl_ask *ask) {
    change_mode(ask, redlock_downgrade);
}

void rl_hold_upgrade(struct rl_ask *ask) {
    change_mode(ask, redlock_try_upgrade);
}

/* -- The client's end -- */

void rl_hold_end_all(redlock_blocking *blocking) {
    assert(blocking->is_closing);
    RL_EACH(const redlock_mutex, mutex, &blocking->mutexes, link) {
        for (struct rl_hold *hold = mutex->holds; hold != NULL; hold = hold->next) {
            if (hold->depth > 0) {
                rl_valid_withdraw(hold);
            }
        }
    }
}
