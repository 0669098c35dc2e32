/* See delivery.h. */
#include "lock/delivery.h"

#include <assert.h>

#include "base/require.h"
#include "client/env.h"
#include "lock/life.h"
#include "lock/reentrancy.h"
#include "lock/step.h"
#include "mode/permit.h"
#include "watch/span.h"

/* Whether this acquire resumes a hold that lingered, of which too little is left by now. */
static bool resumes_too_late(const redlock_lock *lock, const struct rl_op *op) {
    const uint64_t least_ns = lock->core.acquire.min_validity_ms * RL_NS_PER_MS;
    return lock->joining && op->words == RL_WORDS_LINGERED &&
           lock->core.valid_until_ns <= rl_client_now_ns(lock->client) + least_ns;
}

void rl_delivery_grant(redlock_lock *lock) {
    assert(lock->client->in_turn);
    assert(rl_queued_is_in(&lock->done)); /* what ends in this step is delivered with the rest */
    if (lock->tell) {
        lock->tell = false;
        rl_step_simple(lock, RL_EV_TELL); /* reads the clock once more */
    }
    struct rl_op *op = rl_op_of(lock, RL_OP_ACQUIRE);
    if (resumes_too_late(lock, op)) {
        rl_reentrancy_cancel(lock);
        op->status = REDLOCK_ERR_EXPIRED;
    }
}

bool rl_delivery_is_due(const redlock_lock *lock, enum rl_delivery_kind kind) {
    if (kind == RL_DELIVERY_RENEWAL) {
        return lock->extras != NULL && lock->extras->renewal.is_due;
    }
    const struct rl_op *op = rl_op_of(lock, (enum rl_op_kind)kind);
    return op != NULL && op->is_done;
}

/* The object holds from now on. */
static void acquired(redlock_lock *lock) {
    assert(rl_hold_primary(lock) == lock || lock->joining);
    assert(!lock->was_lost); /* the acquire has reset it */
    lock->fence = rl_lock_fence(&rl_hold_primary(lock)->core);
    rl_permit_granted(lock, rl_hold_primary(lock));
    lock->client->stats.fenced += lock->fence != 0;
    rl_span_acquired(lock, lock->depth == 0);
    lock->joining = false;
    lock->depth++;
    RL_REQUIRE(rl_hold_is_held(lock)); /* else a false success would be reported */
    if (rl_hold_primary(lock) == lock && lock->depth == 1) {
        rl_reentrancy_admit(lock);
    }
}

static struct rl_delivery take_op(redlock_lock *lock, enum rl_op_kind kind) {
    struct rl_op *pending = rl_op_of(lock, kind);
    RL_REQUIRE(pending != NULL);
    RL_REQUIRE(pending->is_done);
    const struct rl_op op = *pending;
    *pending = (struct rl_op){.callback = NULL};
    rl_lock_note(lock, op.status, (enum rl_words)op.words);
    rl_op_count(&lock->client->stats, kind, op.status);
    if (kind == RL_OP_ACQUIRE && op.status == 0) {
        acquired(lock);
    } else if (kind == RL_OP_ACQUIRE) {
        rl_span_failed(lock, op.status);
    } else if (kind == RL_OP_EXTEND && op.status == 0 && rl_hold_is_held(lock)) {
        lock->fence = rl_lock_fence(&rl_hold_primary(lock)->core); /* an upgrade changes it */
    }
    rl_trace(lock->client, REDLOCK_EVENT_DONE, lock, NULL, op.status, 0);
    return (struct rl_delivery){op.callback, op.data, op.status};
}

static struct rl_delivery take_renewal(redlock_lock *lock) {
    struct rl_renewal *renewal = &lock->extras->renewal;
    assert(renewal->is_due);
    assert(renewal->status == 0 || renewal->status == REDLOCK_ERR_UNKNOWN);
    renewal->is_due = false;
    redlock_lock_cb callback = rl_hold_is_held(lock) ? renewal->callback : NULL;
    return (struct rl_delivery){callback, renewal->data, renewal->status};
}

struct rl_delivery rl_delivery_take(redlock_lock *lock, enum rl_delivery_kind kind) {
    assert(lock->client->in_turn); /* user code runs nowhere else */
    assert(rl_delivery_is_due(lock, kind));
    return kind == RL_DELIVERY_RENEWAL ? take_renewal(lock) : take_op(lock, (enum rl_op_kind)kind);
}

struct rl_delivery rl_delivery_take_loss(redlock_lock *lock) {
    struct rl_loss *loss = &lock->loss;
    RL_REQUIRE(!rl_queued_is_in(&loss->queued)); /* else it would be delivered twice */
    assert(lock->client->in_turn);
    assert(lock->last.loss < 0);
    assert(lock->depth == 0); /* there is no new hold before the user knows */
    rl_span_lost(lock, lock->last.loss);
    rl_lock_note(lock, lock->last.loss, RL_WORDS_ROUND);
    struct rl_delivery delivery = {loss->callback, loss->data, lock->last.loss};
    loss->callback = NULL;
    return delivery;
}
