/* The validity of a mutex as every thread sees it, without a lock: its owner and the end of
 * validity. Each hold has its own, since readers hold side by side.
 *
 * The thread with the wheel (state.h) writes first the owner, then until_ns; to withdraw, first
 * until_ns = 0, then another owner. A reading thread uses the reverse order, hold by hold. That is
 * safe: new holds are put at the head of the list, by one store, and none is freed before the
 * mutex.
 *
 * Can a thread take another owner's validity for its own? No: if the validity that it read was
 * published for another owner, then the owner that it reads next is that one or a later one; and
 * not the reading owner itself, which cannot have locked the mutex meanwhile. Can validity be seen
 * after an unlock? No: it is withdrawn before the caller of unlock is answered. Can it be missed?
 * No: an owner has at most one hold of a mutex, which was added before its call returned.
 */
#include <assert.h>

#include "blocking/drive.h"
#include "blocking/valid.h"

#ifndef NDEBUG
/* Only one of the exclusive holds asks or holds at a time, since they share a waitlist. (The nodes
 * ensure that no reader holds beside a writer.) */
static bool is_alone(const struct rl_hold *hold) {
    assert(hold->made == REDLOCK_EXCLUSIVE);
    const struct rl_hold *other = atomic_load(&hold->mutex->holds);
    while (other != NULL && (other == hold || other->made == REDLOCK_SHARED ||
                             atomic_load(&other->valid.until_ns) == 0)) {
        other = other->next;
    }
    return other == NULL;
}
#endif

void rl_valid_publish(struct rl_hold *hold, uint64_t until_ns) {
    struct rl_valid *valid = &hold->valid;
    assert(hold->owner != 0);
    assert(rl_wheel_is_mine(hold->mutex->blocking));
    assert(hold->made == REDLOCK_SHARED || is_alone(hold));
    if (atomic_load_explicit(&valid->owner, memory_order_relaxed) != hold->owner) {
        assert(atomic_load(&valid->until_ns) == 0);
        atomic_store_explicit(&valid->owner, hold->owner, memory_order_release);
    }
    atomic_store_explicit(&valid->until_ns, until_ns, memory_order_release);
}

void rl_valid_withdraw(struct rl_hold *hold) {
    assert(rl_wheel_is_mine(hold->mutex->blocking)); /* only this thread writes */
    atomic_store_explicit(&hold->valid.until_ns, 0, memory_order_release);
}

void rl_valid_forget(struct rl_hold *hold) {
    rl_valid_withdraw(hold);
    assert(atomic_load(&hold->valid.owner) == hold->owner);
    atomic_store_explicit(&hold->valid.owner, 0, memory_order_release);
}

const struct rl_hold *rl_valid_hold(const redlock_mutex *mutex, uint64_t owner) {
    const struct rl_hold *hold = atomic_load_explicit(&mutex->holds, memory_order_acquire);
    assert(owner != 0);
    while (hold != NULL &&
           atomic_load_explicit(&hold->valid.owner, memory_order_acquire) != owner) {
        hold = hold->next;
    }
    return hold;
}

uint64_t rl_valid_left_ns(const redlock_mutex *mutex, uint64_t owner) {
    assert(owner != 0);
    if (rl_fork_is_child(&mutex->blocking->fork)) {
        return 0;
    }
    const struct rl_hold *hold = atomic_load_explicit(&mutex->holds, memory_order_acquire);
    for (; hold != NULL; hold = hold->next) {
        uint64_t until_ns = atomic_load_explicit(&hold->valid.until_ns, memory_order_acquire);
        uint64_t whose = atomic_load_explicit(&hold->valid.owner, memory_order_acquire);
        if (whose == owner) {
            uint64_t now_ns = redlock_now_ns();
            return until_ns > now_ns ? until_ns - now_ns : 0;
        }
    }
    return 0;
}
