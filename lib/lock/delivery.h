/* The callbacks of a lock, one at a time: chooses the next one, and updates the lock for it. The
 * turn calls it, and delivers the losses that become due in between.
 *
 * Can a success be reported after the loss of the same hold was due? No: the turn delivers losses
 * before it takes a callback, and again between two of one lock, since the first may have blocked
 * the loop. Such a loss also changes the status of an extension that is done (life.h).
 */
#ifndef RL_LOCK_DELIVERY_H
#define RL_LOCK_DELIVERY_H

#include "client/state.h"

/* What to call: callback(lock, status, data), if callback is not NULL. */
struct rl_delivery {
    redlock_lock_cb callback;
    void *data;
    int status;
};

/* In this order. */
enum rl_delivery_kind {
    RL_DELIVERY_ACQUIRE = RL_OP_ACQUIRE,
    RL_DELIVERY_EXTEND = RL_OP_EXTEND,
    RL_DELIVERY_RELEASE = RL_OP_RELEASE,
    RL_DELIVERY_RENEWAL = RL_OPS,
    RL_DELIVERY_KINDS
};

/* Makes a granted lock held, or one that lingered held again, if it is not too late; its callback
 * is next. */
void rl_delivery_grant(redlock_lock *lock);

bool rl_delivery_is_due(const redlock_lock *lock, enum rl_delivery_kind kind);
struct rl_delivery rl_delivery_take(redlock_lock *lock, enum rl_delivery_kind kind);
struct rl_delivery rl_delivery_take_loss(redlock_lock *lock);

#endif
