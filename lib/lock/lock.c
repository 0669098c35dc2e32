/* The lock of the public interface: checks arguments and steps the core. The turn delivers what has
 * ended. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "client/env.h"
#include "client/options.h"
#include "lock/life.h"
#include "lock/reentrancy.h"
#include "lock/step.h"
#include "mode/mode.h"
#include "mode/permit.h"
#include "wait/hear.h"
#include "wait/waiting.h"
#include "watch/span.h"

/* -- Life -- */

void redlock_lock_free(redlock_lock *lock) {
    if (lock == NULL || lock->is_freed) {
        return;
    }
    rl_own(lock->client, __func__);
    lock->is_freed = true;
    lock->loss.callback = NULL;
    if (lock->extras != NULL) {
        lock->extras->renewal.callback = NULL;
    }
    if (rl_io_is_forked(&lock->client->io)) {
        return; /* a child's copy ends with the child */
    }
    if (lock->client->phase == RL_CLIENT_OPEN) {
        rl_client_wake(lock->client);
        rl_reentrancy_abandon(lock);
    }
    rl_lock_unref(lock);
}

/* -- Operations -- */

/* why: kept for the message until a call is accepted or an operation of the lock ends; NULL: the
 * status's text. */
static int refuse(redlock_lock *lock, int status, const char *why) {
    assert(status < 0);
    rl_lock_refused(lock, why != NULL ? why : redlock_strerror(status), false);
    return status;
}

/* Refuses a call as invalid; `why` is copied, since it is not a constant. */
static int refuse_invalid(redlock_lock *lock, const char *why) {
    rl_lock_refused(lock, why, true);
    return REDLOCK_ERR_INVALID;
}

/* The checks of every operation. First updates the lock: if its validity is over, it is lost before
 * anything else happens to it. */
static int enter(redlock_lock *lock, const char *function) {
    if (lock == NULL || lock->is_freed) {
        return REDLOCK_ERR_INVALID;
    }
    redlock_client *client = lock->client;
    int status = client->phase != RL_CLIENT_OPEN ? REDLOCK_ERR_CLOSED : 0;
    rl_own(client, function);
    status = rl_io_is_forked(&client->io) ? REDLOCK_ERR_FORKED : status;
    rl_lock_refused(lock, status != 0 ? redlock_strerror(status) : NULL, false);
    if (status != 0) {
        return status;
    }
    rl_client_wake(client);
    redlock_lock *primary = rl_hold_primary(lock);
    const uint64_t lost_ns = rl_lock_lost_ns(&primary->core);
    if (lost_ns != RL_NEVER && lost_ns <= rl_client_now_ns(client)) {
        rl_step_simple(primary, RL_EV_TICK);
        assert(!rl_hold_is_held(lock));
    }
    return 0;
}

/* What blocks an acquire, an adoption or a release; NULL: nothing. */
static const char *in_the_way(const redlock_lock *lock) {
    if (rl_op_of(lock, RL_OP_ACQUIRE) != NULL) {
        return "in use: an acquire is pending";
    }
    if (rl_op_of(lock, RL_OP_RELEASE) != NULL) {
        return "in use: a release is pending";
    }
    if (lock->core.state == RL_RELEASING) {
        return "in use: another object of its owner is releasing the hold they shared";
    }
    return rl_queued_is_in(&lock->loss.queued) ? "in use: on_lost is about to run" : NULL;
}

/* Refuses operations that are impossible while the object holds something or is in use. */
static int check_free(redlock_lock *lock) {
    const char *why = in_the_way(lock);
    if (why != NULL) {
        return refuse(lock, REDLOCK_ERR_BUSY, why);
    }
    rl_linger_recall(lock);
    bool holds = rl_lock_is_holding(&rl_hold_primary(lock)->core);
    return holds ? refuse(lock, REDLOCK_ERR_ALREADY_HELD, NULL) : 0;
}

static void submit_acquire(redlock_lock *lock, const redlock_acquire_options *full,
                           redlock_lock_cb on_done, void *data) {
    assert(!rl_queued_is_in(&lock->loss.queued)); /* on_lost would be the previous hold's */
    assert(lock->depth == 0 || rl_hold_owner(lock) == full->owner);
    if (lock->depth == 0 || full->on_lost != NULL) { /* else the outer acquire's stays */
        lock->loss.callback = full->on_lost;
        lock->loss.data = full->lost_data;
    }
    if (lock->extras != NULL) {
        struct rl_renewal *renewal = &lock->extras->renewal;
        lock->extras->owner = full->owner;
        if (lock->depth == 0 || full->on_renew != NULL) {
            renewal->callback = full->on_renew;
            renewal->data = full->renew_data;
        }
        renewal->is_due = renewal->is_due && lock->depth > 0; /* of the hold that it joins */
    }
    lock->fence = lock->depth > 0 ? lock->fence : 0;
    lock->was_lost = false;
    if (lock->depth == 0) {
        rl_permit_begin(lock);
    }
    lock->last.attempt = 0;
    lock->last.has_asked = false;
    rl_op_submit(lock, RL_OP_ACQUIRE, on_done, data);
    rl_span_submitted(lock, lock->depth > 0);
}

/* Whether the lock may be acquired now. *primary: the hold that it joins, NULL: none. *why: NULL if
 * the status says it. */
static int check_acquire(redlock_lock *lock, const redlock_acquire_options *full,
                         redlock_lock **primary, const char **why) {
    int status = 0;
    if (rl_hold_is_held(lock) && (full->owner == 0 || full->owner != rl_hold_owner(lock))) {
        return REDLOCK_ERR_ALREADY_HELD;
    }
    *primary = rl_reentrancy_find(lock, full->owner, &status);
    if (status != 0) {
        return status;
    }
    *why = in_the_way(lock);
    if (*why != NULL) { /* the hold has ended since enter() read the clock */
        return REDLOCK_ERR_BUSY;
    }
    if (*primary != NULL && full->fencing && rl_lock_fence(&(*primary)->core) == 0) {
        *why = RL_MESSAGE_NO_FENCE;
        return REDLOCK_ERR_ALREADY_HELD;
    }
    if (*primary != lock && rl_lock_is_holding(&lock->core) && !rl_hold_lingers(lock)) {
        *why = "in use: it was released, but other objects of its owner still share its hold";
        return REDLOCK_ERR_BUSY;
    }
    return rl_hold_reserve(lock, full) ? 0 : REDLOCK_ERR_NOMEM;
}

int redlock_acquire(redlock_lock *lock, const redlock_acquire_options *options,
                    redlock_lock_cb on_done, void *data) {
    redlock_acquire_options full;
    redlock_lock *primary = NULL;
    char invalid[REDLOCK_MESSAGE_MAX];
    struct rl_event event = {.type = RL_EV_ACQUIRE};
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    const char *why = in_the_way(lock);
    if (why != NULL) {
        return refuse(lock, REDLOCK_ERR_BUSY, why);
    }
    if (rl_options_acquire(lock, options, &event.u.acquire, &full, invalid) != 0) {
        return refuse_invalid(lock, invalid);
    }
    status = check_acquire(lock, &full, &primary, &why);
    if (status != 0) {
        return refuse(lock, status, why);
    }
    const uint32_t linger_ms = (uint32_t)full.linger_ms;
    const bool resumes = primary == NULL && rl_linger_suits(lock, &event.u.acquire, linger_ms);
    if (!resumes) {
        rl_linger_recall(lock);
    }
    submit_acquire(lock, &full, on_done, data);
    if (primary != NULL) {
        rl_reentrancy_join(lock, primary);
    } else if (resumes) {
        rl_linger_resume(lock);
    } else {
        rl_linger_reset(lock, linger_ms);
        assert(rl_hold_primary(lock) == lock && lock->depth == 0);
        rl_mode_begin(lock);
        event.u.acquire.waits = rl_waiting_enter(lock, event.u.acquire.tries > 1);
        rl_step_event(lock, &event);
    }
    return 0;
}

static int check_token(redlock_lock *lock, const char *token) {
    static_assert(REDLOCK_TOKEN_LENGTH == 40, "the message says so");
    if (token == NULL || strlen(token) != RL_TOKEN_LEN ||
        strspn(token, "0123456789abcdef") != RL_TOKEN_LEN) {
        return refuse(lock, REDLOCK_ERR_INVALID,
                      "the token must be 40 hex digits, as redlock_lock_token() gives it");
    }
    return 0;
}

/* A semaphore's token is useless without its slots. */
static int check_slots(redlock_lock *lock) {
    if (rl_permit_lacks_slots(lock)) {
        return refuse(lock, REDLOCK_ERR_INVALID,
                      "which slots the token is of must be said first: redlock_lock_set_slots()");
    }
    return 0;
}

int redlock_adopt(redlock_lock *lock, const char *token, const redlock_acquire_options *options,
                  redlock_lock_cb on_done, void *data) {
    redlock_acquire_options full;
    char invalid[REDLOCK_MESSAGE_MAX];
    struct rl_event event = {.type = RL_EV_ADOPT};
    int status = enter(lock, __func__);
    status = status == 0 ? check_free(lock) : status;
    if (status == 0 && rl_waiting_is_busy(lock)) {
        status = refuse(lock, REDLOCK_ERR_BUSY,
                        "in use: another lock of this client holds it or is acquiring it");
    }
    status = status == 0 ? check_token(lock, token) : status;
    if (status != 0) {
        return status;
    }
    if (rl_options_acquire(lock, options, &event.u.adopt.acquire, &full, invalid) != 0) {
        return refuse_invalid(lock, invalid);
    }
    if (full.fencing) {
        return refuse(lock, REDLOCK_ERR_INVALID,
                      "fencing: adopting gives no fence; hand the fence over with the token");
    }
    status = check_slots(lock);
    if (status != 0) {
        return status;
    }
    full.owner = 0;
    full.linger_ms = 0;
    if (!rl_hold_reserve(lock, &full)) {
        return refuse(lock, REDLOCK_ERR_NOMEM, NULL);
    }
    submit_acquire(lock, &full, on_done, data);
    lock->last.has_asked = true;
    rl_linger_reset(lock, 0);
    rl_mode_take_over(lock, true);
    event.u.adopt.token = token;
    bool waits = rl_waiting_enter(lock, false);
    assert(!waits); /* rl_waiting_is_busy() would have said so */
    (void)waits;
    rl_step_event(lock, &event);
    return 0;
}

/* The checks of an extension or a change of mode. */
static int check_extend(redlock_lock *lock) {
    redlock_lock *primary = rl_hold_primary(lock);
    bool is_extending = primary->core.state == RL_EXTENDING && !primary->core.renews;
    if (rl_op_of(lock, RL_OP_EXTEND) != NULL) {
        return refuse(lock, REDLOCK_ERR_BUSY, "in use: an extension is pending");
    }
    if (rl_hold_is_held(lock) && is_extending) {
        return refuse(lock, REDLOCK_ERR_BUSY,
                      "in use: another object of its owner is extending the hold they share");
    }
    return rl_hold_is_held(lock) ? 0 : refuse(lock, REDLOCK_ERR_NOT_HELD, NULL);
}

static void submit_extend(redlock_lock *lock, struct rl_event *event, redlock_lock_cb on_done,
                          void *data) {
    redlock_lock *primary = rl_hold_primary(lock);
    rl_op_submit(lock, RL_OP_EXTEND, on_done, data);
    assert(rl_hold_user_of(primary, RL_OP_EXTEND) == primary);
    rl_hold_act_for(primary, RL_OP_EXTEND, lock);
    rl_step_event(primary, event);
}

int redlock_extend(redlock_lock *lock, int64_t ttl_ms, redlock_lock_cb on_done, void *data) {
    char invalid[REDLOCK_MESSAGE_MAX];
    struct rl_event event = {.type = RL_EV_EXTEND};
    int status = enter(lock, __func__);
    if (status == 0) {
        status = check_extend(lock);
    }
    if (status == 0 && ttl_ms != 0 && rl_options_ttl(lock, ttl_ms, 0, invalid) != 0) {
        return refuse_invalid(lock, invalid);
    }
    if (status == 0) {
        event.u.ttl_ms = (uint32_t)ttl_ms;
        submit_extend(lock, &event, on_done, data);
    }
    return status;
}

int redlock_lock_alive(redlock_lock *lock) {
    const int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    if (!rl_hold_is_held(lock)) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD, NULL);
    }
    rl_step_simple(rl_hold_primary(lock), RL_EV_ALIVE);
    return 0;
}

/* Refuses changes that would surprise the other users of the hold. */
static int check_sole_user(redlock_lock *lock) {
    if (lock->depth > 1 || lock->joining || rl_hold_has_others(lock)) {
        return refuse(lock, REDLOCK_ERR_BUSY,
                      "in use: it was acquired more than once, or other objects share it");
    }
    return 0;
}

/* Whether the mode of the hold may change; why_not: its rules' reason against it, or NULL. */
static int check_mode(redlock_lock *lock, const char *why_not) {
    int status = check_extend(lock);
    if (status != 0) {
        return status;
    }
    if (why_not != NULL) {
        return refuse(lock, REDLOCK_ERR_INVALID, why_not);
    }
    return check_sole_user(lock);
}

int redlock_downgrade(redlock_lock *lock, redlock_lock_cb on_done, void *data) {
    struct rl_event event = {.type = RL_EV_EXTEND};
    int status = enter(lock, __func__);
    if (status == 0) {
        status = check_mode(lock, rl_mode_now(rl_hold_primary(lock))->no_downgrade);
    }
    if (status == 0) {
        rl_hear_wanted(rl_hold_primary(lock)); /* a reader is not notified of waiters */
        rl_mode_downgrade(rl_hold_primary(lock));
        submit_extend(lock, &event, on_done, data);
    }
    return status;
}

int redlock_try_upgrade(redlock_lock *lock, redlock_lock_cb on_done, void *data) {
    struct rl_event event = {.type = RL_EV_UPGRADE};
    int status = enter(lock, __func__);
    if (status == 0) {
        status = check_mode(lock, rl_mode_now(rl_hold_primary(lock))->no_upgrade);
    }
    if (status == 0 && rl_mode_is_adopted(rl_hold_primary(lock))) {
        return refuse(lock, REDLOCK_ERR_INVALID,
                      "it was adopted, and what was sent for it before may come late: "
                      "release it and acquire it exclusively");
    }
    if (status == 0) {
        struct rl_world *world = lock->client->io.world;
        event.floor = lock->fence != 0 ? world->ops->wall_us(world) : 0;
        rl_mode_upgrade(rl_hold_primary(lock));
        submit_extend(lock, &event, on_done, data);
    }
    return status;
}

int redlock_release(redlock_lock *lock, redlock_lock_cb on_done, void *data) {
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    if (rl_op_of(lock, RL_OP_ACQUIRE) != NULL || rl_op_of(lock, RL_OP_RELEASE) != NULL) {
        return refuse(lock, REDLOCK_ERR_BUSY, in_the_way(lock));
    }
    if (!rl_hold_is_held(lock) && !lock->was_lost) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD, NULL);
    }
    rl_op_submit(lock, RL_OP_RELEASE, on_done, data);
    rl_reentrancy_release(lock);
    return 0;
}

int redlock_lock_set_slots(redlock_lock *lock, const int32_t *slots, size_t n) {
    char invalid[REDLOCK_MESSAGE_MAX];
    int status = enter(lock, __func__);
    if (status == 0) {
        status = check_free(lock);
    }
    if (status == 0 && !rl_permit_name(lock, slots, n)) {
        rl_error_set(invalid, sizeof invalid, 0,
                     "slots: they must be %u different numbers from 0 to permits - 1",
                     (unsigned)lock->target.take);
        return refuse_invalid(lock, invalid);
    }
    return status;
}

int redlock_release_token(redlock_lock *lock, const char *token, redlock_lock_cb on_done,
                          void *data) {
    struct rl_event event = {.type = RL_EV_RELEASE};
    int status = enter(lock, __func__);
    status = status == 0 ? check_free(lock) : status;
    status = status == 0 ? check_token(lock, token) : status;
    status = status == 0 ? check_slots(lock) : status;
    if (status != 0) {
        return status;
    }
    event.u.token = token;
    lock->was_lost = false;
    lock->span.id = 0; /* another client acquired it */
    rl_mode_take_over(lock, false);
    rl_waiting_reset(lock);
    rl_op_submit(lock, RL_OP_RELEASE, on_done, data);
    rl_step_event(lock, &event);
    return 0;
}

int redlock_disown(redlock_lock *lock) {
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    if (!rl_hold_is_held(lock)) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD, NULL);
    }
    status = check_sole_user(lock);
    if (status != 0) {
        return status;
    }
    if (!rl_mode_may_disown(rl_hold_primary(lock))) {
        return refuse(lock, REDLOCK_ERR_BUSY,
                      "in use: a node has not answered a change of its mode");
    }
    if (!rl_reentrancy_disown(lock)) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD, NULL); /* it has just ended; on_lost follows */
    }
    return 0;
}

int redlock_cancel(redlock_lock *lock) {
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    if (rl_reentrancy_cancel(lock)) {
        return 0;
    }
    struct rl_op *acquire = rl_op_of(lock, RL_OP_ACQUIRE);
    if (acquire != NULL && acquire->is_done && acquire->status != 0) {
        acquire->status = REDLOCK_ERR_CANCELED;
        acquire->words = RL_WORDS_NONE;
        return 0;
    }
    redlock_lock *primary = rl_hold_primary(lock);
    const struct rl_op *extend = rl_op_of(lock, RL_OP_EXTEND);
    bool extends = extend != NULL && !extend->is_done; /* else it may be another lock's */
    if (!rl_lock_is_acquiring(&lock->core) && !extends) {
        return refuse(lock, REDLOCK_ERR_IDLE, NULL);
    }
    rl_step_simple(extends ? primary : lock, RL_EV_CANCEL);
    return 0;
}
